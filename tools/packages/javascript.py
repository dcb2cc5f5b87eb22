"""The npm package."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

from tools.packages import sbom
from tools.packages.crates import linked
from tools.packages.project import ARTIFACT, LICENCE_FILES, ROOT, WASM, WASM_COMPILER, Build, PackageError, run, version

PACKAGE = ROOT / "bindings" / "js"
NPM = "npm.cmd" if os.name == "nt" else "npm"
# What tools/build_js.py has to have put there.
WRITTEN = ("data/slm2.wasm", "data/slm2-shared.wasm", f"data/{ARTIFACT.name}", "types/index.d.ts", *LICENCE_FILES)

# A module as it is published, in bytes, as it is and gzipped: what a page loads before it can do anything.
MOST_BYTES = (400_000, 200_000)


def check_size(name: str) -> None:
    """See that a module is as small as is promised.

    Raises:
        PackageError: it is larger.
    """
    module = (PACKAGE / name).read_bytes()
    found = (len(module), len(gzip.compress(module, 9, mtime=0)))
    if found[0] >= MOST_BYTES[0] or found[1] >= MOST_BYTES[1]:
        raise PackageError(f"{name} has {found[0]} bytes, {found[1]} gzipped; it is to have fewer than {MOST_BYTES[0]} and {MOST_BYTES[1]}")


def npm(build: Build) -> tuple[Path, bytes]:
    """The tarball of `npm pack`, and its bill of materials; npm gives its files one time of its own.

    Raises:
        PackageError: something is missing that tools/build_js.py makes, or a module is too large.
    """
    missing = [name for name in WRITTEN if not (PACKAGE / name).exists()]
    if missing:
        raise PackageError(f"bindings/js has no {', '.join(missing)}: run `npm ci` there, then tools/build_js.py")
    # Of modules that are there already the plain one may have been built without a library of its own.
    for name in WRITTEN[:2] if not build.reuse else WRITTEN[1:2]:
        check_size(name)
    (packed,) = json.loads(run(NPM, "pack", "--json", "--pack-destination", build.output, cwd=PACKAGE))
    # As it is published both modules come from the compiler that tools/build_wasm.py unpacks.
    standard = sbom.standard_libraries(WASM_COMPILER, *(["rustc"] if build.reuse else []))
    parts = [*sbom.crate_parts(linked("slm2-wasm", WASM), "in the package"), *standard, *sbom.artifact_parts()]
    return build.output / packed["filename"], sbom.bill(f"pkg:npm/slm2@{version()}", parts, build.epoch)
