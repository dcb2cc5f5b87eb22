"""The picture of an assembly: the prompt with each token in the colour of its source, the ids, the budget, what was given up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slm2.prompt_view import Shown, TokenBytes, Unit, is_policy, units
from slm2.reference.prompt_report import owner, part_of
from slm2.screen import bar, console, print_on, shown


class _Part(NamedTuple):
    """How a field of the request is shown.

    Attributes:
        authority: contract/prompt.md, P-2; 1 is the highest.
        letter: for it in a bar without colours.
        shades: for tokens side by side; to be read on dark and on light ground.
    """

    authority: str
    letter: str
    shades: tuple[str, str]


PARTS = {
    "policy": _Part("1", "P", ("#af5fff", "#af5fff")),
    "user_turn": _Part("2", "U", ("#00af5f", "#5faf00")),
    "steps": _Part("2", "S", ("#00afaf", "#0087d7")),
    "local_state": _Part("3", "L", ("#d78700", "#af8700")),
    "retrieved": _Part("4", "R", ("#d75f5f", "#ff5f87")),
    "history": _Part("5", "H", ("#5f87ff", "#5f5fd7")),
    "tools": _Part("", "T", ("#af875f", "#87875f")),
    "program": _Part("", "-", ("#8a8a8a", "#767676")),
}
_MAX_GUTTER = 30
_TOOL_AUTHORITY = "4"
_DIGEST_DIGITS = 16
_MARKS = ("⟦", "⟧")


def print_picture(assembly: Shown, token_bytes: TokenBytes, *, heading: RenderableType | None = None, stderr: bool = False) -> None:
    """Print the picture to stdout or stderr; without colours where they do not belong."""
    screen = console(stderr=stderr)
    plain = screen.color_system is None or screen.no_color
    given_up = [_section("Given up", _steps(assembly))] if assembly.ledger.steps else []
    picture = Group(
        *([] if heading is None else [heading]),
        _section("Prompt, each token in the colour of its source", _prompt(assembly, token_bytes)),
        _section(f"Ids ({len(assembly.input_ids):,})", _ids(assembly)),
        _section("Sources", _sources(assembly)),
        *given_up,
        _section("Budget", _budget(assembly, screen.width, plain=plain)),
        _section("Findings", _findings(assembly)),
    )
    print_on(screen, picture)


def _section(name: str, body: RenderableType) -> RenderableType:
    return Group(Text(f"\n{name}", style="bold underline"), body)


def _style(item: str, position: int = 0) -> str:
    """The colour of a token; neighbours of one source differ in shade, so that each token can be seen."""
    return PARTS[part_of(item)].shades[position % 2]


def _prompt(assembly: Shown, token_bytes: TokenBytes) -> RenderableType:
    """Line by line: whose text it is, where that changes, and the line."""
    width = min(max(len(count.source) for count in assembly.sources), _MAX_GUTTER)
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("source", width=width, no_wrap=True, overflow="ellipsis")
    table.add_column("text", ratio=1, overflow="fold")
    told = ""
    for line in _lines(units(assembly, token_bytes, digits=_DIGEST_DIGITS)):
        item = next((unit.item for unit in line if unit.item != "program"), told)
        table.add_row(Text(item, _style(item)) if item != told else "", _line(line))
        told = item
    return table


def _lines(stream: Iterator[Unit]) -> Iterator[list[Unit]]:
    line: list[Unit] = []
    for unit in stream:
        line.append(unit)
        if unit.scalar == 0x0A:
            yield line
            line = []
    if line:
        yield line


def _line(line: Sequence[Unit]) -> Text:
    """Units of one look become one stretch, so that each token is one stretch of colour."""
    text = Text()
    for style, stretch in groupby(map(_look, line), key=itemgetter(1)):
        text.append("".join(characters for characters, _ in stretch), style)
    return text


def _look(unit: Unit) -> tuple[str, str]:
    """Characters and style."""
    style = _style(unit.item, unit.position)
    if unit.kind == "structural":
        return unit.data.decode("utf-8").join(_MARKS), f"bold {style}"
    if unit.kind == "policy":
        return unit.data.decode("ascii"), f"reverse {style}"
    mark = shown(unit.scalar, unit.data)
    return (mark, f"dim {style}") if mark else (unit.data.decode("utf-8"), style)


def _ids(assembly: Shown) -> Text:
    text = Text()
    masked = False
    for position, token in enumerate(assembly.tokens):
        if not is_policy(token):
            text.append(f"{token.id} ", _style(owner(token), position))
        elif not masked:
            masked = True
            text.append(f"[policy: {assembly.policy.tokens} ids]", f"reverse {_style('policy')}").append(" ")
    return text


def _sources(assembly: Shown) -> RenderableType:
    """The legend: each item of the request with its colour, class, authority and tokens."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("source", overflow="fold")
    table.add_column("class")
    for heading in ("authority", "tokens", "share"):
        table.add_column(heading, justify="right")
    responses = {owner(token) for token in assembly.tokens if token.role == "tool"}
    for count in assembly.sources:
        part = PARTS[part_of(count.source)]
        is_program = count.source == "program"
        name = Text(f"{part.letter} {'template and wrappers' if is_program else count.source}", part.shades[0])
        authority = _TOOL_AUTHORITY if count.source in responses and not is_program else part.authority
        table.add_row(name, count.trust, authority, f"{count.tokens:,}", f"{100 * count.tokens / len(assembly.tokens):.1f} %")
    return table


def _budget(assembly: Shown, width: int, *, plain: bool) -> RenderableType:
    """The window, and the prompt in it by source."""
    budget = assembly.budget
    window = [("▓", "", budget.prompt_tokens), ("░", "", budget.reserve), ("·", "dim", budget.left)]
    by_part = [(part.letter if plain else "█", part.shades[0], _tokens_of(assembly, name)) for name, part in PARTS.items()]
    numbers = f"▓ prompt {budget.prompt_tokens:,}   ░ reserved for generation {budget.reserve:,}   · left {budget.left:,}"
    return Group(
        Text(f"{numbers}   of {budget.context:,} tokens"),
        bar(window, width),
        Text("The prompt by source:"),
        bar(by_part, width),
        *_cost_of_facts(assembly),
    )


def _cost_of_facts(assembly: Shown) -> list[Text]:
    """What users should know of local state: it stands before all of the history."""
    begins = {count.part: count.begins for count in assembly.ledger.parts}["local_state"]
    if begins is None:
        return []
    after = assembly.budget.prompt_tokens - begins
    return [
        Text(f"A fact that changes costs a cache all from its place on: local state begins at token {begins:,}, {after:,} before the end.")
    ]


def _steps(assembly: Shown) -> RenderableType:
    """The ledger: each part before and after, and each step."""
    counts = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    counts.add_column("part")
    steps = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("before", "after"):
        counts.add_column(heading, justify="right")
    for heading in ("pass", "step", "source", "why"):
        steps.add_column(heading, overflow="fold")
    steps.add_column("tokens then", justify="right")
    for count in assembly.ledger.parts:
        if count.before:
            counts.add_row(Text(count.part, PARTS[count.part].shades[0]), f"{count.before:,}", f"{count.after:,}")
    for step in assembly.ledger.steps:
        what = step.action.replace("_", " ") + (f" ({step.messages} messages)" if step.messages else "")
        style = PARTS[part_of(step.source)].shades[0]
        steps.add_row(step.pass_name, what, Text(step.source, style), step.why, f"{step.after:,}")
    return Group(counts, steps)


def _tokens_of(assembly: Shown, part: str) -> int:
    return sum(count.tokens for count in assembly.sources if part_of(count.source) == part)


def _findings(assembly: Shown) -> RenderableType:
    """What stood in callers' text that looks like structure, and what was left out."""
    notes = [
        *(f"{found.source}, byte {found.offset}: {found.text} is plain text, not a special token" for found in assembly.findings),
        *(f"{escape.source}, byte {escape.offset}: < became &lt;, so that no text can end its wrapper" for escape in assembly.escapes),
        *(f"{path}: its reasoning is left out, as the template does before the last user turn" for path in assembly.dropped_reasoning),
    ]
    if assembly.policy.findings:
        notes.append(f"policy: the text of special tokens occurs {assembly.policy.findings} times; it is plain text")
    return Group(*(Text(f"• {note}") for note in notes or ["none"]))
