"""NFC with source ranges (contract/normalization.md), by the tables of the artifact and never by the host's Unicode."""

from __future__ import annotations

from typing import NamedTuple

from slm2.artifact.normalization import NormalizationTables
from slm2.reference.utf8 import character_length, is_open, scalar_length, scalars

# Hangul, by arithmetic (Unicode Standard, section 3.12).
SYLLABLE_BASE, LEAD_BASE, VOWEL_BASE, TAIL_BASE = 0xAC00, 0x1100, 0x1161, 0x11A7
LEAD_COUNT, VOWEL_COUNT, TAIL_COUNT = 19, 21, 28
SYLLABLE_COUNT = LEAD_COUNT * VOWEL_COUNT * TAIL_COUNT


class Normalized(NamedTuple):
    """A scalar value of the normalised text, or an ill-formed byte.

    Attributes:
        data: its bytes.
        start: where the source scalar values that went into it begin, in bytes of the caller's text.
        end: where they end: ``[start, end)`` is the least range that holds them all.
        exact: whether it is one source scalar value unchanged, so that its bytes map one to one.
    """

    data: bytes
    start: int
    end: int
    exact: bool


class _Scalar(NamedTuple):
    """A scalar value on its way, its combining class and the source range it comes from."""

    value: int
    combining_class: int
    start: int
    end: int


def normalize(data: bytes, tables: NormalizationTables) -> list[Normalized]:
    """NFC of each well-formed stretch of ``data``; ill-formed bytes stay as they are and part the stretches.

    Args:
        data: the caller's text, any bytes.
        tables: of the artifact.

    Returns:
        The normalised text in order; the ``data`` of all, one after the other, is its bytes.
    """
    result: list[Normalized] = []
    stretch: list[_Scalar] = []
    for start, end, value in scalars(data):
        if value is not None:
            stretch += [_Scalar(part, tables.classes.get(part, 0), start, end) for part in decompose(value, tables)]
        else:
            result += _normalized(stretch, tables, data)
            result.append(Normalized(data[start:end], start, end, True))
            stretch = []
    return result + _normalized(stretch, tables, data)


def too_long_stretch(data: bytes, tables: NormalizationTables, limit: int) -> int | None:
    """Where the first stretch of more than ``limit`` bytes begins, counted to the last scalar value that does not part it.

    A stretch begins with the text, after ill-formed bytes, and with each scalar value that parts.
    """
    stretch = 0
    if len(data) <= limit:
        return None
    for start, end, value in scalars(data):
        if value is None:
            stretch = end
        elif parts(value, tables):
            stretch = start
        elif start - stretch > limit:
            return stretch
    return None


def settled(data: bytes, tables: NormalizationTables) -> int:
    """The bytes at the beginning of ``data`` that no more text changes the normal form of; those after them wait."""
    end = 0
    rest = data
    while rest:
        at = len(data) - len(rest)
        length = scalar_length(rest, 0)
        if length:
            if parts(ord(rest[:length].decode("utf-8")), tables):
                end = at
        elif is_open(rest):
            break
        else:
            length = character_length(rest)
            end = at + length
        rest = rest[length:]
    return end


def parts(value: int, tables: NormalizationTables) -> bool:
    """Whether what comes before a scalar value and what comes from it on can be normalised apart (contract/normalization.md)."""
    if tables.classes.get(value, 0) or value in tables.seconds:
        return False
    if not 0 <= value - SYLLABLE_BASE < SYLLABLE_COUNT:
        if 0 <= value - VOWEL_BASE < VOWEL_COUNT or 0 < value - TAIL_BASE < TAIL_COUNT:
            return False
        if value not in tables.decompositions:
            return True
        if value not in tables.composites:
            return False
    return parts(decompose(value, tables)[0], tables)


def decompose(value: int, tables: NormalizationTables) -> tuple[int, ...]:
    """The full canonical decomposition of a scalar value; itself where it has none."""
    index = value - SYLLABLE_BASE
    if not 0 <= index < SYLLABLE_COUNT:
        return tables.decompositions.get(value, (value,))
    lead_and_vowel, tail = divmod(index, TAIL_COUNT)
    lead, vowel = divmod(lead_and_vowel, VOWEL_COUNT)
    parts = (LEAD_BASE + lead, VOWEL_BASE + vowel)
    return (*parts, TAIL_BASE + tail) if tail else parts


def compose_pair(first: int, second: int, tables: NormalizationTables) -> int | None:
    """The primary composite of two scalar values; None where there is none. Hangul comes before the table."""
    lead, vowel = first - LEAD_BASE, second - VOWEL_BASE
    if 0 <= lead < LEAD_COUNT and 0 <= vowel < VOWEL_COUNT:
        return SYLLABLE_BASE + (lead * VOWEL_COUNT + vowel) * TAIL_COUNT
    index, tail = first - SYLLABLE_BASE, second - TAIL_BASE
    if 0 <= index < SYLLABLE_COUNT and index % TAIL_COUNT == 0 and 0 < tail < TAIL_COUNT:
        return first + tail
    return tables.compositions.get((first, second))


def _normalized(stretch: list[_Scalar], tables: NormalizationTables, data: bytes) -> list[Normalized]:
    """The end of the way for a decomposed stretch: order, compose, encode."""
    result = []
    for scalar in _compose(_canonical_order(stretch), tables):
        encoded = chr(scalar.value).encode("utf-8")
        exact = encoded == data[scalar.start : scalar.end]
        result.append(Normalized(encoded, scalar.start, scalar.end, exact))
    return result


def _canonical_order(stretch: list[_Scalar]) -> list[_Scalar]:
    """Each run of marks (class above 0) sorted by class; marks of one class keep their order."""
    result: list[_Scalar] = []
    marks: list[_Scalar] = []
    for scalar in stretch:
        if scalar.combining_class:
            marks.append(scalar)
        else:
            result += sorted(marks, key=lambda mark: mark.combining_class)
            result.append(scalar)
            marks = []
    return result + sorted(marks, key=lambda mark: mark.combining_class)


def _compose(ordered: list[_Scalar], tables: NormalizationTables) -> list[_Scalar]:
    """Canonical composition: each scalar value is drawn into the last starter where that is possible and nothing blocks it.

    Between the starter and a scalar value of class c stand only marks that were not drawn in, in canonical order. One of them
    blocks if its class is at least c, and the last has the greatest class; with none in between nothing blocks.
    """
    result: list[_Scalar] = []
    starter = -1  # index in result; -1 before the first starter
    highest = -1  # class of the last scalar value after the starter; -1 with none
    for scalar in ordered:
        composite = None
        if starter >= 0 and highest < scalar.combining_class:
            composite = compose_pair(result[starter].value, scalar.value, tables)
        if composite is not None:
            first = result[starter]
            result[starter] = _Scalar(composite, 0, min(first.start, scalar.start), max(first.end, scalar.end))
            continue
        if scalar.combining_class:
            highest = scalar.combining_class
        else:
            starter, highest = len(result), -1
        result.append(scalar)
    return result
