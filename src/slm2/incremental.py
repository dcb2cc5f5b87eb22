"""Text that arrives in parts, and text that grows: the ids of the whole, without encoding it again."""

from __future__ import annotations

from typing import NamedTuple

from slm2.artifact import Profile
from slm2.engine import Engine, EngineChunks, EngineText, OfOneProcess
from slm2.text import Text, to_bytes

__all__ = ["ChunkEncoder", "Delta", "EncodedText"]

_HIGH_SURROGATES = ("\ud800", "\udbff")


class Delta(NamedTuple):
    """How the ids of a text changed.

    Attributes:
        keep: the first so many ids stay as they were; those after them are gone.
        append: the ids that come after them now.
    """

    keep: int
    append: list[int]


class ChunkEncoder(OfOneProcess):
    """Encodes a text that arrives in parts, cut anywhere, inside a character too (contract/tokenizer.md, T-15).

    What :meth:`push` and :meth:`finish` return, one after the other, are the ids of all parts as one text. What waits in between is
    the piece that is not decided and, in profile ``publisher``, the marks that may still change: not the text.
    """

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._chunks: EngineChunks = engine.chunks(profile)
        self._surrogate = ""

    @property
    def pending(self) -> int:
        """Bytes that wait for what comes after them."""
        return self._chunks.pending

    def push(self, part: Text) -> list[int]:
        """The ids that are certain with this part.

        Raises:
            Slm2Error: ``pretoken_too_long`` (ends the text), ``text_closed``, ``invalid_type``.
        """
        return self._chunks.push(self._joined(part))

    def finish(self) -> list[int]:
        """End the text: the ids of what waited.

        Raises:
            Slm2Error: ``pretoken_too_long``, ``text_closed``.
        """
        rest = self._chunks.push(to_bytes(self._surrogate)) if self._surrogate else []
        self._surrogate = ""
        return rest + self._chunks.finish()

    def _joined(self, part: Text) -> bytes:
        """The bytes of a part, where a pair of surrogates may be cut between two of them (T-2)."""
        if not isinstance(part, str):
            data = to_bytes(part)
            held, self._surrogate = to_bytes(self._surrogate), ""
            return held + data
        text, self._surrogate = self._surrogate + part, ""
        if text and _HIGH_SURROGATES[0] <= text[-1] <= _HIGH_SURROGATES[1]:
            text, self._surrogate = text[:-1], text[-1]
        return to_bytes(text)


class EncodedText(OfOneProcess):
    """A text with its ids, which grows at its end (contract/tokenizer.md, T-16).

    ``ids`` are always those of all the text in one piece, although only its end is encoded again: two texts that are encoded apart
    and put together often have other ids than they have as one.
    """

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._text: EngineText = engine.growing_text(profile)
        self._ids: list[int] = []

    def __len__(self) -> int:
        """How many ids the text has."""
        return len(self._ids)

    @property
    def ids(self) -> list[int]:
        """A copy of the ids."""
        return list(self._ids)

    def append(self, text: Text) -> Delta:
        """Append text; it costs what is new and the piece before it, and not what came earlier.

        A part is a text of its own: bytes may be cut inside a character, which its rest then completes; a ``str`` may not be cut
        inside a pair of surrogates.

        Raises:
            Slm2Error: ``pretoken_too_long``, ``invalid_type``; the text is then what it was.
        """
        keep, ids = self._text.append(to_bytes(text))
        self._ids[keep:] = ids
        return Delta(keep, ids)

    def copy(self) -> EncodedText:
        """Another text that goes on from here; neither changes the other."""
        other = EncodedText.__new__(EncodedText)
        other._text, other._ids = self._text.copy(), list(self._ids)
        return other
