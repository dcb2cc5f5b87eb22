"""One encoded input, as transformers' ``BatchEncoding`` holds it: what ``tokenizers.Encoding`` offers to read, made when it is asked for.

An encoding is stretches of sequences between two runs of padding. Cutting and padding choose other stretches and runs; ids, offsets and
words stay in their sequence. What each attribute means is what it means in ``tokenizers`` 0.23, with which the tests compare it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

__all__ = ["NO_PADDING", "Detail", "Encoding", "Padding", "Span", "Stretch", "TokenSequence"]

T = TypeVar("T")
# A range of the text, in code points; of tokens, in their order.
Span = tuple[int, int]


class Detail(Protocol):
    """What of a sequence is seldom asked for, and costs more than its ids."""

    def offsets(self, ids: Sequence[int]) -> list[Span]:
        """The range of the text of each token."""

    def words(self, ids: Sequence[int]) -> list[int]:
        """The number of each token's word."""


class TokenSequence:
    """One text or row of words, encoded.

    Attributes:
        ids: of its tokens.
        names: gives the texts of tokens.
        assistant: for each token 1 where an assistant's turn wrote it; None where the text is no conversation.
    """

    def __init__(
        self, ids: list[int], detail: Detail, names: Callable[[Sequence[int]], list[str]], assistant: Callable[[], list[int]] | None = None
    ) -> None:
        self.ids = ids
        self.names = names
        self._detail: Detail | None = detail
        self._assistant = assistant
        self._made: dict[str, list[Any]] = {}

    def __getstate__(self) -> dict[str, object]:
        """All of it, without the engine that makes it."""
        made = {"offsets": self.offsets(), "words": self.words(), "assistant": self.assistant(), "tokens": self.tokens()}
        return {"ids": self.ids, "names": None, "_detail": None, "_assistant": None, "_made": made}

    def offsets(self) -> list[Span]:
        """The range of the text of each token, in code points."""
        return self._kept("offsets", lambda detail: detail.offsets(self.ids))

    def words(self) -> list[int]:
        """The number of each token's word: of the words that were given, else of the pre-tokenizer's pieces."""
        return self._kept("words", lambda detail: detail.words(self.ids))

    def tokens(self) -> list[str]:
        """The text of each token, in the alphabet of bytes."""
        return self._kept("tokens", lambda _: self.names(self.ids))

    def assistant(self) -> list[int]:
        """1 for each token of an assistant's turn, 0 for others; all 0 where the text is no conversation."""
        return self._kept("assistant", lambda _: self._assistant() if self._assistant is not None else [0] * len(self.ids))

    def _kept(self, what: str, make: Callable[[Detail], list[Any]]) -> list[Any]:
        if what not in self._made:
            assert self._detail is not None  # an unpickled sequence has everything made
            self._made[what] = make(self._detail)
        return self._made[what]


class Stretch(NamedTuple):
    """Tokens ``start`` to ``end`` of a sequence; ``number`` is 0 for a text and 1 for its pair."""

    sequence: TokenSequence
    start: int
    end: int
    number: int

    def __len__(self) -> int:
        return self.end - self.start


class Padding(NamedTuple):
    """How many padding tokens stand on either side, and which."""

    left: int
    right: int
    id: int
    type_id: int
    token: str


NO_PADDING = Padding(0, 0, 0, 0, "")


class Encoding:
    """Ids with what belongs to each: read like ``tokenizers.Encoding``.

    Attributes:
        stretches: of the sequences it is made of.
        overflowing: what was cut off, each an encoding.
        padding: around the stretches.
    """

    def __init__(self, stretches: Sequence[Stretch], overflowing: Sequence[Encoding] = (), padding: Padding = NO_PADDING) -> None:
        self.stretches = tuple(stretches)
        self.overflowing = list(overflowing)
        self.padding = padding

    def __repr__(self) -> str:
        return f"Encoding(num_tokens={len(self)}, sequences={self.n_sequences}, overflowing={len(self.overflowing)})"

    def __len__(self) -> int:
        return sum(len(stretch) for stretch in self.stretches) + self.padding.left + self.padding.right

    # ---- a value for each token ----

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        return self._row(lambda stretch: stretch.sequence.ids, self.padding.id)

    @property
    def type_ids(self) -> list[int]:
        """0 for the first text, 1 for the second."""
        return self._filled(lambda stretch: stretch.number, self.padding.type_id)

    @property
    def tokens(self) -> list[str]:
        """Texts of the tokens, in the alphabet of bytes."""
        return self._row(lambda stretch: stretch.sequence.tokens(), self.padding.token)

    @property
    def offsets(self) -> list[Span]:
        """Ranges of each token's own text or word, in code points; (0, 0) for padding."""
        return [*self._offsets]

    @property
    def word_ids(self) -> list[int | None]:
        """Numbers of the words; None for padding."""
        return [*self._words]

    @property
    def words(self) -> list[int | None]:
        """The older name of :attr:`word_ids`."""
        return self.word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        """0 for the first text, 1 for the second, None for padding."""
        return self._filled(lambda stretch: stretch.number, None)

    @property
    def attention_mask(self) -> list[int]:
        """1 for tokens, 0 for padding."""
        return self._filled(lambda _: 1, 0)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for padding; the template of Qwen3 adds nothing else to a text."""
        return self._filled(lambda _: 0, 1)

    @property
    def assistant_mask(self) -> list[int]:
        """1 for tokens that an assistant's turn wrote."""
        return self._row(lambda stretch: stretch.sequence.assistant(), 0)

    # ---- from one to the other ----

    @property
    def n_sequences(self) -> int:
        """1, or 2 of a pair."""
        return len(self.stretches) or 1

    def token_to_sequence(self, token_index: int) -> int | None:
        """Which text a token is of; None for padding and outside."""
        return next((number for number in range(self.n_sequences) if token_index in self._range(number)), None)

    def token_to_chars(self, token_index: int) -> Span | None:
        """The range of a token; None for padding and outside."""
        return self._offsets[token_index] if self.token_to_sequence(token_index) is not None else None

    def token_to_word(self, token_index: int) -> int | None:
        """The word of a token; None for padding and outside."""
        return self._words[token_index] if self.token_to_sequence(token_index) is not None else None

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The tokens of a word of a text, from the first to behind the last; None where it has none."""
        tokens = self._range(sequence_index)
        found = [at for at, word in zip(tokens, islice(self._words, tokens.start, tokens.stop), strict=True) if word == word_index]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The range of a word of a text; None where it has no token."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        return None if tokens is None else (self._offsets[tokens[0]][0], self._offsets[tokens[1] - 1][1])

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first token of a text whose range holds a character; None where there is none."""
        offsets = self._offsets
        return next((at for at in self._range(sequence_index) if offsets[at][0] <= char_pos < offsets[at][1]), None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word of a text whose tokens hold a character; None where there is none."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    # ---- how they are made ----

    def joined(self, pair: Encoding) -> Encoding:
        """This one and its pair as one, and each of either's cut-off parts with all of the other's (as ``tokenizers`` joins them)."""
        overflowing = []
        for cut in self.overflowing:
            overflowing += [cut.joined(pair), *(cut.joined(other) for other in pair.overflowing)]
        overflowing += [self.joined(other) for other in pair.overflowing]
        return Encoding([*self.stretches, *pair.stretches], overflowing)

    def padded(self, length: int, side: str, padding: Padding) -> Encoding:
        """This one and its cut-off parts, each no shorter than ``length``."""
        overflowing = [cut.padded(length, side, padding) for cut in self.overflowing]
        missing = max(0, length - len(self))
        runs = padding._replace(left=missing if side == "left" else 0, right=0 if side == "left" else missing)
        return Encoding(self.stretches, overflowing, runs)

    # The ways from one to the other go through these again and again.
    @cached_property
    def _offsets(self) -> list[Span]:
        return self._row(lambda stretch: stretch.sequence.offsets(), (0, 0))

    @cached_property
    def _words(self) -> list[int | None]:
        return self._row(lambda stretch: stretch.sequence.words(), None)

    def _row(self, values: Callable[[Stretch], Sequence[T]], filler: T) -> list[T]:
        row = [filler] * self.padding.left
        for stretch in self.stretches:
            row += values(stretch)[stretch.start : stretch.end]
        row += [filler] * self.padding.right
        return row

    def _filled(self, value: Callable[[Stretch], T], filler: T) -> list[T]:
        row = [filler] * self.padding.left
        for stretch in self.stretches:
            row += [value(stretch)] * len(stretch)
        row += [filler] * self.padding.right
        return row

    def _range(self, number: int) -> range:
        """The tokens of a text; all of them where there is no text of this number."""
        start = self.padding.left
        for stretch in self.stretches:
            if stretch.number == number:
                return range(start, start + len(stretch))
            start += len(stretch)
        return range(len(self))
