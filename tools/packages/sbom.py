"""Bills of materials in CycloneDX 1.6: what is in a package, and what its installation brings with it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.model.license import LicenseExpression
from cyclonedx.model.lifecycle import LifecyclePhase, PredefinedLifecycle
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from tools.packages.crates import Crate
from tools.packages.licences import is_allowed, normal
from tools.packages.project import ARTIFACT, LICENCE, PackageError, description, run, version

# How a part comes to the user.
Delivery = Literal["in the package", "fetched by a build", "installed beside it"]
# The names of properties that this project gives a meaning to.
DELIVERY = "slm2:delivery"
REQUIRES = "slm2:requires"
# Of the deterministic serial numbers.
_NAMESPACE = uuid.UUID("5d7b8c1e-5c1c-5b0e-9d0a-2f3a54a0c1d2")


@dataclass(frozen=True)
class Part:
    """One component.

    Attributes:
        purl: its address in package URLs; with it another part refers to it.
        licence: SPDX expression; None where the one who installs decides on the release, and with it on the licence.
        delivery: how it comes to the user.
        kind: a library, or data.
        sha256: of its file.
        requires: the range of releases, where no release is named.
        needs: the addresses of what it depends on.
    """

    purl: str
    licence: str | None
    delivery: Delivery
    kind: ComponentType = ComponentType.LIBRARY
    sha256: str | None = None
    requires: str | None = None
    needs: tuple[str, ...] = ()


def crate_parts(crates: Iterable[Crate], delivery: Delivery) -> list[Part]:
    """The parts of a library that cargo links."""
    all_of_them = list(crates)
    purl = {crate.name: crate.purl for crate in all_of_them}
    return [
        Part(crate.purl, crate.licence, delivery, sha256=crate.sha256, needs=tuple(purl[name] for name in crate.needs))
        for crate in all_of_them
    ]


def standard_libraries(*compilers: str | Path) -> list[Part]:
    """Rust's own library, which is linked into what a compiler makes, in the release of each compiler."""
    releases = sorted({run(compiler, "--version").split()[1] for compiler in compilers})
    return [Part(f"pkg:generic/rust-std@{release}", "MIT OR Apache-2.0", "in the package") for release in releases]


def artifact_parts() -> list[Part]:
    """The sealed artifact, and what it was made from (NOTICE)."""
    revision = "c1899de289a04d12100db370d81485cdf75e47ca"
    model = Part(f"pkg:huggingface/Qwen/Qwen3-0.6B@{revision}", "Apache-2.0", "in the package", ComponentType.DATA)
    unicode = Part("pkg:generic/unicode-character-database@16.0.0", "Unicode-3.0", "in the package", ComponentType.DATA)
    digest = ARTIFACT.with_suffix(".slm2.sha256").read_text(encoding="ascii").split()[0]
    made = f"pkg:generic/{ARTIFACT.name}@{version()}"
    return [
        Part(made, f"{LICENCE} AND Unicode-3.0", "in the package", ComponentType.DATA, sha256=digest, needs=(model.purl, unicode.purl)),
        model,
        unicode,
    ]


def python_parts(requirements: Sequence[str]) -> list[Part]:
    """What pip installs beside the wheel; extras are left to those who ask for them."""
    wanted = [Requirement(each) for each in requirements]
    return [
        Part(f"pkg:pypi/{each.name}", None, "installed beside it", requires=str(each.specifier))
        for each in wanted
        if each.marker is None or "extra" not in str(each.marker)
    ]


def bill(purl: str, parts: Sequence[Part], epoch: int) -> bytes:
    """The bill of a package as JSON, the same for the same parts and time.

    Args:
        purl: of the package.
        parts: what is in it or comes with it; those that no other part needs are needed by the package itself.
        epoch: seconds since 1970.

    Raises:
        PackageError: a licence is not on the list of those that are allowed.
    """
    refused = [f"{part.purl} ({part.licence})" for part in parts if part.licence is not None and not is_allowed(part.licence)]
    if refused:
        raise PackageError(f"the licence is not allowed (tools/packages/licences.py): {', '.join(refused)}")
    needed = {need for part in parts for need in part.needs}
    root = Part(purl, LICENCE, "in the package", needs=tuple(part.purl for part in parts if part.purl not in needed))
    bom = Bom(serial_number=uuid.uuid5(_NAMESPACE, repr((root, *parts, epoch))))
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, timezone.utc)
    bom.metadata.lifecycles = [PredefinedLifecycle(LifecyclePhase.BUILD)]
    bom.metadata.component = _component(root)
    bom.metadata.component.description = description()
    bom.components = {_component(part) for part in parts}
    reference = {component.bom_ref.value: component.bom_ref for component in (*bom.components, bom.metadata.component)}
    bom.dependencies = {Dependency(reference[part.purl], [Dependency(reference[need]) for need in part.needs]) for part in (root, *parts)}
    return (JsonV1Dot6(bom).output_as_string(indent=2) + "\n").encode("utf-8")


def _component(part: Part) -> Component:
    purl = PackageURL.from_string(part.purl)
    properties = [Property(name=DELIVERY, value=part.delivery)] + ([Property(name=REQUIRES, value=part.requires)] if part.requires else [])
    return Component(
        name=f"{purl.namespace}/{purl.name}" if purl.namespace else purl.name,
        type=part.kind,
        version=purl.version,
        bom_ref=part.purl,
        purl=purl,
        scope=ComponentScope.REQUIRED,
        licenses=[LicenseExpression(normal(part.licence))] if part.licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
        properties=properties,
    )
