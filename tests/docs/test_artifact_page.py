"""The worked example of contract/artifact.md is the small artifact, byte by byte."""

from __future__ import annotations

import re
from pathlib import Path

from slm2.artifact import read

ROOT = Path(__file__).resolve().parents[2]
SMALL = (ROOT / "tests" / "data" / "small-v1.slm2").read_bytes()
LINE = re.compile(r"([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  (.*))?")


def dump() -> list[tuple[int, bytes, str] | None]:
    """The lines of the page: offset, bytes, meaning; None where bytes are left out."""
    page = (ROOT / "contract" / "artifact.md").read_text(encoding="utf-8")
    block = re.search(r"```hexdump\n(.*?)```", page, re.DOTALL)
    assert block
    lines: list[tuple[int, bytes, str] | None] = []
    for line in block[1].splitlines():
        match = LINE.fullmatch(line)
        assert match or line == "...", line
        lines.append((int(match[1], 16), bytes.fromhex(match[2]), match[3] or "") if match else None)
    return lines


def test_every_line_is_what_stands_in_the_file_and_gaps_are_marked():
    end, left_out = 0, False
    for line in dump():
        if line is None:
            left_out = True
            continue
        offset, data, _ = line
        assert SMALL[offset : offset + len(data)] == data, hex(offset)
        assert offset == end or (left_out and offset > end), hex(offset)
        end, left_out = offset + len(data), False
    assert end == len(SMALL)


def test_the_numbers_that_lines_name_are_the_bytes_that_they_show():
    numbered = 0
    for offset, data, meaning in filter(None, dump()):
        for name, number in re.findall(r"(\w+) (\d+)(?=,|$)", meaning):
            if name in {"offset", "length", "file_length"} and len(data) >= 8:
                width = 8
            elif name.endswith(("_count", "_length", "_id", "_bits", "_size", "_version")) or name in {"seed", "count", "id", "length"}:
                width = 4
            else:
                continue
            assert int(number).to_bytes(width, "little") in data, (hex(offset), meaning)
            numbered += 1
    assert numbered == 40


def test_the_directory_of_the_page_is_what_the_reader_finds():
    named = [meaning for _, _, meaning in filter(None, dump()) if meaning.startswith("offset ")]
    assert named == [f"offset {section.offset}, length {section.length}" for section in read(SMALL).sections]
