"""A machine that knows nothing of this one: a copy of the checkout, and programs and variables chosen one by one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# All that a fresh machine is told about the network: whom to trust, and where packages come from.
NETWORK_VARIABLES = re.compile(r"PIP_.*|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|https?_proxy|no_proxy", re.IGNORECASE)


@dataclass(frozen=True)
class Machine:
    """Where the copy is, and the variables of every command."""

    checkout: Path
    environment: dict[str, str]

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout."""
        arguments = [str(part) for part in command]
        return subprocess.run(
            arguments, cwd=self.checkout, env=self.environment, capture_output=True, text=True, encoding="utf-8", check=False
        )

    def having(self, **variables: str) -> Machine:
        """The same machine with other variables."""
        return replace(self, environment={**self.environment, **variables})


def make(folder: Path) -> Machine:
    """A machine in an empty folder, with Python alone: no cargo, no compiler, an empty home."""
    (folder / "home").mkdir()
    copy_checkout(folder / "checkout")
    environment = {name: value for name, value in os.environ.items() if NETWORK_VARIABLES.fullmatch(name)}
    # The cache spares a download of what is already here; it holds nothing of this package.
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    path = programs(folder / "programs", python3=Path(sys._base_executable))
    return Machine(
        folder / "checkout", {**environment, "PATH": path, "HOME": str(folder / "home"), "LANG": "C.UTF-8", "PIP_CACHE_DIR": cache}
    )


def checkout_files() -> list[str]:
    """What a clone would have if everything here were committed: tracked files, and new ones that are not ignored."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    # A file deleted and not yet staged is listed too.
    return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def copy_checkout(target: Path) -> None:
    """Copy them."""
    for name in checkout_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)


def programs(folder: Path, **targets: Path) -> str:
    """A PATH that has these programs and no other."""
    folder.mkdir()
    for name, target in targets.items():
        (folder / name).symlink_to(target)
    return str(folder)


def rust_programs() -> dict[str, Path]:
    """cargo and rustc themselves, not the launchers of rustup, which need a home."""
    root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    return {name: Path(root, "bin", name) for name in ("cargo", "rustc")}
