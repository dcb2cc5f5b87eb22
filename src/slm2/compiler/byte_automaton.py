"""Symbol automaton -> the byte DFA that is sealed.

The product of the symbol automaton with a decoder of UTF-8. A state holds where the symbol automaton stands, how far a scalar
value has come (a node of a tree over its bytes), and whether the last byte made known where a match ends. Where bytes cannot
go on as a scalar value, each byte that was pending is an ill-formed symbol of its own (decisions D2), fed late but in order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass

from slm2.artifact.pretokenizer import DEAD, START, Dfa
from slm2.compiler import unicode
from slm2.compiler.symbol_automaton import Match, SymbolAutomaton
from slm2.errors import Slm2Error

MAX_STATES = 65_535

# A node maps the next byte (a tail byte less 0x80, or any byte at the root) to a symbol, a node, or None where the
# bytes cannot go on. Equal nodes are one object, so that the product stays small.
_Node = tuple["int | _Node | None", ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _State:
    """A state of the product; ``accept`` as in contract/artifact.md."""

    symbol_state: int
    node: int
    pending: int
    accept: int


def build(automaton: SymbolAutomaton, progress: Progress) -> Dfa:
    """The minimal byte DFA, numbered as contract/artifact.md wants it. ``progress(done, known)`` counts states.

    Raises:
        Slm2Error: ``pattern_not_total`` with an example, ``pattern_too_large``.
    """
    product = _Product(automaton)
    rows, accept = product.explore(progress)
    rows, accept = _minimise(rows, accept)
    if len(accept) > MAX_STATES:
        raise Slm2Error("pattern_too_large", states=len(accept), maximum=MAX_STATES)
    return _number(rows, accept)


class _Product:
    def __init__(self, automaton: SymbolAutomaton) -> None:
        self.steps = automaton.steps
        self.ill_formed = next(index for index, part in enumerate(automaton.symbols) if part >> unicode.ILL_FORMED & 1)
        self.end_of_input = len(automaton.symbols)
        self.flat: list[list[tuple[bool, int] | None]] = []
        self.root = self._number_nodes(_tree(automaton.symbols))

    def _number_nodes(self, root: _Node) -> list[tuple[bool, int] | None]:
        """Flatten the tree; an entry becomes ``(is a symbol, symbol or number of the node)``."""
        numbers: dict[int, int] = {}

        def number(node: _Node) -> int:
            if id(node) not in numbers:
                entries = [entry(item) for item in node]
                numbers[id(node)] = len(self.flat)
                self.flat.append(entries)
            return numbers[id(node)]

        def entry(item: int | _Node | None) -> tuple[bool, int] | None:
            if item is None:
                return None
            return (True, item) if isinstance(item, int) else (False, number(item))

        return [entry(item) for item in root]

    def explore(self, progress: Progress) -> tuple[list[list[int]], list[int]]:
        """Rows over the 256 bytes and the end of input, and accept, of the states that can be reached."""
        start = _State(START, -1, 0, 0)
        numbers = {_State(DEAD, -1, 0, 0): DEAD, start: START}
        states = list(numbers)
        rows: list[list[int]] = []
        for state in states:
            row: list[int] = []
            for byte in range(257):
                target = self.step(state, byte) if byte < 256 else self.finish(state)
                number = numbers.setdefault(target, len(states))
                if number == len(states):
                    states.append(target)
                row.append(number)
            rows.append(row)
            progress(len(rows), len(states))
        self._check_total(states, rows)
        return rows, [state.accept for state in states]

    def feed(self, symbol_state: int, accept: int, symbol: int, length: int, after: int) -> tuple[int, int]:
        """Take a symbol of ``length`` bytes that ended ``after`` bytes before the current position."""
        target, match = self.steps[symbol_state][symbol]
        return target, _accept(match, length, after) or accept

    def spoil(self, state: _State, after: int) -> tuple[int, int]:
        """Take the pending bytes as ill-formed symbols; the last of them ended ``after`` bytes before the position."""
        symbol_state, accept = state.symbol_state, 0
        for left in reversed(range(state.pending)):
            symbol_state, accept = self.feed(symbol_state, accept, self.ill_formed, 1, left + after)
        return symbol_state, accept

    def step(self, state: _State, byte: int) -> _State:
        symbol_state, accept, pending = state.symbol_state, 0, state.pending
        entry: tuple[bool, int] | None = None
        if pending and 0x80 <= byte <= 0xBF:
            entry = self.flat[state.node][byte - 0x80]
        if entry is None:
            symbol_state, accept = self.spoil(state, 1)
            pending = 0
            entry = self.root[byte] or (True, self.ill_formed)
        is_symbol, value = entry
        if not is_symbol and symbol_state != DEAD:
            return _State(symbol_state, value, pending + 1, accept)
        if is_symbol:
            symbol_state, accept = self.feed(symbol_state, accept, value, pending + 1, 0)
        return _State(symbol_state, -1, 0, accept)

    def finish(self, state: _State) -> _State:
        if state.symbol_state == START and not state.pending:
            return _State(DEAD, -1, 0, 0)
        symbol_state, accept = self.spoil(state, 0)
        symbol_state, accept = self.feed(symbol_state, accept, self.end_of_input, 0, 0)
        return _State(DEAD, -1, 0, accept)

    def _check_total(self, states: list[_State], rows: list[list[int]]) -> None:
        """Every text must have a match; the shortest text without one is the example."""
        undecided = {START: b""}
        queue = [START]
        for at in queue:
            for byte in (256, *range(256)):  # the end of input first: it makes the shorter example
                target = rows[at][byte]
                if states[target].accept or (at == START and byte == 256):
                    continue
                example = undecided[at] + (bytes([byte]) if byte < 256 else b"")
                if target == DEAD or byte == 256:
                    raise Slm2Error("pattern_not_total", example=example.hex(" "))
                if target not in undecided:
                    undecided[target] = example
                    queue.append(target)


def _accept(match: Match, length: int, after: int) -> int:
    """How a state says where a match ends; 0 where there is none."""
    if match is None:
        return 0
    return 1 + after + (length if match == "before" else 0)


def _tree(symbols: list[int]) -> _Node:
    """The tree over the bytes of all scalar values, equal nodes shared."""
    symbol_of = bytearray(unicode.ILL_FORMED + 1)
    for index, part in enumerate(symbols):
        for first, last in unicode.runs(part):
            symbol_of[first : last + 1] = bytes([index]) * (last - first + 1)
    shared: dict[_Node, _Node] = {}

    def node(first: int, tail: int) -> _Node | None:
        """The node before ``tail`` more bytes over the scalar values from ``first``; None over none."""
        size = 64 ** (tail - 1)
        entries: list[int | _Node | None] = []
        for at in range(first, first + 64 * size, size):
            if tail == 1:
                entries.append(symbol_of[at] if _is_scalar(at, 0x80 if first < 0x800 else 0x800) else None)
            else:
                entries.append(node(at, tail - 1) if _any_scalar(at, size, 0x800 if tail == 2 else 0x10000) else None)
        made = tuple(entries)
        return shared.setdefault(made, made)

    root: list[int | _Node | None] = [symbol_of[byte] for byte in range(0x80)]
    root += [None] * 0x42
    root += [node(lead << 6, 1) for lead in range(2, 0x20)]
    root += [node(lead << 12, 2) for lead in range(0x10)]
    root += [node(lead << 18, 3) for lead in range(5)]
    return tuple(root + [None] * 11)


def _is_scalar(value: int, shortest: int) -> bool:
    return shortest <= value < 0x110000 and not 0xD800 <= value <= 0xDFFF


def _any_scalar(first: int, size: int, shortest: int) -> bool:
    """Whether ``first`` to ``first + size - 1`` holds scalar values that need as many bytes as the place has."""
    return shortest <= first < 0x110000 and not (0xD800 <= first <= 0xDFFF and size == 64)


def _minimise(rows: list[list[int]], accept: list[int]) -> tuple[list[list[int]], list[int]]:
    """Merge states that no text can tell apart (Moore's algorithm over distinct columns). Dead and start keep their numbers."""
    columns = sorted(set(zip(*rows, strict=True)))
    narrow = [list(row) for row in zip(*columns, strict=True)]
    blocks = list(accept)
    count = len(set(blocks))
    while True:
        signatures: dict[tuple[int, ...], int] = {}
        refined = [
            signatures.setdefault((block, *map(blocks.__getitem__, row)), len(signatures))
            for block, row in zip(blocks, narrow, strict=True)
        ]
        blocks = refined
        if len(signatures) == count:
            break
        count = len(signatures)
    first: dict[int, int] = {}
    for state, block in enumerate(blocks):
        first.setdefault(block, state)
    keep = [first[block] for block in range(count)]
    return [[blocks[target] for target in rows[state]] for state in keep], [accept[state] for state in keep]


def _number(rows: list[list[int]], accept: list[int]) -> Dfa:
    """Byte classes by first occurrence, states in breadth-first order."""
    columns = list(zip(*rows, strict=True))
    numbers: dict[tuple[int, ...], int] = {}
    classes = bytes(numbers.setdefault(column, len(numbers)) for column in columns[:256])
    symbols = [*numbers, columns[256]]
    order, number = [DEAD, START], {DEAD: DEAD, START: START}
    index = START
    while index < len(order):
        for symbol in symbols:
            target = symbol[order[index]]
            if target not in number:
                number[target] = len(order)
                order.append(target)
        index += 1
    table = array("H", [number[symbol[state]] for state in order for symbol in symbols])
    return Dfa(classes, bytes(accept[state] for state in order), table, len(symbols))
