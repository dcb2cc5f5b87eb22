"""The packages that tools/build_packages.py made: `SLM2_PACKAGES` names their folder (`tools/check.py --stage packages` makes them)."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from machine import ROOT

sys.path.insert(0, str(ROOT))  # tools/ is imported by that name

# Letters of no alphabet, a sign of another plane, spaces: what an encoding gone wrong on the way would change.
VECTOR = ("tokenizer.json", "T-words-021")


@pytest.fixture(scope="session")
def packages() -> Path:
    named = os.environ.get("SLM2_PACKAGES")
    if named is None:
        pytest.skip("no packages: run tools/build_packages.py, and set SLM2_PACKAGES to their folder")
    return Path(named).resolve()


@pytest.fixture(scope="session")
def vector() -> dict[str, Any]:
    """The vector that every installed package is asked."""
    file, wanted = VECTOR
    vectors = json.loads((ROOT / "contract" / "vectors" / file).read_text(encoding="utf-8"))["vectors"]
    (found,) = [each for each in vectors if each["id"] == wanted]
    return found


@pytest.fixture(scope="session")
def only(packages: Path):
    """The one file of the folder that a pattern fits."""

    def found(pattern: str) -> Path:
        (path,) = packages.glob(pattern)
        return path

    return found


@pytest.fixture(scope="session")
def digests(packages: Path) -> dict[str, str]:
    """SHA-256 of each file that SHA256SUMS lists."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in packages.iterdir()
        if path.name not in ("SHA256SUMS", "RELEASE-NOTES.md")
    }
