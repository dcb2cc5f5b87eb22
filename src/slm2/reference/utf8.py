"""Host strings to bytes (decisions D4), and which bytes are well-formed UTF-8 (Unicode table 3-7)."""

from __future__ import annotations

from collections.abc import Iterator

# Table 3-7: range of the lead byte -> ranges of the bytes that must follow.
_TAIL = (0x80, 0xBF)
WELL_FORMED: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0x00, 0x7F),),
    ((0xC2, 0xDF), _TAIL),
    ((0xE0, 0xE0), (0xA0, 0xBF), _TAIL),
    ((0xE1, 0xEC), _TAIL, _TAIL),
    ((0xED, 0xED), (0x80, 0x9F), _TAIL),
    ((0xEE, 0xEF), _TAIL, _TAIL),
    ((0xF0, 0xF0), (0x90, 0xBF), _TAIL, _TAIL),
    ((0xF1, 0xF3), _TAIL, _TAIL, _TAIL),
    ((0xF4, 0xF4), (0x80, 0x8F), _TAIL, _TAIL),
)
_SEQUENCE_OF_LEAD = {lead: ranges for ranges in WELL_FORMED for lead in range(ranges[0][0], ranges[0][1] + 1)}


def to_utf8(text: str) -> bytes:
    """UTF-8 of a host string; each unpaired surrogate becomes U+FFFD, a pair becomes its scalar value.

    Only the characters count: what a subclass of str makes of ``encode`` is not asked.
    """
    try:
        return str.encode(text, "utf-8")
    except UnicodeEncodeError:
        # Through UTF-16, so that a str holds what the same JavaScript or .NET string holds.
        return str.encode(text, "utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode("utf-8")


def scalar_length(data: bytes, at: int) -> int:
    """Length in bytes of the well-formed scalar value at ``at``; 0 where there is none."""
    ranges = _SEQUENCE_OF_LEAD.get(data[at], ())
    tail = data[at : at + len(ranges)]
    well_formed = len(tail) == len(ranges) and all(low <= byte <= high for byte, (low, high) in zip(tail, ranges, strict=True))
    return len(ranges) if well_formed else 0


def character_length(data: bytes) -> int:
    """Length of the first character of bytes that are not empty: a scalar value, or what stands for one U+FFFD where it is ill formed.

    That is a *maximal subpart* (Unicode Standard, section 3.9): the longest beginning of a scalar value, at least one byte.
    """
    ranges = _SEQUENCE_OF_LEAD.get(data[0], ())
    length = 0
    for byte, (low, high) in zip(data, ranges, strict=False):
        if not low <= byte <= high:
            break
        length += 1
    return max(length, 1)


def is_open(tail: bytes) -> bool:
    """Whether ``tail`` is the proper beginning of a scalar value, so that more bytes can make it well formed."""
    ranges = _SEQUENCE_OF_LEAD.get(tail[0], ()) if tail else ()
    return len(tail) < len(ranges) and all(low <= byte <= high for byte, (low, high) in zip(tail, ranges, strict=False))


def scalars(data: bytes) -> Iterator[tuple[int, int, int | None]]:
    """``(start, end, scalar value)`` of each unit of ``data``; a byte that is no part of a scalar value is a unit with None."""
    at = 0
    # surrogateescape turns each such byte into a surrogate of its own, which no well-formed text holds.
    for char in data.decode("utf-8", "surrogateescape"):
        value = ord(char)
        if 0xDC80 <= value <= 0xDCFF:
            yield at, at + 1, None
            at += 1
        else:
            end = at + 1 + (value > 0x7F) + (value > 0x7FF) + (value > 0xFFFF)
            yield at, end, value
            at = end
