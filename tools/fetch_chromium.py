"""Chromium for the tests of the page: print the path of one, and unpack Debian's where none is installed.

python tools/fetch_chromium.py

An installed `chromium` is taken as it is. Else the package and whatever it needs beyond what the machine has are unpacked into
.cache/chromium (nothing is installed, nothing else on the machine changes). Needs apt-get and dpkg-deb; elsewhere install Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "chromium"
PROGRAM = FOLDER / "chromium"
# With fonts that a bare machine has not: text in the pictures of the page must not be boxes.
PACKAGES = ("chromium", "fontconfig-config", "fonts-dejavu-core", "fonts-noto-color-emoji", "fonts-wqy-microhei")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command; its output. Ends the program where it fails."""
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def missing_packages() -> list[str]:
    """What an installation would bring, by apt's own reckoning."""
    if os.geteuid() == 0:
        run("apt-get", "-qq", "update")
    planned = run("apt-get", "install", "--simulate", "--no-install-recommends", *PACKAGES)
    return [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]


def unpack() -> None:
    """The packages side by side under one folder, and a script that starts Chromium from there."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise SystemExit("no chromium on the path, and no apt-get to fetch one: install Chromium")
    partial = FOLDER.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        downloads = Path(name)
        downloads.chmod(0o755)  # apt's own user downloads into it
        run("apt-get", "-qq", "download", *missing_packages(), cwd=downloads)
        for package in sorted(downloads.glob("*.deb")):
            run("dpkg-deb", "-x", package, partial)
    found = [path for place in ("lib", "usr/lib") for path in (partial / place).glob("*-linux-gnu*/**/lib*.so*")]
    folders = {path.parent.relative_to(partial) for path in found}
    libraries = ":".join(f"$T/{folder}" for folder in sorted(folders))
    script = partial / PROGRAM.name
    script.write_text(
        "#!/bin/sh\n"
        'T=$(dirname "$(readlink -f "$0")")\n'
        f'export LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"\n'
        '[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_PATH="$T/etc/fonts"\n'
        'XDG_DATA_HOME="$T/usr/share" exec "$T/usr/lib/chromium/chromium" "$@"\n'
    )
    script.chmod(0o755)
    shutil.rmtree(FOLDER, ignore_errors=True)
    partial.rename(FOLDER)


def main() -> int:
    """Find or unpack; print the path; the exit status."""
    installed = shutil.which("chromium")
    if installed is None and not PROGRAM.exists():
        unpack()
    print(installed or PROGRAM)
    return 0


if __name__ == "__main__":
    sys.exit(main())
