"""What a conversation says to a template program: events, their guards and their fields (contract/template.md, M-75 to M-79).

Nothing here knows a model family: a program has the marks that split reasoning from content and those that a question never has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from slm2.artifact.program import EVENTS, GUARDS, Program
from slm2.reference.messages import Message, ToolCall, text_of
from slm2.reference.pieces import Fragment
from slm2.reference.utf8 import to_utf8

EVENT = {name: number for number, name in enumerate(EVENTS)}
GUARD = {name: 1 << number for number, name in enumerate(GUARDS)}

Continues = Literal["content", "reasoning_content"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a rendering is asked for beside messages and tools.

    Attributes:
        enable_thinking: False closes the reasoning in the generation prompt; True and None leave it to the model.
        add_generation_prompt: whether the prompt ends with the head of an assistant turn.
        continues: the field of the last message inside which the prompt ends.
        preserve_thinking: whether every assistant turn keeps its reasoning, an empty one too.
    """

    enable_thinking: bool | None = None
    add_generation_prompt: bool = False
    continues: Continues | None = None
    preserve_thinking: bool = False


class Stretch(NamedTuple):
    """The bytes from ``start`` to ``end`` of the text of one field; each keeps its fragment through every cut."""

    fragments: tuple[Fragment, ...]
    data: bytes
    start: int
    end: int

    @property
    def text(self) -> bytes:
        """Its bytes."""
        return self.data[self.start : self.end]

    def cut(self, start: int, end: int) -> Stretch:
        """The part from ``start`` to ``end`` of this stretch."""
        return Stretch(self.fragments, self.data, self.start + start, self.start + end)

    def without_newlines(self, *, left: bool, right: bool) -> Stretch:
        """Without U+000A at its ends, and nothing else: no blanks, no U+000D."""
        if not left and not right:
            return self
        text = self.text
        end = len(text.rstrip(b"\n")) if right else len(text)
        start = end - len(text[:end].lstrip(b"\n")) if left else 0
        return self.cut(start, end)

    def stretches(self) -> Iterator[tuple[bytes, Fragment, int]]:
        """Data, fragment, and byte offset in the fragment, of each fragment that has a part in this stretch."""
        if len(self.fragments) == 1:
            if self.start < self.end:
                yield self.text, self.fragments[0], self.start
            return
        at = 0
        for fragment in self.fragments:
            size = len(to_utf8(fragment.text))
            start, end = max(self.start, at), min(self.end, at + size)
            if start < end:
                yield self.data[start:end], fragment, start - at
            at += size


def stretch(fragments: Sequence[Fragment]) -> Stretch:
    """All of a field."""
    data = text_of(fragments)
    return Stretch(tuple(fragments), data, 0, len(data))


_NOTHING = stretch(())


class Event(NamedTuple):
    """One symbol of the input.

    Attributes:
        number: index in EVENTS.
        guards: bits of GUARDS.
        message: index of the message that it comes from; where there is none, None. Of a schema: 0 where message 0 is a system message.
        role: of the message; ``system`` of a schema, ``assistant`` of the end.
        fields: by the numbers of FIELDS.
    """

    number: int
    guards: int
    message: int | None
    role: str
    fields: dict[int, Stretch]


@dataclass(slots=True)
class Conversation:
    """Where a walk over messages stands: what the guards of the next one depend on."""

    program: Program
    options: Options
    tools: int
    count: int
    query: int
    unanswered: list[ToolCall]


def last_query(program: Program, messages: Sequence[Message]) -> int:
    """M-42: the last user message that is a question; the last message where there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user" and not is_response_shape(program, messages[index]):
            return index
    return len(messages) - 1


def is_response_shape(program: Program, message: Message) -> bool:
    """Whether the template takes a user's text for the answer of a tool."""
    if program.query is None:
        return False
    text = text_of(message.content)
    return text.startswith(program.marks[program.query[0]]) and text.endswith(program.marks[program.query[1]])


def events(program: Program, messages: Sequence[Message], tools: Sequence[Fragment], options: Options) -> Iterator[Event]:
    """All events of a request, in order."""
    walk = Conversation(program, options, len(tools), len(messages), last_query(program, messages), [])
    has_system = bool(messages) and messages[0].role == "system"
    if has_system:
        yield from of_message(walk, messages, 0)
    yield from of_tools(tools, has_system=has_system)
    for index in range(1 if has_system else 0, len(messages)):
        yield from of_message(walk, messages, index)
    yield of_end(walk)


def of_tools(tools: Sequence[Fragment], *, has_system: bool) -> Iterator[Event]:
    """An event for each schema."""
    for number, tool in enumerate(tools):
        guards = GUARD["tools"] | _place(number, len(tools))
        yield Event(EVENT["schema"], guards, 0 if has_system else None, "system", {4: stretch([tool])})


def of_end(walk: Conversation) -> Event:
    """The event after the last message."""
    options = walk.options
    guards = _options(walk) | (GUARD["first"] if walk.count == 0 else 0)
    if options.continues is not None:
        guards |= GUARD["continues"]
    return Event(EVENT["finish"], guards, None, "assistant", {})


def of_message(walk: Conversation, messages: Sequence[Message], index: int) -> Iterator[Event]:
    """The events of one message."""
    message = messages[index]
    guards = _options(walk) | _place(index, walk.count) | (GUARD["after_query"] if index > walk.query else 0)
    if message.role == "assistant":
        walk.unanswered = list(message.tool_calls)
        yield from _of_reply(walk, message, index, guards)
        return
    if message.role == "tool":
        guards |= GUARD["answers"] if _answer(walk.unanswered, message) else 0
        guards |= GUARD["next_tool"] if index + 1 < walk.count and messages[index + 1].role == "tool" else 0
    else:
        walk.unanswered = []
    if message.role == "user" and is_response_shape(walk.program, message):
        guards |= GUARD["response_shape"] if any(fragment.trust == "untrusted" for fragment in message.content) else 0
    yield Event(EVENT[message.role], guards, index, message.role, {0: stretch(message.content)})


def _of_reply(walk: Conversation, message: Message, index: int, guards: int) -> Iterator[Event]:
    """An assistant message: its head, reasoning, content, calls and end."""
    reasoning, content = split(walk.program, message)
    guards |= GUARD["has_reasoning"] if reasoning.text else 0
    guards |= GUARD["has_content"] if content.text else 0
    guards |= GUARD["has_calls"] if message.tool_calls else 0
    guards |= GUARD["ambiguous_think"] if is_ambiguous(walk.program, message) else 0
    continues = walk.options.continues if index == walk.count - 1 else None

    def event(name: str, fields: dict[int, Stretch], bits: int = guards) -> Event:
        return Event(EVENT[name], bits, index, "assistant", fields)

    yield event("assistant", {})
    if continues == "reasoning_content":
        yield event("reasoning", {1: reasoning}, guards | GUARD["continues"])
        return
    yield event("reasoning", {1: reasoning})
    yield event("content", {0: content}, guards | (GUARD["continues"] if continues else 0))
    if continues:
        return
    calls = message.tool_calls
    for number, call in enumerate(calls):
        bits = guards & ~(GUARD["first"] | GUARD["last"]) | _place(number, len(calls))
        yield event("call", {2: stretch([call.name]), 3: stretch([call.arguments])}, bits)
    yield event("close", {})


def split(program: Program, message: Message) -> tuple[Stretch, Stretch]:
    """M-50, M-51: reasoning and content of an assistant message."""
    content = stretch(message.content)
    if message.reasoning is not None:
        return stretch(message.reasoning), content
    if program.split is None:
        return _NOTHING, content
    opening, closing = (program.marks[number] for number in program.split)
    text = content.text
    if closing not in text:
        return content.cut(0, 0), content
    head = content.cut(0, text.find(closing)).without_newlines(left=False, right=True)
    opened = head.text.rfind(opening)
    begin = opened + len(opening) if opened >= 0 else 0
    reasoning = head.cut(begin, len(head.text)).without_newlines(left=True, right=False)
    rest = content.cut(text.rfind(closing) + len(closing), len(text))
    return reasoning, rest.without_newlines(left=True, right=False)


def is_ambiguous(program: Program, message: Message) -> bool:
    """M-28: a closing tag in the content, and not one block at its start, so that splitting would lose more than tags and newlines."""
    if program.split is None or message.reasoning is not None:
        return False
    opening, closing = (program.marks[number] for number in program.split)
    text = stretch(message.content).data
    if closing not in text:
        return False
    whole = text.startswith(opening + b"\n") and b"\n" + closing + b"\n\n" in text
    return not (whole and text.count(opening) == 1 and text.count(closing) == 1)


def _answer(unanswered: list[ToolCall], message: Message) -> bool:
    """Take the call that a tool message answers off the list, where there is one (M-26)."""
    candidates = unanswered
    if message.tool_call_id is not None:
        named = [call for call in unanswered if call.id == message.tool_call_id]
        candidates = named or [call for call in unanswered if call.id is None]
    if not candidates:
        return False
    unanswered.remove(candidates[0])
    return True


def _place(number: int, count: int) -> int:
    return (GUARD["first"] if number == 0 else 0) | (GUARD["last"] if number == count - 1 else 0)


def _options(walk: Conversation) -> int:
    options = walk.options
    guards = GUARD["tools"] if walk.tools else 0
    guards |= GUARD["generation"] if options.add_generation_prompt else 0
    guards |= GUARD["preserve"] if options.preserve_thinking else 0
    if options.enable_thinking is not None:
        guards |= GUARD["thinking_on" if options.enable_thinking else "thinking_off"]
    return guards
