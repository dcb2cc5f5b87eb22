"""Section 0x20: the byte DFA that cuts text into pieces."""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from slm2.artifact.layout import MAX_STATES, align, integer_bytes, integers, u32
from slm2.errors import Slm2Error

DEAD = 0
START = 1
_MAX_BACK = 126


@dataclass(frozen=True, slots=True)
class Dfa:
    """A leftmost-first byte DFA.

    Attributes:
        classes: class of each of the 256 byte values.
        accept: of each state, 0, or 1 + the bytes between the end of a match and the current position.
        next: next states, row by row, ``width`` symbols a state; the last symbol is the end of input.
        width: number of byte classes + 1.
    """

    classes: bytes
    accept: bytes
    next: array[int]
    width: int

    @property
    def end_of_input(self) -> int:
        """The symbol after the last byte."""
        return self.width - 1

    def row(self, state: int) -> array[int]:
        """Next states of ``state`` on each symbol."""
        return self.next[state * self.width : (state + 1) * self.width]


def encode(dfa: Dfa) -> bytes:
    """The section of a DFA."""
    head = integer_bytes("I", [len(dfa.accept), dfa.width - 1]) + dfa.classes + dfa.accept
    return head.ljust(align(len(head), 2), b"\0") + integer_bytes("H", dfa.next)


def parse(section: bytes, at: int = 0) -> Dfa:
    """The DFA, checked as contract/artifact.md orders it. ``at`` is the section's place in the file, for messages."""
    if len(section) < 8:
        raise Slm2Error("artifact_pretokenizer_length", found=len(section), expected=8)
    states, classes = u32(section, 0), u32(section, 4)
    if not (2 <= states <= MAX_STATES and 1 <= classes <= 256):
        raise Slm2Error("artifact_pretokenizer_count", states=states, classes=classes)
    width, accept_end = classes + 1, 264 + states
    table = align(accept_end, 2)
    if len(section) != table + 2 * states * width:
        raise Slm2Error("artifact_pretokenizer_length", found=len(section), expected=table + 2 * states * width)
    if table != accept_end and section[accept_end]:
        raise Slm2Error("artifact_padding", offset=at + accept_end)
    dfa = Dfa(section[8:264], section[264:accept_end], integers("H", section[table:]), width)
    _check_classes(dfa.classes, classes)
    _check_transitions(dfa, states)
    _check_dead(dfa)
    _check_order(dfa)
    _check_accept(dfa)
    _check_stuck(dfa)
    return dfa


def _check_classes(classes: bytes, count: int) -> None:
    """Classes are numbered by first occurrence, and all of them occur."""
    seen = 0
    for byte, byte_class in enumerate(classes):
        if byte_class > seen or byte_class >= count:
            raise Slm2Error("artifact_pretokenizer_classes", byte=byte)
        seen += byte_class == seen
    if seen != count:
        raise Slm2Error("artifact_pretokenizer_classes", byte=256)


def _check_transitions(dfa: Dfa, states: int) -> None:
    for index, target in enumerate(dfa.next):
        if target >= states:
            state, symbol = divmod(index, dfa.width)
            raise Slm2Error("artifact_pretokenizer_transition", **{"state": state, "class": symbol, "found": target})


def _check_dead(dfa: Dfa) -> None:
    if dfa.accept[DEAD] or any(dfa.row(DEAD)):
        raise Slm2Error("artifact_pretokenizer_dead", state=DEAD)
    if dfa.accept[START] or dfa.row(START)[dfa.end_of_input]:
        raise Slm2Error("artifact_pretokenizer_dead", state=START)


def _check_order(dfa: Dfa) -> None:
    """States are numbered as a breadth-first walk meets them, and all are met."""
    met = START + 1
    for state in range(START, len(dfa.accept)):
        if state >= met:
            raise Slm2Error("artifact_pretokenizer_order", state=met)
        for target in dfa.row(state):
            if target > met:
                raise Slm2Error("artifact_pretokenizer_order", state=met)
            met += target == met


def _check_accept(dfa: Dfa) -> None:
    """No match is empty or ends far back."""
    for state, depth in enumerate(_depths(dfa)):
        back = dfa.accept[state] - 1
        if back >= 0 and (back >= depth or back > _MAX_BACK):
            raise Slm2Error("artifact_pretokenizer_accept", state=state, back=back, depth=depth)


def _depths(dfa: Dfa) -> list[int]:
    """Least number of bytes after which each state can be reached; the end of input counts none."""
    unreached = len(dfa.accept)
    depths = [unreached] * len(dfa.accept)
    depths[START] = 0
    queue = deque([START])
    while queue:
        state = queue.popleft()
        row = dfa.row(state)
        final = row.pop()
        if depths[final] > depths[state]:
            depths[final] = depths[state]
            queue.appendleft(final)
        for target in row:
            if depths[target] > depths[state] + 1:
                depths[target] = depths[state] + 1
                queue.append(target)
    return depths


def _check_stuck(dfa: Dfa) -> None:
    """Every walk comes to a match before it comes to the dead state, wherever the text ends."""
    begun = _undecided(dfa)
    for state in sorted({START, *begun}):
        row = dfa.row(state)
        final = row.pop()
        if DEAD in row or (state in begun and not dfa.accept[final]):
            raise Slm2Error("artifact_pretokenizer_stuck", state=state)


def _undecided(dfa: Dfa) -> set[int]:
    """States that a text can be in after its first byte and before its first match is known; the start may be one of them."""
    found: set[int] = set()
    queue = [START]
    while queue:
        for target in dfa.row(queue.pop())[:-1]:
            if target != DEAD and not dfa.accept[target] and target not in found:
                found.add(target)
                queue.append(target)
    return found


def pieces(dfa: Dfa, data: bytes, limit: int = sys.maxsize) -> Iterator[tuple[int, int]]:
    """``(start, end)`` of each piece of a text, as contract/artifact.md runs the DFA.

    Raises:
        Slm2Error: ``pretoken_too_long`` where more than ``limit`` bytes have to be looked at to find where a piece ends.
    """
    start = 0
    while start < len(data):
        _, end = decide(dfa, data, start, limit=limit)
        yield start, end
        start = end


def decide(dfa: Dfa, data: bytes, start: int, *, limit: int) -> tuple[int | None, int]:
    """Where the piece that begins at ``start`` ends: whatever comes after ``data`` (None where that decides it); and if nothing does.

    Raises:
        Slm2Error: ``pretoken_too_long``.
    """
    classes, accept, table, width = dfa.classes, dfa.accept, dfa.next, dfa.width
    state, end = START, start
    for at in range(start, len(data)):
        state = table[state * width + classes[data[at]]]
        if state == DEAD:
            return end, end
        if at - start == limit:
            raise Slm2Error("pretoken_too_long", start=start, limit=limit)
        if accept[state]:
            end = at + 2 - accept[state]
    back = accept[table[state * width + dfa.end_of_input]]
    return None, len(data) + 1 - back if back else end
