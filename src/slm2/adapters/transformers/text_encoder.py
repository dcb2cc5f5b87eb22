"""Texts to ids, ranges and words for the tokenizer of this package. All ids are the engine's."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from slm2.adapters.transformers.alignment import byte_ranges
from slm2.adapters.transformers.byte_alphabet import text_of
from slm2.adapters.transformers.encoding import Span, TokenSequence
from slm2.artifact import Artifact, read
from slm2.contract import Contract
from slm2.text import to_bytes

__all__ = ["TextEncoder"]

# Characters of a batch from which starting threads costs less than they save (docs/performance.md).
_WORTH_THREADS = 1 << 16


class _Segment(NamedTuple):
    """A part of a text: plain, or the text of a special token that is taken for the token."""

    text: str
    start: int
    special: int | None


class TextEncoder:
    """One contract, with what only ranges and words need read when the first of them is asked for."""

    def __init__(self, contract: Contract, artifact: bytes, threads: int) -> None:
        self.contract = contract
        self.threads = threads
        self.special = contract.tokenizer.special_tokens
        self._artifact_bytes = artifact
        self._first_characters = tuple({text[0] for text in self.special})

    @cached_property
    def artifact(self) -> Artifact:
        """The tables, read by Python: no engine tells ranges as the publisher counts them."""
        return read(self._artifact_bytes)

    @cached_property
    def _special_names(self) -> dict[int, str]:
        return {token_id: text for text, token_id in self.special.items()}

    def names(self, ids: Sequence[int]) -> list[str]:
        """The texts of tokens, in the alphabet of bytes."""
        return [self.name(token_id) for token_id in ids]

    def name(self, token_id: int) -> str:
        """The text of a token, in the alphabet of bytes; a special token's own."""
        return self._special_names.get(token_id) or text_of(self.contract.tokenizer.token_bytes(token_id))

    def texts(self, texts: Sequence[str], structural: frozenset[int]) -> list[TokenSequence]:
        """Each text encoded; in it the texts of ``structural`` tokens are those tokens."""
        ids = self._ids(texts, structural)
        return [TokenSequence(row, _TextDetail(self, text, structural), self.names) for text, row in zip(texts, ids, strict=True)]

    def rows_of_words(self, rows: Sequence[Sequence[str]], structural: frozenset[int]) -> list[TokenSequence]:
        """Each row of words encoded, a word by itself; ranges are those of the word."""
        ids = iter(self._ids([*chain.from_iterable(rows)], structural))
        sequences = []
        for words in rows:
            of_words = [next(ids) for _ in words]
            detail = _WordsDetail(self, words, [len(row) for row in of_words], structural)
            sequences.append(TokenSequence([*chain.from_iterable(of_words)], detail, self.names))
        return sequences

    def segments(self, text: str, structural: frozenset[int]) -> list[_Segment]:
        """The text in its parts, none of them empty."""
        if not structural or not any(character in text for character in self._first_characters):
            return [_Segment(text, 0, None)] if text else []
        segments, at, searched = [], 0, 0
        for finding in self.contract.tokenizer.find_special(text):
            # Findings are the leftmost ones in their order: no other text of the same token stands between two of them.
            start = text.index(finding.text, searched)
            searched = start + len(finding.text)
            if finding.id not in structural:
                continue
            segments += [_Segment(text[at:start], at, None), _Segment(finding.text, start, finding.id)]
            at = searched
        segments.append(_Segment(text[at:], at, None))
        return [segment for segment in segments if segment.text]

    def _ids(self, texts: Sequence[str], structural: frozenset[int]) -> list[list[int]]:
        if not structural:
            return self._plain(texts)
        of_texts = [self.segments(text, structural) for text in texts]
        plain = iter(self._plain([segment.text for segments in of_texts for segment in segments if segment.special is None]))
        return [
            [*chain.from_iterable(next(plain) if segment.special is None else [segment.special] for segment in segments)]
            for segments in of_texts
        ]

    def _plain(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) == 1:
            return [self.contract.tokenizer.encode(texts[0])]
        worth_it = sum(map(len, texts)) >= _WORTH_THREADS
        return self.contract.tokenizer.encode_batch(texts, threads=self.threads if worth_it else 1)

    def offsets(self, text: str) -> list[Span]:
        """The range of each token of a plain text, in code points."""
        spans = self.contract.tokenizer.encode_spans(text, unit="code_points")
        ids = [token_id for token_id, _, _ in spans]
        if self._is_changed(text, ids) and (tables := self.artifact.normalization) is not None:
            ends = [*accumulate(len(self.contract.tokenizer.token_bytes(token_id)) for token_id in ids)]
            ranges = byte_ranges(text, tables)
            return [(ranges[start][0], ranges[end - 1][1]) for start, end in zip([0, *ends], ends, strict=False)]
        return [(start, end) for _, start, end in spans]

    def _is_changed(self, text: str, ids: Sequence[int]) -> bool:
        """Whether the ids of a text are of another one, that NFC made of it; asked without the tables, which are slow to read."""
        may_be = self.contract.profile == "publisher" and not text.isascii()
        return may_be and self.contract.tokenizer.decode(ids, special="refuse") != to_bytes(text)

    def piece_numbers(self, ids: Sequence[int]) -> list[int]:
        """For each token of a plain text the number of the pre-tokenizer's piece that it is of."""
        tokens = [self.contract.tokenizer.token_bytes(token_id) for token_id in ids]
        piece_ends = self.contract.engine.piece_ends(b"".join(tokens))
        # A token is of one piece, so it is of the first that ends with it or after it.
        return [bisect_left(piece_ends, end) for end in accumulate(map(len, tokens))]


class _TextDetail:
    def __init__(self, encoder: TextEncoder, text: str, structural: frozenset[int]) -> None:
        self._encoder = encoder
        self._text = text
        self._structural = structural

    def offsets(self, ids: Sequence[int]) -> list[Span]:  # noqa: ARG002  (as the protocol has it)
        offsets: list[Span] = []
        for text, start, special in _well_formed(self._encoder, self._text, self._structural):
            spans = [(0, len(text))] if special is not None else self._encoder.offsets(text)
            offsets += [(first + start, last + start) for first, last in spans]
        return offsets

    def words(self, ids: Sequence[int]) -> list[int]:
        return numbered(self._encoder, ids)


def numbered(encoder: TextEncoder, ids: Sequence[int]) -> list[int]:
    """For each token the number of its word: pieces of the pre-tokenizer and special tokens are words, counted through."""
    first_special = encoder.contract.tokenizer.vocabulary_size
    numbers: list[int] = []
    count = at = 0
    while at < len(ids):
        end = at
        while end < len(ids) and ids[end] < first_special:
            end += 1
        numbers += [count + number for number in encoder.piece_numbers(ids[at:end])]
        count = numbers[-1] + 1 if numbers else 0
        if end < len(ids):
            numbers.append(count)
            count, end = count + 1, end + 1
        at = end
    return numbers


class _WordsDetail:
    def __init__(self, encoder: TextEncoder, words: Sequence[str], lengths: list[int], structural: frozenset[int]) -> None:
        self._details = [_TextDetail(encoder, word, structural) for word in words]
        self._lengths = lengths

    def offsets(self, ids: Sequence[int]) -> list[Span]:
        return [span for detail in self._details for span in detail.offsets(ids)]

    def words(self, ids: Sequence[int]) -> list[int]:  # noqa: ARG002  (as the protocol has it)
        return [number for number, length in enumerate(self._lengths) for _ in range(length)]


def _well_formed(encoder: TextEncoder, text: str, structural: frozenset[int]) -> list[_Segment]:
    """The segments of a text in which unpaired surrogates are what they are encoded as, U+FFFD (decisions D4)."""
    return encoder.segments(to_bytes(text).decode("utf-8"), structural)
