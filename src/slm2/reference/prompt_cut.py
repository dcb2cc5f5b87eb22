"""Where a text that is too long is cut (contract/prompt.md, P-67)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, takewhile

from slm2.reference.rendering import Spans

# Decisions D2: the 25 scalar values, whatever the host's tables say.
_WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_ANY_SPACE = b"|".join(scalar.encode() for scalar in _WHITE_SPACE)
_FULL_WIDTH = b"|".join(scalar.encode() for scalar in "。！？")
_SENTENCE_END = re.compile(b"[.!?](?=%b)|%b" % (_ANY_SPACE, _FULL_WIDTH))


def cut_at(data: bytes, limit: int, encode_spans: Spans, is_inside: Callable[[int], bool]) -> int:
    """The byte before which a text is cut.

    Args:
        data: UTF-8 of a text that has more tokens than it may have.
        limit: how many it may have, with the mark of the cut.
        encode_spans: plain encoding.
        is_inside: whether a byte lies inside an escape.
    """
    place = boundary(data, limit, encode_spans, is_inside)
    return moved_back(data, place)


def boundary(data: bytes, limit: int, encode_spans: Spans, is_inside: Callable[[int], bool]) -> int:
    """The last boundary of at most ``limit`` tokens that is none of a part of a scalar value or of an escape."""
    spans = encode_spans(data)
    ends = [0, *accumulate((end for _, _, end in spans), max)]
    starts = [len(data), *accumulate((start for _, start, _ in reversed(spans)), min)][::-1]
    for number in range(min(limit, len(spans)), 0, -1):
        place = ends[number]
        if place <= starts[number] and _is_scalar_boundary(data, place) and not is_inside(place):
            return place
    return 0


def moved_back(data: bytes, place: int) -> int:
    """Back to the end of a line, or else of a sentence, in the last tenth before ``place``."""
    least = place - place // 10
    line = data.rfind(b"\n", 0, place) + 1
    if line >= max(least, 1):
        return line
    ends = (match.end() for match in _SENTENCE_END.finditer(data, max(least - 3, 0)))
    return max((end for end in takewhile(lambda end: end <= place, ends) if end >= least), default=place)


def _is_scalar_boundary(data: bytes, place: int) -> bool:
    return place == len(data) or data[place] & 0xC0 != 0x80
