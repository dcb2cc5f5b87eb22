"""Measure slm2 beside its peers, and write docs/benchmarks.md, docs/benchmarks.svg and docs/benchmarks.json.

    python3 bench/run.py                          texts that it makes
    python3 bench/run.py --corpus DIR             the texts of a folder
    python3 bench/run.py -- --measure messages    what comes after -- goes to `slm2 bench`
    python3 bench/run.py --draw                   table and picture again, from the JSON that is there

Makes environments in .cache/bench with the peers that pyproject.toml pins (groups bench*), installs this checkout into one of them,
fetches the publisher's tokenizer.json, and runs `slm2 bench`. Needs Python 3.10 or later, Rust, and npm once.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".cache" / "bench"
PUBLISHER = ROOT / ".cache" / "publisher"
DOCS = ROOT / "docs"
# Groups of pyproject.toml for each environment, and whether pip may follow what they depend on.
GROUPS: dict[str, list[tuple[str, bool]]] = {
    "peers": [("bench", True), ("bench-no-deps", False)],
    "tokenizers-1": [("bench-tokenizers-1", True)],
}


def python_of(environment: str) -> str:
    """The interpreter of an environment."""
    return str(ENVIRONMENTS / environment / "bin" / "python")


def run(*command: str) -> None:
    """Run from the root; all ends where it fails."""
    print("$", *command, file=sys.stderr, flush=True)
    subprocess.run(command, cwd=ROOT, check=True)


def set_up() -> None:
    """Make what is not there, and install the checkout as it is now."""
    for environment, groups in GROUPS.items():
        python = python_of(environment)
        if not Path(python).exists():
            run(sys.executable, "-m", "venv", str(ENVIRONMENTS / environment))
            run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")  # older ones know no groups
        for group, follow in groups:
            run(python, "-m", "pip", "install", "--quiet", *([] if follow else ["--no-deps"]), "--group", group)
    run(python_of("peers"), "-m", "pip", "install", "--quiet", ".")
    run(python_of("peers"), "tools/fetch_sources.py", str(PUBLISHER))


def measure(arguments: Sequence[str]) -> bytes:
    """The JSON of a run; its bars are on stderr."""
    command = [
        *(str(Path(python_of("peers")).with_name("slm2")), "bench", "--format", "json"),
        *("--tokenizer-json", str(PUBLISHER / "tokenizer.json")),
        *("--python", f"tokenizers-1={python_of('tokenizers-1')}"),
        *arguments,
    ]
    print("$", *command, file=sys.stderr, flush=True)
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def main() -> int:
    """Set up, measure, write; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="folder of texts; made when left out")
    parser.add_argument("--output", type=Path, default=DOCS, metavar="DIR", help="where the three files go; default: docs")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--no-setup", action="store_true", help="take the environments as they are")
    parser.add_argument("rest", nargs="*", metavar="-- OPTION", help="options of `slm2 bench`")
    given = parser.parse_args()
    raw: Path = given.output.resolve() / "benchmarks.json"
    if not given.draw:
        if not given.no_setup:
            set_up()
        corpus = ["--corpus", str(given.corpus.resolve())] if given.corpus else []
        measured = measure([*corpus, *given.rest])
        raw.parent.mkdir(parents=True, exist_ok=True)
        raw.write_bytes(measured)
    run(python_of("peers"), "bench/report.py", str(raw))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
