"""What all packages are made from: the checkout, its version, its time, its licence files."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARTIFACT = ROOT / "src" / "slm2" / "data" / "qwen3-0.6b.slm2"
NOTICES = "THIRD-PARTY-NOTICES.txt"
# In every package, at its root or where its kind wants them.
LICENCE_FILES = ("LICENSE", "NOTICE", NOTICES)
LICENCE = "Apache-2.0"
AUTHORS = "The SLM2 authors"
# The compiler of tools/build_wasm.py: of the module over shared memory always, of the plain one as it is published.
WASM_COMPILER = ROOT / ".cache" / "wasm-toolchain" / "rustc-wasm"
WASM = "wasm32-unknown-unknown"
# The time of entries in a zip archive begins here.
EARLIEST = 315_532_800


@dataclass(frozen=True)
class Build:
    """One run of tools/build_packages.py.

    Attributes:
        output: the folder that the packages go into.
        epoch: the time that every file in them has, in seconds since 1970.
        reuse: take the modules, the page and the assemblies that are already there; without it all is made as it is published.
    """

    output: Path
    epoch: int
    reuse: bool


class PackageError(Exception):
    """What keeps a package from being built."""


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command; its output.

    Raises:
        PackageError: it failed.
    """
    arguments = [str(part) for part in command]
    done = subprocess.run(
        arguments, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        raise PackageError(f"{' '.join(arguments)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def version() -> str:
    """Of the package slm2; tools/set_version.py sees to it that there is no other."""
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "src" / "slm2" / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise PackageError("src/slm2/__init__.py has no __version__")
    return found[1]


def epoch() -> int:
    """Seconds of SOURCE_DATE_EPOCH, or of the commit that is checked out: the time that every file in a package has."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct").strip()
    return max(int(given), EARLIEST)


def description() -> str:
    """The sentence that every package is described by."""
    found = re.search(r'^description = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise PackageError("pyproject.toml has no description")
    return found[1]


def licence_files() -> dict[str, bytes]:
    """Name and bytes of each."""
    return {name: (ROOT / name).read_bytes() for name in LICENCE_FILES}
