"""Make the environment of the adapters' tests: the libraries that they are written against, pinned, and this package.

    python tools/adapters_environment.py         makes or brings up to date .venv-adapters
    .venv-adapters/bin/python -m pytest tests/adapters

Apart from .venv-check, since it weighs several GB and nothing but the adapters imports it. llama-cpp-python has no wheel for
most machines: its own one is compiled here as small as the tests need it, and kept in .cache/wheels under its version and options.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-adapters"
PYTHON = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
STAMP = VENV / "made-from"
PYPROJECT = ROOT / "pyproject.toml"
CMAKE = ROOT / "tools" / "llama_cpp_alone.cmake"
WHEELS = ROOT / ".cache" / "wheels"

# What is built is for the tests' tiny float32 models alone; what a user installs is theirs to choose. Time of the cores for one
# build: 399 s with the package's own options, 150 s with these (llama-cpp-python 0.3.36, g++ 12).
LLAMA_OPTIONS = {
    "LLAVA_BUILD": "OFF",
    "GGML_NATIVE": "OFF",
    "GGML_OPENMP": "OFF",
    "GGML_CPU_REPACK": "OFF",
    "GGML_LLAMAFILE": "OFF",
    "CMAKE_C_FLAGS_RELEASE": "-O1",
    "CMAKE_CXX_FLAGS_RELEASE": "-O1",
}


def pip(*arguments: str | Path) -> None:
    """The environment's own pip; its complaints on our stderr."""
    start = time.perf_counter()
    subprocess.run([PYTHON, "-m", "pip", *map(str, arguments)], cwd=ROOT, check=True)
    print(f"pip {' '.join(map(str, arguments[:2]))} ... {time.perf_counter() - start:.1f} s", flush=True)


def group() -> str:
    """The lines of the dependency group; a change elsewhere in pyproject.toml makes nothing anew, as it would take minutes."""
    found = re.search(r"^adapters = \[\n(.*?)^\]$", PYPROJECT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit("pyproject.toml has no dependency group adapters")
    return found[1]


class LlamaWheel:
    """The compiled wheel of llama-cpp-python, begun beside other work where it is not there yet.

    Attributes:
        requirement: as the group pins it.
        folder: that has the wheel when :meth:`wait` has returned.
    """

    def __init__(self, requirement: str) -> None:
        made_from = f"{requirement} {sys.platform} {platform.machine()} {sorted(LLAMA_OPTIONS.items())} {CMAKE.read_text(encoding='utf-8')}"
        self.requirement = requirement
        self.folder = WHEELS / hashlib.sha256(made_from.encode()).hexdigest()[:16]
        self._compiling: subprocess.Popen[bytes] | None = None
        if not list(self.folder.glob("*.whl")):
            # The file is read after llama.cpp's own project() line.
            options = {**LLAMA_OPTIONS, "CMAKE_PROJECT_llama.cpp_INCLUDE": CMAKE.as_posix()}
            settings = [f"--config-settings=cmake.define.{name}={value}" for name, value in options.items()]
            command = [str(PYTHON), "-m", "pip", "wheel", "--quiet", "--no-deps", f"--wheel-dir={self.folder}", *settings, requirement]
            self._compiling = subprocess.Popen(command, cwd=ROOT)

    def wait(self) -> Path:
        """Until it is there; its folder."""
        start = time.perf_counter()
        if self._compiling is not None and self._compiling.wait() != 0:
            sys.exit(f"{self.requirement} could not be compiled; a C++ compiler is needed (Debian: g++)")
        print(f"waited for {self.requirement} ... {time.perf_counter() - start:.1f} s", flush=True)
        return self.folder


def make(wanted: str) -> None:
    """The environment anew, without this package."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    # Older ones cannot install dependency groups.
    pip("install", "--quiet", "--upgrade", "pip>=25.1")
    requirements = re.findall(r'"(.+)"', group())
    wheel = LlamaWheel(next(name for name in requirements if name.startswith("llama-cpp-python==")))
    # Without compiling to bytecode, which takes longer than the tests' own imports do.
    pip("install", "--quiet", "--no-compile", *(name for name in requirements if name != wheel.requirement))
    pip("install", "--quiet", "--no-compile", f"--find-links={wheel.wait()}", "--group", "adapters")
    STAMP.write_text(wanted)


def main() -> int:
    """Make what differs; the exit status."""
    wanted = f"{sys.version} {hashlib.sha256(group().encode()).hexdigest()}"
    if not STAMP.exists() or STAMP.read_text() != wanted:
        make(wanted)
    # setuptools would put what an earlier build left there into the wheel.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    pip("install", "--quiet", ".")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
