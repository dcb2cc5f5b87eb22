"""Tables of normalization that no Unicode has are tables all the same: both engines follow them (contract/artifact.md, 0x50)."""

from __future__ import annotations

import itertools
import runpy

import pytest

from machine import ROOT
from slm2.artifact import Parts, read, seal
from slm2.artifact.normalization import NormalizationTables
from slm2.engine import select

SMALL = runpy.run_path(str(ROOT / "tools" / "small_artifact.py"))
A, B, ACUTE, A_ACUTE = 0x61, 0x62, 0x301, 0xE1
TABLES = {
    "ASCII has classes": NormalizationTables({A: 230, B: 220}, {}, {}),
    "ASCII is drawn into ASCII": NormalizationTables({}, {A_ACUTE: (A, B)}, {(A, B): A_ACUTE}),
    "ASCII decomposes": NormalizationTables({}, {B: (A, ACUTE)}, {(A, ACUTE): B}),
    "ASCII decomposes for good": NormalizationTables({}, {B: (A,)}, {}),
    "letters of three bytes have classes": NormalizationTables({0x4E00: 230, 0x4E01: 220}, {}, {}),
    "characters of four bytes have classes": NormalizationTables({0x1F600: 230, 0x1F601: 220, ACUTE: 225}, {}, {}),
}
CHARACTERS = "ab", "x", "\N{LATIN SMALL LETTER A WITH ACUTE}", "\N{COMBINING ACUTE ACCENT}", "一", "丁", "\U0001f600", "\U0001f601", "ba"


@pytest.mark.parametrize("tables", TABLES.values(), ids=TABLES)
def test_both_engines_follow_the_tables(tables: NormalizationTables) -> None:
    small = read(SMALL["build"]())
    data = seal(Parts(small.tokens, small.special, small.dfa, small.merges, tables, small.facts, small.provenance, None))
    native, reference = select("native", data), select("reference", data)
    for characters in itertools.product(CHARACTERS, repeat=3):
        text = "".join(characters).encode()
        assert native.encode(text, "publisher") == reference.encode(text, "publisher"), text
