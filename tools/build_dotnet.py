"""Build the .NET binding, its tests and its testee into target/hosts/dotnet, with what runs them.

python tools/build_dotnet.py

Compiler: Debian's mono-mcs, unpacked into .cache/dotnet-toolchain (nothing is installed, nothing else on the machine changes). Runtime:
CoreCLR 3.1 of the package dotnetcore2 of PyPI, in the same folder. The sources are C# 7, so that any later SDK compiles them too; this
compiler compiles them twice, as `net8.0` of the project file (with spans) and as `netstandard2.0` (without); the tests run on the first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLCHAIN = ROOT / ".cache" / "dotnet-toolchain"
RUNTIME_PACKAGE = "dotnetcore2==3.1.23"
FRAMEWORK = "Microsoft.NETCore.App"
SOURCES = ROOT / "bindings" / "dotnet"
OUTPUT = ROOT / "target" / "hosts" / "dotnet"
ARTIFACT = ROOT / "src" / "slm2" / "data" / "qwen3-0.6b.slm2"
LIBRARY = {"darwin": "libslm2_capi.dylib", "win32": "slm2_capi.dll"}.get(sys.platform, "libslm2_capi.so")
# What must be there to run the compiler; the same as `apt-get install --no-install-recommends mono-mcs mono-runtime` would bring.
COMPILER_PACKAGES = (
    "mono-runtime-common",
    "mono-runtime-sgen",
    "mono-mcs",
    "libmono-corlib4.5-cil",
    "libmono-corlib4.5-dll",
    "libmono-microsoft-csharp4.0-cil",
    "libmono-security4.0-cil",
    "libmono-system4.0-cil",
    "libmono-system-configuration4.0-cil",
    "libmono-system-core4.0-cil",
    "libmono-system-numerics4.0-cil",
    "libmono-system-security4.0-cil",
    "libmono-system-xml4.0-cil",
)
# Of the framework: what the sources refer to.
REFERENCES = (
    "System.Private.CoreLib",
    "System.Runtime",
    "System.Runtime.Extensions",
    "System.Runtime.InteropServices",
    "System.Runtime.InteropServices.RuntimeInformation",
    "System.Collections",
    "System.Collections.Concurrent",
    "System.Console",
    "System.Diagnostics.Process",
    "System.ComponentModel.Primitives",
    "System.IO.FileSystem",
    "System.Linq",
    "System.Memory",
    "System.Threading",
    "System.Threading.Tasks",
)


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command; its output. Ends the program where it fails."""
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments[:4])} ... failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def get_toolchain() -> None:
    """Compiler and runtime, once."""
    if (TOOLCHAIN / "complete").exists():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise SystemExit("the compiler of the .NET binding comes from Debian's packages (mono-mcs), and apt-get is not here")
    shutil.rmtree(TOOLCHAIN, ignore_errors=True)
    TOOLCHAIN.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # apt's own user downloads into it
        download(folder)
        for package in sorted(folder.glob("*.deb")):
            run("dpkg-deb", "-x", package, TOOLCHAIN)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
        run(*pip, "install", "--quiet", "--no-deps", "--no-compile", "--target", TOOLCHAIN / "runtime", RUNTIME_PACKAGE)
    dotnet().chmod(0o755)
    (TOOLCHAIN / "complete").touch()


def download(folder: Path) -> None:
    """The packages; where the lists of packages know none, after an update."""
    command = ["apt-get", "-qq", "download", *COMPILER_PACKAGES]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0:
        return
    if os.geteuid() == 0:
        run("apt-get", "-qq", "update")
    run(*command, cwd=folder)


def dotnet() -> Path:
    """The program that runs assemblies."""
    return TOOLCHAIN / "runtime" / "dotnetcore2" / "bin" / "dotnet"


def framework() -> Path:
    """The folder of the runtime's own assemblies."""
    return next((dotnet().parent / "shared" / FRAMEWORK).iterdir())


def facts() -> Path:
    """What a project file makes of its version, for assemblies that no project file makes."""
    found = re.search(r"<Version>(.+)</Version>", (SOURCES / "Slm2" / "Slm2.csproj").read_text(encoding="utf-8"))
    version = found[1] if found else "0.0.0"
    path = OUTPUT / "AssemblyInfo.cs"
    named = (("AssemblyVersion", f"{version}.0"), ("AssemblyFileVersion", f"{version}.0"), ("AssemblyInformationalVersion", version))
    path.write_text("".join(f'[assembly: System.Reflection.{name}("{value}")]\n' for name, value in named), encoding="utf-8")
    return path


def compile_assembly(output: Path, sources: Path, *options: str, against: tuple[Path, ...] = (), spans: bool = True) -> None:
    """One assembly of the sources in a folder; warnings are errors."""
    mono = TOOLCHAIN / "usr" / "lib" / "mono" / "4.5"
    environment = {"MONO_PATH": str(mono), "MONO_CFG_DIR": str(TOOLCHAIN / "etc")}
    library = [f"-r:{framework() / name}.dll" for name in REFERENCES]
    modern = ["-nostdlib", "-noconfig", "-define:SLM2_SPAN", *library]
    arguments = [
        "-langversion:7.2" if spans else "-langversion:7",
        "-unsafe",
        "-optimize",
        "-warn:4",
        "-warnaserror",
        # A documented exception: the compiler takes the marshaller's fields for unassigned.
        "-nowarn:649",
        *(modern if spans else []),
        *options,
        *(f"-r:{path}" for path in against),
        f"-out:{output}",
        *sorted(str(path) for path in sources.glob("*.cs")),
        str(facts()),
    ]
    run(TOOLCHAIN / "usr" / "bin" / "mono-sgen", mono / "mcs.exe", *arguments, env=environment)


def runnable(assembly: Path) -> None:
    """What the runtime must be told about a program, and a script that starts it."""
    options = {"framework": {"name": FRAMEWORK, "version": "3.1.0"}, "configProperties": {"System.Globalization.Invariant": True}}
    assembly.with_suffix(".runtimeconfig.json").write_text(json.dumps({"runtimeOptions": options}), encoding="utf-8")
    script = OUTPUT / assembly.stem.rpartition(".")[2].lower()
    script.write_text(f'#!/bin/sh\nexec "{dotnet()}" "{assembly}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)


def main() -> int:
    """Build all of it; the exit status."""
    if sysconfig.get_platform() != "linux-x86_64":
        raise SystemExit("the runtime of PyPI's dotnetcore2 is for Linux on x86-64; elsewhere build bindings/dotnet with the .NET SDK")
    get_toolchain()
    run("cargo", "build", "--release", "--package", "slm2-capi", "--locked", "--quiet")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    shutil.copy2(ROOT / "target" / "release" / LIBRARY, OUTPUT)
    library = OUTPUT / "Slm2.dll"
    embedded = f"-resource:{ARTIFACT},Slm2.qwen3-0.6b.slm2"
    compile_assembly(library, SOURCES / "Slm2", "-target:library", embedded, f"-doc:{OUTPUT / 'Slm2.xml'}")
    (OUTPUT / "netstandard2.0").mkdir()
    documented = f"-doc:{OUTPUT / 'netstandard2.0' / 'Slm2.xml'}"
    compile_assembly(OUTPUT / "netstandard2.0" / "Slm2.dll", SOURCES / "Slm2", "-target:library", embedded, documented, spans=False)
    for name in ("Slm2.Tests", "Slm2.Testee"):
        compile_assembly(OUTPUT / f"{name}.dll", SOURCES / name, "-target:exe", against=(library,))
        runnable(OUTPUT / f"{name}.dll")
    print(f"{OUTPUT.relative_to(ROOT)}: {', '.join(sorted(path.name for path in OUTPUT.iterdir()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
