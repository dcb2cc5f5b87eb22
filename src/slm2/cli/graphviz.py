"""The pre-tokenizer's automaton in Graphviz' dot language."""

from __future__ import annotations

from slm2.artifact import Dfa
from slm2.artifact.pretokenizer import DEAD, START


def dot(dfa: Dfa) -> str:
    """The automaton: an edge for each pair of states, labelled with ranges of bytes; the dead state is left out.

    A double circle accepts; ``-n`` in it says that the match ended n bytes before. A dashed edge is taken at the end of the text.
    """
    states = range(START, len(dfa.accept))
    look = ["  rankdir=LR;", '  node [shape=circle, fontname="monospace"];', '  edge [fontname="monospace"];']
    nodes = [_node(dfa, state) for state in states]
    edges = [edge for state in states for edge in _edges(dfa, state)]
    return "\n".join(["digraph pretokenizer {", *look, *nodes, *edges, "}", ""])


def _node(dfa: Dfa, state: int) -> str:
    accept = dfa.accept[state]
    back = f"\\n-{accept - 1}" if accept > 1 else ""
    shape = ", shape=doublecircle" if accept else ""
    start = ', style=bold, xlabel="start"' if state == START else ""
    return f'  {state} [label="{state}{back}"{shape}{start}];'


def _edges(dfa: Dfa, state: int) -> list[str]:
    row = dfa.row(state)
    bytes_to: dict[int, list[int]] = {}
    for byte, symbol in enumerate(dfa.classes):
        bytes_to.setdefault(row[symbol], []).append(byte)
    edges = [f'  {state} -> {target} [label="{_ranges(values)}"];' for target, values in sorted(bytes_to.items()) if target != DEAD]
    final = row[dfa.end_of_input]
    return [*edges, f'  {state} -> {final} [style=dashed, label="end"];'] if final != DEAD else edges


def _ranges(values: list[int]) -> str:
    """Rising bytes as hex ranges: ``09-0D 20``."""
    ranges: list[list[int]] = []
    for value in values:
        if ranges and ranges[-1][1] == value - 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    return " ".join(f"{low:02X}" if low == high else f"{low:02X}-{high:02X}" for low, high in ranges)
