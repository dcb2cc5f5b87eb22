"""Built twice, a release is the same files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from machine import ROOT

pytestmark = pytest.mark.xdist_group("release-again")


def test_a_second_build_gives_the_same_bytes(packages: Path, tmp_path: Path) -> None:
    """Of the parts that are there; the assembly's compiler, which draws a number for each assembly, does not run again."""
    command = [sys.executable, ROOT / "tools" / "build_packages.py", tmp_path / "again", "--reuse"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "again" / "SHA256SUMS").read_text(encoding="ascii") == (packages / "SHA256SUMS").read_text(encoding="ascii")
    assert (tmp_path / "again" / "RELEASE-NOTES.md").read_bytes() == (packages / "RELEASE-NOTES.md").read_bytes()
