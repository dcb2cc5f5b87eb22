"""The page of benchmarks is what its JSON says, so that nobody improves a number by hand."""

from __future__ import annotations

import json

from machine import ROOT
from slm2.bench.markdown import markdown
from slm2.bench.summary import Summary


def test_the_page_is_made_of_the_json() -> None:
    raw = json.loads((ROOT / "docs" / "benchmarks.json").read_bytes())
    tables = markdown(Summary(raw))
    assert "## slm2 over the best exact peer" in tables
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").endswith("\n\n" + tables)
