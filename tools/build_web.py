"""Lay the playground out in target/web: the page, the JavaScript package, its data, the machine and the vectors. Then `slm2 web` serves it.

python tools/build_web.py [--only plain] [--small]

The vectors are written as calls of the testee protocol with the answers that are expected, so that the page reads no number that
JavaScript cannot hold. Needs the package slm2 (it may be this checkout's: PYTHONPATH=src) and what tools/build_js.py needs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from slm2 import load
from slm2.cli.machine import edges
from slm2.conformance import suite
from slm2.conformance.protocol import call_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "js"
SITE = ROOT / "target" / "web"
EXAMPLE = ROOT / "examples" / "support.json"


def machine() -> dict[str, object]:
    """States and edges of the template's machine."""
    program = load(engine="reference").template.program
    drawn = [{"from": source, "to": target, "label": label, "reply": reply} for source, target, label, reply in edges(program)]
    return {"states": list(program.states), "edges": drawn}


def calls(name: str) -> dict[str, object]:
    """A vector file as calls: in each profile in which a vector holds, with the answer."""
    file = suite.load(name)
    rows = []
    for vector in file.vectors:
        for profile in suite.profiles(vector):
            call = call_of(vector, profile)
            expected = {key: vector[key] for key in ("expect", "error") if key in vector}
            rows.append({"id": vector["id"], "profile": profile, "method": call.method, "params": call.params, **expected})
    return {"name": name, "semantic_digest": file.semantic_digest, "calls": rows}


def write(name: str, value: object) -> None:
    """A file of JSON."""
    path = SITE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")


def main() -> int:
    """Lay out; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["plain"], help="without the module for shared memory")
    parser.add_argument("--small", action="store_true", help="as it is published: the plain module with a library of its own too")
    arguments = parser.parse_args()
    choice = [*(["--only", arguments.only] if arguments.only else []), *(["--small"] if arguments.small else [])]
    built = subprocess.run([sys.executable, str(ROOT / "tools" / "build_js.py"), *choice], check=False)
    if built.returncode != 0:
        return built.returncode
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(ROOT / "web", SITE, ignore=shutil.ignore_patterns("*.mjs", "*.json"))
    shutil.copytree(PACKAGE / "src", SITE / "slm2")
    shutil.copytree(PACKAGE / "data", SITE / "data")
    # What a bundler does by the package's conditions: a browser alone, and a worker above all, cannot resolve the name.
    index = SITE / "slm2" / "index.js"
    index.write_text(index.read_text(encoding="utf-8").replace("'#files'", "'./files_web.js'"), encoding="utf-8")
    shutil.copyfile(EXAMPLE, SITE / "example.json")
    write("machine.json", machine())
    names = suite.files()
    for name in names:
        write(f"vectors/{name}", calls(name))
    write("vectors/index.json", names)
    print(f"{SITE.relative_to(ROOT)}: {sum(path.stat().st_size for path in SITE.rglob('*') if path.is_file())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
