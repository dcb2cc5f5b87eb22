"""Section 0x40: the bytes of each plain token."""

from __future__ import annotations

from itertools import pairwise

from slm2.artifact.layout import MAX_ID, MAX_TOKEN_BYTES, integer_bytes, integers, u32
from slm2.errors import Slm2Error


def encode(tokens: list[bytes]) -> bytes:
    """The section of tokens in the order of their ids."""
    offsets = [0]
    for token in tokens:
        offsets.append(offsets[-1] + len(token))
    return integer_bytes("I", [len(tokens), offsets[-1], *offsets]) + b"".join(tokens)


def parse(section: bytes, vocabulary_size: int) -> list[bytes]:
    """The tokens, checked as contract/artifact.md orders it."""
    if len(section) < 8:
        raise Slm2Error("artifact_vocabulary_length", found=len(section), expected=8)
    count, byte_length = u32(section, 0), u32(section, 4)
    if count != vocabulary_size:
        raise Slm2Error("artifact_vocabulary_count", found=count, expected=vocabulary_size)
    if not 256 <= count <= MAX_ID:
        raise Slm2Error("artifact_vocabulary_count", found=count, expected=256)
    at = 8 + 4 * (count + 1)
    if len(section) != at + byte_length:
        raise Slm2Error("artifact_vocabulary_length", found=len(section), expected=at + byte_length)
    offsets = integers("I", section[8:at])
    _check_offsets(offsets.tolist(), byte_length)
    tokens = [section[at + start : at + end] for start, end in pairwise(offsets)]
    _check_tokens(tokens)
    return tokens


def _check_offsets(offsets: list[int], byte_length: int) -> None:
    """From 0 to the end, each entry of 1 to 65,535 bytes; the lowest entry at fault is named."""
    last = len(offsets) - 2
    for token_id, (start, end) in enumerate(pairwise(offsets)):
        broken = not 1 <= end - start <= MAX_TOKEN_BYTES or (token_id == 0 and start != 0)
        if broken or (token_id == last and end != byte_length):
            raise Slm2Error("artifact_vocabulary_offsets", id=token_id)


def _check_tokens(tokens: list[bytes]) -> None:
    """Every single byte is a token, and no two tokens are equal."""
    ids: dict[bytes, int] = {}
    duplicate: tuple[int, int] | None = None
    for token_id, token in enumerate(tokens):
        earlier = ids.setdefault(token, token_id)
        if earlier != token_id and duplicate is None:
            duplicate = (token_id, earlier)
    for byte in range(256):
        if bytes([byte]) not in ids:
            raise Slm2Error("artifact_vocabulary_bytes", byte=byte)
    if duplicate is not None:
        raise Slm2Error("artifact_vocabulary_duplicate", id=duplicate[0], earlier=duplicate[1])
