"""Build the C library and the testee of C into target/hosts/c.

python tools/build_c.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CAPI = ROOT / "crates" / "capi"
OUTPUT = ROOT / "target" / "hosts" / "c"
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2")


def run(*command: str | Path) -> None:
    """Run a command. Ends the program where it fails."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed")


def main() -> int:
    """Build; the exit status."""
    if shutil.which("cc") is None:
        raise SystemExit("there is no C compiler here: install cc")
    run("cargo", "build", "--release", "--package", "slm2-capi", "--locked", "--quiet")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    sources = sorted((CAPI / "testee").glob("*.c"))
    library = ROOT / "target" / "release" / "libslm2_capi.a"
    run("cc", *STRICT, f"-I{CAPI / 'include'}", *sources, "-o", OUTPUT / "testee", library, "-lm", "-lpthread", "-ldl")
    print(f"{(OUTPUT / 'testee').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
