"""``slm2 verify``: an artifact and hosts against what the contract says of them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slm2.cli.common import STANDARD, artifact_option, read_bytes, write_file
from slm2.cli.messages import print_error, print_warning
from slm2.contract import embedded
from slm2.errors import Slm2Error

if TYPE_CHECKING:
    from rich.text import Text

    from slm2.conformance.hosts import Host
    from slm2.conformance.verdict import Check, HostVerdict
    from slm2.conformance.verification import Verification

FAILED = 1
ALL = "all"
_SHOWN = 400


@click.command("verify")
@click.option(
    "--tier",
    type=click.Choice(["1", "2", "3"]),
    default="1",
    show_default=True,
    help="1: vocabulary, scalar values, seals, vectors. 2: the whole pipeline, long runs. 3: many turns, a budget, memory.",
)
@click.option(
    "--host",
    "names",
    metavar="HOST",
    multiple=True,
    help="What is verified, by name; may be repeated. `all`: every one of the project. NAME=COMMAND: any program that speaks the protocol. "
    "Without it: those that are here.",
)
@click.option("--source", metavar="DIR", help="Folder with the publisher's files, to compare with them entry by entry.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON; - is stdout, in place of the table.")
@click.option("--html", "html_file", metavar="FILE", help="Write the report as a page; - is stdout, in place of the table.")
@artifact_option
@click.pass_context
def command(  # noqa: PLR0913, PLR0917  (a parameter for each option)
    ctx: click.Context,
    tier: str,
    names: tuple[str, ...],
    source: str | None,
    json_file: str | None,
    html_file: str | None,
    artifact: str | None,
) -> None:
    """Check an artifact and hosts against the contract.

    Prints a table host by part, and the first difference of each failure as a line on stderr. Exit status 1 where a check failed, or
    a host that was asked for is not there.
    """
    from slm2.conformance.hosts import checkout  # noqa: PLC0415  (what follows imports the compiler's proofs)
    from slm2.conformance.verification import Verification, parts  # noqa: PLC0415

    if json_file == html_file == STANDARD:
        raise click.UsageError("stdout takes one report; give --json or --html a file")
    hosts, asked = _hosts(names)
    data = embedded() if artifact is None else read_bytes(artifact)
    folder = Path(source) if source is not None else None
    plan = Verification(data, int(tier), parts(data, int(tier)), folder, checkout())
    verdicts = _verified(plan, hosts)
    passed = _written(plan, verdicts, asked, json_file, html_file)
    if STANDARD not in (json_file, html_file):
        _print(plan.tier, verdicts)
    _tell(verdicts, asked)
    if not passed:
        ctx.exit(FAILED)


def _hosts(names: Sequence[str]) -> tuple[list[Host], frozenset[str]]:
    """The hosts to verify, and the names of those whose absence is a failure."""
    from slm2.conformance.hosts import HOSTS, find  # noqa: PLC0415

    if not names:
        return list(HOSTS.values()), frozenset()
    chosen: dict[str, Host] = {}
    for name in names:
        host = find(name)
        if name != ALL and host is None:
            expected = ", ".join([ALL, *HOSTS, "or NAME=COMMAND"])
            raise Slm2Error("invalid_value", field="--host", expected=expected, found=name)
        chosen |= dict(HOSTS) if host is None else {host.name: host}
    return list(chosen.values()), frozenset(chosen)


def _verified(plan: Verification, hosts: Sequence[Host]) -> list[HostVerdict]:
    from slm2.cli.progress import bars  # noqa: PLC0415  (rich is slow to import)
    from slm2.conformance.verification import verify  # noqa: PLC0415

    with bars() as progress:

        def advance(host: str, part: str, done: int, total: int) -> None:
            progress(f"{host}: {part}", done, total)

        return verify(plan, hosts, advance)


def _written(
    plan: Verification, verdicts: Sequence[HostVerdict], asked: frozenset[str], json_file: str | None, html_file: str | None
) -> bool:
    """Write the reports; whether all passed."""
    from slm2.artifact import read  # noqa: PLC0415
    from slm2.conformance.report import report  # noqa: PLC0415

    made = report(read(plan.artifact), plan.tier, verdicts, asked)
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    if json_file is not None:
        write_file(json_file, text.encode("utf-8"))
    if html_file is not None:
        from slm2.conformance.report_page import page  # noqa: PLC0415

        write_file(html_file, page(made).encode("utf-8"))
    return bool(made["passed"])


def _print(tier: int, verdicts: Sequence[HostVerdict]) -> None:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from slm2.conformance.report import rows  # noqa: PLC0415
    from slm2.screen import console, print_on  # noqa: PLC0415

    shown = [verdict for verdict in verdicts if verdict.missing is None]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"tier {tier}", title_justify="left")
    table.add_column("part")
    for verdict in shown:
        table.add_column(verdict.title, justify="right")
    for _, part, checks in rows(shown):
        table.add_row(part, *map(_cell, checks))
    print_on(console(), table)
    for verdict in verdicts:
        if verdict.missing is not None:
            click.echo(f"{verdict.title}: not verified: {verdict.missing}")


def _cell(check: Check | None) -> Text:
    from rich.text import Text  # noqa: PLC0415

    if check is None:
        return Text()
    if check.passed:
        return Text(f"{check.compared:,}{'*' if check.note else ''}")
    return Text(f"{check.differences:,} of {check.compared:,} differ", style="bold red")


def _tell(verdicts: Sequence[HostVerdict], asked: frozenset[str]) -> None:
    """What failed and what was left out, a line each on stderr."""
    from slm2.screen import visible  # noqa: PLC0415

    for verdict in verdicts:
        if verdict.missing is not None and verdict.name in asked:
            print_error(Slm2Error("host_unavailable", host=verdict.name, reason=verdict.missing).to_dict())
        for check in verdict.checks:
            name = f"{verdict.name}: {check.part}"
            if not check.passed:
                error = Slm2Error("verification_failed", check=name, differences=check.differences)
                text = textwrap.shorten(check.first or "nothing was compared", _SHOWN, placeholder="…")
                print_error({**error.to_dict(), "first": visible(text.encode("utf-8", "backslashreplace"), blanks=False)})
            if check.note:
                print_warning("not_all_asked", check.note, check=name)
