"""Template2: a sealed program makes of a conversation pieces of text and structural tokens (contract/template.md).

It never makes a string that would have to be parsed again: only :class:`Structural` items become special ids, and only marks of the
program make those. Where the machine refuses, the request is refused, by the code that the program says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from slm2.artifact.program import DROP, EVENTS, FIELD, JSON, MARK, PARTS, REFUSALS, STRIP_LEFT, STRIP_RIGHT, Action, Program
from slm2.errors import ErrorCode, Slm2Error
from slm2.reference.events import Event, Options, Stretch, events, stretch
from slm2.reference.json_text import read_json, write_json
from slm2.reference.messages import Message
from slm2.reference.pieces import Fragment, Item, Part, Piece, Structural, Trust


@dataclass(slots=True)
class Composition:
    """What a program has made of the events so far.

    Attributes:
        state: of the machine; a reply goes on from there.
        items: text and structural tokens.
        dropped: messages whose reasoning, of more than newlines, was left out (M-52).
    """

    state: int = 0
    items: list[Item] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)


def compose(program: Program, messages: Sequence[Message], tools: Sequence[Fragment], options: Options) -> Composition:
    """What the template makes of a conversation (M-40 to M-57).

    Args:
        program: of the artifact.
        messages: as :func:`slm2.reference.messages.parse` makes them.
        tools: JSON text of each tool.
        options: see there.

    Raises:
        Slm2Error: a code of M-22 to M-29, as the program's tables have it.
    """
    out = Composition()
    take(program, out, events(program, messages, tools, options), messages)
    return out


def take(program: Program, out: Composition, stream: Iterable[Event], messages: Sequence[Message]) -> None:
    """Go on with more events."""
    for event in stream:
        rule = program.rule(out.state, event.number, event.guards)
        if rule.refusal:
            raise refusal(program, out.state, event, REFUSALS[rule.refusal], messages)
        for action in rule.actions:
            _emit(program, out, action, event)
        out.state = rule.target


def refusal(program: Program, state: int, event: Event, code: str, messages: Sequence[Message]) -> Slm2Error:
    """The error of a rule that refuses; an end has the index after the last message."""
    index = len(messages) if event.message is None else event.message
    if code in ("empty_conversation", "no_user"):
        return Slm2Error("empty_conversation" if code == "empty_conversation" else "no_user")
    if code == "role_order":
        previous = messages[index - 1].role if index else "nothing"
        return Slm2Error("role_order", index=index, role=event.role, previous=previous)
    if code == "template_event":
        return Slm2Error("template_event", state=program.states[state], event=EVENTS[event.number])
    named: dict[str, ErrorCode] = {
        "system_not_first": "system_not_first",
        "tool_without_call": "tool_without_call",
        "reserved_user_shape": "reserved_user_shape",
        "ambiguous_think": "ambiguous_think",
    }
    return Slm2Error(named[code], index=index)


def _emit(program: Program, out: Composition, action: Action, event: Event) -> None:
    """One action: a structural token, a literal, or a field."""
    part = cast("Part", PARTS[action.part])
    message = None if part in ("tools", "generation_prompt") else event.message
    if action.op == MARK:
        out.items.append(Structural(program.marks[action.argument].decode("utf-8"), event.role, part, message))
    elif action.op == FIELD:
        taken = transformed(event.fields[action.argument], action.transform)
        for data, fragment, start in taken.stretches():
            out.items.append(Piece(data, fragment.trust, fragment.source, start, event.role, part, message, fragment.item))
    elif action.op == DROP:
        if event.message is not None and event.fields[action.argument].text.strip(b"\n"):
            out.dropped.append(event.message)
    else:
        trust: Trust = "program"
        out.items.append(Piece(program.literals[action.argument], trust, "program", 0, event.role, part, message))


def transformed(taken: Stretch, transform: int) -> Stretch:
    """M-53: newlines stripped. JSON values were written when the request was read (M-37); JSON writes text of arguments anew."""
    if transform == JSON:
        return stretch([replace(fragment, text=write_json(read_json(fragment.text), fragment.source)) for fragment in taken.fragments])
    return taken.without_newlines(left=bool(transform & STRIP_LEFT), right=bool(transform & STRIP_RIGHT))
