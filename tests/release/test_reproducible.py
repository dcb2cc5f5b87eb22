"""Built twice, a release is the same files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools import build_dotnet
from tools.packages.archives import read_zip

from machine import ROOT

pytestmark = pytest.mark.xdist_group("release-again")


def test_a_second_build_gives_the_same_bytes(packages: Path, tmp_path: Path) -> None:
    """Of the compiled parts that are there; the next test compiles one again."""
    command = [sys.executable, ROOT / "tools" / "build_packages.py", tmp_path / "again", "--reuse"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "again" / "SHA256SUMS").read_text(encoding="ascii") == (packages / "SHA256SUMS").read_text(encoding="ascii")
    assert (tmp_path / "again" / "RELEASE-NOTES.md").read_bytes() == (packages / "RELEASE-NOTES.md").read_bytes()


def test_the_assembly_is_the_same_when_it_is_compiled_again(only, tmp_path: Path) -> None:
    build_dotnet.get_toolchain()
    embedded = f"-resource:{build_dotnet.ARTIFACT},Slm2.qwen3-0.6b.slm2"
    build_dotnet.compile_assembly(tmp_path / "Slm2.dll", build_dotnet.SOURCES / "Slm2", "-target:library", embedded, spans=False)
    assert (tmp_path / "Slm2.dll").read_bytes() == read_zip(only("Slm2.*.nupkg"))["lib/netstandard2.0/Slm2.dll"]
