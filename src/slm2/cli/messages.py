"""What goes to stderr: errors, warnings and log records, one JSON object a line, in ASCII, so that no text can steer a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TextIO

import click

from slm2.errors import Slm2Error


class InputLineError(Exception):
    """A refusal of one line of the input."""

    def __init__(self, error: Slm2Error, line: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.line = line

    def to_dict(self) -> dict[str, object]:
        """The refusal with the line, counted from 1."""
        if self.error.code == "json_invalid":  # it has a line of its own, of the text that was read alone
            return Slm2Error("json_invalid", **{**self.error.fields, "line": self.line}).to_dict()
        told = self.error.to_dict()
        return {**told, "message": f"line {self.line}: {told['message']}", "line": self.line}


def print_error(error: Mapping[str, object]) -> None:
    """Tell why nothing more is done."""
    _print({"error": error})


def print_warning(code: str, message: str, **fields: object) -> None:
    """Tell what a caller should know about a result that was given."""
    _print({"warning": {"code": code, "message": message, **fields}})


def print_log(level: str, message: str) -> None:
    """Show a record of the logger, where the caller asked for it."""
    _print({"log": {"level": level, "message": message}})


def strict(value: object) -> object:
    """A value without lone surrogates, which strict JSON does not have: in the name of a file each stands for a byte that is not UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {strict(name): strict(member) for name, member in value.items()}
    return [strict(element) for element in value] if isinstance(value, list | tuple) else value


def discard(stream: TextIO) -> None:
    """Let go what a stream that cannot be written still holds, or the interpreter complains when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print(line: Mapping[str, object]) -> None:
    try:
        click.echo(json.dumps(strict(line), default=str), err=True)
    except OSError:  # nobody can be told; the exit status still says what happened
        discard(sys.stderr)
