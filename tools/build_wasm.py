"""Build the core as WebAssembly, with simd128: target/slm2.wasm, without any import, and target/slm2-shared.wasm, over shared memory.

python tools/build_wasm.py                  both
python tools/build_wasm.py --only plain     slm2.wasm alone, for which `rustup target add wasm32-unknown-unknown` is enough
python tools/build_wasm.py --small          the plain one with a library of its own too, as it is published: a third smaller

The shared one needs a standard library that is compiled with atomics, which no toolchain has ready. So its compiler is unpacked from
Debian's packages into .cache/wasm-toolchain (rustc-web; nothing is installed, nothing else on the machine changes), and the library is
built from its source; the plain one is built like that too where rustup has no target for it. What is built like that is made smaller afterwards by Binaryen's wasm-opt, from
Debian's packages too. Elsewhere than on Debian and its kin: `rustup component add rust-src` and the flags that this file gives cargo.
Nowhere is relaxed SIMD asked for, nor fast arithmetic: either would allow other bits.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = "wasm32-unknown-unknown"
TOOLCHAIN = ROOT / ".cache" / "wasm-toolchain"
SOURCES = ROOT / ".cache" / "wasm-sources"
OPTIMIZER = ROOT / ".cache" / "wasm-optimizer"
PACKAGE = "slm2-wasm"
# Shared memory has to name its end when it is made: 1 GiB of addresses, which cost nothing.
MOST_MEMORY = 1 << 30
# What is inlined, in units of LLVM: little without a hint, and where a source has one no more than pays for its bytes.
# docs/performance.md has sizes and speeds by these two.
INLINING = ("-inline-threshold=5", "-inlinehint-threshold=150")
# What the compiler emits, which wasm-opt has to be told.
FEATURES = ("bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext", "simd")


@dataclass(frozen=True)
class Kind:
    """One way to compile it.

    Attributes:
        name: of the way.
        file: what the module is called.
        threads: whether its memory is shared.
    """

    name: str
    file: str
    threads: bool


KINDS = (Kind("plain", "slm2", threads=False), Kind("shared", "slm2-shared", threads=True))


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


def flags(kind: Kind, toolchain: Path | None) -> str:
    """What the compiler is told; no path of this machine stays in the file.

    Where the library is built too, a panic (a bug of ours, since no input reaches one) traps without a text, which saves a fifth.
    """
    remapped = [f"--remap-path-prefix={ROOT}=/src"] + ([f"--remap-path-prefix={toolchain}=/toolchain"] if toolchain else [])
    links: list[str] = []
    features = "+simd128"
    if kind.threads:
        features += ",+atomics,+bulk-memory,+mutable-globals"
        exported = ("__stack_pointer", "__wasm_init_tls", "__tls_size", "__tls_align", "__tls_base")
        links += ["--shared-memory", "--import-memory", f"--max-memory={MOST_MEMORY}", *(f"--export={name}" for name in exported)]
    small = ["-Zunstable-options", "-Cpanic=immediate-abort"] if toolchain else []
    inlining = [f"-C llvm-args={setting}" for setting in INLINING]
    return " ".join([f"-C target-feature={features}", *small, *inlining, *(f"-C link-arg={link}" for link in links), *remapped])


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


def unpack_optimizer() -> None:
    """Binaryen, with the library that it consists of."""
    if OPTIMIZER.exists():
        return
    partial = OPTIMIZER.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        run("apt-get", "-qq", "download", "binaryen", cwd=folder)
        for package in folder.glob("*.deb"):
            unpack(package, partial)
    partial.rename(OPTIMIZER)


def optimize(built: Path, kind: Kind) -> None:
    """Make a module smaller where it lies; it computes what it did."""
    unpack_optimizer()
    features = [f"--enable-{feature}" for feature in (*FEATURES, *(["threads"] if kind.threads else []))]
    options = ["-Oz", "--strip-debug", "--strip-producers", "--strip-target-features"]
    libraries = ":".join(str(folder) for folder in OPTIMIZER.glob("usr/lib/*"))
    environment = {"LD_LIBRARY_PATH": libraries, "BINARYEN_CORES": "2"}
    run(OPTIMIZER / "usr" / "bin" / "wasm-opt", *features, *options, built, "-o", built, env=environment)


def download(folder: Path) -> list[Path]:
    """The packages of the compiler, of whichever version the distribution has."""
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


def build(kind: Kind, *, with_library: bool) -> Path:
    """Compile the crate, and the standard library before it where none is at hand that fits; the finished file."""
    folder = ROOT / "target" / kind.name
    toolchain = TOOLCHAIN if with_library else None
    environment = {"CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS": flags(kind, toolchain)}
    options: list[str | Path] = []
    library: list[str | Path] = []
    if toolchain is not None:
        unpack_toolchain()
        gather_sources()
        environment |= {
            "RUSTC": str(toolchain / "rustc-wasm"),
            "RUSTC_BOOTSTRAP": "1",
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER": str(toolchain / "wasm-ld"),
        }
        replaced = ('source.crates-io.replace-with="gathered"', f"source.gathered.directory='{SOURCES}'")
        options = [part for setting in replaced for part in ("--config", setting)]
        library = ["-Zbuild-std=std", "-Zbuild-std-features=optimize_for_size", "--offline"]
    arguments: list[str | Path] = ["--package", PACKAGE, "--profile", "wasm", "--target", TARGET, "--locked", "--target-dir", folder]
    run("cargo", *options, "build", *arguments, *library, env=environment)
    built = folder / TARGET / "wasm" / "slm2_wasm.wasm"
    output = ROOT / "target" / f"{kind.file}.wasm"
    shutil.copy2(built, output)
    if with_library:
        optimize(output, kind)
    return output


def main() -> int:
    """Build; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[kind.name for kind in KINDS], help="build this one alone")
    parser.add_argument("--small", action="store_true", help="build the plain one with a library of its own too")
    arguments = parser.parse_args()
    for kind in KINDS:
        if arguments.only in (None, kind.name):
            output = build(kind, with_library=kind.threads or arguments.small or not has_target())
            packed = len(gzip.compress(output.read_bytes(), 9, mtime=0))
            print(f"{output.relative_to(ROOT)}: {output.stat().st_size} bytes, {packed} gzipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
