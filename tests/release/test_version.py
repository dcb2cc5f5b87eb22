"""One version everywhere: what differs is found, and what is written is written everywhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tools import release_notes, set_version
from tools.packages.project import PackageError, version

from machine import ROOT, checkout_files

pytestmark = pytest.mark.xdist_group("release-node")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in [*set_version.PLACES, set_version.CHANGE_LOG[0]]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_checkout_has_one_version() -> None:
    assert set_version.check(ROOT) == []
    assert set_version.version() == version()


def test_every_place_is_written(copy: Path) -> None:
    before = {name: (copy / name).read_text(encoding="utf-8") for name in set_version.PLACES}
    set_version.write(copy, "12.34.56")
    after = {name: (copy / name).read_text(encoding="utf-8") for name in set_version.PLACES}
    assert [name for name in before if after[name].replace("12.34.56", version()) != before[name]] == []
    assert [name for name in before if "12.34.56" not in after[name]] == []
    # The change log is somebody's to write.
    assert set_version.check(copy) == [f"CHANGELOG.md: {version()}, but src/slm2/__init__.py has 12.34.56"]


@pytest.mark.parametrize("name", [*list(set_version.PLACES)[1:], "CHANGELOG.md"])
def test_another_version_anywhere_is_found(copy: Path, name: str) -> None:
    pattern = set_version.PLACES.get(name, set_version.CHANGE_LOG[1])
    path = copy / name
    text = path.read_text(encoding="utf-8")
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None
    path.write_text(text[: found.start(1)] + "9.9.9" + text[found.end(1) :], encoding="utf-8")
    assert [line for line in set_version.check(copy) if line.startswith(f"{name}: 9.9.9")] != []


def test_no_other_file_has_a_version_of_its_own() -> None:
    """The version in quotes in a source or manifest that set_version.py does not know. The tools, tests and reports may name one."""
    wanted = re.compile(rf"""["'>]=?{re.escape(version())}["'<]""")
    known = {*set_version.PLACES, "CHANGELOG.md"}
    sources = [name for name in checkout_files() if re.match(r"(src|crates|bindings|web)/|[^/]+\.(toml|py|json)$", name)]
    texts = {name: (ROOT / name).read_bytes().decode("utf-8", errors="ignore") for name in sources if name not in known}
    assert [name for name, text in texts.items() if wanted.search(text)] == []


def test_notes_are_the_section() -> None:
    date, text = release_notes.section(version())
    assert date
    assert text.startswith("The first way through")
    notes = release_notes.notes(version())
    assert notes.startswith(f"# SLM2 {version()}\n\n{date}\n\nThe first way through")
    assert "\n## Python\n" in notes
    with pytest.raises(PackageError, match=r"9\.9\.9"):
        release_notes.section("9.9.9")
