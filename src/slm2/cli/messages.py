"""What goes to stderr: errors and warnings, one JSON object a line, in ASCII, so that no text in them can steer a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping

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


def _print(line: Mapping[str, object]) -> None:
    click.echo(json.dumps(line, default=str), err=True)
