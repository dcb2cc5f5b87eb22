"""Pattern tree -> leftmost-first DFA over symbols (classes of scalar values that the pattern cannot tell apart).

A DFA state is the ordered list of the NFA threads alive, most preferred first (the list of a Pike VM). A thread that matches
cuts off all behind it: this keeps the priority of the alternatives, which a leftmost-longest DFA would lose (decisions D2).
A look-ahead at the end of an alternative is a thread that waits for one symbol and then says that the match ended before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from slm2.compiler import unicode
from slm2.compiler.pattern import Alternatives, Chars, Concat, Node, NotAhead, Repeat
from slm2.errors import Slm2Error

# Whether a step found a match, and whether it ends after the symbol of the step or before it.
Match = Literal["after", "before"] | None

MAX_STATES = 100_000


@dataclass(slots=True)
class _Nfa:
    """Thompson's construction. A state is ``('chars', set, next)``, ``('not ahead', set)``, ``('split', nexts)`` or ``('match',)``."""

    states: list[tuple[str, int, tuple[int, ...]]] = field(default_factory=list)

    def add(self, kind: str, values: int = 0, targets: tuple[int, ...] = ()) -> int:
        self.states.append((kind, values, targets))
        return len(self.states) - 1

    def build(self, node: Node, then: int) -> int:
        """The entry of a fragment that goes on with ``then``."""
        match node:
            case Chars(values):
                return self.add("chars", values, (then,))
            case NotAhead(values, position):
                if self.states[then][0] != "match":
                    raise Slm2Error("pattern_unsupported", construct="a look-ahead that does not end its alternative", position=position)
                return self.add("not ahead", values)
            case Concat(items):
                for item in reversed(items):
                    then = self.build(item, then)
                return then
            case Alternatives(items):
                return self.add("split", targets=tuple(self.build(item, then) for item in items))
            case Repeat(item, low, high):
                return self.repeat(item, low, high, then)

    def repeat(self, item: Node, low: int, high: int | None, then: int) -> int:
        if high is None:
            loop = self.add("split")
            self.states[loop] = ("split", 0, (self.build(item, loop), then))
            entry = loop
        else:
            entry = then
            for _ in range(high - low):
                entry = self.add("split", targets=(self.build(item, entry), then))
        for _ in range(low):
            entry = self.build(item, entry)
        return entry


@dataclass(frozen=True, slots=True)
class SymbolAutomaton:
    """A minimal leftmost-first DFA over symbols.

    Attributes:
        symbols: the sets of scalar values that the pattern cannot tell apart; together everything.
        steps: of each state, on each symbol and last at the end of the text: next state and match. State 0 is dead, 1 the start.
    """

    symbols: list[int]
    steps: list[list[tuple[int, Match]]]


def build(tree: Node) -> SymbolAutomaton:
    """The automaton of a pattern tree.

    Raises:
        Slm2Error: ``pattern_unsupported`` where the pattern can match nothing, ``pattern_too_large``.
    """
    nfa = _Nfa()
    start = nfa.build(tree, nfa.add("match"))
    symbols = _partition({values for _, values, _ in nfa.states if values})
    threads: list[int] = []
    if _follow(nfa, start, threads, set()):
        raise Slm2Error("pattern_unsupported", construct="an alternative that can match nothing", position=0)
    steps = _determinise(nfa, tuple(threads), symbols)
    return SymbolAutomaton(symbols, _minimise(steps))


def _partition(sets: set[int]) -> list[int]:
    """The coarsest partition in which each set is a union of parts, ordered by lowest member."""
    parts = [unicode.EVERYTHING]
    for values in sets:
        parts = [piece for part in parts for piece in (part & values, part & ~values) if piece]
    return sorted(parts, key=lambda part: part & -part)


def _follow(nfa: _Nfa, state: int, threads: list[int], seen: set[int]) -> bool:
    """Append the threads reached without reading, most preferred first; True when a match ends the list."""
    if state in seen:
        return False
    seen.add(state)
    kind, _, targets = nfa.states[state]
    if kind == "match":
        return True
    if kind == "split":
        return any(_follow(nfa, target, threads, seen) for target in targets)
    threads.append(state)
    return False


def _step(nfa: _Nfa, threads: tuple[int, ...], symbol: int) -> tuple[tuple[int, ...], Match]:
    """Threads after a symbol (a set; 0 is the end of the text), and the match found on the way."""
    after: list[int] = []
    seen: set[int] = set()
    for thread in threads:
        kind, values, targets = nfa.states[thread]
        if kind == "not ahead" and not values & symbol:
            return tuple(after), "before"
        if kind == "chars" and values & symbol and _follow(nfa, targets[0], after, seen):
            return tuple(after), "after"
    return tuple(after), None


def _determinise(nfa: _Nfa, start: tuple[int, ...], symbols: list[int]) -> list[list[tuple[int, Match]]]:
    numbers = {(): 0, start: 1}
    lists = [(), start]
    steps: list[list[tuple[int, Match]]] = []
    for threads in lists:
        row: list[tuple[int, Match]] = []
        for symbol in [*symbols, 0]:
            after, match = _step(nfa, threads, symbol)
            if after not in numbers:
                numbers[after] = len(lists)
                lists.append(after)
            row.append((numbers[after], match))
        steps.append(row)
        if len(lists) > MAX_STATES:
            raise Slm2Error("pattern_too_large", states=len(lists), maximum=MAX_STATES)
    return steps


def _minimise(steps: list[list[tuple[int, Match]]]) -> list[list[tuple[int, Match]]]:
    """Merge states that no text can tell apart. Dead and start keep their numbers."""
    blocks = [0] * len(steps)
    count = 1
    while True:
        signatures: dict[object, int] = {}
        refined = [
            signatures.setdefault((block, tuple((blocks[target], match) for target, match in row)), len(signatures))
            for block, row in zip(blocks, steps, strict=True)
        ]
        if len(signatures) == count:
            break
        blocks, count = refined, len(signatures)
    representatives = {block: state for state, block in reversed(list(enumerate(blocks)))}
    return [[(blocks[target], match) for target, match in steps[representatives[block]]] for block in range(count)]
