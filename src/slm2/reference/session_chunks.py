"""The ids of messages, cut into chunks between which nothing is encoded together: what a session computes again, and what it keeps.

Of what the template's machine emits only ids are wanted here. So a rule is put once into the form of its ids, and no item with an
origin is made, as a rendering makes them; that both come to the same ids is what ``tests/property/test_sessions.py`` and
``test_session_programs.py`` ask.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from slm2.artifact import Program
from slm2.artifact.program import DROP, EVENTS, FIELD, GUARDS, MARK, PARTS, REFUSALS, Rule
from slm2.reference.events import Conversation, Event
from slm2.reference.messages import Message, ToolCall
from slm2.reference.template import refusal, transformed

__all__ = ["NO_CHUNKS", "Chunk", "ChunkBuilder", "Chunks", "Encode", "IdMachine", "end_of"]

# Events of a message that depend on what comes after it; calls are counted for themselves.
_EVENTS_OF = {"system": ("system",), "user": ("user",), "assistant": ("assistant", "reasoning", "content", "close"), "tool": ("tool",)}
_REASONING = PARTS.index("reasoning")


class Chunk(NamedTuple):
    """Ids between two places where nothing is encoded across.

    Attributes:
        message: the first message whose ids these are.
        ids: of it, and of those that are encoded with it.
        before: state of the machine before it.
        unanswered: calls before it that wait for an answer.
        reasons: whether it has a think block.
        end: ids up to its end, those of the chunks before it included.
        waits: it is a generation prompt whose reply has not come.
        is_open: whether it ends in text, with which text after it would have been encoded.
    """

    message: int
    ids: tuple[int, ...]
    before: int
    unanswered: tuple[ToolCall, ...]
    reasons: bool
    end: int
    waits: bool = False
    is_open: bool = False


def end_of(chunks: Sequence[Chunk]) -> int:
    """How many ids there are up to the end of the last one."""
    return chunks[-1].end if chunks else 0


class Chunks(NamedTuple):
    """The ids of messages, and on what they depend beside these.

    Attributes:
        all: the chunks.
        messages: how many of the first messages they hold the ids of.
        query: the last question.
        thinking: what ``enable_thinking`` was.
        state: of the machine after them.
        unanswered: calls that wait for an answer after them.
    """

    all: tuple[Chunk, ...]
    messages: int
    query: int
    thinking: bool | None
    state: int
    unanswered: tuple[ToolCall, ...]

    def kept(
        self, machine: IdMachine, messages: Sequence[Message], query: int, thinking: bool | None
    ) -> tuple[tuple[Chunk, ...], int, int, tuple[ToolCall, ...]]:
        """The chunks that are the same for more messages, the message after them, the machine's state and the calls that wait there."""
        count = self._unchanged(machine, messages, query, thinking)
        if count == self.messages:
            return self.all, count, self.state, self.unanswered
        # The last chunk that begins at or before the first message that changes; it may hold it without beginning with it.
        place = bisect_right(self.all, count, key=_FIRST_MESSAGE) - 1
        # What changes may begin with text now.
        while place and self.all[place - 1].is_open and self.all[place].before not in machine.marks_first:
            place -= 1
        chunk = self.all[place]
        return self.all[:place], chunk.message, chunk.before, chunk.unanswered

    def _unchanged(self, machine: IdMachine, messages: Sequence[Message], query: int, thinking: bool | None) -> int:
        """Of how many messages nothing changes that the machine looks at."""
        if self.messages == 0 or (thinking != self.thinking and machine.minds_thinking):
            return 0
        last = self.messages - 1
        minds = messages[last].role in machine.minds_next or (self.all[-1].is_open and self.state not in machine.marks_first)
        count = last if minds else self.messages
        return count if query == self.query else min(self.query + 1, count)


NO_CHUNKS = Chunks((), 0, -1, None, 0, ())
_FIRST_MESSAGE = attrgetter("message")

# Ids of text, in a profile.
Encode = Callable[[bytes], list[int]]

# A structural id, text, or a field with its transform.
_Step = int | bytes | tuple[int, int]


class _Move(NamedTuple):
    """A rule in the form of its ids.

    Attributes:
        steps: what it emits.
        target: the next state.
        reasons: whether a mark of a think block is among the steps.
    """

    steps: tuple[_Step, ...]
    target: int
    reasons: bool


class IdMachine:
    """A template program that emits ids and text; it belongs to all forks of a session, and nothing in it is theirs."""

    def __init__(self, program: Program, special: Sequence[tuple[int, bytes]]) -> None:
        ids = {text: token_id for token_id, text in special}
        self.program = program
        self.minds_thinking = any(_minds(program, event, ("thinking_on", "thinking_off")) for event in EVENTS if event != "finish")
        # Roles of messages whose ids depend on what comes after them.
        self.minds_next = {role for role, of in _EVENTS_OF.items() if any(_minds(program, event, ("last", "next_tool")) for event in of)}
        # States in which each message begins with a structural id.
        self.marks_first = {state for state in range(len(program.states)) if _marks_first(program, state)}
        self._marks = [ids[mark] for mark in program.marks]
        self._moves: dict[tuple[int, int, int], _Move] = {}

    def move(self, state: int, event: Event, messages: Sequence[Message]) -> _Move:
        """What happens in a state.

        Raises:
            Slm2Error: what the program refuses.
        """
        key = (state, event.number, event.guards)
        move = self._moves.get(key)
        if move is None:
            rule = self.program.rule(*key)
            if rule.refusal:
                raise refusal(self.program, state, event, REFUSALS[rule.refusal], messages)
            move = self._moves[key] = self._ids_of(rule)
        return move

    def _ids_of(self, rule: Rule) -> _Move:
        steps: list[_Step] = []
        for action in rule.actions:
            if action.op == MARK:
                steps.append(self._marks[action.argument])
            elif action.op == FIELD:
                steps.append((action.argument, action.transform))
            elif action.op != DROP:
                steps.append(self.program.literals[action.argument])
        reasons = any(action.op == MARK and action.part == _REASONING for action in rule.actions)
        return _Move(tuple(steps), rule.target, reasons)


def _minds(program: Program, event: str, guards: Iterable[str]) -> bool:
    """Whether some rule for an event looks at one of the guards."""
    mask = sum(1 << GUARDS.index(guard) for guard in guards)
    return any(rule.mask & mask for state in range(len(program.states)) for rule in program.cell(state, EVENTS.index(event)))


def _marks_first(program: Program, state: int) -> bool:
    rules = [rule for event in _EVENTS_OF for rule in program.cell(state, EVENTS.index(event)) if not rule.refusal]
    return all(rule.actions and rule.actions[0].op == MARK for rule in rules)


class ChunkBuilder:
    """Runs the machine over messages and cuts what it emits into chunks."""

    def __init__(self, encode: Encode, machine: IdMachine, state: int, kept: tuple[Chunk, ...]) -> None:
        self._encode = encode
        self._machine = machine
        self.state = state
        self._kept = kept
        self._chunks: list[Chunk] = []
        self._end = end_of(kept)
        self._text = b""
        self._ids: list[int] = []
        self._begun: tuple[int, int, tuple[ToolCall, ...]] | None = None
        self._next: tuple[int, int, tuple[ToolCall, ...]] | None = None
        self._reasons = False

    def begin(self, message: int, unanswered: tuple[ToolCall, ...]) -> None:
        """A message begins; its chunk does where its first item is known not to join what is before."""
        self._next = (message, self.state, unanswered)

    def take(self, events: Iterable[Event], messages: Sequence[Message]) -> None:
        """Run the machine over the events of a message."""
        items, reasons = self._run(events, messages)
        self._cut(items)
        self._reasons = self._reasons or reasons
        self._add(items)

    def take_record(self, events: list[Event], messages: Sequence[Message], ids: tuple[int, ...], *, ended: bool) -> None:
        """A reply by its ids: its head and itself as they were, then the end of the turn as the template has it."""
        items, _ = self._run(events[:-1], messages)
        end, _ = self._run(events[-1:], messages)
        self._cut(items)
        self._flush()
        self._ids += ids
        self._reasons = True
        self._add(end[1:] if ended else end)

    def ids_of(self, event: Event, messages: Sequence[Message]) -> tuple[int, ...]:
        """Ids of an event that is no message's, after the last chunk: a generation prompt, which begins with a structural id."""
        items, _ = self._run([event], messages)
        self._add(items)
        self._flush()
        ids, self._ids = tuple(self._ids), []
        return ids

    def finished(self, walk: Conversation) -> Chunks:
        """All chunks, the last one whole."""
        self._finish()
        chunks = (*self._kept, *self._chunks)
        return Chunks(chunks, walk.count, walk.query, walk.options.enable_thinking, self.state, tuple(walk.unanswered))

    def _finish(self) -> None:
        is_open = bool(self._text)
        self._flush()
        if self._begun is not None:
            message, before, unanswered = self._begun
            self._end += len(self._ids)
            self._chunks.append(Chunk(message, tuple(self._ids), before, unanswered, self._reasons, self._end, is_open=is_open))
        self._ids, self._begun, self._reasons = [], None, False

    def _run(self, events: Iterable[Event], messages: Sequence[Message]) -> tuple[list[int | bytes], bool]:
        """What the events emit: structural ids, and text that is never empty; and whether a think block is among them."""
        items: list[int | bytes] = []
        state, reasons = self.state, False
        for event in events:
            move = self._machine.move(state, event, messages)
            for step in move.steps:
                if not isinstance(step, tuple):
                    items.append(step)
                elif text := transformed(event.fields[step[0]], step[1]).text:
                    items.append(text)
            reasons = reasons or move.reasons
            state = move.target
        self.state = state
        return items, reasons

    def _cut(self, items: Sequence[int | bytes]) -> None:
        """End the chunk before a message, unless text would be encoded across."""
        if self._begun is None or not self._text or not items or isinstance(items[0], int):
            self._finish()
            self._begun = self._next

    def _add(self, items: Iterable[int | bytes]) -> None:
        """Structural ids end a run of text; the last run stays open."""
        for item in items:
            if isinstance(item, bytes):
                self._text += item
            else:
                if self._text:
                    self._flush()
                self._ids.append(item)

    def _flush(self) -> None:
        """Encode the text that is open."""
        if self._text:
            self._ids += self._encode(self._text)
            self._text = b""
