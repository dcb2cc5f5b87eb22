"""What is in the packages: licences, metadata, one version, no path of the machine that built them, the rules of each kind of file."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from email.parser import Parser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tools.packages.archives import read_tar, read_zip
from tools.packages.project import LICENCE_FILES, description, version

from machine import ROOT, checkout_files

pytestmark = pytest.mark.xdist_group("release-dotnet")

# Where the licence files are in each. Crates hold no other's work: their notices are those of the crates they need.
PLACES = {
    "slm2-*.whl": (f"slm2-{version()}.dist-info/licenses/", LICENCE_FILES),
    "slm2-*.tar.gz": (f"slm2-{version()}/", LICENCE_FILES),
    "slm2-*.tgz": ("package/", LICENCE_FILES),
    "slm2-core-*.crate": (f"slm2-core-{version()}/", LICENCE_FILES[:2]),
    "slm2-simd-*.crate": (f"slm2-simd-{version()}/", LICENCE_FILES[:2]),
    "Slm2.*.nupkg": ("", LICENCE_FILES),
}
every_package = pytest.mark.parametrize("pattern", PLACES)
NUSPEC = "{http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd}"
TYPES = "{http://schemas.openxmlformats.org/package/2006/content-types}"
RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}"


def entries(path: Path) -> dict[str, bytes]:
    return read_zip(path) if path.suffix in (".whl", ".nupkg") else read_tar(path)


def test_the_sums_are_those_of_the_files(packages: Path, digests) -> None:
    said = dict(reversed(line.split("  ")) for line in (packages / "SHA256SUMS").read_text(encoding="ascii").splitlines())
    assert said == digests
    assert len(said) == 2 * len(PLACES) + 1


@every_package
def test_licences(only, pattern: str) -> None:
    folder, names = PLACES[pattern]
    found = entries(only(pattern))
    assert {name: found.get(folder + name) for name in names} == {name: (ROOT / name).read_bytes() for name in names}


@every_package
def test_there_is_one_version(only, pattern: str) -> None:
    assert f"{version()}" in only(pattern).name


@every_package
def test_no_path_of_the_builder(only, pattern: str) -> None:
    """In texts. Libraries name the sources of the crates where a panic would; published ones are built with those paths replaced."""
    own = [str(ROOT).encode(), str(Path.home() / ".cargo").encode()]
    binary = (".so", ".wasm", ".dll", ".slm2")
    assert [
        name for name, content in entries(only(pattern)).items() if not name.endswith(binary) and any(path in content for path in own)
    ] == []


def test_wheel(only) -> None:
    wheel = only("slm2-*.whl")
    assert re.fullmatch(r"slm2-[\d.]+-cp310-abi3-(manylinux_2_\d+_x86_64|\w+)\.whl", wheel.name)
    assert "-linux_" not in wheel.name  # which no index takes
    found = read_zip(wheel)
    rows = list(csv.reader(found[f"slm2-{version()}.dist-info/RECORD"].decode("utf-8").splitlines()))
    assert {name for name, _, _ in rows} == set(found)
    for name, digest, size in rows:
        if digest:
            content = found[name]
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode("ascii")
            assert int(size) == len(content)
    metadata = Parser().parsestr(found[f"slm2-{version()}.dist-info/METADATA"].decode("utf-8"))
    assert metadata["Summary"] == description()
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("License-File") or []) == set(LICENCE_FILES)
    tags = re.findall(r"^Tag: (.+)$", found[f"slm2-{version()}.dist-info/WHEEL"].decode("utf-8"), re.MULTILINE)
    assert "-".join(wheel.stem.split("-")[2:]) in tags


def test_the_wheel_has_the_artifact_once(only) -> None:
    sealed = (ROOT / "src" / "slm2" / "data" / "qwen3-0.6b.slm2").read_bytes()
    assert [name for name, content in read_zip(only("slm2-*.whl")).items() if content == sealed] == ["slm2/data/qwen3-0.6b.slm2"]


def test_sdist_has_the_sources(only) -> None:
    found = read_tar(only("slm2-*.tar.gz"))
    folder = f"slm2-{version()}/"
    wanted = [
        name for name in checkout_files() if name.startswith(("src/", "crates/", "contract/", "Cargo.", "pyproject.toml", "setup.py"))
    ]
    assert len(wanted) > 300
    assert [name for name in wanted if found.get(folder + name) != (ROOT / name).read_bytes()] == []


def test_npm(only) -> None:
    found = read_tar(only("slm2-*.tgz"))
    manifest = json.loads(found["package/package.json"])
    assert (manifest["version"], manifest["license"], manifest["description"]) == (version(), "Apache-2.0", description())
    assert not manifest.keys() & {"dependencies", "peerDependencies", "optionalDependencies"}
    assert {"package/data/slm2.wasm", "package/data/slm2-shared.wasm", "package/data/qwen3-0.6b.slm2", "package/README.md"} <= found.keys()
    outside = [name for name in found if not re.match(r"package/(src|types|data)/|package/[^/]+$", name)]
    assert outside == []


@pytest.mark.parametrize("crate", ["slm2-core", "slm2-simd"])
def test_crate(only, crate: str) -> None:
    found = read_tar(only(f"{crate}-*.crate"))
    manifest = found[f"{crate}-{version()}/Cargo.toml"].decode("utf-8")
    for field in ("description", "readme", "keywords", "categories", "license", "rust-version"):
        assert re.search(rf"^{field} = ", manifest, re.MULTILINE), field
    assert not re.search(r"^path = \"\.\.", manifest, re.MULTILINE)
    assert "publish = false" not in manifest
    assert [name for name in found if "/tests/" in name or name.endswith(".slm2")] == []
    if crate == "slm2-core":
        assert f'version = "={version()}"' in manifest  # of its leaf, which changes with it


def test_nuget_is_an_open_package(only) -> None:
    """ECMA-376 part 2: each part has a type, each relationship leads to a part, names are without escapes and differ in more than case."""
    found = read_zip(only("Slm2.*.nupkg"))
    types = ElementTree.fromstring(found["[Content_Types].xml"])
    defaults = {each.get("Extension") for each in types.iter(f"{TYPES}Default")}
    overrides = {each.get("PartName") for each in types.iter(f"{TYPES}Override")}
    parts = set(found) - {"[Content_Types].xml"}
    assert {name for name in parts if name.rpartition("/")[2].rpartition(".")[2] not in defaults and f"/{name}" not in overrides} == set()
    assert overrides <= {f"/{name}" for name in parts}
    assert len({name.lower() for name in found}) == len(found)
    assert [name for name in parts if not re.fullmatch(r"[\w./-]+", name) or name.startswith("/")] == []
    relations = {each.get("Type", "").rpartition("/")[2]: each.get("Target") for each in ElementTree.fromstring(found["_rels/.rels"])}
    assert relations.keys() == {"manifest", "core-properties"}
    assert relations["manifest"] == "/Slm2.nuspec"
    assert set(relations.values()) <= {f"/{name}" for name in parts}
    assert (
        ElementTree.fromstring(found[str(relations["core-properties"])[1:]]).find("{http://purl.org/dc/elements/1.1/}identifier").text
        == "Slm2"
    )


def test_nuget_manifest(only) -> None:
    """The elements of NuGet's nuspec.xsd: the required ones, and only known ones."""
    found = read_zip(only("Slm2.*.nupkg"))
    metadata = ElementTree.fromstring(found["Slm2.nuspec"]).find(f"{NUSPEC}metadata")
    assert metadata is not None
    fields = {each.tag.removeprefix(NUSPEC): each for each in metadata}
    assert {"id", "version", "authors", "description"} <= fields.keys()
    assert fields.keys() <= {"id", "version", "authors", "description", "license", "readme", "copyright", "tags", "dependencies"}
    assert (fields["id"].text, fields["version"].text, fields["description"].text) == ("Slm2", version(), description())
    assert (fields["license"].get("type"), fields["license"].text) == ("expression", "Apache-2.0")
    assert fields["readme"].text in found
    groups = {group.get("targetFramework") for group in fields["dependencies"]}
    assert {name.split("/")[1] for name in found if name.startswith("lib/")} == groups
    assert {name.partition("/")[0] for name in found if "/" in name} == {"_rels", "lib", "package", "runtimes"}


def test_the_notes_have_the_change_log_and_the_files(packages: Path, digests) -> None:
    notes = (packages / "RELEASE-NOTES.md").read_text(encoding="utf-8")
    assert notes.startswith(f"# SLM2 {version()}\n")
    assert "## Contract" in notes
    assert [name for name, digest in digests.items() if f"| `{name}` |" not in notes or digest not in notes] == []
    assert re.findall(r"\]\((?!https://)", notes) == []
