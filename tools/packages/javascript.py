"""The npm package."""

from __future__ import annotations

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


def npm(build: Build) -> tuple[Path, bytes]:
    """The tarball of `npm pack`, and its bill of materials; npm gives its files one time of its own.

    Raises:
        PackageError: something is missing that tools/build_js.py makes.
    """
    missing = [name for name in WRITTEN if not (PACKAGE / name).exists()]
    if missing:
        raise PackageError(f"bindings/js has no {', '.join(missing)}: run `npm ci` there, then tools/build_js.py")
    (packed,) = json.loads(run(NPM, "pack", "--json", "--pack-destination", build.output, cwd=PACKAGE))
    # As it is published both modules come from the compiler that tools/build_wasm.py unpacks.
    standard = sbom.standard_libraries(WASM_COMPILER, *(["rustc"] if build.reuse else []))
    parts = [*sbom.crate_parts(linked("slm2-wasm", WASM), "in the package"), *standard, *sbom.artifact_parts()]
    return build.output / packed["filename"], sbom.bill(f"pkg:npm/slm2@{version()}", parts, build.epoch)
