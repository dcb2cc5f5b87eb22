"""What stands where transformers expects a ``tokenizers.Tokenizer``: the part of it that is asked for, answered by the engine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from threading import local
from typing import Any, Literal

from slm2.adapters.transformers.byte_alphabet import bytes_of, text_of
from slm2.adapters.transformers.chat_prompt import ChatPrompt, sequence_of
from slm2.adapters.transformers.cutting import Truncation, encoded
from slm2.adapters.transformers.encoding import Encoding, Padding, TokenSequence
from slm2.adapters.transformers.text_encoder import TextEncoder
from slm2.artifact import Profile
from slm2.contract import Contract, Source, embedded, load
from slm2.engine import EngineChoice, integer_id, shown_integer
from slm2.errors import Slm2Error
from slm2.files import read_file

__all__ = ["EngineBackend", "SpecialText"]

SpecialText = Literal["literal", "parse"]


class _Settings(local):
    """Of one thread: transformers sets them before each call, and two threads must not set each other's."""

    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None
    encode_special_tokens: bool | None = None


class EngineBackend:
    """A contract behind the names of ``tokenizers.Tokenizer``.

    Attributes:
        special_text: ``literal`` or ``parse``.
        model, normalizer, pre_tokenizer, decoder, post_processor: None. They are in the artifact, and cannot be taken out or exchanged.
    """

    model = normalizer = pre_tokenizer = decoder = post_processor = None

    def __init__(  # noqa: PLR0913  (each has a meaning of its own)
        self,
        *,
        special_text: SpecialText,
        profile: Profile,
        artifact: Source,
        engine: EngineChoice,
        threads: int | None,
        flagged: Iterable[str],
    ) -> None:
        self.special_text = special_text
        self._profile: Profile = profile
        self._engine: EngineChoice = engine
        self._threads = threads
        # Kept as bytes unless it is the embedded one, which every process has.
        self._artifact = None if artifact is None else _bytes(artifact)
        self._flagged = set(flagged)
        self._open()

    def _open(self) -> None:
        data = embedded() if self._artifact is None else self._artifact
        self.contract: Contract = load(data, engine=self._engine, profile=self._profile)
        self.encoder = TextEncoder(self.contract, data, self._threads if self._threads is not None else os.cpu_count() or 1)
        self._settings = _Settings()
        self._vocabulary: dict[str, int] | None = None

    def __getstate__(self) -> dict[str, object]:
        """The artifact's bytes, or the digest of the embedded one; another process opens it again."""
        made_again = ("contract", "encoder", "_settings", "_vocabulary")
        state = {name: value for name, value in self.__dict__.items() if name not in made_again}
        return {**state, "digest": self.contract.file_digest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        digest = state.pop("digest")
        self.__dict__.update(state)
        self._open()
        if self.contract.file_digest != digest:
            raise Slm2Error("invalid_value", field="artifact", expected=f"SHA-256 {digest}", found=self.contract.file_digest)

    @property
    def artifact(self) -> bytes:
        """The bytes of the artifact."""
        return embedded() if self._artifact is None else self._artifact

    # ---- what is set for a call ----

    @property
    def truncation(self) -> dict[str, Any] | None:
        """Where texts are cut, None for nowhere."""
        return self._settings.truncation

    def enable_truncation(self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right") -> None:
        """Cut texts from now on.

        Raises:
            Slm2Error: ``invalid_value``, ``invalid_type``.
        """
        Truncation(max_length, stride, strategy, direction).check()
        self._settings.truncation = {"max_length": max_length, "stride": stride, "strategy": strategy, "direction": direction}

    def no_truncation(self) -> None:
        """Cut no text from now on."""
        self._settings.truncation = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """How texts are padded, None for not at all."""
        return self._settings.padding

    def enable_padding(self, **padding: Any) -> None:  # noqa: ANN401  (the names of tokenizers, checked by transformers)
        """Pad texts from now on, by ``length``, ``direction``, ``pad_id``, ``pad_token``, ``pad_type_id``, ``pad_to_multiple_of``."""
        length, multiple = padding["length"], padding["pad_to_multiple_of"]
        if length is not None and integer_id("max_length", length) < 0:
            raise Slm2Error("invalid_value", field="max_length", expected="0 or more", found=shown_integer(length))
        if padding["direction"] not in ("left", "right"):
            raise Slm2Error("invalid_value", field="padding_side", expected="left or right", found=repr(padding["direction"]))
        if multiple is not None and integer_id("pad_to_multiple_of", multiple) < 0:
            raise Slm2Error("invalid_value", field="pad_to_multiple_of", expected="0 or more, or None", found=shown_integer(multiple))
        self._settings.padding = padding

    def no_padding(self) -> None:
        """Pad no text from now on."""
        self._settings.padding = None

    @property
    def encode_special_tokens(self) -> bool:
        """Whether the texts of special tokens are plain text."""
        chosen = self._settings.encode_special_tokens
        return self.special_text == "literal" if chosen is None else chosen

    @encode_special_tokens.setter
    def encode_special_tokens(self, chosen: bool) -> None:
        if self.special_text == "literal" and not chosen:
            expected = "True: text is literal for this tokenizer; one made with special_text='parse' takes special tokens from text"
            raise Slm2Error("invalid_value", field="split_special_tokens", expected=expected, found="False")
        self._settings.encode_special_tokens = bool(chosen)

    # ---- texts to encodings ----

    def encode_batch(self, batch: Sequence[Any], *, add_special_tokens: bool = True, is_pretokenized: bool = False) -> list[Encoding]:  # noqa: ARG002
        """Encodings of texts, or of pairs as tuples or lists of two; a pre-tokenized text is a list or tuple of words.

        Args:
            batch: the texts.
            add_special_tokens: none are ever added: the artifact's template adds them, not its tokenizer.
            is_pretokenized: whether texts are rows of words.

        Raises:
            Slm2Error: ``invalid_type``, ``invalid_value`` for a truncation that cannot be done, ``pretoken_too_long``.
        """
        pairs = [_pair(item, at, words=is_pretokenized) for at, item in enumerate(batch)]
        sequences = iter(self._sequences([text for pair in pairs for text in pair], words=is_pretokenized))
        settings = self._settings.truncation
        truncation = None if settings is None else Truncation(**settings)
        encodings = [encoded(next(sequences), next(sequences) if len(pair) == 2 else None, truncation) for pair in pairs]
        return encodings if self._settings.padding is None else _padded(encodings, self._settings.padding)

    def _sequences(self, texts: list[Any], *, words: bool) -> list[TokenSequence]:
        structural = self._structural()
        if words:
            return self.encoder.rows_of_words(texts, structural)
        if not any(type(text) is ChatPrompt for text in texts):
            return self.encoder.texts(texts, structural)
        return [
            sequence_of(self.encoder, text) if type(text) is ChatPrompt else self.encoder.texts([text], structural)[0] for text in texts
        ]

    def _structural(self) -> frozenset[int]:
        """The tokens that text can become."""
        if self.special_text == "literal":
            return frozenset()
        special = self.encoder.special
        if self.encode_special_tokens:
            # As the publisher's program does it: those that are not flagged as special are found in text all the same.
            return frozenset(token_id for text, token_id in special.items() if text not in self._flagged)
        return frozenset(special.values())

    # ---- ids to text ----

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """Text of ids, with U+FFFD for bytes that are none; ``skip_special_tokens`` leaves out those that are flagged as special.

        Raises:
            Slm2Error: ``token_id_out_of_range``.
        """
        if skip_special_tokens:
            flagged = {token_id for text, token_id in self.encoder.special.items() if text in self._flagged}
            ids = [token_id for token_id in ids if token_id not in flagged]
        return self.contract.tokenizer.decode(ids, special="bytes").decode("utf-8", errors="replace")

    # ---- the vocabulary ----

    def token_to_id(self, token: str) -> int | None:
        """The id of a token's text, in the alphabet of bytes; None where there is none."""
        special = self.encoder.special.get(token)
        if special is not None:
            return special
        data = bytes_of(token)
        return None if not data else self.contract.tokenizer.token_id(data)

    def id_to_token(self, token_id: int) -> str | None:
        """The text of a token, in the alphabet of bytes; None where there is none."""
        return self.encoder.name(token_id) if 0 <= token_id < self.contract.engine.token_limit else None

    def get_vocab_size(self, *, with_added_tokens: bool = True) -> int:
        """How many tokens there are, with or without the special ones."""
        plain = self.contract.tokenizer.vocabulary_size
        return plain + len(self.encoder.special) if with_added_tokens else plain

    def get_vocab(self, *, with_added_tokens: bool = True) -> dict[str, int]:
        """Texts of tokens to ids, a new dictionary."""
        if self._vocabulary is None:
            token_bytes = self.contract.tokenizer.token_bytes
            self._vocabulary = {text_of(token_bytes(token_id)): token_id for token_id in range(self.contract.tokenizer.vocabulary_size)}
        return {**self._vocabulary, **self.encoder.special} if with_added_tokens else dict(self._vocabulary)

    def is_flagged(self, token: str) -> bool:
        """Whether a special token counts as special for decoding and masks."""
        return token in self._flagged

    def num_special_tokens_to_add(self, pair: bool = False) -> int:  # noqa: ARG002  (tokenizers' own form)
        """None: the artifact's template adds them, not its tokenizer."""
        return 0

    def add_tokens(self, tokens: Iterable[Any]) -> int:
        """Take tokens that are the artifact's special tokens already, so that 0 are added.

        Raises:
            Slm2Error: ``invalid_value`` for any other: the artifact is sealed.
        """
        for token in tokens:
            if str(token) not in self.encoder.special:
                expected = "special tokens of the artifact, which is sealed and takes no others"
                raise Slm2Error("invalid_value", field="new_tokens", expected=expected, found=repr(str(token)))
            if getattr(token, "special", False):
                self._flagged.add(str(token))
        return 0

    def add_special_tokens(self, tokens: Iterable[Any]) -> int:
        """As :meth:`add_tokens`; they count as special from now on."""
        taken = list(tokens)
        self.add_tokens(taken)
        self._flagged.update(str(token) for token in taken)
        return 0


def _bytes(artifact: Source) -> bytes:
    if isinstance(artifact, str | os.PathLike):
        return read_file(os.fspath(artifact))
    return bytes(artifact) if artifact is not None else b""


def _pair(item: Any, at: int, *, words: bool) -> list[Any]:  # noqa: ANN401  (it is what is checked here)
    """A text alone, or with its pair; of words where they are asked for."""
    is_text = _is_words if words else _is_string
    if is_text(item):
        return [item]
    if isinstance(item, list | tuple) and len(item) == 2 and all(map(is_text, item)):
        return [*item]
    expected = "a list of words, or two of them" if words else "a str, or two of them"
    raise Slm2Error("invalid_type", field=f"text[{at}]", expected=expected, found=type(item).__name__)


def _is_string(item: object) -> bool:
    return isinstance(item, str)


def _is_words(item: object) -> bool:
    return isinstance(item, list | tuple) and all(map(_is_string, item))


def _padded(encodings: list[Encoding], padding: dict[str, Any]) -> list[Encoding]:
    """All as long as the longest, or as a length that is given, rounded up to a multiple."""
    if not encodings:
        return encodings
    length = padding["length"] if padding["length"] is not None else max(map(len, encodings))
    multiple = padding["pad_to_multiple_of"] or 0
    if multiple > 0 and length % multiple:
        length += multiple - length % multiple
    filler = Padding(0, 0, padding["pad_id"], padding["pad_type_id"], padding["pad_token"])
    return [encoding.padded(length, padding["direction"], filler) for encoding in encodings]
