"""Merges -> double array: rows of slots, displaced so that no two share a slot (contract/artifact.md, canonical form)."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from slm2.artifact.merges import Merges, row_and_column, slot_of

Progress = Callable[[int, int], None]
Rows = list[list[tuple[int, int]]]

_MERGES_A_ROW = 8


def build(merges: list[tuple[int, int, int]], progress: Progress) -> Merges:
    """The double array of ``(left, right, id)`` in rank order."""
    row_bits = 0
    while _MERGES_A_ROW << row_bits < len(merges):
        row_bits += 1
    slot_count = max(1, len(merges))
    while True:
        seed, rows = _seeded_rows(merges, row_bits, slot_count)
        bases = _place(rows, slot_count, progress)
        if bases is not None:
            break
        slot_count += max(1, slot_count // 64)
    slots = array("Q", bytes(8 * slot_count))
    for base, row in zip(bases, rows, strict=True):
        for column, rank in row:
            slots[(base + column) % slot_count] = slot_of(*merges[rank][:2], rank)
    return Merges(seed, array("I", bases), slots, array("I", [merged for _, _, merged in merges]))


def _seeded_rows(merges: list[tuple[int, int, int]], row_bits: int, slot_count: int) -> tuple[int, Rows]:
    """The least seed with which no two merges of a row share a column, and ``(column, rank)`` of each row."""
    seed = 0
    while True:
        rows: Rows = [[] for _ in range(1 << row_bits)]
        for rank, (left, right, _) in enumerate(merges):
            row, column = row_and_column(left, right, seed, row_bits, slot_count)
            rows[row].append((column, rank))
        if all(len({column for column, _ in row}) == len(row) for row in rows):
            return seed, rows
        seed += 1


def _place(rows: Rows, slot_count: int, progress: Progress) -> list[int] | None:
    """The base of each row, or None where they do not fit. A set of slots is an int: bit ``s`` is slot ``s``."""
    mask = free = (1 << slot_count) - 1
    bases = [0] * len(rows)
    order = sorted((row for row in range(len(rows)) if rows[row]), key=lambda row: (-len(rows[row]), row))
    for done, row in enumerate(order):
        # Bit b of `free` turned by a column is slot b + column: what all columns leave standing are the bases that are free.
        turned = free | free << slot_count
        fits = mask
        for column, _ in rows[row]:
            fits &= turned >> column
        if not fits:
            return None
        bases[row] = (fits & -fits).bit_length() - 1
        for column, _ in rows[row]:
            free ^= 1 << (bases[row] + column) % slot_count
        if done % 256 == 0:
            progress(done, len(order))
    return bases
