"""Section 0x60: what the compiler proved about each vocabulary entry."""

from __future__ import annotations

from dataclasses import dataclass

from slm2.errors import Slm2Error


@dataclass(frozen=True, slots=True)
class Facts:
    """Ids for which a statement does **not** hold, rising.

    Attributes:
        not_merged: the merges do not reproduce the entry from its own bytes.
        not_encoded: the entry's bytes do not encode to that one id.
    """

    not_merged: tuple[int, ...]
    not_encoded: tuple[int, ...]


def encode(facts: Facts, vocabulary_size: int) -> bytes:
    """The section: two bit sets of the entries for which the statements hold."""
    return _bits(facts.not_merged, vocabulary_size) + _bits(facts.not_encoded, vocabulary_size)


def _bits(exceptions: tuple[int, ...], size: int) -> bytes:
    bits = (1 << size) - 1
    for token_id in exceptions:
        bits ^= 1 << token_id
    return bits.to_bytes((size + 7) // 8, "little")


def parse(section: bytes, vocabulary_size: int) -> Facts:
    """The exceptions, after the length and the unused bits were checked."""
    half = (vocabulary_size + 7) // 8
    merged, encoded = (int.from_bytes(part, "little") for part in (section[:half], section[half:]))
    if len(section) != 2 * half or (merged | encoded) >> vocabulary_size:
        raise Slm2Error("artifact_facts", found=len(section), expected=2 * half)
    return Facts(_exceptions(section[:half], vocabulary_size), _exceptions(section[half:], vocabulary_size))


def _exceptions(bits: bytes, size: int) -> tuple[int, ...]:
    whole = (8 * at + bit for at, byte in enumerate(bits) if byte != 0xFF for bit in range(8) if not byte >> bit & 1)
    return tuple(token_id for token_id in whole if token_id < size)
