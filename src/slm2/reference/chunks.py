"""Text that arrives in parts, and text that grows (contract/tokenizer.md, T-15 and T-16)."""

from __future__ import annotations

from itertools import takewhile

from slm2.artifact.layout import integer_bytes
from slm2.errors import Slm2Error
from slm2.reference.normalize import normalize, settled, too_long_stretch
from slm2.reference.tokenizer import Settings, encode_certain, encode_normalized, normalized


class ReferenceChunks:
    """The ids of a text that arrives in parts, cut anywhere; see :class:`slm2.engine.EngineChunks`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._raw = b""  # not normalised yet
        self._text = b""  # normalised, from the first piece that is not decided
        self._encoded = 0  # normalised bytes before it
        self._closed = False

    @property
    def pending(self) -> int:
        return 0 if self._closed else len(self._raw) + len(self._text)

    def copy(self) -> ReferenceChunks:
        """Another one that goes on from here."""
        other = ReferenceChunks(self._settings)
        other._raw, other._text, other._encoded, other._closed = self._raw, self._text, self._encoded, self._closed
        return other

    def push(self, data: bytes) -> list[int]:
        self._check_open()
        self._closed = True  # until it went well
        tables = self._settings.tables
        if tables is None:
            self._text += data
        else:
            self._raw += data
            self._check_stretches()
            end = settled(self._raw, tables)
            self._text += b"".join(scalar.data for scalar in normalize(self._raw[:end], tables))
            self._raw = self._raw[end:]
        ids = self._encode_certain()
        self._closed = False
        return ids

    def push_u32(self, data: bytes) -> bytes:
        return integer_bytes("I", self.push(data))

    def rest(self) -> list[int]:
        return self.copy().finish()

    def finish_u32(self) -> bytes:
        return integer_bytes("I", self.finish())

    def finish(self) -> list[int]:
        self._check_open()
        self._closed = True
        try:
            self._text += b"".join(scalar.data for scalar in normalized(self._settings, self._raw))
            ids = encode_normalized(self._settings, self._text)
        except Slm2Error as error:
            raise _shifted(error, self._encoded) from None
        self._raw = self._text = b""
        return ids

    def _check_stretches(self) -> None:
        """Refuse a stretch that is too long, unless a piece before it is."""
        tables, limit = self._settings.tables, self._settings.max_pretoken
        stretch = None if tables is None else too_long_stretch(self._raw, tables, limit)
        if tables is not None and stretch is not None:
            self._text += b"".join(scalar.data for scalar in normalize(self._raw[:stretch], tables))
            start = self._encoded + len(self._text)
            self._encode_certain()
            raise Slm2Error("pretoken_too_long", start=start, limit=limit)

    def _encode_certain(self) -> list[int]:
        try:
            ids, end = encode_certain(self._settings, self._text)
        except Slm2Error as error:
            raise _shifted(error, self._encoded) from None
        self._text = self._text[end:]
        self._encoded += end
        return ids

    def _check_open(self) -> None:
        if self._closed:
            raise Slm2Error("text_closed")


def _shifted(error: Slm2Error, by: int) -> Slm2Error:
    """The same error further on in the text."""
    start = error.fields["start"]
    return Slm2Error(error.code, **{**error.fields, "start": start + by if isinstance(start, int) else start})


class ReferenceText:
    """The ids of a text that grows at its end; see :class:`slm2.engine.EngineText`."""

    def __init__(self, settings: Settings) -> None:
        self._chunks = ReferenceChunks(settings)
        self._certain = 0
        self._tail: list[int] = []

    @property
    def count(self) -> int:
        return self._certain + len(self._tail)

    def copy(self) -> ReferenceText:
        other = ReferenceText.__new__(ReferenceText)
        other._chunks, other._certain, other._tail = self._chunks.copy(), self._certain, list(self._tail)
        return other

    def append(self, data: bytes) -> tuple[int, list[int]]:
        chunks = self._chunks.copy()
        certain = chunks.push(data)
        tail = chunks.rest()
        ids = certain + tail
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(self._tail, ids, strict=False))))
        keep = self._certain + same
        self._chunks, self._tail = chunks, tail
        self._certain += len(certain)
        return keep, ids[same:]
