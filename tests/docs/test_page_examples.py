"""Examples of the site do what they show: sessions of Python and of the shell page by page, programs of other hosts one by one."""

from __future__ import annotations

import doctest
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import PAGES, SITE_PAGES, Block, blocks_of, pages_with
from hosts.toolchain import ARTIFACT, compile_c, compile_cpp, dotnet_program, javascript_package, run
from machine import ROOT

# Who runs which language; Rust's are compiled and run by cargo, as documentation of slm2-core.
SESSIONS = ("pycon", "sh", "console")
RUN_BY_CARGO = ["docs/how-to/rust.md", "crates/core/README.md"]
DATA = {"text", "json", "toml", "html", "hexdump", "eval-rst", "toctree", "error-table", "dot", "abnf"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that has what the checkout has, and keeps what an example writes."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith(".") and entry.name != "target":
            (tmp_path / entry.name).symlink_to(entry)
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command as a reader types it, with the programs of this environment first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        ["/bin/sh", "-ec", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


def typed(console: str) -> list[tuple[str, str]]:
    """Each command of a console, with what stands under it; lines that begin with `>` go on with the command."""
    found: list[tuple[str, str]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            assert found, f"a console begins with a command, not with {line!r}"
            command, output = found.pop()
            found.append((f"{command}\n{line[2:]}", "") if line.startswith("> ") and not output else (command, f"{output}{line}\n"))
    return found


def run_shell(block: Block, folder: Path) -> None:
    """All commands succeed, and a console shows what they print (`...` stands for what is left out)."""
    for command, expected in typed(block.text) if block.language == "console" else [(block.text, "...")]:
        done = shell(command, folder)
        found = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
        assert done.returncode == 0, f"$ {command}\n{found}"
        assert doctest.OutputChecker().check_output(expected, found, doctest.ELLIPSIS), f"$ {command}\n{found}"


@pytest.mark.parametrize("page", sorted({*pages_with("pycon"), *pages_with(*SESSIONS, among=SITE_PAGES)}))
def test_sessions_show_what_happens(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, in one folder; the sessions of Python of a page go on where the last one ended."""
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks_of(page)):
        if block.language == "pycon" and block.not_run is None:
            report: list[str] = []
            test = doctest.DocTestParser().get_doctest(block.text, names, f"{page}, block {number}", page, 0)
            results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append, clear_globs=False)
            names = test.globs
            assert results.failed == 0, "".join(report)
        elif block.language in SESSIONS and block.not_run is None and page in SITE_PAGES:
            run_shell(block, folder)


def programs(*languages: str) -> list[pytest.ParameterSet]:
    """Blocks of the site that are whole programs."""
    return [
        pytest.param(block, id=f"{page}-{number}")
        for page in SITE_PAGES
        for number, block in enumerate(blocks_of(page))
        if block.language in languages and block.not_run is None
    ]


def check(block: Block, printed: str) -> None:
    """A program that is run shows what it prints."""
    assert block.output is None or printed == block.output


@pytest.mark.xdist_group("hosts")
@pytest.mark.parametrize("block", programs("js"))
def test_programs_of_javascript(block: Block, tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "slm2").symlink_to(javascript_package())
    (tmp_path / "example.mjs").write_text(block.text, encoding="utf-8")
    check(block, run(shutil.which("node") or "node", "example.mjs", cwd=tmp_path))


@pytest.mark.xdist_group("hosts")
@pytest.mark.parametrize("block", programs("c", "cpp"))
def test_programs_of_c(block: Block, tmp_path: Path) -> None:
    source = tmp_path / f"example.{block.language}"
    source.write_text(block.text, encoding="utf-8")
    compiled = (compile_c if block.language == "c" else compile_cpp)(tmp_path / "example", source)
    check(block, run(compiled, ARTIFACT))


@pytest.mark.xdist_group("hosts")
@pytest.mark.parametrize("block", programs("csharp"))
def test_programs_of_dotnet(block: Block, tmp_path: Path) -> None:
    (tmp_path / "Example.cs").write_text(block.text, encoding="utf-8")
    check(block, run(dotnet_program(tmp_path)))


def test_no_block_of_the_site_is_left_untested() -> None:
    """Each is run by a test of this file or by cargo, is data, or says why it is not."""
    run_here = {*SESSIONS, "js", "c", "cpp", "csharp"}
    loose = [
        f"{page}: {block.language}"
        for page in SITE_PAGES
        for block in blocks_of(page)
        if block.not_run is None and block.language not in run_here | DATA and not (block.language == "rust" and page in RUN_BY_CARGO)
    ]
    assert loose == []


def test_plain_code_of_python_is_nowhere() -> None:
    """A block of plain code shows no output to compare, so pages have sessions only."""
    assert [page for page in PAGES for block in blocks_of(page) if block.language == "python"] == []
