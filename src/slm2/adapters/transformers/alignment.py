"""Ranges of a normalised text as ``tokenizers`` 0.23 gives them: by place, not by what went into a scalar value.

Contract/tokenizer.md (T-9) gives a token all that went into it. The publisher's program keeps a count with each scalar value of NFC: 0 for
one in the place of one, -n for one in the place of one with n after it left out, 1 for one beside the one before. So ``e`` and U+0301,
which become U+00E9, have the range of the ``e`` alone, and marks that change places have the ranges of the places they come to. Where NFC
changes nothing both are the same.
"""

from __future__ import annotations

from slm2.artifact import NormalizationTables
from slm2.reference.normalize import compose_pair, decompose

__all__ = ["byte_ranges"]

Span = tuple[int, int]
# A scalar value on its way, and its count.
_Scalar = tuple[int, int]


def byte_ranges(text: str, tables: NormalizationTables) -> list[Span]:
    """For each byte of the normalised text the range of ``text`` that it stands for, in code points."""
    ranges: list[Span] = []
    at = 0
    for value, change in _composed(_ordered(_decomposed(text, tables), tables), tables):
        if change > 0:
            span = (at - 1, at) if at else (0, 0)
        else:
            span = (at, at + 1)
            at += 1 - change
        ranges += [span] * len(chr(value).encode("utf-8"))
    return ranges


def _decomposed(text: str, tables: NormalizationTables) -> list[_Scalar]:
    return [(part, min(at, 1)) for scalar in text for at, part in enumerate(decompose(ord(scalar), tables))]


def _ordered(scalars: list[_Scalar], tables: NormalizationTables) -> list[_Scalar]:
    """Runs of marks by class; each takes its count along."""
    result: list[_Scalar] = []
    marks: list[_Scalar] = []
    for scalar in scalars:
        if tables.classes.get(scalar[0], 0):
            marks.append(scalar)
            continue
        result += sorted(marks, key=lambda mark: tables.classes[mark[0]])
        result.append(scalar)
        marks = []
    return result + sorted(marks, key=lambda mark: tables.classes[mark[0]])


def _composed(scalars: list[_Scalar], tables: NormalizationTables) -> list[_Scalar]:
    """Canonical composition; the counts of what composes are added, and one less."""
    result: list[_Scalar] = []
    starter, highest = -1, -1
    for value, change in scalars:
        combining_class = tables.classes.get(value, 0)
        if starter >= 0 and highest < combining_class:
            first, count = result[starter]
            composite = compose_pair(first, value, tables)
            if composite is not None:
                result[starter] = (composite, count + change - 1)
                continue
        if combining_class:
            highest = combining_class
        else:
            starter, highest = len(result), -1
        result.append((value, change))
    return result
