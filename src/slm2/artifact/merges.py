"""Section 0x30: merges as a double array keyed by the pair of ids."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from slm2.artifact.layout import MAX_ID, MAX_SLOTS, align, integer_bytes, integers
from slm2.errors import Slm2Error

MAX_ROW_BITS = 21
MAX_SEED = 2**22 - 1
_HEAD = 20
_LISTED = 0xFFFFFFFF
_FIELD = (1 << 21) - 1
_USED = 1 << 63
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Merges:
    """The double array.

    Attributes:
        seed: of the hash that gives a pair its row and column.
        bases: of each row, where it begins.
        slots: 0, or bit 63, the left id (bits 0 to 20), the right id (21 to 41) and the rank (42 to 62).
        ids: the id that the merge of each rank makes.
    """

    seed: int
    bases: array[int]
    slots: array[int]
    ids: array[int] | range

    def find(self, left: int, right: int) -> tuple[int, int] | None:
        """``(rank, id)`` of the merge of two neighbours; None where they do not merge."""
        row, column = row_and_column(left, right, self.seed, len(self.bases).bit_length() - 1, len(self.slots))
        slot = self.slots[(self.bases[row] + column) % len(self.slots)]
        if slot & ~(_FIELD << 42) != _USED | right << 21 | left:
            return None
        rank = slot >> 42 & _FIELD
        return rank, self.ids[rank]

    def by_rank(self) -> list[tuple[int, int, int]]:
        """``(left, right, id)`` in rank order: what the double array means, without its placement."""
        merges = [(0, 0, 0)] * len(self.ids)
        for slot in self.slots:
            if slot:
                rank = slot >> 42 & _FIELD
                merges[rank] = (slot & _FIELD, slot >> 21 & _FIELD, self.ids[rank])
        return merges


def row_and_column(left: int, right: int, seed: int, row_bits: int, slot_count: int) -> tuple[int, int]:
    """Where a pair belongs (contract/artifact.md, row and column)."""
    x = (left << 21 | right) + (seed << 42)
    x = x * 0x9E3779B97F4A7C15 & _WORD
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 & _WORD
    return x >> (64 - row_bits), (x & 0xFFFFFFFF) * slot_count >> 32


def slot_of(left: int, right: int, rank: int) -> int:
    """A used slot."""
    return _USED | rank << 42 | right << 21 | left


def encode(merges: Merges) -> bytes:
    """The section of a double array."""
    ids = list(merges.ids)
    listed = not _consecutive(ids)
    first_id = _LISTED if listed else ids[0] if ids else 0
    row_bits = len(merges.bases).bit_length() - 1
    head = integer_bytes("I", [len(ids), len(merges.slots), row_bits, merges.seed, first_id, *merges.bases])
    return head.ljust(align(len(head), 8), b"\0") + integer_bytes("Q", merges.slots) + integer_bytes("I", ids if listed else [])


def _consecutive(ids: list[int]) -> bool:
    return ids == list(range(ids[0], ids[0] + len(ids))) if ids else True


def parse(section: bytes, tokens: list[bytes], at: int = 0) -> Merges:
    """The double array, checked as contract/artifact.md orders it. ``at`` is the section's place in the file, for messages."""
    if len(section) < _HEAD:
        raise Slm2Error("artifact_merges_length", found=len(section), expected=_HEAD)
    count, slot_count, row_bits, seed, first_id = integers("I", section[:_HEAD])
    if count > MAX_ID or not max(count, 1) <= slot_count <= MAX_SLOTS or row_bits > MAX_ROW_BITS or seed > MAX_SEED:
        raise Slm2Error("artifact_merges_count", merges=count, slots=slot_count, row_bits=row_bits, seed=seed)
    head = _HEAD + (4 << row_bits)
    table = align(head, 8)
    end = table + 8 * slot_count
    expected = end + (4 * count if first_id == _LISTED else 0)
    if len(section) != expected:
        raise Slm2Error("artifact_merges_length", found=len(section), expected=expected)
    if any(section[head:table]):
        raise Slm2Error("artifact_padding", offset=at + head + len(section[head:table]) - len(section[head:table].lstrip(b"\0")))
    bases = integers("I", section[_HEAD:head])
    for row, base in enumerate(bases):
        if base >= slot_count:
            raise Slm2Error("artifact_merges_base", row=row)
    ids = integers("I", section[end:]) if first_id == _LISTED else range(first_id, first_id + count)
    _check_ids(ids, len(tokens), listed=first_id == _LISTED)
    merges = Merges(seed, bases, integers("Q", section[table:end]), ids)
    _check_slots(merges, tokens)
    return merges


def _check_ids(ids: array[int] | range, vocabulary_size: int, *, listed: bool) -> None:
    for rank, merged in enumerate(ids):
        if merged >= vocabulary_size:
            raise Slm2Error("artifact_merges_ids", rank=rank)
    if listed and _consecutive(list(ids)):
        raise Slm2Error("artifact_merges_ids", rank=len(ids))
    if isinstance(ids, range) and not ids and ids.start:
        raise Slm2Error("artifact_merges_ids", rank=0)


def _check_slots(merges: Merges, tokens: list[bytes]) -> None:
    """Each slot is its pair's and makes the id of its two parts, and each rank occurs once."""
    ranks = bytearray(len(merges.ids))
    rows = bytearray(len(merges.bases))
    for index, slot in enumerate(merges.slots):
        if slot:
            rows[_row_of(merges, len(tokens), index, slot)] = 1
            left, right, rank = slot & _FIELD, slot >> 21 & _FIELD, slot >> 42 & _FIELD
            if ranks[rank]:
                raise Slm2Error("artifact_merges_rank", rank=rank)
            ranks[rank] = 1
            if tokens[left] + tokens[right] != tokens[merges.ids[rank]]:
                raise Slm2Error("artifact_merges_bytes", rank=rank)
    if 0 in ranks:
        raise Slm2Error("artifact_merges_rank", rank=ranks.index(0))
    for row, base in enumerate(merges.bases):
        if base and not rows[row]:
            raise Slm2Error("artifact_merges_base", row=row)


def _row_of(merges: Merges, vocabulary_size: int, index: int, slot: int) -> int:
    """The row of a slot whose numbers exist and which is where its pair belongs."""
    left, right, rank = slot & _FIELD, slot >> 21 & _FIELD, slot >> 42 & _FIELD
    if slot & _USED and left < vocabulary_size and right < vocabulary_size and rank < len(merges.ids):
        slot_count = len(merges.slots)
        row, column = row_and_column(left, right, merges.seed, len(merges.bases).bit_length() - 1, slot_count)
        if (merges.bases[row] + column) % slot_count == index:
            return row
    raise Slm2Error("artifact_merges_slot", slot=index)
