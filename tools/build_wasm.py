"""Build target/slm2.wasm: the core as a WebAssembly module, with simd128 and without any import.

python tools/build_wasm.py

Where `rustup target add wasm32-unknown-unknown` was done, that is used. Where it was not, and on Debian, a compiler for WebAssembly is
unpacked from Debian's packages into .cache/wasm-toolchain (rustc-web; nothing is installed, nothing else on the machine changes), and the
standard library is built from its source. The flags ask for no relaxed SIMD: that would allow contracted arithmetic.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = "wasm32-unknown-unknown"
TOOLCHAIN = ROOT / ".cache" / "wasm-toolchain"
SOURCES = ROOT / ".cache" / "wasm-sources"
BUILD = ROOT / "target" / "wasm"
OUTPUT = ROOT / "target" / "slm2.wasm"
PACKAGE = "slm2-wasm"


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command; its output. Ends the program where it fails."""
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def has_target() -> bool:
    """Whether the compiler at hand has a standard library for WebAssembly."""
    sysroot = Path(run("rustc", "--print", "sysroot").strip())
    return (sysroot / "lib" / "rustlib" / TARGET / "lib").is_dir()


def flags(toolchain: Path | None) -> str:
    """What the compiler is told; no path of this machine stays in the file."""
    remapped = [f"--remap-path-prefix={ROOT}=/src"] + ([f"--remap-path-prefix={toolchain}=/toolchain"] if toolchain else [])
    return " ".join(["-C target-feature=+simd128", *remapped])


def unpack_toolchain() -> None:
    """Debian's compiler for WebAssembly, the source of its library, and its linker."""
    if (TOOLCHAIN / "rustc-wasm").exists():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise SystemExit(f"no standard library for {TARGET}: run `rustup target add {TARGET}`")
    partial = TOOLCHAIN.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # apt's own user downloads into it
        for package in download(folder):
            unpack(package, partial)
    shutil.rmtree(partial / "usr" / "share", ignore_errors=True)
    llvm = next(partial.glob("usr/lib/llvm-*/bin/wasm-ld"))
    (partial / "wasm-ld").symlink_to(llvm.relative_to(partial))
    script = partial / "rustc-wasm"
    libraries = next(partial.glob("usr/lib/*/libLLVM*")).parent.relative_to(partial)
    script.write_text(
        "#!/bin/sh\n"
        'T=$(dirname "$(readlink -f "$0")")\n'
        f'LD_LIBRARY_PATH=$T/{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} exec "$T/usr/bin/rustc" "$@"\n'
    )
    script.chmod(0o755)
    run(script, "-vV")
    partial.rename(TOOLCHAIN)


def download(folder: Path) -> list[Path]:
    """The packages, of whichever version the distribution has."""
    library = dependency("libstd-rust-web-dev", "libstd-rust-web-")
    llvm = dependency(library, "libllvm")
    names = ["rustc-web", "libstd-rust-web-dev", library, "rust-web-src", llvm, llvm.replace("libllvm", "lld-")]
    run("apt-get", "-qq", "download", *names, cwd=folder)
    return sorted(folder.glob("*.deb"))


def dependency(package: str, prefix: str) -> str:
    """The package with this beginning that another depends on."""
    for attempt in ("as the lists are", "after an update"):
        listed = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True, check=False).stdout.split()
        found = [word for word in listed if word.startswith(prefix) and word != package and word[len(prefix) :][:1].isdigit()]
        if found:
            return found[0]
        if attempt == "as the lists are" and os.geteuid() == 0:
            run("apt-get", "-qq", "update")
    raise SystemExit(f"{package} is not in the package lists: run `apt-get update`, or `rustup target add {TARGET}`")


def unpack(package: Path, target: Path) -> None:
    """All of a package; of the source of Rust the library alone."""
    if not package.name.startswith("rust-web-src_"):
        run("dpkg-deb", "-x", package, target)
        return
    archive = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    wanted = ["./usr/src/rustc-*/library", "./usr/lib/rustlib/src"]
    subprocess.run(["tar", "-x", "-C", str(target), "--wildcards", *wanted], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        raise SystemExit(f"{package.name} cannot be unpacked")


def gather_sources() -> None:
    """One folder with the crates of the standard library and those of the project: cargo takes all from one source or none."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    run("cargo", "vendor", "--locked", "--quiet", "--versioned-dirs", SOURCES)
    vendor = next(TOOLCHAIN.glob("usr/src/rustc-*/library/vendor"))
    for crate in vendor.iterdir():
        (SOURCES / f"std-{crate.name}").symlink_to(crate)


def build_with_library() -> Path:
    """With Debian's compiler, driven by the cargo at hand; the library is built too."""
    unpack_toolchain()
    gather_sources()
    environment = {
        "RUSTC": str(TOOLCHAIN / "rustc-wasm"),
        "RUSTC_BOOTSTRAP": "1",
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER": str(TOOLCHAIN / "wasm-ld"),
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS": flags(TOOLCHAIN),
    }
    replaced = ('source.crates-io.replace-with="gathered"', f"source.gathered.directory='{SOURCES}'")
    options: list[str | Path] = [part for setting in replaced for part in ("--config", setting)]
    arguments: list[str | Path] = [
        "-Zbuild-std=std,panic_abort",
        "--release",
        "--target",
        TARGET,
        "--offline",
        "--locked",
        "--target-dir",
        BUILD,
    ]
    run("cargo", *options, "build", "--package", PACKAGE, *arguments, env=environment)
    return BUILD


def build_plainly() -> Path:
    """With the compiler at hand."""
    environment = {"CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS": flags(None)}
    run("cargo", "build", "--package", PACKAGE, "--release", "--target", TARGET, "--locked", "--target-dir", BUILD, env=environment)
    return BUILD


def main() -> int:
    """Build; the exit status."""
    folder = build_plainly() if has_target() else build_with_library()
    built = folder / TARGET / "release" / "slm2_wasm.wasm"
    OUTPUT.parent.mkdir(exist_ok=True)
    shutil.copy2(built, OUTPUT)
    print(f"{OUTPUT.relative_to(ROOT)}: {OUTPUT.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
