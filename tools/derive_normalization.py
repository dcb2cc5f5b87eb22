"""Derive the normalisation tables from the publisher's engine, by probing it (contract/normalization.md, "How the tables are derived").

    python tools/derive_normalization.py           write the tables of the installed tokenizers
    python tools/derive_normalization.py --check   exit 1 where the committed file differs from what would be written

Every scalar value is probed alone, and every two that could compose together; each probe is a call of its own, so that none
can touch another. The engine's answers alone make the tables. unicodedata2 gives no more than names: the engine shows only
the order of the combining classes, not their numbers, so one mark for each numbered class is taken from there, and refused
unless the engine puts them in that order.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import unicodedata2
from tokenizers import normalizers

from slm2.artifact.normalization import NormalizationTables
from slm2.compiler.normalization import to_json
from slm2.reference.normalize import SYLLABLE_BASE, SYLLABLE_COUNT, decompose, normalize

TABLES = Path(__file__).resolve().parent.parent / "src" / "slm2" / "compiler" / "normalization_tables"

SCALARS = [chr(value) for value in range(0x110000) if not 0xD800 <= value < 0xE000]
JAMO = [chr(value) for value in range(0x1100, 0x1200)]
EMPTY = NormalizationTables({}, {}, {})

# Every scalar value is put after each of these and before each of those: they compose with the most others, and with few.
SWEEP_BASES = "Aeω\u0915\u09c7\u1100\uac00"
SWEEP_SECONDS = "\u0301\u0345\u093c\u09be\u3099\u1161\u11a8"


class ContradictionError(Exception):
    """The engine answered a probe in a way that no tables of this shape describe."""


@dataclass(frozen=True)
class Oracle:
    """The engine that is probed, and a numbered class for the scalar values whose order it is asked for."""

    nfc: Callable[[str], str]
    nfd: Callable[[str], str]
    class_label: Callable[[str], int]

    def precedes(self, mark: str, other: str) -> bool:
        """Whether the engine moves ``mark`` before ``other``: both have a class, and that of ``mark`` is less."""
        return mark != other and self.nfd(other + mark) == mark + other


def derive(oracle: Oracle) -> NormalizationTables:
    """The engine's tables, checked against it on every pair that they know and in sweeps over all scalar values."""
    decompositions = derive_decompositions(oracle)
    classes = derive_classes(oracle, decompositions)
    tables = NormalizationTables(classes, decompositions, derive_compositions(oracle, decompositions))
    check_pairs(oracle, tables)
    check_sweeps(oracle, tables)
    return tables


def derive_decompositions(oracle: Oracle) -> dict[int, tuple[int, ...]]:
    """What NFD makes of each scalar value alone, where it is another text. Hangul syllables must follow the arithmetic."""
    decompositions = {}
    for scalar in SCALARS:
        parts = oracle.nfd(scalar)
        if SYLLABLE_BASE <= ord(scalar) < SYLLABLE_BASE + SYLLABLE_COUNT:
            if tuple(map(ord, parts)) != decompose(ord(scalar), EMPTY) or oracle.nfc(parts) != scalar:
                raise ContradictionError(f"Hangul syllable U+{ord(scalar):04X} does not follow the arithmetic")
        elif parts != scalar:
            decompositions[ord(scalar)] = tuple(map(ord, parts))
    return decompositions


def derive_classes(oracle: Oracle, decompositions: dict[int, tuple[int, ...]]) -> dict[int, int]:
    """The combining class of each scalar value that has one. What decomposes is never looked up and stays out."""
    ladder = class_ladder(oracle, decompositions)
    lowest, highest = ladder[0][1], ladder[-1][1]
    classes = {}
    for scalar in SCALARS:
        # A mark moves past one end of the ladder or the other; what moves past neither has class 0.
        if ord(scalar) not in decompositions and (oracle.precedes(scalar, highest) or oracle.precedes(lowest, scalar)):
            classes[ord(scalar)] = class_of(oracle, scalar, ladder)
    return classes


def class_ladder(oracle: Oracle, decompositions: dict[int, tuple[int, ...]]) -> list[tuple[int, str]]:
    """``(class, mark)``, rising: the first mark of each numbered class that the engine knows as a mark."""
    labelled: dict[int, list[str]] = {}
    for scalar in SCALARS:
        label = oracle.class_label(scalar)
        if label and ord(scalar) not in decompositions:
            labelled.setdefault(label, []).append(scalar)
    firsts = [marks[0] for marks in labelled.values()]

    def moves(mark: str) -> bool:
        return any(oracle.precedes(mark, other) or oracle.precedes(other, mark) for other in firsts)

    ladder = [(label, next(filter(moves, labelled[label]), "")) for label in sorted(labelled)]
    ladder = [rung for rung in ladder if rung[1]]
    for label, mark in ladder:
        for other_label, other in ladder:
            if oracle.precedes(mark, other) != (label < other_label):
                raise ContradictionError(
                    f"the engine does not order U+{ord(mark):04X} and U+{ord(other):04X} as classes {label}, {other_label}"
                )
    return ladder


def class_of(oracle: Oracle, mark: str, ladder: list[tuple[int, str]]) -> int:
    """The class of the one rung that ``mark`` neither precedes nor follows."""
    level = [label for label, rung in ladder if not oracle.precedes(mark, rung) and not oracle.precedes(rung, mark)]
    if len(level) != 1:
        raise ContradictionError(f"mark U+{ord(mark):04X} stands level with the classes {level}; it must be exactly one")
    return level[0]


def derive_compositions(oracle: Oracle, decompositions: dict[int, tuple[int, ...]]) -> dict[tuple[int, int], int]:
    """The last pair of each scalar value that NFC puts together again from its decomposition.

    There are no other pairs: what composes to c has NFD(c) as its own NFD, so c decomposes; and c is put together from
    the left, so its last pair is what NFC makes of all its parts but the last, and the last.
    """
    compositions = {}
    for composite, parts in decompositions.items():
        text = "".join(map(chr, parts))
        if len(text) == 1 or oracle.nfc(text) != chr(composite):
            continue
        first, second = oracle.nfc(text[:-1]), text[-1]
        if len(first) != 1 or oracle.nfc(first + second) != chr(composite):
            raise ContradictionError(f"U+{composite:04X} is not put together from one pair")
        compositions[ord(first), ord(second)] = composite
    return compositions


def tables_nfc(text: str, tables: NormalizationTables) -> str:
    """NFC by the reference."""
    return b"".join(unit.data for unit in normalize(text.encode(), tables)).decode()


def compare(oracle: Oracle, tables: NormalizationTables, texts: Iterable[str]) -> None:
    """The tables must say what the engine says."""
    for text in texts:
        if tables_nfc(text, tables) != oracle.nfc(text):
            raise ContradictionError(f"the tables and the engine differ on {text.encode('unicode_escape').decode()}")


def check_pairs(oracle: Oracle, tables: NormalizationTables) -> None:
    """Each first of a pair with each second, each composite with each second, and all Hangul jamo with each other."""
    seconds = sorted({chr(second) for _, second in tables.compositions})
    firsts = sorted({chr(first) for first, _ in tables.compositions} | {chr(value) for value in tables.decompositions})
    compare(oracle, tables, (first + second for first in firsts for second in seconds))
    compare(oracle, tables, (first + second for first in JAMO for second in JAMO))


def check_sweeps(oracle: Oracle, tables: NormalizationTables) -> None:
    """Each scalar value after a few bases and before a few seconds: only what the tables know may do more than stand there."""
    alone = [oracle.nfc(scalar) for scalar in SCALARS]
    for base in SWEEP_BASES:
        compare(oracle, tables, (base + s for s, n in zip(SCALARS, alone, strict=True) if oracle.nfc(base + s) != base + n))
    for second in SWEEP_SECONDS:
        compare(oracle, tables, (s + second for s, n in zip(SCALARS, alone, strict=True) if oracle.nfc(s + second) != n + second))


def tokenizers_oracle() -> Oracle:
    """The normalizers of the installed tokenizers."""
    return Oracle(normalizers.NFC().normalize_str, normalizers.NFD().normalize_str, unicodedata2.combining)


def derived_file() -> tuple[Path, str]:
    """Where the installed engine's tables belong, and the text that belongs there."""
    engine = version("tokenizers")
    origin = {"engine": f"tokenizers {engine}, normalizers.NFC and NFD", "class_numbers": f"unicodedata2 {version('unicodedata2')}"}
    path = TABLES / f"tokenizers-{'.'.join(engine.split('.')[:2])}.json"
    return path, to_json(derive(tokenizers_oracle()), origin)


def main() -> int:
    """Write or check the tables."""
    parser = argparse.ArgumentParser(description="Derive the normalisation tables from the publisher's engine.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the committed file differs")
    arguments = parser.parse_args()
    path, text = derived_file()
    if not arguments.check:
        path.write_text(text, encoding="utf-8", newline="\n")
    elif not path.is_file() or path.read_text("utf-8") != text:
        print(f"{path.name} differs from what the engine says: run python tools/derive_normalization.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
