"""There is one version: that of the package, of the Cargo workspace and of the newest section of the change log.

Run it without arguments; it exits with 1 where they differ.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Where the version stands, and how.
PLACES = {
    "src/slm2/__init__.py": r'^__version__ = "(.+)"$',
    "Cargo.toml": r'^\[workspace\.package\]\nversion = "(.+)"$',
    "crates/core/Cargo.toml": r'^slm2-simd = .*version = "(.+)" }$',
    "bindings/dotnet/Slm2/Slm2.csproj": r"^ *<Version>(.+)</Version>$",
    "bindings/dotnet/Slm2.Testee/Host.cs": r'^ *{ "version", "(.+)" },$',
    "CHANGELOG.md": r"^## \[(\d.*?)\]",
}


def main() -> int:
    """Compare; the exit status."""
    found = {}
    for name, pattern in PLACES.items():
        match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        found[name] = match[1] if match else "none"
    if len(set(found.values())) == 1 and "none" not in found.values():
        return 0
    print("the versions differ:", *(f"{name}: {version}" for name, version in found.items()), sep="\n  ", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
