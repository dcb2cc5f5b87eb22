"""Constants and integer access of the container (contract/artifact.md)."""

from __future__ import annotations

import sys
from array import array
from typing import Literal

# The word that chooses between the contract and the publisher's program (decisions D1).
Profile = Literal["contract", "publisher"]
PROFILES: tuple[Profile, ...] = ("contract", "publisher")

MAGIC = b"\x89SL2\r\n\x1a\n"
CONTAINER_VERSION = 1
CONTRACT_VERSION = 1

HEADER_SIZE = 64
ENTRY_SIZE = 24
DIGEST_SIZE = 32
ALIGNMENT = 64
MAX_SECTIONS = 64
MAX_ID = 2**21 - 1
MAX_SLOTS = 2**22
MAX_SPECIAL = 4096
MAX_SPECIAL_BYTES = 255
MAX_TOKEN_BYTES = 65_535
MAX_STATES = 65_535
MAX_NORMALIZATION = 65_535

SPECIAL, PRETOKENIZER, MERGES, VOCABULARY, NORMALIZATION, FACTS, PROVENANCE, TEMPLATE = range(0x10, 0x90, 0x10)

SECTION_NAMES = {
    SPECIAL: "special tokens",
    PRETOKENIZER: "pre-tokenizer",
    MERGES: "merges",
    VOCABULARY: "vocabulary",
    NORMALIZATION: "normalisation",
    FACTS: "facts",
    PROVENANCE: "provenance",
    TEMPLATE: "template",
}
REQUIRED = 1
SECTION_FLAGS = {kind: 0 if kind == FACTS else REQUIRED for kind in SECTION_NAMES}
MANDATORY = (SPECIAL, PRETOKENIZER, MERGES, VOCABULARY, PROVENANCE)

SEMANTIC_PREFIX = b"slm2 semantic 1\n"
SEMANTIC_SECTIONS = (SPECIAL, PRETOKENIZER, MERGES, VOCABULARY, NORMALIZATION, FACTS, TEMPLATE)


def align(offset: int, multiple: int = ALIGNMENT) -> int:
    """The next multiple at or after ``offset``."""
    return -(-offset // multiple) * multiple


def integers(code: Literal["H", "I", "Q"], data: bytes) -> array[int]:
    """Little-endian u16 (H), u32 (I) or u64 (Q) values."""
    values = array(code)
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def integer_bytes(code: Literal["H", "I", "Q"], values: array[int] | list[int]) -> bytes:
    """The inverse of :func:`integers`."""
    out = array(code, values)
    if sys.byteorder == "big":
        out.byteswap()
    return out.tobytes()


def u32(data: bytes, at: int) -> int:
    """The u32 at ``at``, which must lie inside ``data``."""
    return int.from_bytes(data[at : at + 4], "little")


def is_utf8(text: bytes) -> bool:
    """Whether bytes are well formed."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
