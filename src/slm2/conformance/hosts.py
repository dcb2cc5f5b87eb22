"""The hosts that are verified: how each is started, and what makes it (contract/conformance.md).

A host of another project needs no entry: ``slm2 verify --host NAME=COMMAND`` takes any program that speaks the protocol.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slm2.engine import native_reason

__all__ = ["HOSTS", "Host", "checkout", "find", "of_command"]


@dataclass(frozen=True, slots=True)
class Host:
    """A program that answers the protocol.

    Attributes:
        name: as ``--host`` takes it.
        title: for tables.
        command: program and arguments; ``{checkout}`` is the folder of the checkout, a program without a slash is looked up in PATH.
        needs: files of the checkout that must be there, and what makes them.
        made_by: the command that makes them; empty where none does.
        unavailable: says why it is not there where that is no question of files.
        slow: it interprets; the sweeps over all scalar values and the longest runs are asked in part.
    """

    name: str
    title: str
    command: Sequence[str]
    needs: Sequence[str] = ()
    made_by: str = ""
    unavailable: Callable[[], str | None] = lambda: None
    slow: bool = False

    def missing(self, root: Path | None) -> str | None:
        """Why it cannot be started; None where it can."""
        in_checkout = self.needs or any("{checkout}" in part for part in self.command)
        if in_checkout and root is None:
            return "it is made in a checkout of the project, and none is here"
        for name in self.needs:
            if root is not None and not (root / name).exists():
                return f"{name} is not there; {self.made_by} makes it"
        program = self.command[0]
        if reason := self.unavailable():
            return reason
        return None if os.sep in program or shutil.which(program) else f"{program} is not installed"

    def started_by(self, root: Path | None) -> list[str]:
        """The command, in full."""
        return [part.replace("{checkout}", str(root)) for part in self.command]


_PYTHON = (sys.executable, "-m", "slm2.conformance.testee", "--engine")

HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Host("python-reference", "Python, reference", [*_PYTHON, "reference"], slow=True),
        Host("python-engine", "Python, engine", [*_PYTHON, "native"], unavailable=native_reason),
        Host(
            "rust",
            "Rust",
            ["{checkout}/target/release/slm2-testee"],
            ["target/release/slm2-testee"],
            "cargo build --release -p slm2-testee",
        ),
        Host("c", "C", ["{checkout}/target/hosts/c/testee"], ["target/hosts/c/testee"], "python tools/build_c.py"),
        Host(
            "node",
            "Node",
            ["node", "{checkout}/bindings/js/testee/node.mjs"],
            ["bindings/js/testee/node.mjs", "bindings/js/data"],
            "python tools/build_js.py",
        ),
        Host(
            "browser",
            "browser worker",
            ["node", "{checkout}/web/testee.mjs"],
            ["web/testee.mjs", "target/web", "bindings/js/node_modules"],
            "npm ci --prefix bindings/js && python tools/build_web.py",
        ),
        Host("dotnet", ".NET", ["{checkout}/target/hosts/dotnet/testee"], ["target/hosts/dotnet/testee"], "python tools/build_dotnet.py"),
    )
}


def checkout() -> Path | None:
    """The checkout that the working directory is in, or that this module belongs to; None where neither is."""
    for start in (Path.cwd(), Path(__file__).resolve()):
        for folder in (start, *start.parents):
            if (folder / "contract" / "conformance.md").exists() and (folder / "crates").is_dir():
                return folder
    return None


def of_command(text: str) -> Host:
    """A host of another project: ``NAME=COMMAND``."""
    name, _, command = text.partition("=")
    return Host(name, name, shlex.split(command))


def find(text: str) -> Host | None:
    """What ``--host`` names; None where it names nothing."""
    if "=" in text:
        host = of_command(text)
        return host if host.name and host.command else None
    return HOSTS.get(text)
