"""The command line ``slm2``. One module a command; a command's module is imported when the command runs.

Results go to stdout. Errors and warnings go to stderr, one JSON object a line. Exit status: 0, 1 (a verification failed), 2 (usage),
3 (input refused, or stdout cannot be written), 130 (interrupted), 141 (the reader of stdout went away).
"""

from __future__ import annotations

import click

from slm2 import __version__
from slm2.cli.group import CommandLine

__all__ = ["main"]

_EPILOG = """\b
Start here:
  slm2 assemble examples/support.json --explain
  echo 'Hello, world' | slm2 encode
  slm2 info
"""


@click.group(
    cls=CommandLine,
    invoke_without_command=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="slm2")
@click.option("-v", "--verbose", "verbosity", count=True, help="Log to stderr: counts and times; twice, what users and tools say too.")
@click.pass_context
def main(ctx: click.Context, verbosity: int) -> None:
    """Everything of a small language model except its weights: prompts, chat templates and tokens, the same bits on every host.

    Errors are one JSON object on stderr: {"error": {"code", "message", ...}}. Exit status: 0 done, 1 a verification failed, 2 wrong
    usage, 3 the input was refused.
    """
    if verbosity:
        from slm2.cli.logs import Logs  # noqa: PLC0415  (few ask for it)

        ctx.call_on_close(Logs(verbosity).close)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
