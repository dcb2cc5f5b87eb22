"""The template's machine for people: its tables, and its picture in Graphviz' dot language or as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from slm2.artifact import Program
from slm2.artifact.program import DROP, EVENTS, FIELDS, GUARDS, LITERAL, MARK, PARTS, REFUSALS, REPLY, Action, Rule

_TRANSFORMS = {0: "", 1: " left", 2: " right", 3: " both", 4: " json"}
# Layout of the picture, in pixels.
_WIDTH, _BOX, _ROW, _TOP, _GAP = 980, 190, 62, 46, 7


def guards(rule: Rule) -> str:
    """``after_query !last``: what must hold and what must not; empty where the rule always holds."""
    bits = ((name, 1 << bit) for bit, name in enumerate(GUARDS))
    return " ".join(name if rule.value & bit else f"!{name}" for name, bit in bits if rule.mask & bit)


def action(program: Program, item: Action) -> str:
    """An action as the source of a program has it."""
    if item.op == MARK:
        return program.marks[item.argument].decode("utf-8")
    if item.op == LITERAL:
        text = program.literals[item.argument].decode("utf-8")
        return '"' + text.replace("\n", "⏎").replace('"', '\\"') + '"'
    drop = "drop " if item.op == DROP else ""
    return f"{drop}{{{FIELDS[item.argument]}{_TRANSFORMS[item.transform]}}}"


def emission(program: Program, rule: Rule) -> str:
    """The actions of a rule, those of one part together."""
    groups = groupby(rule.actions, key=lambda item: item.part)
    return "; ".join(f"{PARTS[part]}: {' '.join(action(program, item) for item in items)}" for part, items in groups)


def rules(program: Program) -> Iterator[tuple[str, str, str, str, str]]:
    """State, event, guards, next state or refusal, emission: of all rules; cells that only refuse with template_event are left out."""
    for state, name in enumerate(program.states):
        for event, said in enumerate(EVENTS):
            for rule in program.cell(state, event):
                if REFUSALS[rule.refusal] == "template_event":
                    continue
                target = f"refuses: {REFUSALS[rule.refusal]}" if rule.refusal else program.states[rule.target]
                yield name, said, guards(rule), target, emission(program, rule)


def replies(program: Program) -> Iterator[tuple[str, str, str, str]]:
    """State, token, what it does, next state: of all that is expected in a reply."""
    symbols = [*(mark.decode("utf-8") for mark in program.marks), "text", "another structural token"]
    for state, name in enumerate(program.states):
        for number, symbol in enumerate(symbols):
            does, target = program.reply[state * program.reply_width + number]
            if does:
                yield name, symbol, REPLY[does].replace("_", " "), program.states[target]


def edges(program: Program) -> list[tuple[str, str, str, bool]]:
    """From, to, label, and whether it is of replies: one edge for each pair of states and kind."""
    labels: dict[tuple[str, str, bool], list[str]] = {}
    for name, event, when, target, _ in rules(program):
        if not target.startswith("refuses"):
            said = labels.setdefault((name, target, False), [])
            label = f"{event} [{when}]" if when else event
            said += [] if label in said else [label]
    for name, symbol, _, target in replies(program):
        labels.setdefault((name, target, True), []).append(symbol)
    return [(source, target, ", ".join(said), is_reply) for (source, target, is_reply), said in labels.items()]


def dot(program: Program) -> str:
    """The machine: an edge for each pair of states, solid where a conversation is rendered, dashed where a reply is read."""
    look = ["  rankdir=TB;", '  node [shape=box, style=rounded, fontname="monospace"];', '  edge [fontname="monospace", fontsize=10];']
    nodes = [f"  {name}{' [peripheries=2]' if name == 'END' else ''};" for name in program.states]
    lines = []
    for source, target, label, is_reply in edges(program):
        text = label.replace("\\", "\\\\").replace('"', '\\"').replace(", ", "\\n")
        lines.append(f'  {source} -> {target} [label="{text}"{", style=dashed" if is_reply else ""}];')
    return "\n".join([f'digraph "{program.family}" {{', *look, *nodes, *lines, "}", ""])


def svg(program: Program) -> str:
    """The machine without another program's help: states in a column, edges as arcs beside it, labels in the arcs' rows.

    Renderings go on the right, replies (dashed) on the left; an arc leads from the row of its state to that of the next one.
    """
    places = {name: _TOP + number * _ROW for number, name in enumerate(program.states)}
    height = _TOP + len(places) * _ROW + 10
    middle = _WIDTH // 2 - 60
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="monospace" font-size="11">',
        f"<title>Template program {escape(program.family)}</title>",
        '<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{middle + _BOX + 30}" y="18" font-weight="bold">rendering: event [guards]</text>',
        f'<text x="{middle - 30}" y="18" text-anchor="end" font-weight="bold">replies: token</text>',
    ]
    ports: dict[tuple[str, bool], int] = {}
    for source, target, label, is_reply in edges(program):
        out.append(_arc(source, target, label, places, ports, is_reply=is_reply, middle=middle))
    for name, top in places.items():
        width = 3 if name == "END" else 1.2
        out.append(f'<rect x="{middle}" y="{top}" width="{_BOX}" height="26" rx="7" fill="#eef4ff" stroke="#234" stroke-width="{width}"/>')
        out.append(f'<text x="{middle + _BOX // 2}" y="{top + 17}" text-anchor="middle">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def _arc(  # noqa: PLR0913  (an edge, and where things are)
    source: str, target: str, label: str, places: dict[str, int], ports: dict[tuple[str, bool], int], *, is_reply: bool, middle: int
) -> str:
    """An edge; each edge of a state leaves at a port of its own, so that labels do not lie on one another."""
    number = ports[source, is_reply] = ports.get((source, is_reply), -1) + 1
    side = -1 if is_reply else 1
    x = middle if is_reply else middle + _BOX
    start = places[source] + 4 + number * _GAP * 2
    end = places[target] + 13
    bow = x + side * (40 + 9 * abs(places[target] - places[source]) // _ROW)
    style = ' stroke-dasharray="4 3"' if is_reply else ""
    path = (
        f'<path d="M{x} {start} C{bow} {start} {bow} {end} {x + side * 2} {end}" fill="none" stroke="#456" marker-end="url(#to)"{style}/>'
    )
    anchor = ' text-anchor="end"' if is_reply else ""
    shown = label if len(label) <= 62 else label[:61] + "…"
    text = f'<text x="{bow + side * 8}" y="{start + 3}"{anchor} font-size="9" fill="#123">{escape(shown)} → {target}</text>'
    return path + text
