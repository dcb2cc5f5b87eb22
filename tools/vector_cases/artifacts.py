"""Artifacts that must not be opened, and some that must (contract/artifact.md, A-1 to A-12).

Each is the small artifact of the tests with one byte changed, and length and digests put right again, so that the one fault is all that
is wrong with it. The faults of each code, and the fields, were read off the page; both readers were held against every one-byte change.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from tools.vector_cases.case import Case, Group

from slm2.artifact import read
from slm2.errors import Slm2Error

__all__ = ["FLAGS", "groups"]

FLAGS = {
    "refusal": "artifacts that a reader must refuse, with the code of the first rule that is broken",
    "damaged": "a digest shows the damage",
    "resource_bound": "a count that would take memory or time beyond all bounds is refused before it is believed",
    "opened": "artifacts that differ from the shipped one and are whole",
}

SMALL = Path(__file__).resolve().parents[2] / "tests" / "data" / "small-v1.slm2"
DIGEST = 32
SEMANTIC = slice(32, 64)

# Number of the clause, code without `artifact_`, offset of the byte, its new value, fields.
ROWS: list[tuple[int, str, int, int, dict[str, Any]]] = [
    (1, "magic", 0x0000, 0x00, {"found": "00 53 4c 32 0d 0a 1a 0a"}),
    (1, "magic", 0x0007, 0xFF, {"found": "89 53 4c 32 0d 0a 1a ff"}),
    (1, "container_version", 0x0008, 0x00, {"found": 0, "expected": 1}),
    (1, "container_version", 0x000B, 0xFF, {"found": 4278190081, "expected": 1}),
    (1, "file_length", 0x0010, 0x00, {"recorded": 3584, "actual": 3808}),
    (1, "file_length", 0x0017, 0xFF, {"recorded": 18374686479671627488, "actual": 3808}),
    (1, "contract_version", 0x000C, 0x00, {"found": 0, "expected": 1}),
    (1, "contract_version", 0x000F, 0xFF, {"found": 4278190081, "expected": 1}),
    (2, "section_count", 0x001C, 0x00, {"found": 0, "maximum": 64}),
    (2, "section_count", 0x001F, 0xFF, {"found": 4278190088, "maximum": 64}),
    (2, "section_order", 0x0040, 0x30, {"index": 1, "kind": 32, "previous": 48}),
    (2, "section_order", 0x00E8, 0x00, {"index": 7, "kind": 0, "previous": 112}),
    (2, "section_flags", 0x0044, 0x00, {"kind": 16, "found": 0, "expected": 1}),
    (2, "section_flags", 0x00EC, 0x03, {"kind": 128, "found": 3, "expected": 1}),
    (2, "section_offset", 0x001C, 0x28, {"kind": 16, "found": 256, "expected": 1024}),
    (2, "section_offset", 0x00F0, 0x02, {"kind": 128, "found": 3330, "expected": 3328}),
    (2, "section_bounds", 0x0051, 0x20, {"kind": 16, "end": 8487, "limit": 3776}),
    (2, "section_bounds", 0x00F9, 0x02, {"kind": 128, "end": 4002, "limit": 3776}),
    (2, "padding", 0x001C, 0x07, {"offset": 232}),
    (2, "padding", 0x0EBF, 0xFF, {"offset": 3775}),
    (2, "trailing_bytes", 0x00F8, 0x00, {"expected": 3584, "found": 3776}),
    (2, "trailing_bytes", 0x00F9, 0x00, {"expected": 3520, "found": 3776}),
    (3, "section_missing", 0x0040, 0x00, {"kind": 16}),
    (3, "section_missing", 0x00D0, 0x6F, {"kind": 112}),
    (3, "section_unknown", 0x00A0, 0x4F, {"kind": 79}),
    (3, "section_unknown", 0x00EB, 0xFF, {"kind": 4278190208}),
    (4, "vocabulary_count", 0x0018, 0x00, {"found": 261, "expected": 256}),
    (4, "vocabulary_count", 0x0683, 0xFF, {"found": 4278190341, "expected": 261}),
    (4, "vocabulary_length", 0x0098, 0x2C, {"found": 1324, "expected": 1323}),
    (4, "vocabulary_length", 0x0687, 0xFF, {"found": 1323, "expected": 4278191403}),
    (4, "vocabulary_offsets", 0x0688, 0x01, {"id": 0}),
    (4, "vocabulary_offsets", 0x0A9C, 0x1B, {"id": 260}),
    (4, "vocabulary_duplicate", 0x0A8C, 0x01, {"id": 256, "earlier": 97}),
    (4, "vocabulary_duplicate", 0x0A98, 0x0A, {"id": 260, "earlier": 169}),
    (4, "vocabulary_bytes", 0x0A88, 0x01, {"byte": 255}),
    (4, "vocabulary_bytes", 0x0B9C, 0xBC, {"byte": 252}),
    (5, "special_length", 0x0050, 0x25, {"found": 37, "expected": 39}),
    (5, "special_length", 0x011D, 0xFF, {"found": 39, "expected": 4278190119}),
    (5, "special_count", 0x0101, 0x20, {"found": 8195, "maximum": 4096}),
    (5, "special_count", 0x0103, 0xFF, {"found": 4278190083, "maximum": 4096}),
    (5, "special_text", 0x0104, 0x00, {"index": 0}),
    (5, "special_text", 0x011A, 0x00, {"index": 2}),
    (5, "special_duplicate", 0x0109, 0x74, {"index": 1, "earlier": 0}),
    (5, "special_id", 0x0104, 0x01, {"index": 0, "id": 17120883}),
    (5, "special_id", 0x0126, 0xFF, {"index": 2, "id": 4278190344}),
    (6, "pretokenizer_count", 0x0140, 0x00, {"states": 0, "classes": 13}),
    (6, "pretokenizer_count", 0x0147, 0xFF, {"states": 35, "classes": 4278190093}),
    (6, "pretokenizer_length", 0x0140, 0x21, {"found": 1280, "expected": 1222}),
    (6, "pretokenizer_length", 0x0144, 0xFF, {"found": 1280, "expected": 18220}),
    (6, "pretokenizer_classes", 0x0148, 0x01, {"byte": 0}),
    (6, "pretokenizer_classes", 0x0247, 0x80, {"byte": 255}),
    (6, "pretokenizer_transition", 0x026C, 0x40, {"state": 0, "class": 0, "found": 64}),
    (6, "pretokenizer_transition", 0x063F, 0xFF, {"state": 34, "class": 13, "found": 65280}),
    (6, "pretokenizer_dead", 0x0248, 0x01, {"state": 0}),
    (6, "pretokenizer_dead", 0x0249, 0x01, {"state": 1}),
    (6, "pretokenizer_order", 0x0288, 0x00, {"state": 2}),
    (6, "pretokenizer_order", 0x05C0, 0x22, {"state": 33}),
    (6, "pretokenizer_accept", 0x024A, 0x21, {"state": 2, "back": 32, "depth": 1}),
    (6, "pretokenizer_accept", 0x040E, 0x10, {"state": 16, "back": 1, "depth": 1}),
    (6, "pretokenizer_stuck", 0x024A, 0x00, {"state": 2}),
    (6, "pretokenizer_stuck", 0x03A4, 0x00, {"state": 11}),
    (7, "merges_count", 0x0640, 0x25, {"merges": 37, "slots": 5, "row_bits": 0, "seed": 68}),
    (7, "merges_count", 0x064F, 0xFF, {"merges": 5, "slots": 5, "row_bits": 0, "seed": 4278190148}),
    (7, "merges_length", 0x0644, 0x25, {"found": 64, "expected": 320}),
    (7, "merges_length", 0x0646, 0x10, {"found": 64, "expected": 8388672}),
    (7, "merges_base", 0x0654, 0x20, {"row": 0}),
    (7, "merges_ids", 0x0640, 0x00, {"rank": 0}),
    (7, "merges_ids", 0x0650, 0x04, {"rank": 1}),
    (7, "merges_slot", 0x0640, 0x01, {"slot": 1}),
    (7, "merges_slot", 0x0678, 0x01, {"slot": 4}),
    (7, "merges_rank", 0x0665, 0x00, {"rank": 0}),
    (7, "merges_rank", 0x066D, 0x0C, {"rank": 3}),
    (7, "merges_bytes", 0x0651, 0x00, {"rank": 0}),
    (7, "merges_bytes", 0x0665, 0x08, {"rank": 2}),
    (8, "normalization_length", 0x00B0, 0x61, {"found": 97, "expected": 96}),
    (8, "normalization_length", 0x0BC8, 0xFF, {"found": 96, "expected": 3144}),
    (8, "normalization_class", 0x0BCC, 0x21, {"index": 0}),
    (8, "normalization_class", 0x0BD0, 0x41, {"index": 1}),
    (8, "normalization_decomposition", 0x0BE5, 0x20, {"index": 1}),
    (8, "normalization_decomposition", 0x0BE6, 0xFF, {"index": 0}),
    (8, "normalization_composition", 0x0BE4, 0x00, {"index": 0}),
    (9, "facts", 0x00C8, 0x43, {"found": 67, "expected": 66}),
    (9, "facts", 0x0C60, 0x20, {"found": 66, "expected": 66}),
    (9, "provenance", 0x00E0, 0x3E, {"line": 4}),
    (9, "provenance", 0x0CF0, 0x65, {"line": 3}),
    (10, "template_length", 0x00F8, 0xA3, {"found": 419, "expected": 418}),
    (10, "template_length", 0x0E80, 0x02, {"found": 418, "expected": 421}),
    (10, "template_text", 0x0D00, 0x00, {"index": 0}),
    (10, "template_text", 0x0D27, 0x43, {"index": 7}),
    (10, "template_mark", 0x0108, 0x00, {"mark": 0}),
    (10, "template_mark", 0x0D2E, 0x01, {"mark": 3}),
    (10, "template_rule", 0x0D30, 0x00, {"state": 0, "event": 0, "rule": 0}),
    (10, "template_rule", 0x0DA3, 0x40, {"state": 0, "event": 9, "rule": 0}),
    (10, "template_reply", 0x0E89, 0x00, {"state": 0, "symbol": 3}),
    (10, "template_reply", 0x0EA0, 0x40, {"state": 2, "symbol": 3}),
    (10, "template_order", 0x0D50, 0x01, {"op": 0}),
    (10, "template_order", 0x0D54, 0x00, {"op": 1}),
    (10, "template_total", 0x0D31, 0x01, {"state": 0, "event": 0}),
    (10, "template_total", 0x0DA1, 0x01, {"state": 0, "event": 9}),
    (10, "template_reach", 0x0D4E, 0x00, {"state": 0}),
    (10, "template_reach", 0x0E9A, 0x01, {"state": 2}),
    (10, "template_closed", 0x0D39, 0x08, {"state": 0, "event": 0}),
    (10, "template_closed", 0x0DC8, 0x02, {"state": 2, "event": 2}),
    (
        11,
        "semantic_digest",
        0x0020,
        0x00,
        {
            "recorded": "0083a34912c6c47e6b4961729a2d64b8979c86f71053e100af96331f61f8cd85",
            "actual": "3e83a34912c6c47e6b4961729a2d64b8979c86f71053e100af96331f61f8cd85",
        },
    ),
    (
        11,
        "semantic_digest",
        0x0602,
        0x01,
        {
            "recorded": "3e83a34912c6c47e6b4961729a2d64b8979c86f71053e100af96331f61f8cd85",
            "actual": "1d1ea1dcecfb9553d7040acae2e1ecedab3bcf4dad39516fb3435fb0303fa662",
        },
    ),
]

# Changes that leave an artifact whole, and that another artifact comes from: offset, new value, what it is.
OPENED = [
    (0x0CCD, 0x6E, "another letter in the provenance: another file of the same behaviour"),
    (0x0C40, 0xFE, "another fact: another behaviour"),
    (0x011E, 0x3F, "another text of a special token"),
]


def sealed(data: bytes) -> bytes:
    """With the file digest put right."""
    return data[:-DIGEST] + hashlib.sha256(data[:-DIGEST]).digest()


def changed(at: int, value: int) -> bytes:
    """The small artifact with one byte changed and both digests put right, where the reader comes as far as the semantic one."""
    small = SMALL.read_bytes()
    data = sealed(small[:at] + bytes([value]) + small[at + 1 :])
    if at in range(SEMANTIC.start, SEMANTIC.stop):
        return data
    try:
        read(data)
    except Slm2Error as error:
        if error.code == "artifact_semantic_digest":
            semantic = bytes.fromhex(str(error.fields["actual"]))
            return sealed(data[: SEMANTIC.start] + semantic + data[SEMANTIC.stop :])
    return data


def given(data: bytes) -> dict[str, Any]:
    """As a vector has it."""
    return {"base64": base64.b64encode(data).decode("ascii")}


def one_fault() -> Group:
    """A fault of each code."""
    cases = []
    for clause, name, at, value, fields in ROWS:
        comment = f"{name.replace('_', ' ')}: byte 0x{at:04x} is 0x{value:02x}"
        flags = ("refusal", "resource_bound") if name.endswith("_count") else ("refusal",)
        old_digest = name == "semantic_digest" and at not in range(SEMANTIC.start, SEMANTIC.stop)
        small = SMALL.read_bytes()
        data = sealed(small[:at] + bytes([value]) + small[at + 1 :]) if old_digest else changed(at, value)
        cases.append(Case(comment, "open", given(data), f"A-{clause}", error=(f"artifact_{name}", fields), flags=flags))
    return Group("artifact-fault", cases)


def damaged() -> Group:
    """What a transfer does."""
    small = SMALL.read_bytes()
    digest = hashlib.sha256(small[:-DIGEST]).hexdigest()
    flipped = small[:0xC00] + bytes([small[0xC00] ^ 1]) + small[0xC01:]
    actual = hashlib.sha256(flipped[:-DIGEST]).hexdigest()
    cut = small[:1000]
    rows: list[tuple[str, bytes, str, dict[str, Any]]] = [
        ("no byte", b"", "truncated", {"length": 0, "minimum": 96}),
        ("less than a header and a digest", small[:95], "truncated", {"length": 95, "minimum": 96}),
        ("cut short", cut, "file_length", {"recorded": len(small), "actual": len(cut)}),
        ("a byte more", small + b"\0", "file_length", {"recorded": len(small), "actual": len(small) + 1}),
        ("one bit of a table", flipped, "file_digest", {"recorded": digest, "actual": actual}),
        ("newlines changed by a text mode", small.replace(b"\n", b"\r\n"), "magic", {"found": "89 53 4c 32 0d 0d 0a 1a"}),
    ]
    cases = [
        Case(comment, "open", given(data), "A-1", error=(f"artifact_{name}", fields), flags=("refusal", "damaged"))
        for comment, data, name, fields in rows
    ]
    return Group("artifact-damaged", cases)


def opened() -> Group:
    """Whole ones, and the limit that an artifact is opened with."""
    cases = [Case("the small artifact of the tests", "open", given(SMALL.read_bytes()), "A-12", flags=("opened",))]
    cases += [Case(comment, "open", given(changed(at, value)), "A-12", flags=("opened",)) for at, value, comment in OPENED]
    for limit in (255, 2**31):
        fields = {"found": limit, "minimum": 256, "maximum": 2**31 - 1}
        inputs = {**given(SMALL.read_bytes()), "max_pretoken": limit}
        comment = f"with a limit of {limit} bytes"
        cases.append(Case(comment, "open", inputs, "T-13", error=("limit_out_of_range", fields), flags=("refusal", "resource_bound")))
    return Group("artifact-opened", cases)


def groups() -> list[Group]:
    """All groups of the file."""
    return [one_fault(), damaged(), opened()]
