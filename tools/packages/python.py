"""The wheel and the source distribution."""

from __future__ import annotations

import base64
import hashlib
import shutil
import sys
import tempfile
from email.parser import Parser
from pathlib import Path

from tools.packages import sbom
from tools.packages.archives import read_tar, read_zip, write_tar, write_zip
from tools.packages.crates import host, linked
from tools.packages.project import ARTIFACT, ROOT, WASM, WASM_COMPILER, Build, PackageError, run

PAGE = ROOT / "target" / "web"
# Where `slm2 web` looks for it in an installed package (src/slm2/cli/web.py).
PAGE_IN_WHEEL = "slm2/data/web/"


def wheel(build: Build) -> tuple[Path, bytes]:
    """The wheel with the native engine, the playground and its bill of materials, and that bill.

    Raises:
        PackageError: the engine or the page is missing.
    """
    with tempfile.TemporaryDirectory() as name:
        # By pip, since cargo has built for its environment where the package was installed from this checkout.
        plain = _setuptools(Path(name), build.epoch, "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", name)
        if plain.stem.endswith("-any"):
            raise PackageError("the wheel was built without the engine: `cargo build --release --package slm2-python` says why")
        platform = _of_any_linux(plain, Path(name) / "repaired") if sys.platform == "linux" else plain
        entries = read_zip(platform)
        info = next(entry.split("/")[0] for entry in entries if entry.endswith(".dist-info/METADATA"))
        entries |= _page()
        bill = _wheel_bill(entries[f"{info}/METADATA"], build.epoch)
        entries[f"{info}/sboms/slm2.cdx.json"] = bill
        entries[f"{info}/RECORD"] = _record(entries, f"{info}/RECORD")
        write_zip(build.output / platform.name, entries, build.epoch)
        return build.output / platform.name, bill


def sdist(build: Build) -> tuple[Path, bytes]:
    """The source distribution, and its bill of materials."""
    with tempfile.TemporaryDirectory() as name:
        plain = _setuptools(Path(name), build.epoch, "build", "--no-isolation", "--sdist", "--outdir", name)
        entries = read_tar(plain)
        write_tar(build.output / plain.name, entries, build.epoch)
    metadata = next(content for entry, content in entries.items() if entry.count("/") == 1 and entry.endswith("/PKG-INFO"))
    crates = sbom.crate_parts(linked("slm2-python", None), "fetched by a build")
    parts = [*crates, *sbom.artifact_parts(), *sbom.python_parts(_requirements(metadata))]
    return build.output / plain.name, sbom.bill(_purl(metadata), parts, build.epoch)


def _setuptools(folder: Path, epoch: int, *command: str | Path) -> Path:
    """The file that setuptools makes."""
    # It would put what an earlier build left there into the wheel.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    run(sys.executable, "-m", *command, ROOT, env={"SOURCE_DATE_EPOCH": str(epoch)})
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    (built,) = [path for path in folder.iterdir() if path.suffix in (".whl", ".gz")]
    return built


def _of_any_linux(wheel: Path, folder: Path) -> Path:
    """The same wheel under the tag of the oldest C library that its engine runs with."""
    programs = Path(sys.executable).parent
    run(programs / "auditwheel", "repair", "--wheel-dir", folder, wheel, env={"PATH": f"{programs}:/usr/bin:/bin"})
    (found,) = folder.iterdir()
    return found


def _page() -> dict[str, bytes]:
    """The playground, but for the artifact, which the package has already."""
    if not (PAGE / "index.html").exists():
        raise PackageError("the playground was not built: run tools/build_web.py")
    files = [path for path in PAGE.rglob("*") if path.is_file() and path.name != ARTIFACT.name]
    return {PAGE_IN_WHEEL + path.relative_to(PAGE).as_posix(): path.read_bytes() for path in files}


def _wheel_bill(metadata: bytes, epoch: int) -> bytes:
    crates = {crate.name: crate for crate in (*linked("slm2-wasm", WASM), *linked("slm2-python", host()))}
    standard = sbom.standard_libraries("rustc", WASM_COMPILER)
    parts = [*sbom.crate_parts(crates.values(), "in the package"), *standard, *sbom.artifact_parts()]
    return sbom.bill(_purl(metadata), [*parts, *sbom.python_parts(_requirements(metadata))], epoch)


def _purl(metadata: bytes) -> str:
    fields = Parser().parsestr(metadata.decode("utf-8"), headersonly=True)
    return f"pkg:pypi/{fields['Name']}@{fields['Version']}"


def _requirements(metadata: bytes) -> list[str]:
    return Parser().parsestr(metadata.decode("utf-8"), headersonly=True).get_all("Requires-Dist") or []


def _record(entries: dict[str, bytes], name: str) -> bytes:
    """The list of a wheel's files with their digests."""
    rows = []
    for entry in sorted(entries.keys() - {name}):
        digest = base64.urlsafe_b64encode(hashlib.sha256(entries[entry]).digest()).rstrip(b"=").decode("ascii")
        rows.append(f"{entry},sha256={digest},{len(entries[entry])}")
    return "\n".join([*rows, f"{name},,", ""]).encode("utf-8")
