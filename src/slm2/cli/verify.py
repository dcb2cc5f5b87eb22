"""``slm2 verify``: an artifact and an engine against what the contract says of them."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from slm2.cli.common import artifact_option, read_bytes
from slm2.cli.messages import print_error
from slm2.contract import embedded
from slm2.engine import select
from slm2.errors import Slm2Error

if TYPE_CHECKING:
    from rich.console import Console

    from slm2.conformance.tier1 import Check

FAILED = 1
_SHOWN = 300


@click.command("verify")
@click.option("--tier", type=click.Choice(["1"]), default="1", show_default=True, help="1: vocabulary, scalar values, facts, vectors.")
@click.option("--source", metavar="DIR", help="Folder with the publisher's tokenizer.json, to compare with it entry by entry.")
@click.option(
    "--engine",
    "engines",
    type=click.Choice(["native", "reference"]),
    multiple=True,
    default=["native"],
    show_default=True,
    help="What is verified; may be given twice. It is asked for by name: a build without the native engine fails here.",
)
@artifact_option
@click.pass_context
def command(
    ctx: click.Context, tier: str, source: str | None, engines: tuple[Literal["native", "reference"], ...], artifact: str | None
) -> None:
    """Check an artifact and an engine against the contract.

    Prints one line for each check. Exit status 1 where a check failed; the reference engine takes minutes for all of tier 1.
    """
    del tier  # there is one so far
    data = embedded() if artifact is None else read_bytes(artifact)
    failed = False
    for name in dict.fromkeys(engines):
        checks = _run(name, data, Path(source) if source is not None else None)
        _print(name, checks)
        for check in checks:
            if not check.passed:
                failed = True
                print_error(Slm2Error("verification_failed", check=f"{name}: {check.name}", differences=check.differences).to_dict())
    if failed:
        ctx.exit(FAILED)


def _run(name: Literal["native", "reference"], data: bytes, source_dir: Path | None) -> list[Check]:
    from slm2.cli.progress import bars  # noqa: PLC0415  (rich is slow to import)
    from slm2.conformance.tier1 import verify  # noqa: PLC0415  (so are the compiler's proofs)

    engine = select(name, data)
    with bars() as progress:
        return verify(engine, data, source_dir, progress)


def _print(name: str, checks: list[Check]) -> None:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from slm2.screen import console, print_on, visible  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"tier 1, engine {name}", title_justify="left")
    table.add_column("check")
    table.add_column("compared", justify="right")
    table.add_column("differences", justify="right")
    table.add_column("first difference", overflow="fold")
    for check in checks:
        style = "" if check.passed else "bold red"
        first = visible(textwrap.shorten(check.first or "", _SHOWN, placeholder="…").encode("utf-8", "backslashreplace"), blanks=False)
        table.add_row(check.name, f"{check.checked:,}", f"{check.differences:,}", first, style=style)
    screen: Console = console()
    print_on(screen, table)
