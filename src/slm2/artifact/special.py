"""Section 0x10: the special tokens."""

from __future__ import annotations

from slm2.artifact.layout import MAX_ID, MAX_SPECIAL, MAX_SPECIAL_BYTES, integer_bytes, is_utf8, u32
from slm2.errors import Slm2Error


def encode(special: list[tuple[int, bytes]]) -> bytes:
    """The section of ``(id, text)`` in the order of the ids."""
    blocks = [integer_bytes("I", [len(text)]) + text + integer_bytes("I", [token_id]) for token_id, text in special]
    return integer_bytes("I", [len(special)]) + b"".join(blocks)


def parse(section: bytes, vocabulary_size: int) -> list[tuple[int, bytes]]:
    """``(id, text)`` of each token, checked as contract/artifact.md orders it."""
    if len(section) < 4:
        raise Slm2Error("artifact_special_length", found=len(section), expected=4)
    count = u32(section, 0)
    if count > MAX_SPECIAL:
        raise Slm2Error("artifact_special_count", found=count, maximum=MAX_SPECIAL)
    special: list[tuple[int, bytes]] = []
    indexes: dict[bytes, int] = {}
    at = 4
    for index in range(count):
        text, end = _text(section, at)
        token_id = u32(section, end - 4)
        if not 1 <= len(text) <= MAX_SPECIAL_BYTES or not is_utf8(text):
            raise Slm2Error("artifact_special_text", index=index)
        lowest = special[-1][0] + 1 if special else vocabulary_size
        if not lowest <= token_id <= MAX_ID:
            raise Slm2Error("artifact_special_id", index=index, id=token_id)
        if indexes.setdefault(text, index) != index:
            raise Slm2Error("artifact_special_duplicate", index=index, earlier=indexes[text])
        special.append((token_id, text))
        at = end
    if at != len(section):
        raise Slm2Error("artifact_special_length", found=len(section), expected=at)
    return special


def _text(section: bytes, at: int) -> tuple[bytes, int]:
    """The text of the token that begins at ``at``, and where the token ends."""
    end = at + 8
    if end <= len(section):
        end += u32(section, at)
    if end > len(section):
        raise Slm2Error("artifact_special_length", found=len(section), expected=end)
    return section[at + 4 : end - 4], end
