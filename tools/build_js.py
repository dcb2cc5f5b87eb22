"""Fill the JavaScript package: both modules, the artifact and the notices into bindings/js, types where its tools are installed.

python tools/build_js.py                 all of it (builds the modules first)
python tools/build_js.py --only plain    with the plain module alone, which is enough for all but shared memory

python tools/build_js.py --small         as it is published: the plain module is a quarter smaller, and takes a minute more

Then `npm pack` in bindings/js makes the package.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "js"
ARTIFACT = ROOT / "src" / "slm2" / "data" / "qwen3-0.6b.slm2"


def main() -> int:
    """Build and copy; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["plain", "shared"], help="build this module alone")
    parser.add_argument("--small", action="store_true", help="as it is published: the plain module with a library of its own too")
    arguments = parser.parse_args()
    choice = [*(["--only", arguments.only] if arguments.only else []), *(["--small"] if arguments.small else [])]
    built = subprocess.run([sys.executable, str(ROOT / "tools" / "build_wasm.py"), *choice], check=False)
    if built.returncode != 0:
        return built.returncode
    data = PACKAGE / "data"
    data.mkdir(exist_ok=True)
    for source in (ROOT / "target" / "slm2.wasm", ROOT / "target" / "slm2-shared.wasm", ARTIFACT):
        if source.exists():
            shutil.copyfile(source, data / source.name)
    for name in ("LICENSE", "NOTICE", "THIRD-PARTY-NOTICES.txt"):
        shutil.copyfile(ROOT / name, PACKAGE / name)
    compiler = PACKAGE / "node_modules" / "typescript" / "bin" / "tsc"
    if compiler.exists():
        return subprocess.run(["node", str(compiler)], cwd=PACKAGE, check=False).returncode
    print("no types were written: run `npm ci` in bindings/js before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
