"""``slm2 inspect``: what is in an artifact."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import click

from slm2.artifact import Artifact, read
from slm2.artifact.layout import CONTAINER_VERSION, SECTION_NAMES
from slm2.artifact.program_checks import proofs
from slm2.cli import machine as picture
from slm2.cli.common import read_bytes, write_bytes
from slm2.cli.graphviz import dot
from slm2.errors import Slm2Error


@click.command("inspect")
@click.argument("file", metavar="FILE")
@click.option("--dfa-dot", is_flag=True, help="Print the pre-tokenizer's automaton as Graphviz dot instead.")
@click.option("--template", "machine", is_flag=True, help="Show the template program instead: what is proved about it, and its tables.")
@click.option("--dot", "as_dot", is_flag=True, help="Print the machine of the template as Graphviz dot (--template is implied).")
@click.option("--svg", "as_svg", is_flag=True, help="Print the machine of the template as SVG (--template is implied).")
def command(file: str, dfa_dot: bool, machine: bool, as_dot: bool, as_svg: bool) -> None:
    """Show what is in an artifact.

    Every check of contract/artifact.md runs first: a file that this command shows is whole.
    """
    data = read_bytes(file)
    artifact = read(data)
    if dfa_dot:
        write_bytes(dot(artifact.dfa).encode("utf-8"))
        return
    if machine or as_dot or as_svg:
        _machine(artifact, as_dot=as_dot, as_svg=as_svg)
        return
    _print(artifact, data)


def _machine(artifact: Artifact, *, as_dot: bool, as_svg: bool) -> None:
    """The template program; its proofs have run when the artifact was read.

    Raises:
        Slm2Error: ``no_template``.
    """
    if artifact.program is None:
        raise Slm2Error("no_template", digest=artifact.semantic_digest)
    if as_dot or as_svg:
        drawn = picture.dot(artifact.program) if as_dot else picture.svg(artifact.program)
        write_bytes(drawn.encode("utf-8"))
        return
    from rich import box  # noqa: PLC0415  (rich is slow to import)
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from slm2.screen import console, facts, print_on  # noqa: PLC0415

    def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
        made = Table(*headings, box=box.SIMPLE_HEAD, pad_edge=False)
        for row in rows:
            made.add_row(*(Text(cell) for cell in row))
        return made

    proved = {"family": artifact.program.family, "states": " ".join(artifact.program.states), **proofs(artifact.program)}
    rules = table(("state", "event", "guards", "next", "emits"), picture.rules(artifact.program))
    replies = table(("state", "token of a reply", "does", "next"), picture.replies(artifact.program))
    print_on(console(), Group(facts(proved), rules, replies))


def _print(artifact: Artifact, data: bytes) -> None:
    from rich import box  # noqa: PLC0415  (rich is slow to import)
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from slm2.screen import console, facts, print_on  # noqa: PLC0415

    sections = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    sections.add_column("kind")
    sections.add_column("section")
    for heading in ("offset", "bytes"):
        sections.add_column(heading, justify="right")
    sections.add_column("required")
    sections.add_column("SHA-256, first half", no_wrap=True)
    for part in artifact.sections:
        body = data[part.offset : part.offset + part.length]
        name = SECTION_NAMES.get(part.kind, "unknown")
        required = "yes" if part.flags & 1 else "no"
        digest = hashlib.sha256(body).hexdigest()[:32]
        sections.add_row(f"0x{part.kind:02X}", name, f"{part.offset:,}", f"{part.length:,}", required, digest)
    rest = facts({**_contents(artifact), "provenance": artifact.provenance})
    print_on(console(), Group(facts(_header(artifact)), sections, rest))


def _header(artifact: Artifact) -> dict[str, object]:
    return {
        "container_version": CONTAINER_VERSION,
        "contract_version": artifact.contract_version,
        "bytes": f"{artifact.size:,}",
        "file_digest": artifact.file_digest,
        "semantic_digest": artifact.semantic_digest,
    }


def _contents(artifact: Artifact) -> dict[str, object]:
    """Counts of what the sections hold, and what the compiler proved."""
    tables, proved = artifact.normalization, artifact.facts
    entries = len(artifact.tokens)
    contents: dict[str, object] = {
        "plain_tokens": f"{entries:,} in {sum(map(len, artifact.tokens)):,} bytes, longest {max(map(len, artifact.tokens))}",
        "special_tokens": " ".join(f"{text.decode('utf-8')}={token_id}" for token_id, text in artifact.special),
        "merges": f"{len(artifact.merges.ids):,} in {len(artifact.merges.slots):,} slots",
        "pre-tokenizer": f"{len(artifact.dfa.accept):,} states, {artifact.dfa.width - 1} byte classes",
    }
    if tables is not None:
        contents["normalisation"] = (
            f"{len(tables.classes):,} combining classes, {len(tables.decompositions):,} decompositions, "
            f"{len(tables.compositions):,} compositions"
        )
    if artifact.program is not None:
        program = artifact.program
        contents["template"] = (
            f"{program.family}: {len(program.states)} states, {len(program.literals)} literals, {len(program.marks)} marks"
        )
    if proved is not None:
        contents["not reproduced by merges"] = f"{len(proved.not_merged):,} of {entries:,} entries"
        contents["not reproduced by encode"] = f"{len(proved.not_encoded):,} of {entries:,} entries"
    return contents
