"""An assembly as a page of HTML: the prompt coloured by authority, the budget as a picture, the ledger. Nothing is loaded, nothing runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from slm2.prompt_view import Shown, TokenBytes, Unit, units
from slm2.reference.prompt_report import part_of

# Of P-2; what nobody wrote has none.
AUTHORITY = {
    "policy": "1",
    "user_turn": "2",
    "steps": "2",
    "local_state": "3",
    "retrieved": "4",
    "history": "5",
    "tools": "",
    "program": "",
}
COLOURS = {
    "policy": "#7a3fd1",
    "user_turn": "#0a7d4b",
    "steps": "#0b7285",
    "local_state": "#9a6700",
    "retrieved": "#c0392b",
    "history": "#3457d5",
    "tools": "#8a5a2b",
    "program": "#6b7280",
}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1f2328; background: #fff; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.6 ui-monospace, monospace; border: 1px solid #d0d7de; padding: 1rem; }
table { border-collapse: collapse; font-size: 14px; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid #eaeef2; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: 1.6rem; display: block; margin: .3rem 0; }
.mark { font-weight: 600; opacity: .7; }
.policy-mask { background: #7a3fd1; color: #fff; padding: 0 .3em; }
"""


def page(assembly: Shown, token_bytes: TokenBytes) -> str:
    """The page. The policy stands in it by its digest, its length and its tokens alone."""
    budget = assembly.budget
    colours = "".join(f".{part} {{ color: {colour}; }}\n" for part, colour in COLOURS.items())
    sections = [
        "<h1>Prompt</h1>",
        f"<p>{budget.prompt_tokens:,} tokens, {budget.reserve:,} reserved for generation, {budget.left:,} left, of {budget.context:,}.</p>",
        _window(assembly),
        _counts(assembly),
        _steps(assembly),
        "<h2>Text</h2>",
        f"<pre>{''.join(_spans(units(assembly, token_bytes, digits=16)))}</pre>",
        "<h2>Notes</h2>",
        _notes(assembly),
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Prompt</title>'
    body = "\n".join(section for section in sections if section)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{_STYLE}{colours}</style></head>\n<body>\n{body}\n</body></html>\n'


def _window(assembly: Shown) -> str:
    """The budget as a picture: the prompt by part, the reserve, what is left."""
    stretches = [(part.part, COLOURS[part.part], part.after) for part in assembly.ledger.parts]
    stretches += [("reserved for generation", "#d0d7de", assembly.budget.reserve), ("left", "#f6f8fa", assembly.budget.left)]
    parts, at = [], 0
    for name, colour, size in stretches:
        if size:
            title = f"<title>{escape(name)}: {size:,} tokens</title>"
            parts.append(f'<rect x="{at}" y="0" width="{size}" height="1" fill="{colour}">{title}</rect>')
        at += size
    label = f"the window of {assembly.budget.context:,} tokens"
    return f'<svg viewBox="0 0 {at} 1" preserveAspectRatio="none" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _counts(assembly: Shown) -> str:
    rows = [
        [f'<span class="{count.part}">■ {count.part}</span>', AUTHORITY[count.part], f"{count.before:,}", f"{count.after:,}"]
        for count in assembly.ledger.parts
        if count.before
    ]
    return _table(["part", "authority", "tokens of the request", "in the prompt"], rows, numbers=(2, 3))


def _steps(assembly: Shown) -> str:
    steps = assembly.ledger.steps
    if not steps:
        return "<p>All of the request fits; nothing was given up.</p>"
    rows = [
        [step.pass_name, step.action.replace("_", " "), escape(step.source), escape(step.why), f"{step.before:,}", f"{step.after:,}"]
        for step in steps
    ]
    return "<h2>Given up</h2>" + _table(["pass", "step", "source", "why", "before", "after"], rows, numbers=(4, 5))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "".join(
        "<tr>"
        + "".join(f'<td class="n">{cell}</td>' if place in numbers else f"<td>{cell}</td>" for place, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _spans(stream: Iterator[Unit]) -> Iterator[str]:
    """Units of one item and kind as one span."""
    for (item, kind), run in groupby(stream, key=lambda unit: (unit.item, unit.kind)):
        text = escape(b"".join(unit.data for unit in run).decode("utf-8", "replace"))
        style = {"text": "", "structural": " mark", "policy": " policy-mask"}[kind]
        yield f'<span class="{part_of(item)}{style}" title="{escape(item)}">{text}</span>'


def _notes(assembly: Shown) -> str:
    notes = [f"{found.source}, byte {found.offset}: {found.text} is plain text, not a special token" for found in assembly.findings]
    notes += [f"{mark.source}, byte {mark.offset}: < became &lt;, so that no text can end its wrapper" for mark in assembly.escapes]
    notes += [f"{path}: its reasoning is left out, as the template does before the last user turn" for path in assembly.dropped_reasoning]
    return "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes or ["none"]) + "</ul>"
