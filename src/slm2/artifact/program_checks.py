"""What is proved about a template program before it is used (contract/template.md, M-80 to M-86).

A cell is walked for every assignment of the guards that its rules mention; the machine's graph, and its product with the
grammar of events, are walked exhaustively. Nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from slm2.artifact.program import EVENTS, FIELD, GUARDS, LITERAL, MARK, MAX_MENTIONED, NEVER, REPLY, Program, Rule
from slm2.errors import Slm2Error

# Every sequence of events that a request can make: place -> (event, guards that are then set or not, next place).
# The parts of an assistant message come in one order; a rendering that continues ends inside one of them.
_Edge = tuple[str, str, str]
_OTHERS: tuple[_Edge, ...] = (
    *(("user", "", "messages"), ("tool", "", "messages")),
    *(("assistant", "has_calls", "asks"), ("assistant", "!has_calls", "says"), ("finish", "!continues", "stop")),
)
_MESSAGES: tuple[_Edge, ...] = (("system", "!first", "messages"), *_OTHERS)
_SCHEMAS: tuple[_Edge, ...] = (("schema", "first !last", "schemas"), ("schema", "first last", "messages"))
GRAMMAR: dict[str, tuple[_Edge, ...]] = {
    "begin": (("system", "first tools", "tools"), ("system", "first !tools", "messages"), *_SCHEMAS, *_OTHERS),
    "tools": _SCHEMAS,
    "schemas": (("schema", "!first !last", "schemas"), ("schema", "!first last", "messages")),
    "messages": _MESSAGES,
    "asks": (("reasoning", "!continues has_calls", "asked"),),
    "asked": (("content", "!continues has_calls", "calls"),),
    "says": (("reasoning", "!continues !has_calls", "said"), ("reasoning", "continues last !has_calls", "continued")),
    "said": (("content", "!continues !has_calls", "closing"), ("content", "continues last !has_calls", "continued")),
    "calls": (("call", "first !last", "called"), ("call", "first last", "closing")),
    "called": (("call", "!first !last", "called"), ("call", "!first last", "closing")),
    "closing": (("close", "", "messages"),),
    "continued": (("finish", "continues", "stop"),),
    "stop": (),
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one event can emit at most.

    Attributes:
        marks: structural tokens.
        literal_bytes: bytes of the program's own text.
        fields: how often one field of the event.
    """

    marks: int
    literal_bytes: int
    fields: int


def check(program: Program) -> None:
    """Refuse a program that is not total, has a state that cannot be reached or left, or lets events come to nothing.

    Raises:
        Slm2Error: ``artifact_template_total``, ``artifact_template_reach``, ``artifact_template_closed``.
    """
    _check_total(program)
    _check_reach(program)
    _check_closed(program)


def assignments(rules: tuple[Rule, ...], mask: int = 0, value: int = 0) -> Iterator[int]:
    """Guards for every case that the rules tell apart, those of ``mask`` being ``value``."""
    mentioned = 0
    for rule in rules:
        mentioned |= rule.mask
    bits = [1 << bit for bit in range(len(GUARDS)) if (mentioned & ~mask) >> bit & 1]
    for chosen in product((0, 1), repeat=len(bits)):
        yield value | sum(bit for bit, is_set in zip(bits, chosen, strict=True) if is_set)


def _check_total(program: Program) -> None:
    """Each case has a rule, and each rule a case: with the first that fits, the machine is total and deterministic."""
    for state in range(len(program.states)):
        for event in range(len(EVENTS)):
            rules = program.cell(state, event)
            mentioned = 0
            for rule in rules:
                mentioned |= rule.mask
            hit: set[int] = set()
            ok = mentioned.bit_count() <= MAX_MENTIONED
            for guards in assignments(rules) if ok else ():
                number = next((number for number, rule in enumerate(rules) if rule.matches(guards)), None)
                ok = ok and number is not None
                hit.add(-1 if number is None else number)
            if not ok or len(hit) != len(rules):
                raise Slm2Error("artifact_template_total", state=state, event=event)


def edges(program: Program) -> Iterator[tuple[int, int]]:
    """From state to state, in rendering and in replies."""
    for state in range(len(program.states)):
        for event in range(len(EVENTS)):
            yield from ((state, rule.target) for rule in program.cell(state, event) if rule.refusal == 0)
        start = state * program.reply_width
        yield from ((state, target) for does, target in program.reply[start : start + program.reply_width] if does)


def _check_reach(program: Program) -> None:
    """Every state from INIT, and END from every state; nothing leads out of END."""
    pairs = list(edges(program))
    count = len(program.states)
    reached = _closure(0, pairs)
    ending = _closure(program.end, [(target, state) for state, target in pairs])
    for state in range(count):
        leaves_end = state == program.end and any(source == state for source, _ in pairs)
        if state not in reached or state not in ending or leaves_end:
            raise Slm2Error("artifact_template_reach", state=state)


def _closure(start: int, pairs: list[tuple[int, int]]) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        for source, target in pairs:
            if source == state and target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def forced(words: str) -> tuple[int, int]:
    """Mask and value of guards written as ``first !last``."""
    mask = value = 0
    for word in words.split():
        bit = 1 << GUARDS.index(word.removeprefix("!"))
        mask |= bit
        value |= 0 if word.startswith("!") else bit
    return mask, value


def _check_closed(program: Program) -> None:
    """No sequence of events comes to a cell that is said never to be reached."""
    seen = {("begin", 0)}
    waiting = [("begin", 0)]
    while waiting:
        place, state = waiting.pop(0)
        for name, words, after in GRAMMAR[place]:
            event = EVENTS.index(name)
            rules = program.cell(state, event)
            for guards in assignments(rules, *forced(words)):
                rule = next(rule for rule in rules if rule.matches(guards))
                if rule.refusal == NEVER:
                    raise Slm2Error("artifact_template_closed", state=state, event=event)
                node = (after, rule.target)
                if rule.refusal == 0 and node not in seen:
                    seen.add(node)
                    waiting.append(node)


def bounds(program: Program) -> Bounds:
    """The most that one event emits, whatever the request."""
    marks = literal_bytes = fields = 0
    for rules in program.cells:
        for rule in rules:
            marks = max(marks, sum(action.op == MARK for action in rule.actions))
            written = [len(program.literals[action.argument]) for action in rule.actions if action.op == LITERAL]
            literal_bytes = max(literal_bytes, sum(written))
            names = [action.argument for action in rule.actions if action.op == FIELD]
            fields = max([fields, *(names.count(name) for name in names)])
    return Bounds(marks, literal_bytes, fields)


def proofs(program: Program) -> dict[str, str]:
    """The statements that :func:`check` has proved, with their numbers, for people."""
    cells = len(program.cells)
    cases = sum(1 for rules in program.cells for _ in assignments(rules))
    refusals = sum(rule.refusal != 0 for rules in program.cells for rule in rules)
    most = bounds(program)
    most_emitted = f"{most.marks} structural ids, {most.literal_bytes} literal bytes, and each field {most.fields} time"
    marks = " ".join(mark.decode("utf-8") for mark in program.marks)
    untold = sum(does == REPLY.index("unexpected") for does, _ in program.reply)
    return {
        "deterministic": f"yes: {cells} cells, {cases} cases, in each one rule, the first that fits; no rule without a case",
        "total": f"yes: every state x event leads on or to a typed refusal ({refusals} rules refuse)",
        "reachable": f"yes: each of {len(program.states)} states from INIT",
        "END reachable": "yes: from every state; nothing leads out of END",
        "closed": "yes: no sequence of events of any request comes to a cell that refuses with template_event",
        "bounded": f"yes: an event emits at most {most_emitted}",
        "structural ids": f"only from {len(program.marks)} literals of the program: {marks}",
        "replies": f"{len(program.reply)} cells, {untold} of them unexpected tokens, which are told",
    }
