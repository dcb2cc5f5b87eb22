"""Print what changed in a release, from the change log.

python tools/release_notes.py            of the version that is checked out
python tools/release_notes.py 0.1.0      of this one

tools/build_packages.py writes them with the files of the release and their digests.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tools/ is imported by that name, also where this runs as a script

from tools.packages.project import PackageError, version  # noqa: E402


def section(wanted: str) -> tuple[str, str]:
    """The date (or `unreleased`) and the text of a version's section.

    Raises:
        PackageError: the change log has no section of it, or an empty one.
    """
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## \[{re.escape(wanted)}\] - (\S+)\n(.*?)(?=^## \[|\Z)", log, re.MULTILINE | re.DOTALL)
    if found is None or not found[2].strip():
        raise PackageError(f"CHANGELOG.md has no section `## [{wanted}] - DATE` with a text")
    return found[1], found[2].strip()


def notes(wanted: str, sizes: Mapping[str, int] | None = None, digests: Mapping[str, str] | None = None) -> str:
    """The notes as Markdown; links into the checkout become plain, since the notes are read elsewhere.

    Args:
        wanted: a version of the change log.
        sizes: bytes of each file of the release.
        digests: SHA-256 of each.

    Raises:
        PackageError: as `section`.
    """
    date, text = section(wanted)
    plain = re.sub(r"\[([^\]]+)\]\((?!https://)[^)]+\)", r"\1", text)
    lines = [f"# SLM2 {wanted}", "", date, "", re.sub(r"^###", "##", plain, flags=re.MULTILINE), ""]
    if sizes and digests:
        lines += ["## Files", "", "| file | bytes | SHA-256 |", "|---|---|---|"]
        lines += [f"| `{name}` | {size:,} | `{digests[name]}` |" for name, size in sizes.items()]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", default=version())
    try:
        print(notes(parser.parse_args().version))
    except PackageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
