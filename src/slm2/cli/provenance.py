"""The picture of ``slm2 render --explain`` and of ``--html``: every token with its origin (contract/template.md, M-62 to M-65)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slm2.contract import Contract
from slm2.reference.utf8 import scalars
from slm2.screen import console, print_on, shown, visible
from slm2.template import Rendering, Token

_DIGEST_DIGITS = 16
_MARKS = ("⟦", "⟧")

# Part -> shades for tokens side by side, to be read on dark and on light ground.
PARTS: dict[str, tuple[str, str]] = {
    "structure": ("#8a8a8a", "#767676"),
    "role_header": ("#af87af", "#87875f"),
    "content": ("#00af5f", "#5faf00"),
    "tools": ("#af875f", "#87875f"),
    "reasoning": ("#af5fff", "#875fd7"),
    "tool_call": ("#d78700", "#af8700"),
    "tool_response": ("#00afaf", "#0087d7"),
    "generation_prompt": ("#d75f5f", "#ff5f87"),
}
_STYLE = """
body { font: 14px/1.6 ui-monospace, monospace; margin: 2em auto; max-width: 70em; padding: 0 1em; background: #fff; color: #222 }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
span { border-radius: 3px } .structural { font-weight: bold }
.untrusted { text-decoration: underline dotted } td, th { text-align: left; padding: 0 1em 0 0; vertical-align: top }
"""


class _Shown(NamedTuple):
    """A token as it is shown: its characters; whether a line ends with it."""

    position: int
    token: Token
    text: str
    breaks: bool


def print_picture(contract: Contract, rendering: Rendering, *, title: str, stderr: bool) -> None:
    """Print the prompt in the colours of its parts, and the origin of each token."""
    picture = Group(
        Text(f"{title}  engine {contract.engine.name}, profile {contract.profile}, artifact {contract.digest[:_DIGEST_DIGITS]}", "bold"),
        Text(f"\nPrompt, each token in the colour of its part ({len(rendering.input_ids):,} ids)", "bold underline"),
        _prompt(contract, rendering),
        Text("\nParts", "bold underline"),
        _legend(rendering.tokens),
        Text("\nTokens", "bold underline"),
        _tokens(contract, rendering),
        Text("\nFindings", "bold underline"),
        Group(*(Text(f"• {note}") for note in _notes(rendering) or ["none"])),
    )
    print_on(console(stderr=stderr), picture)


def html(contract: Contract, rendering: Rendering, *, title: str) -> str:
    """The same as a page that needs nothing else: no script, no other file. What callers wrote is text in it."""
    spans: list[str] = []
    for shown_token in _shown(contract, rendering):
        token = shown_token.token
        colour = PARTS[token.part][shown_token.position % 2]
        kind = "structural" if not token.ranges else token.trust
        origin = escape(_origin(shown_token), quote=True)
        spans.append(f'<span class="{kind}" style="color:{colour}" title="{origin}">{escape(shown_token.text)}</span>')
        spans.append("\n" if shown_token.breaks else "")
    counts = "".join(
        f'<tr><td style="color:{PARTS[part][0]}">{part}</td><td>{trust}</td><td>{count}</td></tr>'
        for part, trust, count in _counts(rendering.tokens)
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in _notes(rendering) or ["no findings"])
    name = escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title><style>{_STYLE}</style></head><body>\n'
        f"<h1>{name}</h1><p>{len(rendering.input_ids)} ids, profile {contract.profile}, artifact {contract.digest}. "
        "Point at a token to see its id and where it came from; what callers wrote is underlined.</p>\n"
        f"<pre>{''.join(spans)}</pre>\n<table><tr><th>part</th><th>class</th><th>tokens</th></tr>{counts}</table>\n<ul>{notes}</ul>\n"
        "</body></html>\n"
    )


def _shown(contract: Contract, rendering: Rendering) -> Iterator[_Shown]:
    """Each token with the characters that begin in it: a scalar value may begin in one token and end in the next."""
    waiting: list[tuple[int, bytes]] = []
    for position, token in enumerate(rendering.tokens):
        data = contract.engine.token_bytes(token.id)
        if token.ranges:
            waiting.append((position, data))
            continue
        yield from _texts(rendering.tokens, waiting)
        waiting = []
        yield _Shown(position, token, data.decode("utf-8").join(_MARKS), breaks=False)
    yield from _texts(rendering.tokens, waiting)


def _texts(tokens: Sequence[Token], waiting: Sequence[tuple[int, bytes]]) -> Iterator[_Shown]:
    data = b"".join(part for _, part in waiting)
    owners = [position for position, part in waiting for _ in part]
    texts: dict[int, str] = {position: "" for position, _ in waiting}
    breaks: set[int] = set()
    for start, end, scalar in scalars(data):
        mark = shown(scalar, data[start:end])
        texts[owners[start]] += data[start:end].decode("utf-8") if mark is None else mark
        if scalar == 0x0A:
            breaks.add(owners[start])
    for position, text in texts.items():
        yield _Shown(position, tokens[position], text, breaks=position in breaks)


def _prompt(contract: Contract, rendering: Rendering) -> RenderableType:
    text = Text(overflow="fold")
    for shown_token in _shown(contract, rendering):
        style = PARTS[shown_token.token.part][shown_token.position % 2]
        text.append(shown_token.text, style if shown_token.token.ranges else f"bold {style}")
        if shown_token.breaks:
            text.append("\n")
    return text


def _origin(shown_token: _Shown) -> str:
    token = shown_token.token
    message = "" if token.message is None else f" message {token.message}"
    places = "; ".join(f"{source} {start}-{end}" for source, start, end in token.ranges)
    return f"{token.id} · {token.role}{message} · {token.part} · {token.trust} · {places or 'structural token'}"


def _tokens(contract: Contract, rendering: Rendering) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("at", "id"):
        table.add_column(heading, justify="right")
    for heading in ("text", "role", "message", "part", "class", "bytes of"):
        table.add_column(heading, overflow="fold")
    for shown_token in _shown(contract, rendering):
        token, style = shown_token.token, PARTS[shown_token.token.part][0]
        message = "" if token.message is None else str(token.message)
        places = ", ".join(f"{source} {start}-{end}" for source, start, end in token.ranges)
        cells = [token.role, message, token.part, token.trust, places]
        table.add_row(
            str(shown_token.position),
            str(token.id),
            Text(shown_token.text, style),
            *(visible(cell.encode("utf-8"), blanks=False) for cell in cells),
        )
    return table


def _counts(tokens: Sequence[Token]) -> list[tuple[str, str, int]]:
    """Part, trust class and number of tokens."""
    counts: dict[tuple[str, str], int] = {}
    for token in tokens:
        counts[token.part, token.trust] = counts.get((token.part, token.trust), 0) + 1
    order = list(PARTS)
    return [(part, trust, counts[part, trust]) for part, trust in sorted(counts, key=lambda key: (order.index(key[0]), key[1]))]


def _legend(tokens: Sequence[Token]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("part")
    table.add_column("class")
    table.add_column("tokens", justify="right")
    for part, trust, count in _counts(tokens):
        table.add_row(Text(part, PARTS[part][0]), trust, f"{count:,}")
    return table


def _notes(rendering: Rendering) -> list[str]:
    found = [f"{item.source}, byte {item.offset}: {item.text} is plain text, not a special token" for item in rendering.findings]
    dropped = [
        f"messages[{index}]: its reasoning is left out, as the template does before the last user turn"
        for index in rendering.dropped_reasoning
    ]
    return [*found, *dropped]
