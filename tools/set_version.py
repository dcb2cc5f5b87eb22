"""There is one version, that of src/slm2/__init__.py; everything else that names it is written from it.

python tools/set_version.py --check    exit 1 where another version stands somewhere
python tools/set_version.py 0.2.0      write this one everywhere; a section of the change log has to be begun by hand
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# MAJOR.MINOR.PATCH alone: what PyPI, cargo, npm and NuGet would each write differently (a release candidate) has no common form.
VERSION = r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
SOURCE = "src/slm2/__init__.py"
# The crates of the workspace in a lock file; `name` is there once for each.
LOCKED = rf'^name = "slm2-\w+"\nversion = "({VERSION})"$'
# Where the version stands, and how; each match in a file is one place.
PLACES = {
    SOURCE: rf'^__version__ = "({VERSION})"$',
    "Cargo.toml": rf'^\[workspace\.package\]\nversion = "({VERSION})"$',
    "Cargo.lock": LOCKED,
    "fuzz/Cargo.lock": rf'^name = "slm2-(?!fuzz)\w+"\nversion = "({VERSION})"$',
    "crates/core/Cargo.toml": rf'^slm2-simd = .*version = "=({VERSION})" }}$',
    "bindings/js/package.json": rf'^  "version": "({VERSION})",$',
    "bindings/js/package-lock.json": rf'"name": "slm2",\n +"version": "({VERSION})",$',
    "bindings/js/src/conformance/testee.js": rf"^ +host: .*version: '({VERSION})'",
    "bindings/dotnet/Slm2/Slm2.csproj": rf"^ *<Version>({VERSION})</Version>$",
    "bindings/dotnet/Slm2.Testee/Host.cs": rf'^ *{{ "version", "({VERSION})" }},$',
}
# Read alone: what changed has to be written by somebody.
CHANGE_LOG = ("CHANGELOG.md", rf"\A(?:(?!^## ).*\n)*## \[({VERSION})\]")


def versions(root: Path) -> list[tuple[str, str]]:
    """File and version of every place; `none` where a file has no place."""
    found = []
    for name, pattern in (*PLACES.items(), CHANGE_LOG):
        text = (root / name).read_text(encoding="utf-8")
        found += [(name, match[1]) for match in re.finditer(pattern, text, re.MULTILINE)] or [(name, "none")]
    return found


def version(root: Path = ROOT) -> str:
    """The version, from its one source."""
    ((_, found),) = [place for place in versions(root) if place[0] == SOURCE]
    return found


def check(root: Path) -> list[str]:
    """A line for each place that has another version."""
    wanted = version(root)
    return [f"{name}: {found}, but {SOURCE} has {wanted}" for name, found in versions(root) if found != wanted]


def write(root: Path, wanted: str) -> list[str]:
    """Put a version into every place; the names of the files."""
    for name, pattern in PLACES.items():
        path = root / name
        text = path.read_text(encoding="utf-8")

        def replaced(match: re.Match[str]) -> str:
            begin, end = match.start(1) - match.start(), match.end(1) - match.start()
            return match[0][:begin] + wanted + match[0][end:]

        path.write_text(re.sub(pattern, replaced, text, flags=re.MULTILINE), encoding="utf-8", newline="\n")
    return list(PLACES)


def main() -> int:
    """Check or write; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", help="MAJOR.MINOR.PATCH")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    if arguments.check == (arguments.version is not None):
        parser.error("give a version, or --check")
    if arguments.version is not None:
        if re.fullmatch(VERSION, arguments.version) is None:
            parser.error(f"a version is MAJOR.MINOR.PATCH, not {arguments.version}")
        print(*write(ROOT, arguments.version), sep="\n")
    differing = check(ROOT)
    if differing:
        print("the versions differ:", *differing, sep="\n  ", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
