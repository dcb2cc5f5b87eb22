"""Section 0x80: the template program, as tables (contract/artifact.md; what they mean: contract/template.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slm2.artifact.layout import is_utf8
from slm2.errors import Slm2Error

# The alphabet of rendering, in the order of the tables: what a conversation says to the machine, one after the other.
EVENTS = ("system", "schema", "user", "assistant", "reasoning", "content", "call", "close", "tool", "finish")
# What holds of an event and its neighbours; guard n is bit n of a mask.
GUARDS = (
    *("tools", "first", "last", "after_query", "has_reasoning", "has_content", "has_calls", "next_tool"),
    *("thinking_on", "thinking_off", "generation", "preserve", "continues", "response_shape", "ambiguous_think", "answers"),
)
PARTS = ("structure", "role_header", "content", "tools", "reasoning", "tool_call", "tool_response", "generation_prompt")
FIELDS = ("content", "reasoning", "name", "arguments", "schema")
# Which fields an event has.
FIELDS_OF = {"system": (0,), "schema": (4,), "user": (0,), "reasoning": (1,), "content": (0,), "call": (2, 3), "tool": (0,)}
STRIP_LEFT, STRIP_RIGHT, JSON = 1, 2, 4
MARK, LITERAL, FIELD, DROP = range(4)
# Why a rule refuses; 0 is a rule that goes on. The last is for cells that no sequence of events comes to.
REFUSALS = (
    *("", "empty_conversation", "system_not_first", "no_user", "role_order", "tool_without_call", "reserved_user_shape"),
    *("ambiguous_think", "template_event"),
)
NEVER = REFUSALS.index("template_event")
# What a token of a reply does; 0 leaves the state as it is.
REPLY = ("unexpected", "reasoning", "content", "call", "open_reasoning", "close_reasoning", "open_call", "close_call", "end_turn")
# Tokens of a reply that are no mark of the program, after its marks in the alphabet of replies.
TEXT, OTHER = 0, 1

MAX_RULES = 16
MAX_MENTIONED = 10
_STATE_NAME = re.compile(rb"[A-Z][A-Z_]{0,31}")
_FAMILY = re.compile(rb"[a-z0-9][a-z0-9._-]{0,31}")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a rule emits.

    Attributes:
        op: MARK, LITERAL, FIELD, or DROP, which leaves a field out and says so.
        part: index in PARTS.
        argument: number of the mark or literal, or index in FIELDS.
        transform: of a field: STRIP_LEFT and STRIP_RIGHT of U+000A, JSON; 0 as it is.
    """

    op: int
    part: int
    argument: int
    transform: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens where the guards in ``mask`` are as ``value`` says.

    Attributes:
        refusal: index in REFUSALS; 0 goes on.
        target: number of the next state.
        actions: in order.
    """

    mask: int
    value: int
    refusal: int
    target: int
    actions: tuple[Action, ...]

    def matches(self, guards: int) -> bool:
        """Whether it is this rule's case."""
        return guards & self.mask == self.value


@dataclass(frozen=True, slots=True)
class Program:
    """A template as a machine.

    Attributes:
        family: of the models.
        marks: texts of its structural tokens.
        literals: its texts.
        states: names; the first is INIT, the last END.
        split: numbers of the marks around reasoning that stands in the content; None where content is never split.
        query: numbers of the marks that a user text begins and ends with which is no question; None where each one is.
        cells: for each state and event, in this order, its rules; the first whose case it is holds.
        reply: for each state and each of the marks, TEXT and OTHER: index in REPLY and next state.
    """

    family: str
    marks: tuple[bytes, ...]
    literals: tuple[bytes, ...]
    states: tuple[str, ...]
    split: tuple[int, int] | None
    query: tuple[int, int] | None
    cells: tuple[tuple[Rule, ...], ...]
    reply: tuple[tuple[int, int], ...]

    def cell(self, state: int, event: int) -> tuple[Rule, ...]:
        """Rules of a state for an event."""
        return self.cells[state * len(EVENTS) + event]

    def rule(self, state: int, event: int, guards: int) -> Rule:
        """The rule that holds."""
        return next(rule for rule in self.cell(state, event) if rule.matches(guards))

    @property
    def reply_width(self) -> int:
        """Number of symbols of a reply."""
        return len(self.marks) + 2

    @property
    def end(self) -> int:
        """Number of the state END."""
        return len(self.states) - 1


def encode(program: Program) -> bytes:
    """The section."""
    strings = [program.family.encode("ascii"), *program.marks, *program.literals, *(name.encode("ascii") for name in program.states)]
    written = [len(text).to_bytes(2, "little") + text for text in strings]
    marks, literals = len(program.marks), len(program.literals)
    out = written[0] + bytes([marks]) + b"".join(written[1 : 1 + marks])
    out += bytes([literals]) + b"".join(written[1 + marks : 1 + marks + literals])
    out += bytes([len(program.states)]) + b"".join(written[1 + marks + literals :])
    for pair in (program.split, program.query):
        out += bytes([0, 0] if pair is None else [pair[0] + 1, pair[1] + 1])
    for rules in program.cells:
        out += bytes([len(rules)]) + b"".join(_rule_bytes(rule) for rule in rules)
    return out + bytes(value for entry in program.reply for value in entry)


def _rule_bytes(rule: Rule) -> bytes:
    out = rule.mask.to_bytes(4, "little") + rule.value.to_bytes(4, "little") + bytes([rule.refusal])
    if rule.refusal == 0:
        out += bytes([rule.target, len(rule.actions)])
        out += bytes(value for action in rule.actions for value in (action.op, action.part, action.argument, action.transform))
    return out


class _Reader:
    """The section from front to back."""

    def __init__(self, section: bytes) -> None:
        self.section = section
        self.at = 0
        self.strings = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.section):
            raise Slm2Error("artifact_template_length", found=len(self.section), expected=end)
        self.at = end
        return self.section[end - size : end]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def texts(self, count: int, allowed: re.Pattern[bytes] | None) -> tuple[bytes, ...]:
        """Strings that differ from one another, not empty, UTF-8."""
        texts: list[bytes] = []
        for _ in range(count):
            text = self.take(int.from_bytes(self.take(2), "little"))
            if not text or text in texts or not is_utf8(text) or (allowed is not None and allowed.fullmatch(text) is None):
                raise Slm2Error("artifact_template_text", index=self.strings)
            texts.append(text)
            self.strings += 1
        return tuple(texts)


def parse(section: bytes, special: Sequence[tuple[int, bytes]]) -> Program:
    """The program, its form checked; what it does is checked by :mod:`slm2.artifact.program_checks`."""
    reader = _Reader(section)
    family = reader.texts(1, _FAMILY)[0].decode("ascii")
    marks = reader.texts(reader.byte(), None)
    known = {text for _, text in special}
    for number, mark in enumerate(marks):
        if mark not in known:
            raise Slm2Error("artifact_template_mark", mark=number)
    literals = reader.texts(reader.byte(), None)
    names = tuple(name.decode("ascii") for name in reader.texts(reader.byte(), _STATE_NAME))
    if len(names) < 2 or names[0] != "INIT" or names[-1] != "END":
        raise Slm2Error("artifact_template_text", index=reader.strings)
    pairs = [_pair(reader, len(marks), 0), _pair(reader, len(marks), 1)]
    sizes = (len(marks), len(literals), len(names))
    cells = tuple(_cell(reader, state, event, sizes) for state in range(len(names)) for event in range(len(EVENTS)))
    reply = tuple(_reply(reader, state, symbol, len(names)) for state in range(len(names)) for symbol in range(len(marks) + 2))
    if reader.at != len(section):
        raise Slm2Error("artifact_template_length", found=len(section), expected=reader.at)
    program = Program(family, marks, literals, names, pairs[0], pairs[1], cells, reply)
    _check_numbering(program)
    return program


def _pair(reader: _Reader, marks: int, which: int) -> tuple[int, int] | None:
    first, second = reader.byte(), reader.byte()
    if max(first, second) > marks or (first == 0) != (second == 0) or 0 < first == second:
        raise Slm2Error("artifact_template_mark", mark=marks + which)
    return (first - 1, second - 1) if first else None


def _cell(reader: _Reader, state: int, event: int, sizes: tuple[int, int, int]) -> tuple[Rule, ...]:
    count = reader.byte()
    if not 1 <= count <= MAX_RULES:
        raise Slm2Error("artifact_template_rule", state=state, event=event, rule=count)
    rules: list[Rule] = []
    for number in range(count):
        mask, value, refusal = reader.number(), reader.number(), reader.byte()
        rule = Rule(mask, value, refusal, 0, ())
        if refusal == 0:
            target, actions = reader.byte(), reader.byte()
            rule = Rule(mask, value, 0, target, tuple(Action(*reader.take(4)) for _ in range(actions)))
        if not _is_sound(rule, event, sizes):
            raise Slm2Error("artifact_template_rule", state=state, event=event, rule=number)
        rules.append(rule)
    return tuple(rules)


def _is_sound(rule: Rule, event: int, sizes: tuple[int, int, int]) -> bool:
    """Whether every number of a rule names something."""
    marks, literals, states = sizes
    if rule.mask >> len(GUARDS) or rule.value & ~rule.mask or rule.refusal >= len(REFUSALS) or rule.target >= states:
        return False
    fields = FIELDS_OF.get(EVENTS[event], ())
    used: list[int] = []
    for action in rule.actions:
        limit = (marks, literals, len(FIELDS), len(FIELDS))[action.op] if action.op <= DROP else 0
        if action.part >= len(PARTS) or action.argument >= limit:
            return False
        if action.op < FIELD:
            if action.transform:
                return False
        elif action.argument not in fields or action.argument in used or not _transform_fits(action):
            return False
        else:
            used.append(action.argument)
    return True


def _transform_fits(action: Action) -> bool:
    """JSON is for what may be a JSON value, which has no line ends to strip; what is left out has no transform."""
    if action.op == DROP:
        return action.transform == 0
    is_value = FIELDS[action.argument] in ("arguments", "schema")
    return action.transform in (0, JSON) if is_value else action.transform <= STRIP_LEFT | STRIP_RIGHT


def _reply(reader: _Reader, state: int, symbol: int, states: int) -> tuple[int, int]:
    does, target = reader.byte(), reader.byte()
    if does >= len(REPLY) or target >= states or (does == 0 and target != state):
        raise Slm2Error("artifact_template_reply", state=state, symbol=symbol)
    return does, target


def _check_numbering(program: Program) -> None:
    """Marks and literals are numbered as they are first used, and all are used: one program, one byte string."""
    for op, count in ((MARK, len(program.marks)), (LITERAL, len(program.literals))):
        first_uses = list(dict.fromkeys(action.argument for action in actions(program) if action.op == op))
        if first_uses != list(range(count)):
            raise Slm2Error("artifact_template_order", op=op)


def actions(program: Program) -> Iterator[Action]:
    """All actions in the order of the tables."""
    return (action for rules in program.cells for rule in rules for action in rule.actions)
