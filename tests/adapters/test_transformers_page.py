"""The examples of docs/transformers.md, run one after the other beside a tiny checkpoint in the place of the weights."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from machine import ROOT

PAGE = ROOT / "docs" / "transformers.md"


def test_examples(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Qwen3-0.6B").symlink_to(checkpoint, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```pycon adapters\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    examples = doctest.DocTestParser().get_doctest("".join(blocks), {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(examples, out=report.append)
    assert results.attempted > 15
    assert results.failed == 0, "".join(report)
