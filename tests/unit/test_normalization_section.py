"""Section 0x50: what a reader refuses, at which index, and in which order (contract/artifact.md)."""

from __future__ import annotations

import struct

import pytest

from slm2.artifact.normalization import NormalizationTables, encode, parse
from slm2.errors import Slm2Error

RUNS = [(0x300, 0x301, 230), (0x323, 0x323, 220)]
DECOMPOSITIONS = [(0xC1, 2, 0x41, 0x301, 0, 0), (0x1EA0, 2, 0x41, 0x323, 0, 0), (0x212B, 1, 0x42, 0, 0, 0)]
COMPOSITIONS = [(0x41, 0x301, 0xC1), (0x41, 0x323, 0x1EA0)]


def section(runs=RUNS, decompositions=DECOMPOSITIONS, compositions=COMPOSITIONS) -> bytes:
    words = [len(runs), len(decompositions), len(compositions)]
    words += [word for row in (*runs, *decompositions, *compositions) for word in row]
    return struct.pack(f"<{len(words)}I", *words)


def refusal(data: bytes) -> tuple[str, dict[str, object]]:
    with pytest.raises(Slm2Error) as caught:
        parse(data)
    return caught.value.code.removeprefix("artifact_normalization_"), caught.value.fields


def test_a_good_section_is_read_and_written_alike() -> None:
    tables = parse(section())
    assert tables == NormalizationTables(
        {0x300: 230, 0x301: 230, 0x323: 220},
        {0xC1: (0x41, 0x301), 0x1EA0: (0x41, 0x323), 0x212B: (0x42,)},
        {(0x41, 0x301): 0xC1, (0x41, 0x323): 0x1EA0},
    )
    assert encode(tables) == section()
    assert parse(section([], [], [])) == NormalizationTables({}, {}, {})


@pytest.mark.parametrize(
    ("data", "found", "expected"),
    [
        (b"", 0, 12),
        (bytes(11), 11, 12),
        (struct.pack("<3I", 65_536, 0, 0), 12, 0),
        (struct.pack("<3I", 0, 65_536, 0), 12, 0),
        (struct.pack("<3I", 0, 0, 2**32 - 1), 12, 0),
        (struct.pack("<3I", 65_535, 65_535, 65_535), 12, 12 + 48 * 65_535),
        (section()[:-1], len(section()) - 1, len(section())),
        (section() + b"\0", len(section()) + 1, len(section())),
    ],
)
def test_length(data: bytes, found: int, expected: int) -> None:
    assert refusal(data) == ("length", {"found": found, "expected": expected})


@pytest.mark.parametrize(
    ("runs", "index"),
    [
        ([(0x301, 0x300, 1)], 0),  # empty
        ([(0x300, 0x300, 0)], 0),
        ([(0x300, 0x300, 255)], 0),
        ([(0x300, 0x300, 1), (0x301, 0x301, 1)], 1),  # one run in two
        ([(0x300, 0x302, 1), (0x302, 0x303, 2)], 1),  # overlapping
        ([(0x300, 0x302, 1), (0x200, 0x201, 2)], 1),
        ([(0, 0, 1), (0xD7FF, 0xD800, 1)], 1),
        ([(0xD800, 0xDFFF, 1)], 0),
        ([(0xD7FF, 0xE000, 1)], 0),
        ([(0x10FFFF, 0x110000, 1)], 0),
        ([(0, 2**32 - 1, 1)], 0),
    ],
)
def test_class(runs: list[tuple[int, int, int]], index: int) -> None:
    assert refusal(section(runs)) == ("class", {"index": index})


def test_class_borders_are_taken() -> None:
    runs = [(0, 0xD7FF, 1), (0xE000, 0xE000, 1), (0xE001, 0x10FFFF, 254)]
    assert len(parse(section(runs, [], [])).classes) == 0x110000 - 0x800


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        ([(0xC1, 0, 0, 0, 0, 0)], 0),
        ([(0xC1, 5, 0x41, 0x301, 0x301, 0x301)], 0),
        ([(0xC1, 2**32 - 1, 0x41, 0x301, 0, 0)], 0),
        ([(0xC1, 1, 0x41, 0x301, 0, 0)], 0),  # a part after the last
        ([(0xC1, 2, 0x41, 0xD800, 0, 0)], 0),
        ([(0xC1, 2, 0x41, 0x110000, 0, 0)], 0),
        ([(0xD800, 1, 0x41, 0, 0, 0)], 0),
        ([(0x110000, 1, 0x41, 0, 0, 0)], 0),
        ([(0xAC00, 1, 0x41, 0, 0, 0)], 0),
        ([(0xABFF, 1, 0x41, 0, 0, 0), (0xD7A3, 1, 0x41, 0, 0, 0)], 1),
        ([(0xC1, 1, 0x41, 0, 0, 0), (0xC1, 1, 0x41, 0, 0, 0)], 1),
        ([(0xC2, 1, 0x41, 0, 0, 0), (0xC1, 1, 0x41, 0, 0, 0)], 1),
        ([(0xC1, 1, 0xC1, 0, 0, 0)], 0),  # itself
        ([(0xC1, 1, 0x41, 0, 0, 0), (0xC2, 1, 0xC3, 0, 0, 0), (0xC3, 1, 0x41, 0, 0, 0)], 1),  # a part that a later entry decomposes
        ([(0xC1, 1, 0xC0, 0, 0, 0), (0xC0, 1, 0x41, 0, 0, 0)], 0),  # also one that is out of order
        ([(0xC1, 3, 0x41, 0x301, 0x323, 0)], 0),  # 230 before 220
    ],
)
def test_decomposition(rows: list[tuple[int, ...]], index: int) -> None:
    assert refusal(section(decompositions=rows, compositions=[])) == ("decomposition", {"index": index})


def test_decomposition_borders_are_taken() -> None:
    rows = [
        (0xC1, 4, 0x41, 0x323, 0x301, 0x301),
        (0xABFF, 3, 0x301, 0x42, 0x323, 0),
        (0xD7A4, 1, 0xAC00, 0, 0, 0),
        (0x10FFFF, 1, 0, 0, 0, 0),
    ]
    assert parse(section(decompositions=rows, compositions=[])).decompositions[0x10FFFF] == (0,)


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        ([(0x41, 0x301, 0xC2)], 0),  # a composite without a decomposition
        ([(0x41, 0x301, 0x1EA0)], 0),
        ([(0x301, 0x41, 0xC1)], 0),
        ([(0x41, 0x301, 0xAC00)], 0),
        ([(0x1100, 0x1161, 0xAC00)], 0),
        ([(0x41, 2**32 - 1, 0xC1)], 0),
        ([(0x41, 0x301, 2**32 - 1)], 0),
        ([(0x41, 0x301, 0xC1), (0x41, 0x301, 0xC1)], 1),
        ([(0x41, 0x323, 0x1EA0), (0x41, 0x301, 0xC1)], 1),
    ],
)
def test_composition(rows: list[tuple[int, int, int]], index: int) -> None:
    assert refusal(section(compositions=rows)) == ("composition", {"index": index})


def test_composition_of_what_decomposes_itself_is_taken() -> None:
    decompositions = [*DECOMPOSITIONS[:2], (0x1EA4, 3, 0x41, 0x323, 0x301, 0)]
    compositions = [*COMPOSITIONS, (0x1EA0, 0x301, 0x1EA4)]
    assert parse(section(decompositions=decompositions, compositions=compositions)).compositions[0x1EA0, 0x301] == 0x1EA4


def test_order_of_checks() -> None:
    bad_runs, bad_rows, bad_pairs = [(1, 0, 1)], [(0xC1, 0, 0, 0, 0, 0)], [(1, 2, 3)]
    assert refusal(section(bad_runs, bad_rows, bad_pairs)[:-1])[0] == "length"
    assert refusal(section(bad_runs, bad_rows, bad_pairs))[0] == "class"
    assert refusal(section(RUNS, bad_rows, bad_pairs))[0] == "decomposition"
    assert refusal(section(RUNS, DECOMPOSITIONS, bad_pairs))[0] == "composition"
