"""`slm2 web` where there is no page: it says what has one, and how it is built. That it serves one is tested with the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.runner import run
from slm2.cli import web


def test_without_a_page_it_says_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "PACKAGED", tmp_path / "packaged")
    monkeypatch.setattr(web, "BUILT", tmp_path / "built")
    refused = run("web")
    assert refused.status == 3
    assert refused.error["code"] == "file_unreadable"
    assert "tools/build_web.py" in refused.error["reason"]


def test_a_folder_without_a_page_is_refused_by_its_name(tmp_path: Path) -> None:
    refused = run("web", tmp_path)
    assert refused.error["path"] == str(tmp_path / "index.html")
    assert "build_web" not in refused.error["reason"]
