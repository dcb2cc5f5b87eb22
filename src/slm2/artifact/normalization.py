"""Section 0x50: the tables of canonical normalisation (contract/artifact.md, contract/normalization.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from slm2.artifact.layout import MAX_NORMALIZATION, integer_bytes, integers
from slm2.errors import Slm2Error

_HEAD_SIZE = 12
_MAX_PARTS = 4
_HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
_SURROGATES = range(0xD800, 0xE000)
_SCALAR_LIMIT = 0x110000

Run = tuple[int, int, int]


@dataclass(frozen=True)
class NormalizationTables:
    """What NFC needs beside the arithmetic of Hangul. Keys and parts are scalar values.

    Attributes:
        classes: canonical combining class, 1 to 254, of the scalar values that have one; all others have 0.
        decompositions: full canonical decomposition, 1 to 4 scalar values.
        compositions: (first, second) -> primary composite.
    """

    classes: dict[int, int]
    decompositions: dict[int, tuple[int, ...]]
    compositions: dict[tuple[int, int], int]

    @cached_property
    def seconds(self) -> frozenset[int]:
        """Scalar values that a composition draws into another."""
        return frozenset(second for _, second in self.compositions)

    @cached_property
    def composites(self) -> frozenset[int]:
        """Primary composites."""
        return frozenset(self.compositions.values())


def runs_of(classes: dict[int, int]) -> list[Run]:
    """``(first, last, class)`` of the longest runs of neighbours with one class, rising."""
    runs: list[Run] = []
    for scalar in sorted(classes):
        if runs and runs[-1][1:] == (scalar - 1, classes[scalar]):
            runs[-1] = (runs[-1][0], scalar, classes[scalar])
        else:
            runs.append((scalar, scalar, classes[scalar]))
    return runs


def classes_of(runs: Iterable[Run]) -> dict[int, int]:
    """The inverse of :func:`runs_of`."""
    classes: dict[int, int] = {}
    for first, last, combining_class in runs:
        classes.update(dict.fromkeys(range(first, last + 1), combining_class))
    return classes


def encode(tables: NormalizationTables) -> bytes:
    """The section of ``tables``; at most 4 parts a decomposition."""
    runs = runs_of(tables.classes)
    words = [len(runs), len(tables.decompositions), len(tables.compositions)]
    for run in runs:
        words += run
    for scalar, parts in sorted(tables.decompositions.items()):
        words += [scalar, len(parts), *parts, *[0] * (_MAX_PARTS - len(parts))]
    for pair, composite in sorted(tables.compositions.items()):
        words += [*pair, composite]
    return integer_bytes("I", words)


def parse(section: bytes) -> NormalizationTables:
    """The tables, checked as contract/artifact.md orders it.

    Raises:
        Slm2Error: ``artifact_normalization_length``, ``_class``, ``_decomposition`` or ``_composition``, at the lowest index at fault.
    """
    if len(section) < _HEAD_SIZE:
        raise Slm2Error("artifact_normalization_length", found=len(section), expected=_HEAD_SIZE)
    counts = integers("I", section[:_HEAD_SIZE]).tolist()
    run_count, decomposition_count, composition_count = counts
    expected = _HEAD_SIZE + 12 * run_count + 24 * decomposition_count + 12 * composition_count
    if max(counts) > MAX_NORMALIZATION:
        expected = 0
    if len(section) != expected:
        raise Slm2Error("artifact_normalization_length", found=len(section), expected=expected)

    words = integers("I", section[_HEAD_SIZE:]).tolist()
    decompositions_at = 3 * run_count
    compositions_at = decompositions_at + 6 * decomposition_count
    classes = _classes(words[:decompositions_at])
    decompositions = _decompositions(words[decompositions_at:compositions_at], classes)
    return NormalizationTables(classes, decompositions, _compositions(words[compositions_at:], decompositions))


def _is_scalar(value: int) -> bool:
    return value < _SCALAR_LIMIT and value not in _SURROGATES


def _classes(words: list[int]) -> dict[int, int]:
    """Runs of scalar values that rise, are not empty, and could not be one with the run before."""
    runs: list[Run] = list(zip(words[::3], words[1::3], words[2::3], strict=True))
    previous = (-1, -1, 0)
    for index, (first, last, combining_class) in enumerate(runs):
        mergeable = previous[1:] == (first - 1, combining_class)
        surrogates = first < _SURROGATES.stop and last >= _SURROGATES.start
        known = 1 <= combining_class <= 254 and last < _SCALAR_LIMIT and not surrogates
        if not previous[1] < first <= last or mergeable or not known:
            raise Slm2Error("artifact_normalization_class", index=index)
        previous = (first, last, combining_class)
    return classes_of(runs)


def _decompositions(words: list[int], classes: dict[int, int]) -> dict[int, tuple[int, ...]]:
    """Rising, of scalar values that are no Hangul syllables, full and in canonical order."""
    decomposing = set(words[::6])
    decompositions: dict[int, tuple[int, ...]] = {}
    previous = -1
    for index in range(len(words) // 6):
        scalar, length, *slots = words[6 * index : 6 * index + 6]
        parts = tuple(slots[:length])
        shaped = 1 <= length <= _MAX_PARTS and not any(slots[length:]) and all(map(_is_scalar, parts))
        placed = previous < scalar and _is_scalar(scalar) and scalar not in _HANGUL_SYLLABLES
        if not shaped or not placed or not decomposing.isdisjoint(parts) or not _in_canonical_order(parts, classes):
            raise Slm2Error("artifact_normalization_decomposition", index=index)
        decompositions[scalar] = parts
        previous = scalar
    return decompositions


def _in_canonical_order(parts: tuple[int, ...], classes: dict[int, int]) -> bool:
    """Whether no part of class c > 0 directly follows one of a greater class."""
    order = [classes.get(part, 0) for part in parts]
    return all(not after or before <= after for before, after in pairwise(order))


def _compositions(words: list[int], decompositions: dict[int, tuple[int, ...]]) -> dict[tuple[int, int], int]:
    """Rising by pair; each undoes a decomposition."""
    compositions: dict[tuple[int, int], int] = {}
    previous = (-1, -1)
    for index, (first, second, composite) in enumerate(zip(words[::3], words[1::3], words[2::3], strict=True)):
        parts = decompositions.get(first, (first,)) + decompositions.get(second, (second,))
        # A composite without a decomposition fails too: it stands for itself alone, and two parts are never one.
        if not previous < (first, second) or decompositions.get(composite) != parts:
            raise Slm2Error("artifact_normalization_composition", index=index)
        compositions[first, second] = composite
        previous = (first, second)
    return compositions
