"""What is in the wheel and in the sdist: all of the package with its data, nothing else."""

from __future__ import annotations

import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import slm2
from machine import ROOT, checkout_files

pytestmark = pytest.mark.xdist_group("packaging")

# Where files outside src/ go (pyproject.toml, package-dir).
MAPPED = {"contract/vectors/": "slm2/conformance/vectors/"}
# What pip and people need of an sdist; the rest of the checkout may stay out.
NEEDED_TO_BUILD = (
    "src/",
    "crates/",
    "contract/",
    "examples/",
    "Cargo.",
    "LICENSE",
    "NOTICE",
    "THIRD-PARTY-",
    "README.md",
    "pyproject.toml",
    "setup.py",
)
MUST_HAVE = ("slm2/py.typed", "slm2/_engine.pyi", "slm2/data/qwen3-0.6b.slm2", "slm2/reference/tokenizer.py", "slm2/compiler/pattern.py")


def package_files() -> dict[str, Path]:
    """Name in the wheel of each file of the package, and the file."""
    files = {}
    for name in checkout_files():
        if name.startswith("src/"):
            files[name.removeprefix("src/")] = ROOT / name
        for source, target in MAPPED.items():
            if name.startswith(source) and name.endswith(".json"):
                files[target + name.removeprefix(source)] = ROOT / name
    return files


def outside_dist_info(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if not name.split("/")[0].endswith(".dist-info")}


def test_wheel_is_the_package_and_nothing_else(pure_wheel: zipfile.ZipFile) -> None:
    expected = package_files()
    assert {name for name in MUST_HAVE if name not in expected} == set()
    assert any(name.startswith("slm2/conformance/vectors/") for name in expected)
    assert outside_dist_info(pure_wheel) == set(expected)


def test_wheel_has_the_bytes_of_the_checkout(pure_wheel: zipfile.ZipFile) -> None:
    differing = [name for name, path in package_files().items() if pure_wheel.read(name) != path.read_bytes()]
    assert differing == []


def test_wheel_carries_licence_and_notices(pure_wheel: zipfile.ZipFile) -> None:
    folder = f"slm2-{slm2.__version__}.dist-info/licenses"
    for name in ("LICENSE", "NOTICE", "THIRD-PARTY-NOTICES.txt"):
        assert pure_wheel.read(f"{folder}/{name}") == (ROOT / name).read_bytes()


def test_metadata(pure_wheel: zipfile.ZipFile) -> None:
    metadata = Parser().parsestr(pure_wheel.read(f"slm2-{slm2.__version__}.dist-info/METADATA").decode("utf-8"))
    assert metadata["Version"] == slm2.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    needed = [requirement for requirement in metadata.get_all("Requires-Dist") or [] if "extra ==" not in requirement]
    assert [requirement.split("<")[0].split(">")[0] for requirement in needed] == ["click", "numpy", "pydantic", "rich"]


def test_wheel_without_the_engine_runs_everywhere(pure_wheel: zipfile.ZipFile) -> None:
    assert str(pure_wheel.filename).endswith("-py3-none-any.whl")


def test_sdist_has_what_a_build_needs(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert [name for name in checkout_files() if name.startswith(NEEDED_TO_BUILD) and name not in names] == []


def test_native_wheel_from_the_sdist_adds_the_engine_alone(native_wheel: zipfile.ZipFile, pure_wheel: zipfile.ZipFile) -> None:
    (added,) = outside_dist_info(native_wheel) - outside_dist_info(pure_wheel)
    assert added.startswith("slm2/_engine.")
    assert "-cp310-abi3-" in str(native_wheel.filename)
