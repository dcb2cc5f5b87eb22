"""Bills of materials: valid CycloneDX, complete by cargo's own account, and of licences that are allowed."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import metadata
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from license_expression import ExpressionError
from packaging.requirements import Requirement
from tools.packages import sbom
from tools.packages.archives import read_zip
from tools.packages.crates import host
from tools.packages.licences import is_allowed
from tools.packages.project import WASM, PackageError, version

from machine import ROOT

pytestmark = pytest.mark.xdist_group("release-node")

# Each package with what is linked into it: crate and platform.
LINKED = {
    "slm2-*.whl": [("slm2-python", host()), ("slm2-wasm", WASM)],
    "slm2-*.tgz": [("slm2-wasm", WASM)],
    "Slm2.*.nupkg": [("slm2-capi", host())],
    "slm2-*.tar.gz": [("slm2-python", "all")],
    "slm2-core-*.crate": [("slm2-core", "all")],
    "slm2-simd-*.crate": [],
}
PURLS = {
    "slm2-*.whl": "pypi/slm2", "slm2-*.tgz": "npm/slm2", "Slm2.*.nupkg": "nuget/Slm2", "slm2-*.tar.gz": "pypi/slm2",
    "slm2-core-*.crate": "cargo/slm2-core", "slm2-simd-*.crate": "cargo/slm2-simd",
}  # fmt: skip
every_package = pytest.mark.parametrize("pattern", LINKED)


def bill(only, pattern: str) -> dict[str, Any]:
    return json.loads(only(f"{pattern}.cdx.json").read_text(encoding="utf-8"))


def linked_by_cargo(package: str, platform: str) -> set[str]:
    """What `cargo tree` says, which is not what the bills are made from."""
    command = ["cargo", "tree", "--locked", "--package", package, "--edges", "normal,no-proc-macro", "--target", platform]
    said = subprocess.run([*command, "--prefix", "none"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {f"pkg:cargo/{name}@{release}" for name, release in re.findall(r"^(\S+) v(\S+)", said, re.MULTILINE)}


@every_package
def test_it_is_valid(only, pattern: str) -> None:
    text = only(f"{pattern}.cdx.json").read_text(encoding="utf-8")
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(text) is None
    # The validator does look.
    assert validator.validate_str(text.replace('"type": "library"', '"type": "libary"', 1)) is not None


@every_package
def test_it_is_of_the_package(only, pattern: str) -> None:
    said = bill(only, pattern)
    assert said["metadata"]["component"]["purl"] == f"pkg:{PURLS[pattern]}@{version()}"
    assert said["metadata"]["component"]["licenses"] == [{"expression": "Apache-2.0"}]


@every_package
def test_it_has_what_cargo_links(only, pattern: str) -> None:
    expected = {purl for package, platform in LINKED[pattern] for purl in linked_by_cargo(package, platform)}
    if LINKED[pattern]:
        assert {"pkg:cargo/sha2@0.10.9", f"pkg:cargo/slm2-simd@{version()}"} <= expected
    said = {component["purl"] for component in bill(only, pattern)["components"]} if LINKED[pattern] else set()
    assert {purl for purl in said if purl.startswith("pkg:cargo/")} == expected - {f"pkg:{PURLS[pattern]}@{version()}"}


@pytest.mark.parametrize("pattern", ["slm2-*.whl", "slm2-*.tgz", "Slm2.*.nupkg", "slm2-*.tar.gz"])
def test_it_has_what_the_artifact_was_made_from(only, pattern: str) -> None:
    found = {component["name"]: component for component in bill(only, pattern)["components"]}
    assert {"Qwen/Qwen3-0.6B", "unicode-character-database"} <= found.keys()
    sealed = (ROOT / "src" / "slm2" / "data" / "qwen3-0.6b.slm2.sha256").read_text(encoding="ascii").split()[0]
    assert found["qwen3-0.6b.slm2"]["hashes"] == [{"alg": "SHA-256", "content": sealed}]


@every_package
def test_every_licence_is_allowed_and_every_edge_leads_somewhere(only, pattern: str) -> None:
    said = bill(only, pattern)
    components = [*said.get("components", []), said["metadata"]["component"]]
    references = {component["bom-ref"] for component in components}
    for component in components:
        (licence,) = component.get("licenses", [None])
        # The one who installs chooses the release of these, and with it the licence; the next test reads the ones at hand.
        assert licence is not None or component["purl"].startswith("pkg:pypi/")
        assert licence is None or is_allowed(licence["expression"])
    edges = [(edge["ref"], to) for edge in said["dependencies"] for to in edge.get("dependsOn", [])]
    assert {end for edge in edges for end in edge} <= references
    assert len(edges) >= len(references) - 1


def installed(name: str, seen: set[str]) -> None:
    """The names of a distribution and of all that its installation brings."""
    if name in seen:
        return
    seen.add(name)
    for text in metadata.requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            installed(requirement.name, seen)


# Before licences had expressions, a classifier said it.
CLASSIFIERS = {"License :: OSI Approved :: MIT License": "MIT", "License :: OSI Approved :: BSD License": "BSD-3-Clause"}


def licence_of(name: str) -> str:
    fields = metadata.metadata(name)
    if fields["License-Expression"]:
        return fields["License-Expression"]
    (found,) = [CLASSIFIERS[each] for each in fields.get_all("Classifier") or [] if each in CLASSIFIERS]
    return found


def test_what_pip_installs_beside_the_wheel_has_allowed_licences(only) -> None:
    wheel = only("slm2-*.whl")
    (fields,) = [content.decode("utf-8") for name, content in read_zip(wheel).items() if name.endswith(".dist-info/METADATA")]
    direct = {Requirement(each).name for each in re.findall(r"^Requires-Dist: (.+)$", fields, re.MULTILINE) if "extra ==" not in each}
    said = {each["name"] for each in bill(only, "slm2-*.whl")["components"] if each["purl"].startswith("pkg:pypi/")}
    assert said == direct >= {"click", "numpy"}
    names: set[str] = set()
    for name in direct:
        installed(name, names)
    assert len(names) > 8
    assert {name: licence_of(name) for name in names if not is_allowed(licence_of(name))} == {}


def test_licences_are_read_as_they_are_meant() -> None:
    assert is_allowed("MIT")
    assert is_allowed("MIT/Apache-2.0")
    assert is_allowed("GPL-3.0-only OR MIT")
    assert is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0")
    assert is_allowed("Apache-2.0 WITH LLVM-exception")
    assert not is_allowed("GPL-3.0-only")
    assert not is_allowed("MIT AND GPL-3.0-only")
    assert not is_allowed("(MIT OR Apache-2.0) AND LGPL-2.1-or-later")
    with pytest.raises(ExpressionError):
        is_allowed("Proprietary-of-mine")


def test_a_part_under_another_licence_stops_the_build() -> None:
    part = sbom.Part("pkg:cargo/other@1.0.0", "AGPL-3.0-only", "in the package")
    with pytest.raises(PackageError, match=r"pkg:cargo/other@1\.0\.0 \(AGPL-3\.0-only\)"):
        sbom.bill("pkg:pypi/slm2@0.1.0", [part], 1_700_000_000)


def test_notices_have_a_text_of_each_crate(only) -> None:
    notices = (ROOT / "THIRD-PARTY-NOTICES.txt").read_text(encoding="utf-8")
    for pattern in ("slm2-*.whl", "slm2-*.tgz", "Slm2.*.nupkg"):
        crates = [each for each in bill(only, pattern)["components"] if each["purl"].startswith("pkg:cargo/") and "hashes" in each]
        assert len(crates) >= 7
        assert [each["name"] for each in crates if f"\n{each['name']} {each['version']} (" not in notices] == []
