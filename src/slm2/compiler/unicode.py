"""Sets of scalar values as the pattern's classes name them, from pinned Unicode tables (decisions D2).

A set is an int: bit ``c`` is scalar value ``c``. One more bit, :data:`ILL_FORMED`, stands for a byte that is no part of a
well-formed scalar value: it is in no property, so that every complement holds it, as decisions D2 wants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from slm2.errors import Slm2Error

ILL_FORMED = 0x110000
_SURROGATES = ((1 << 0x800) - 1) << 0xD800
EVERYTHING = ((1 << (ILL_FORMED + 1)) - 1) & ~_SURROGATES

# CaseFolding-16.0.0.txt, status C and S: the scalar values beyond ASCII whose simple folding is an ASCII letter.
_FOLDS_TO_ASCII = {"s": 0x17F, "k": 0x212A}
# The same file, status F: letters that one scalar value folds to together (ß, ﬀ, ﬁ, ﬂ, ﬅ). A regex engine may match that
# scalar value where the pattern has the letters, so text with them is refused rather than half supported.
FOLDED_TOGETHER = ("ss", "ff", "fi", "fl", "st")


def one(scalar: int) -> int:
    """The set of one scalar value."""
    return 1 << scalar


def span(first: int, last: int) -> int:
    """The set of the scalar values ``first`` to ``last``."""
    return (((1 << (last - first + 1)) - 1) << first) & EVERYTHING


def complement(values: int) -> int:
    """Everything else, ill-formed bytes included unless they were in ``values``."""
    return EVERYTHING & ~values


def folded(letter: str) -> int:
    """The scalar values whose simple case folding is that of an ASCII character."""
    values = one(ord(letter.lower())) | one(ord(letter.upper()))
    extra = _FOLDS_TO_ASCII.get(letter.lower())
    return values if extra is None else values | one(extra)


def runs(values: int) -> Iterator[tuple[int, int]]:
    """``(first, last)`` of each run of a set, rising."""
    for match in re.finditer("1+", f"{values:b}"[::-1]):
        yield match.start(), match.end() - 1


@cache
def unicode_version() -> str:
    """Version of the tables in use."""
    return str(_database().unidata_version)


@cache
def category(name: str) -> int | None:
    """The scalar values of a general category (``Lu``) or a group of them (``L``); None where there is none of that name."""
    values = 0
    for code, members in _categories().items():
        if code == name or (len(name) == 1 and code[0] == name):
            values |= members
    return values or None


def white_space() -> int:
    """The 25 scalar values of White_Space: separators, the controls TAB to CR, and NEL (PropList-16.0.0.txt)."""
    return (category("Z") or 0) | span(0x09, 0x0D) | one(0x85)


@cache
def _categories() -> dict[str, int]:
    """Each two-letter general category as a set."""
    lookup = _database().category
    members: dict[str, bytearray] = {}
    for scalar in range(0x110000):
        code = lookup(chr(scalar))
        bits = members.get(code)
        if bits is None:
            bits = members[code] = bytearray(0x110000 // 8)
        bits[scalar >> 3] |= 1 << (scalar & 7)
    return {code: int.from_bytes(bits, "little") & EVERYTHING for code, bits in members.items()}


@cache
def _database():  # type: ignore[no-untyped-def]  # noqa: ANN202  (a module of an extra; it ships no types)
    try:
        import unicodedata2  # noqa: PLC0415  (needed to compile, not to use an artifact)
    except ImportError:
        raise Slm2Error("dependency_missing", package="unicodedata2", extra="compile") from None
    return unicodedata2
