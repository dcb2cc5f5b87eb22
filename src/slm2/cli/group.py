"""The group of commands: loads a command when it is asked for, and gives every failure its JSON line and its exit status."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from slm2.cli.messages import InputLineError, discard, print_error
from slm2.errors import Slm2Error

# Short help here, so that `slm2 --help` imports no command; tests/cli compares it with the commands' own.
COMMANDS = {
    "assemble": "Assemble a prompt from a request, within its budget.",
    "bench": "Measure slm2 beside the other tokenizers that are installed.",
    "chat": "Talk with a model.",
    "compile": "Compile the publisher's files into an artifact.",
    "decode": "Turn token ids back into bytes.",
    "encode": "Turn text into token ids.",
    "encode-corpus": "Turn files of documents into shards of token ids.",
    "generate": "Generate a reply, and print it as it comes.",
    "info": "Say which engine, artifact and versions are in use.",
    "inspect": "Show what is in an artifact.",
    "render": "Render a conversation with the chat template.",
    "replay": "Replay a trace of draws, and name the first step that differs.",
    "sample": "Draw an id for each row of logits.",
    "verify": "Check an artifact and hosts against the contract.",
    "web": "Serve the playground at http://localhost, until it is interrupted.",
}

REFUSED, USAGE, INTERRUPTED, READER_GONE = 3, 2, 130, 141


class CommandLine(click.Group):
    """A group whose commands are the functions ``command`` of the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help page."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"slm2.cli.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's signature)
        """Run, and end quietly where the reader of stdout went away."""
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            discard(sys.stdout)
            ctx.exit(READER_GONE)
        return value

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]  # noqa: ANN401
        """Run the command line and exit."""
        extra["standalone_mode"] = False
        try:
            if sys.stdout is None:  # the file that is opened next would take its place
                _refuse_stdout(os.strerror(errno.EBADF))
            value = super().main(args, prog_name or "slm2", **extra)
        except click.exceptions.Abort:
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            path = context.command_path if context is not None else "slm2"
            print_error({"code": "usage", "message": error.format_message(), "help": f"{path} --help"})
            sys.exit(USAGE)
        except (InputLineError, Slm2Error) as error:
            print_error(error.to_dict())
            sys.exit(REFUSED)
        except OSError as error:  # only of stdout: whatever else fails has its own code where it fails
            discard(sys.stdout)
            _refuse_stdout(error.strerror or str(error))
        sys.exit(value if isinstance(value, int) else 0)


def _refuse_stdout(reason: str) -> NoReturn:
    print_error(Slm2Error("file_unwritable", path="<stdout>", reason=reason).to_dict())
    sys.exit(REFUSED)
