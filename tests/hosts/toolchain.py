"""What the tests of other hosts are built with; without it they are skipped, but under CI they fail."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARTIFACT = ROOT / "src" / "slm2" / "data" / "qwen3-0.6b.slm2"
CAPI = ROOT / "crates" / "capi"
LIBRARIES = ROOT / "target" / "release"


def missing(what: str, remedy: str) -> NoReturn:
    """Skip, or fail under CI, where nothing is skipped."""
    reason = f"{what} is not here: {remedy}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command; its output. Fails the test where it fails."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{command[0]} failed with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@cache
def compiler() -> str:
    """The compiler for C."""
    found = shutil.which("cc")
    if found is None:
        missing("a C compiler", "install cc")
    return found


@cache
def library(name: str) -> Path:
    """A library of crates/capi: `libslm2_capi.a`, `libslm2_capi.so`, ..."""
    if shutil.which("cargo") is None:
        missing("cargo", "install Rust")
    run("cargo", "build", "--release", "--package", "slm2-capi", "--locked", "--quiet")
    found = LIBRARIES / name
    if not found.exists():
        missing(name, "it is not built for this platform")
    return found


def compile_c(output: Path, *sources: Path, options: tuple[str, ...] = ()) -> Path:
    """A program of C over the static library, as strictly as the compiler can be."""
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-g")
    libraries = (library("libslm2_capi.a"), "-lm", "-lpthread", "-ldl")
    run(compiler(), *strict, *options, f"-I{CAPI / 'include'}", *sources, "-o", output, *libraries)
    return output


def compile_cpp(output: Path, source: Path) -> Path:
    """A program of C++ over the same library."""
    if shutil.which("c++") is None:
        missing("a C++ compiler", "install c++")
    libraries = (library("libslm2_capi.a"), "-lm", "-lpthread", "-ldl")
    language = ("-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", source, "-x", "none")
    run("c++", *language, f"-I{CAPI / 'include'}", "-o", output, *libraries)
    return output


@cache
def javascript_package() -> Path:
    """bindings/js with its plain module and the artifact."""
    if shutil.which("node") is None or shutil.which("cargo") is None:
        missing("node or cargo", "install Node 20 and Rust")
    run(sys.executable, ROOT / "tools" / "build_js.py", "--only", "plain")
    return ROOT / "bindings" / "js"


@cache
def build_dotnet() -> Any:
    """tools/build_dotnet.py, after it has built the binding, its tests and its testee."""
    if sysconfig.get_platform() != "linux-x86_64" or shutil.which("apt-get") is None or shutil.which("cargo") is None:
        missing("what builds the .NET binding", "it needs Debian's mono-mcs, PyPI's dotnetcore2 and cargo; see tools/build_dotnet.py")
    program = ROOT / "tools" / "build_dotnet.py"
    run(sys.executable, program)
    described = importlib.util.spec_from_file_location("build_dotnet", program)
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def dotnet_program(sources: Path) -> Path:
    """A program over the binding, from the C# files of a folder."""
    tool = build_dotnet()
    assembly = tool.OUTPUT / "Slm2.Example.dll"
    tool.compile_assembly(assembly, sources, "-target:exe", against=(tool.OUTPUT / "Slm2.dll",))
    tool.runnable(assembly)
    return tool.OUTPUT / "example"
