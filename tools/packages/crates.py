"""The crates that are linked into a library, with their licences and digests, as cargo resolves them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.packages.project import ROOT, PackageError, run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Crate:
    """One crate.

    Attributes:
        name: of the crate.
        version: of the release.
        licence: SPDX expression, as its manifest has it.
        folder: with its sources.
        sha256: of the file on the registry, from Cargo.lock; None of a crate of this workspace.
        needs: names of the crates that are linked because of it.
    """

    name: str
    version: str
    licence: str
    folder: Path
    sha256: str | None
    needs: tuple[str, ...]

    @property
    def purl(self) -> str:
        """The address of the release in package URLs."""
        return f"pkg:cargo/{self.name}@{self.version}"


def host() -> str:
    """The platform that rustc compiles for where it is told nothing."""
    return next(line.split()[1] for line in run("rustc", "-vV").splitlines() if line.startswith("host: "))


def linked(package: str, platform: str | None) -> list[Crate]:
    """A crate of the workspace and all that is linked with it, not what only builds it: sorted by name.

    Args:
        package: the crate.
        platform: a target of rustc; None for all of them.

    Raises:
        PackageError: a crate has no licence in its manifest.
    """
    resolved = _metadata(platform)
    packages = {each["id"]: each for each in resolved["packages"]}
    nodes = {each["id"]: each for each in resolved["resolve"]["nodes"]}
    (start,) = [key for key, each in packages.items() if each["name"] == package and each["source"] is None]
    found: dict[str, Crate] = {}
    todo = [start]
    while todo:
        key = todo.pop()
        if key in found:
            continue
        needed = [need["pkg"] for need in nodes[key]["deps"] if _is_linked(need, packages[need["pkg"]])]
        found[key] = _crate(packages[key], tuple(sorted(packages[need]["name"] for need in needed)))
        todo += needed
    return sorted(found.values(), key=lambda crate: crate.name)


def source_folder(name: str) -> Path:
    """Of any crate that Cargo.lock names once, also of one that only builds others."""
    (manifest,) = {package["manifest_path"] for package in _metadata(None)["packages"] if package["name"] == name}
    return Path(manifest).parent


@cache
def _metadata(platform: str | None) -> dict[str, Any]:
    only = ("--filter-platform", platform) if platform else ()
    found: dict[str, Any] = json.loads(run("cargo", "metadata", "--format-version", "1", "--locked", *only))
    return found


@cache
def _digests() -> dict[tuple[str, str], str | None]:
    """SHA-256 of each name and version in Cargo.lock."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(each["name"], each["version"]): each.get("checksum") for each in lock["package"]}


def _is_linked(need: dict[str, Any], package: dict[str, Any]) -> bool:
    """Neither of a build script nor of tests, and no macro, which runs in the compiler."""
    is_macro = any("proc-macro" in target["kind"] for target in package["targets"])
    return not is_macro and any(kind["kind"] is None for kind in need["dep_kinds"])


def _crate(package: dict[str, Any], needs: tuple[str, ...]) -> Crate:
    name, version, licence = package["name"], package["version"], package["license"]
    if not licence:
        raise PackageError(f"crate {name} {version} names no licence")
    return Crate(name, version, licence, Path(package["manifest_path"]).parent, _digests()[name, version], needs)
