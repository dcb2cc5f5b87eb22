"""Sweeps: everything there is of a kind, as digests of blocks, so that a file stays small and a failure has a place.

Contents of the digested streams, all integers u32 little-endian (contract/conformance.md):

- vocabulary: for each id of a block, rising: the id, the number of bytes, the bytes;
- scalars: for each scalar value of a block, rising, for each of :data:`CONTEXTS`: the number of ids, the ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from struct import pack

__all__ = ["BLOCK", "CONTEXTS", "blocks", "scalars_digest", "vocabulary_digest"]

BLOCK = 4096
SCALAR_LIMIT = 0x110000
_SURROGATES = range(0xD800, 0xE000)

# A scalar value alone, between letters, between spaces, between newlines.
CONTEXTS = ("{}", "a{}b", " {} ", "\n{}\n")


def blocks(limit: int) -> Iterator[range]:
    """The numbers below ``limit`` in blocks."""
    return (range(first, min(first + BLOCK, limit)) for first in range(0, limit, BLOCK))


def vocabulary_digest(block: range, token_bytes: Callable[[int], bytes]) -> str:
    """SHA-256, hex, of the tokens of a block of ids."""
    stream = bytearray()
    for token_id in block:
        token = token_bytes(token_id)
        stream += pack("<II", token_id, len(token)) + token
    return sha256(stream).hexdigest()


def texts(block: range) -> Iterator[str]:
    """Every scalar value of a block of code points in every context."""
    for code in block:
        if code not in _SURROGATES:
            yield from (context.format(chr(code)) for context in CONTEXTS)


def scalars_digest(block: range, encode_u32: Callable[[str], bytes]) -> str:
    """SHA-256, hex, of the ids of the texts of a block; ``encode_u32`` gives ids as little-endian u32."""
    stream = bytearray()
    for text in texts(block):
        ids = encode_u32(text)
        stream += pack("<I", len(ids) // 4) + ids
    return sha256(stream).hexdigest()
