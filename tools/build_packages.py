"""Build what a release consists of, in one folder: wheel, source distribution, npm tarball, crates, NuGet package, and the artifact alone.

python tools/build_packages.py OUTPUT                        all of it, as it is published
python tools/build_packages.py OUTPUT --only wheel,crate     these kinds
python tools/build_packages.py OUTPUT --reuse                of the modules, page and assemblies that other tools have built already

Beside each package lies its bill of materials (`.cdx.json`, CycloneDX); SHA256SUMS has the digests of all, RELEASE-NOTES.md what changed.
The same commit, compilers and SOURCE_DATE_EPOCH (where it is not set: the time of the commit) give the same bytes. Needs the dependency
group `packages` of pyproject.toml, cargo, npm, and what tools/build_wasm.py and tools/build_dotnet.py need. How a release is made:
docs/releasing.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tools/ is imported by that name, also where this runs as a script

from tools.packages import dotnet, javascript, python, rust  # noqa: E402
from tools.packages.archives import read_tar, read_zip  # noqa: E402
from tools.packages.crates import host  # noqa: E402
from tools.packages.project import ARTIFACT, Build, PackageError, epoch, run, version  # noqa: E402
from tools.release_notes import notes  # noqa: E402

Built = Sequence[tuple[Path, bytes]]
KINDS: dict[str, Callable[[Build], Built]] = {
    "wheel": lambda build: [python.wheel(build)],
    "sdist": lambda build: [python.sdist(build)],
    "npm": lambda build: [javascript.npm(build)],
    "crate": rust.crates,
    "nuget": lambda build: [dotnet.nuget(build)],
}
# What has to be built before, where it is not there already.
MAKERS = {
    "wheel": ("tools/build_web.py", "--small"),
    "npm": ("tools/build_web.py", "--small"),
    "nuget": ("tools/build_dotnet.py",),
}


def own_paths() -> dict[str, Path]:
    """Folders of this machine that a compiler writes into what it makes, by what stands for them."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    return {"/cargo": cargo, "/src": ROOT, "/rust": Path(run("rustc", "--print", "sysroot").strip(), "lib", "rustlib", "src", "rust")}


def refuse_paths(package: Path) -> None:
    """See that no file of a package names such a folder.

    Raises:
        PackageError: one does.
    """
    entries = read_zip(package) if package.suffix in (".whl", ".nupkg") else read_tar(package)
    paths = [str(path).encode() for path in own_paths().values()]
    if found := [name for name, content in entries.items() if any(path in content for path in paths)]:
        raise PackageError(f"{package.name} names folders of this machine, in {', '.join(found)}")


def prepare(kinds: Sequence[str]) -> None:
    """Build the parts as they are published: from a clean checkout, and without a path of this machine in them.

    Raises:
        PackageError: something is not committed, or a part cannot be built.
    """
    if changed := run("git", "status", "--porcelain"):
        raise PackageError(f"what is published is what is committed; these files differ:\n{changed}")
    flags = " ".join(f"--remap-path-prefix={path}={name}" for name, path in own_paths().items())
    # For this platform alone: the flags of the modules are tools/build_wasm.py's.
    os.environ[f"CARGO_TARGET_{host().upper().replace('-', '_')}_RUSTFLAGS"] = flags
    if {"wheel", "npm"} & set(kinds):
        run(javascript.NPM, "ci", "--prefix", javascript.PACKAGE)
    for maker in dict.fromkeys(MAKERS[kind] for kind in kinds if kind in MAKERS):
        print(" ".join(maker), flush=True)
        run(sys.executable, *maker, env={"PYTHONPATH": str(ROOT / "src")})


def chosen(text: str) -> list[str]:
    """Kinds of a list with commas."""
    kinds = text.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return kinds


def finish(output: Path) -> None:
    """The artifact by itself, for hosts whose package does not hold it, the notes, and the digests of all."""
    shutil.copyfile(ARTIFACT, output / ARTIFACT.name)
    files = {path.name: path.read_bytes() for path in sorted(output.iterdir()) if path.name not in ("SHA256SUMS", "RELEASE-NOTES.md")}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    sizes = {name: len(content) for name, content in files.items()}
    (output / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()), encoding="ascii", newline="\n")
    (output / "RELEASE-NOTES.md").write_text(notes(version(), sizes, digests), encoding="utf-8", newline="\n")


def main() -> int:
    """Build; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="a folder; what an earlier run put there is replaced")
    parser.add_argument("--only", type=chosen, default=list(KINDS), metavar="KIND,KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--reuse", action="store_true", help="what other tools have built, and what is not committed")
    arguments = parser.parse_args()
    build = Build(arguments.output.resolve(), epoch(), arguments.reuse)
    try:
        if not build.reuse:
            prepare(arguments.only)
        shutil.rmtree(build.output, ignore_errors=True)
        build.output.mkdir(parents=True)
        for kind in arguments.only:
            for path, bill in KINDS[kind](build):
                if not build.reuse:
                    refuse_paths(path)
                path.with_name(f"{path.name}.cdx.json").write_bytes(bill)
                print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)
        finish(build.output)
    except (PackageError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
