"""Installs and builds that all tests of this folder look at, each made once.

The modules of the folder are one group of xdist's, so that one worker runs them all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from machine import ROOT, Machine, make


@pytest.fixture(scope="session")
def first_command() -> str:
    """The README's first command, as it stands there."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return blocks[0].strip()


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return make(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="session")
def first_run(machine: Machine, first_command: str) -> subprocess.CompletedProcess[str]:
    """What the README's first command does on a machine without Rust."""
    return machine.run("/bin/sh", "-c", first_command)


@pytest.fixture(scope="session")
def built(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist, and the wheel that a machine without Rust builds from it."""
    folder = tmp_path_factory.mktemp("built")
    done = machine.run(sys.executable, "-m", "build", "--outdir", folder, ".")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def sdist(built: Path) -> Path:
    (path,) = built.glob("*.tar.gz")
    return path


@pytest.fixture(scope="session")
def pure_wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="session")
def native_wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel that this machine, which has Rust, builds from the sdist; compiled for a short build, since nothing runs it."""
    folder = tmp_path_factory.mktemp("native")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder), str(sdist)]
    quick = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    done = subprocess.run(command, env={**os.environ, **quick}, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)
