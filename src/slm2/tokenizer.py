"""Tokenizer2's face: text to ids and back. It checks types and calls the engine; it computes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from slm2.artifact import Profile
from slm2.engine import Engine, OfOneProcess, SpecialPolicy, integer_id, integer_ids
from slm2.errors import Slm2Error
from slm2.reference.utf8 import to_utf8

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["Finding", "OnSpecial", "Text", "Tokenizer"]

Text = str | bytes | bytearray | memoryview
OnSpecial = Literal["literal", "reject"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The text of a special token inside a caller's text.

    Attributes:
        offset: where it begins, in bytes of the text's UTF-8.
        id: of the special token that it looks like; the text never becomes that id.
        text: the text itself.
    """

    offset: int
    id: int
    text: str


class Tokenizer(OfOneProcess):
    """Text to ids and back, for one profile.

    Text is ``str`` (unpaired surrogates count as U+FFFD, decisions D4) or bytes (encoded as they are, ill-formed or not). What a caller
    passes is untrusted: no text can become the id of a special token, except through :meth:`encode_trusted`.
    """

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._engine = engine
        self._profile: Profile = profile

    def __repr__(self) -> str:
        return f"Tokenizer(profile={self._profile!r}, engine={self._engine.name!r})"

    @property
    def vocabulary_size(self) -> int:
        """Number of plain tokens; special tokens have higher ids."""
        return self._engine.vocabulary_size

    @property
    def special_tokens(self) -> dict[str, int]:
        """Text of each special token to its id."""
        return {text.decode("utf-8"): token_id for token_id, text in self._engine.special_tokens}

    def encode(self, text: Text, *, on_special: OnSpecial = "literal") -> list[int]:
        """Ids of untrusted text.

        Args:
            text: any text or bytes.
            on_special: what to do where the text of a special token stands in it: ``literal`` encodes it as plain text
                (:meth:`find_special` reports it), ``reject`` refuses.

        Raises:
            Slm2Error: ``special_token_in_text`` with all findings, ``invalid_type``, ``invalid_value``.
        """
        return self._engine.encode(self._checked(text, on_special), self._profile)

    def encode_array(self, text: Text, *, on_special: OnSpecial = "literal") -> NDArray[numpy.uint32]:
        """The ids of :meth:`encode` as a one-dimensional read-only array of uint32."""
        import numpy  # noqa: PLC0415  (not needed for lists)

        return numpy.frombuffer(self._engine.encode_u32(self._checked(text, on_special), self._profile), dtype="<u4")

    def encode_spans(self, text: Text, *, on_special: OnSpecial = "literal") -> list[tuple[int, int, int]]:
        """``(id, start, end)``: the ids of :meth:`encode`, each with its range in bytes of the text's UTF-8."""
        return self._engine.encode_spans(self._checked(text, on_special), self._profile)

    def encode_trusted(self, text: Text) -> list[int]:
        """Ids of text in which the text of a special token **is** that token: for tools and tests, never for what users write."""
        return self._engine.encode_trusted(to_bytes(text), self._profile)

    def find_special(self, text: Text) -> list[Finding]:
        """Where the texts of special tokens stand in ``text``: leftmost, longest, not overlapping."""
        data = to_bytes(text)
        found = self._engine.find_special(data)
        return [Finding(start, token_id, data[start:end].decode("utf-8")) for start, end, token_id in found]

    def decode(self, ids: Iterable[int], *, special: SpecialPolicy) -> bytes:
        """The bytes of the tokens, which need not be UTF-8.

        Args:
            ids: of plain and special tokens: any iterable of integers, NumPy's included, that has an order.
            special: for ids of special tokens: ``refuse``, ``skip`` or ``bytes`` (their text).

        Raises:
            Slm2Error: ``token_id_out_of_range``, ``structural_id``, ``invalid_type``, ``invalid_value``.
        """
        if special not in ("refuse", "skip", "bytes"):
            raise Slm2Error("invalid_value", field="special", expected="refuse, skip or bytes", found=repr(special))
        return self._engine.decode(integer_ids("ids", ids), special)

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes of a plain token, or text of a special one.

        Raises:
            Slm2Error: ``token_id_out_of_range``, ``invalid_type``.
        """
        return self._engine.token_bytes(integer_id("token_id", token_id))

    def token_id(self, text: Text) -> int | None:
        """The plain token with exactly these bytes, by the vocabulary and not by encoding; None where there is none.

        Raises:
            Slm2Error: ``invalid_type``.
        """
        return self._engine.token_id(to_bytes(text))

    def _checked(self, text: Text, on_special: OnSpecial) -> bytes:
        if on_special not in ("literal", "reject"):
            raise Slm2Error("invalid_value", field="on_special", expected="literal or reject", found=repr(on_special))
        if on_special == "reject" and (findings := self.find_special(text)):
            raise Slm2Error("special_token_in_text", findings=[{"offset": f.offset, "id": f.id, "text": f.text} for f in findings])
        return to_bytes(text)


def to_bytes(text: Text) -> bytes:
    """The bytes that a text stands for.

    Raises:
        Slm2Error: ``invalid_type``.
    """
    if isinstance(text, str):
        return to_utf8(text)
    if isinstance(text, bytes | bytearray | memoryview):
        return text if type(text) is bytes else bytes(memoryview(text))  # a subclass does not decide its bytes
    raise Slm2Error("invalid_type", field="text", expected="str or bytes", found=type(text).__name__)
