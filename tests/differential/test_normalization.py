"""The reference's NFC against the publisher's engine (contract/normalization.md)."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import unicodedata2
from tokenizers import normalizers

from slm2.artifact.normalization import encode, parse
from slm2.compiler.normalization import from_json, load_tables, to_json
from slm2.contract import embedded
from slm2.engine import select
from slm2.reference.normalize import Normalized, decompose, normalize

ROOT = Path(__file__).resolve().parents[2]
TABLES = load_tables()
SCALARS = [chr(value) for value in range(0x110000) if not 0xD800 <= value < 0xE000]
SEED = 20_260_729
SEQUENCES = 300_000
# Of each chunk; with SLM2_EXHAUSTIVE set 4,000,000 in all, else 1,000,000.
CHUNKS = 8
SEQUENCES_OF_A_CHUNK = 500_000 if "SLM2_EXHAUSTIVE" in os.environ else 125_000

engine_nfc = normalizers.NFC().normalize_str


def tool():
    """tools/derive_normalization.py as a module; tools/ is no package."""
    name = "derive_normalization"
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def text_of(units: list[Normalized]) -> bytes:
    return b"".join(unit.data for unit in units)


def escaped(text: str) -> str:
    return text.encode("unicode_escape").decode()


def pools() -> dict[str, tuple[int, list[str]]]:
    """Name -> (weight, scalar values), so that most sequences reorder, compose or block."""
    by_class: dict[int, str] = {}
    for scalar, combining_class in TABLES.classes.items():
        by_class.setdefault(combining_class, chr(scalar))
    newer = [s for s in SCALARS if ord(s) not in TABLES.classes and ord(s) not in TABLES.decompositions and unicodedata2.combining(s)]
    return {
        "firsts": (24, sorted({chr(first) for first, _ in TABLES.compositions})),
        "seconds": (26, sorted({chr(second) for _, second in TABLES.compositions})),
        "one mark of each class": (14, list(by_class.values())),
        "all marks": (8, [chr(scalar) for scalar in TABLES.classes]),
        "leading and vowel jamo": (6, [chr(value) for value in (*range(0x10FE, 0x1114), *range(0x1160, 0x1177))]),
        "trailing jamo": (4, [chr(value) for value in range(0x11A6, 0x11C4)]),
        "syllables": (4, [chr(value) for value in range(0xABF0, 0xD7B0, 7)]),
        "decomposing": (9, [chr(scalar) for scalar in TABLES.decompositions]),
        "marks and pairs of newer Unicode": (3, [*newer, "\U00011935", "\U00011930", "\U00011938"]),
        "inert": (2, list("a \n0<|\u200d\ufffd\U0001f44d")),
    }


def sequences(count: int, seed: int) -> list[str]:
    """Random texts of 1 to 8 scalar values; one in 2,000 is a long run of marks."""
    source = random.Random(seed)
    weights, alphabets = zip(*pools().values(), strict=True)
    alphabet = [scalar for scalars in alphabets for scalar in scalars]
    spread = [weight / len(scalars) for weight, scalars in zip(weights, alphabets, strict=True) for _ in scalars]
    total = sum(spread)
    steps, running = [], 0.0
    for weight in spread:
        running += weight / total
        steps.append(running)
    lengths = source.choices([*range(1, 9), 200], [250] * 8 + [1], k=count)
    drawn = iter(source.choices(alphabet, cum_weights=steps, k=sum(lengths)))
    return ["".join(next(drawn) for _ in range(length)) for length in lengths]


# ---- the tables ----


def test_tables_are_what_the_engine_says() -> None:
    path, text = tool().derived_file()
    assert path.read_text("utf-8") == text, "run python tools/derive_normalization.py"


def test_derivation_finds_another_engines_tables() -> None:
    """The same probes on unicodedata2 must find what unicodedata2 says of itself, so they can find newer tables too."""
    module = tool()
    oracle = module.Oracle(
        lambda text: unicodedata2.normalize("NFC", text), lambda text: unicodedata2.normalize("NFD", text), unicodedata2.combining
    )
    decompositions = module.derive_decompositions(oracle)
    classes = module.derive_classes(oracle, decompositions)
    compositions = module.derive_compositions(oracle, decompositions)
    assert classes == {ord(s): unicodedata2.combining(s) for s in SCALARS if unicodedata2.combining(s) and ord(s) not in decompositions}
    mapped = {ord(s) for s in SCALARS if unicodedata2.decomposition(s) and not unicodedata2.decomposition(s).startswith("<")}
    assert decompositions.keys() == mapped
    for pair, composite in compositions.items():
        assert unicodedata2.decomposition(chr(composite)) == f"{pair[0]:04X} {pair[1]:04X}"
    assert len(compositions) > len(TABLES.compositions)


def test_derivation_refuses_an_engine_without_tables() -> None:
    module = tool()
    exchange = {"\u0300": "\u0327", "\u0327": "\u0300"}

    def nfd(text: str) -> str:
        """Two marks of different classes change places, so that the order contradicts the numbers."""
        swapped = "".join(exchange.get(scalar, scalar) for scalar in text)
        return "".join(exchange.get(scalar, scalar) for scalar in unicodedata2.normalize("NFD", swapped))

    oracle = module.Oracle(lambda text: unicodedata2.normalize("NFC", text), nfd, unicodedata2.combining)
    with pytest.raises(module.ContradictionError):
        module.derive_classes(oracle, {})


def test_tables_survive_section_and_text() -> None:
    section = encode(TABLES)
    assert parse(section) == TABLES
    assert len(section) < 2**16
    assert from_json(to_json(TABLES, {})) == TABLES


def test_composite_is_first_and_second_decomposed() -> None:
    """What contract/artifact.md asks of each composition: no reordering between the two halves."""
    assert len(TABLES.compositions) == len(set(TABLES.compositions.values()))
    for (first, second), composite in TABLES.compositions.items():
        assert decompose(first, TABLES) + decompose(second, TABLES) == decompose(composite, TABLES)


def test_page_lists_what_differs_from_unicode_16() -> None:
    page = (ROOT / "contract" / "normalization.md").read_text("utf-8")
    listed = {
        kind: {value for first, last in re.findall(r"U\+([0-9A-F]+)(?:-([0-9A-F]+))?", row) for value in span(first, last)}
        for kind, row in re.findall(r"^\| (combining class|decomposition and composition) \| \d+ \| (.*) \|$", page, re.MULTILINE)
    }
    nfd = normalizers.NFD().normalize_str
    decomposing = {ord(s) for s in SCALARS if nfd(s) != unicodedata2.normalize("NFD", s)}
    classes = {ord(s) for s in SCALARS if unicodedata2.combining(s) != TABLES.classes.get(ord(s), 0)}
    assert listed == {"combining class": classes - TABLES.decompositions.keys(), "decomposition and composition": decomposing}


def span(first: str, last: str) -> range:
    return range(int(first, 16), int(last or first, 16) + 1)


# ---- the algorithm ----


def test_every_scalar_value() -> None:
    changed = 0
    for scalar in SCALARS:
        found, expected = text_of(normalize(scalar.encode(), TABLES)).decode(), engine_nfc(scalar)
        assert found == expected, f"U+{ord(scalar):04X}: {escaped(found)} instead of {escaped(expected)}"
        changed += found != scalar
    assert changed == 1120  # singletons and what composition leaves out


def test_every_scalar_value_among_its_neighbours() -> None:
    """All scalar values in one text, in order and then mixed, so that each meets others without a separator."""
    mixed = random.Random(SEED).sample(SCALARS, len(SCALARS))
    for at in range(0, len(SCALARS), 65_536):
        for text in ("".join(SCALARS[at : at + 65_536]), "".join(mixed[at : at + 65_536 : 2])):
            found, expected = text_of(normalize(text.encode(), TABLES)).decode(), engine_nfc(text)
            place = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
            assert found == expected, f"from scalar {at}, seed {SEED}: first difference at {place}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_sequences_through_the_native_engine(chunk: int) -> None:
    """What the ids of profile ``publisher`` decode to is the publisher's NFC, each text alone and between others."""
    native, changed = select("native", embedded()), 0
    texts = sequences(SEQUENCES_OF_A_CHUNK, SEED + 100 + chunk)
    for text in texts:
        ids = native.encode(text, "publisher")
        found, expected = native.decode(ids, "refuse").decode(), engine_nfc(text)
        assert found == expected, f"seed {SEED + 100 + chunk}: {escaped(text)} gives {escaped(found)} instead of {escaped(expected)}"
        changed += found != text
    assert changed > SEQUENCES_OF_A_CHUNK // 4
    whole = "".join(texts)
    assert native.decode(native.encode(whole, "publisher"), "refuse").decode() == engine_nfc(whole)


def test_random_sequences() -> None:
    changed = 0
    for text in sequences(SEQUENCES, SEED):
        found, expected = text_of(normalize(text.encode(), TABLES)).decode(), engine_nfc(text)
        assert found == expected, f"seed {SEED}: {escaped(text)} gives {escaped(found)} instead of {escaped(expected)}"
        changed += found != text
    assert changed > SEQUENCES // 4


@pytest.mark.timeout(60)
def test_long_runs_of_marks_take_no_quadratic_time() -> None:
    marks = [chr(scalar) for scalar in TABLES.classes]
    text = "e" + "".join(random.Random(SEED).choices(marks, k=200_000)) + "\u1100" * 100_000
    assert text_of(normalize(text.encode(), TABLES)).decode() == engine_nfc(text)


def test_newer_marks_stay_where_they_are() -> None:
    for text in ("x\u0898\u0334", "\U00011935\U00011930", "\u08fa\u0c3c"):
        assert text_of(normalize(text.encode(), TABLES)).decode() == text == engine_nfc(text)
        assert unicodedata2.normalize("NFC", text) != text


# ---- ill-formed bytes and source ranges ----


def damaged(text: str, source: random.Random) -> bytes:
    """UTF-8 with bytes put in, taken out or changed."""
    data = bytearray(text.encode())
    for _ in range(source.randint(1, 3)):
        at = source.randrange(len(data) + 1)
        data[at : at + source.randint(0, 1)] = source.choice((b"", b"\x80", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf0\x9f", b"\xe0\x80"))
    return bytes(data)


def stretchwise(data: bytes) -> bytes:
    """The engine's NFC of each well-formed stretch; Python's own decoder finds the ill-formed bytes."""
    parts = re.split("([\udc80-\udcff])", data.decode("utf-8", "surrogateescape"))
    return b"".join(part.encode("utf-8", "surrogateescape") if index % 2 else engine_nfc(part).encode() for index, part in enumerate(parts))


def test_ill_formed_bytes_part_the_stretches() -> None:
    source = random.Random(SEED)
    broken = 0
    for text in sequences(30_000, SEED + 1):
        data = damaged(text, source)
        units = normalize(data, TABLES)
        assert text_of(units) == stretchwise(data), f"seed {SEED}: {data!r}"
        check_ranges(data, units)
        broken += text_of(units).decode("utf-8", "replace") != engine_nfc(text)
    assert broken > 10_000


def check_ranges(data: bytes, units: list[Normalized]) -> None:
    """Everything that contract/normalization.md promises of source ranges."""
    escaped_text = data.decode("utf-8", "surrogateescape")
    ends = [0]
    for scalar in escaped_text:
        ends.append(ends[-1] + len(scalar.encode("utf-8", "surrogateescape")))
    index_at = {end: index for index, end in enumerate(ends)}
    parts_of = [decompose(ord(scalar), TABLES) for scalar in escaped_text]
    covered = bytearray(len(data))
    for unit in units:
        source = parts_of[index_at[unit.start] : index_at[unit.end]]  # a KeyError: not the bounds of a scalar value
        covered[unit.start : unit.end] = b"\1" * (unit.end - unit.start)
        assert unit.exact == (unit.data == data[unit.start : unit.end]), data
        own = Counter(decompose(ord(unit.data.decode("utf-8", "surrogateescape")), TABLES))
        assert not own - Counter(part for parts in source for part in parts), data
        assert own.keys() & set(source[0]), data
        assert own.keys() & set(source[-1]), data
    assert all(covered), data
    starters = [unit for unit in units if not TABLES.classes.get(ord(unit.data.decode("utf-8", "surrogateescape")), 0)]
    assert all(a.start <= b.start for a, b in pairwise(starters)), data


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("", []),
        ("aé", [("a", 0, 1, True), ("é", 1, 3, True)]),
        ("e\u0301!", [("é", 0, 3, False), ("!", 3, 4, True)]),
        ("\u212b", [("Å", 0, 3, False)]),
        ("\u0958", [("\u0915", 0, 3, False), ("\u093c", 0, 3, False)]),
        # The cedilla goes under the e of é, so é's accent stands alone: both come from é, and the first from the cedilla too.
        ("é\u0327", [("ȩ", 0, 4, False), ("\u0301", 0, 2, False)]),
        # Marks that change places keep their own ranges.
        ("x\u0301\u0323", [("x", 0, 1, True), ("\u0323", 3, 5, True), ("\u0301", 1, 3, True)]),
        # The hull of o and the horn holds the mark between them, which has a lesser class and does not block.
        ("o\u0321\u031b", [("ơ", 0, 5, False), ("\u0321", 1, 3, True)]),
        # A mark of the same class blocks.
        ("a\u0305\u0301", [("a", 0, 1, True), ("\u0305", 1, 3, True), ("\u0301", 3, 5, True)]),
        ("o\u0323\u031b", [("ợ", 0, 5, False)]),
        ("e\u0328\u0301\u0301", [("ę", 0, 3, False), ("\u0301", 3, 5, True), ("\u0301", 5, 7, True)]),
        ("\u1112\u1161\u11ab", [("한", 0, 9, False)]),
        ("하\u11ab한", [("한", 0, 6, False), ("한", 6, 9, True)]),
        ("\u0301e", [("\u0301", 0, 2, True), ("e", 2, 3, True)]),
    ],
)
def test_source_ranges(text: str, units: list[tuple[str, int, int, bool]]) -> None:
    found = normalize(text.encode(), TABLES)
    assert found == [(data.encode(), start, end, exact) for data, start, end, exact in units]
    check_ranges(text.encode(), found)


def test_ill_formed_byte_keeps_letter_and_accent_apart() -> None:
    assert normalize(b"e\xff\xcc\x81\xe1\x84", TABLES) == [
        (b"e", 0, 1, True),
        (b"\xff", 1, 2, True),
        (b"\xcc\x81", 2, 4, True),
        (b"\xe1", 4, 5, True),
        (b"\x84", 5, 6, True),
    ]
