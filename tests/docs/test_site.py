"""The builder of the site finds what is broken in it; the site itself is built in the stage docs of tools/check.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from docs.pages import SITE_PAGES
from machine import ROOT


@pytest.fixture(scope="module")
def builder() -> Any:
    described = importlib.util.spec_from_file_location("build_site", ROOT / "tools" / "build_site.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def test_broken_links_are_found(builder: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other.html").write_text('<h1 id="there">x</h1>', encoding="utf-8")
    page = """<a href="folder/other.html#there">ok</a> <a href="https://example.org/x">elsewhere</a> <a href="#">top</a>
        <a href="folder/other.html#nowhere">no anchor</a> <img src="missing.svg"> <script src="https://example.org/x.js"></script>"""
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert builder.broken_links(tmp_path) == [
        "page.html: folder/other.html#nowhere",
        "page.html: missing.svg",
        "page.html: https://example.org/x.js would be loaded from elsewhere",
    ]


def test_every_page_of_the_checkout_that_readers_need_is_in_the_site() -> None:
    wanted = {
        "docs/index.md",
        "docs/tutorial.md",
        "contract/README.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "bindings/js/README.md",
        "crates/capi/README.md",
    }
    assert wanted <= set(SITE_PAGES)
