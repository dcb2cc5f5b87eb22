"""Running the command line in this process and in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from slm2.cli import main

ROOT = Path(__file__).parents[2]
# What rich looks at; the test runner's own values must not decide how a table is laid out.
_SCREEN = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")
EXAMPLE = ROOT / "examples" / "support.json"


@dataclass(frozen=True)
class Result:
    """What a command left behind; each line of stderr is one JSON object."""

    status: int
    out: bytes
    err: bytes

    @property
    def messages(self) -> list[dict]:
        return [json.loads(line) for line in self.err.decode("ascii").splitlines()]

    @property
    def error(self) -> dict:
        """The one error there must be, as the last line."""
        assert [line for line in self.messages if "error" in line] == self.messages[-1:], self
        return self.messages[-1]["error"]


def run(*arguments: str | Path, stdin: bytes = b"", env: dict[str, str | None] | None = None) -> Result:
    """In this process."""
    screen: dict[str, str | None] = dict.fromkeys(_SCREEN)
    arguments = tuple(str(argument) for argument in arguments)
    result = CliRunner().invoke(main, arguments, input=stdin, env={**screen, **(env or {})}, prog_name="slm2")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Result(result.exit_code, result.stdout_bytes, result.stderr_bytes)


def command(*arguments: str | Path) -> list[str]:
    """A process that is the command line."""
    return [sys.executable, "-W", "error", "-c", "from slm2.cli import main; main()", *map(str, arguments)]


def run_process(*arguments: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
    """In a process of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in _SCREEN}
    result = subprocess.run(command(*arguments), input=stdin, capture_output=True, env={**kept, **(env or {})}, check=False, timeout=60)
    return Result(result.returncode, result.stdout, result.stderr)
