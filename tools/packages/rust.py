"""The crates that are published: the engine and its leaf. The others are parts of other packages, as the C library of the NuGet package."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tools.packages import sbom
from tools.packages.crates import linked
from tools.packages.project import Build, run, version

CRATES = ("slm2-core", "slm2-simd")


def crates(build: Build) -> list[tuple[Path, bytes]]:
    """The files that `cargo publish` would send, and their bills of materials; cargo gives them one time of its own."""
    with tempfile.TemporaryDirectory() as name:
        chosen = [part for crate in CRATES for part in ("--package", crate)]
        # They are compiled where they are installed (tests/release), once.
        options = ["--no-verify", "--locked", "--quiet", "--target-dir", name, *(["--allow-dirty"] if build.reuse else [])]
        run("cargo", "package", *chosen, *options)
        return [_finished(build, Path(name), crate) for crate in CRATES]


def _finished(build: Build, folder: Path, crate: str) -> tuple[Path, bytes]:
    file = f"{crate}-{version()}.crate"
    shutil.copyfile(folder / "package" / file, build.output / file)
    needed = [
        part for part in sbom.crate_parts(linked(crate, None), "fetched by a build") if not part.purl.startswith(f"pkg:cargo/{crate}@")
    ]
    return build.output / file, sbom.bill(f"pkg:cargo/{crate}@{version()}", needed, build.epoch)
