"""A reply, id by id, to events: the template's machine runs on while the model writes (contract/template.md, M-90 to M-97)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from slm2.artifact import Artifact
from slm2.artifact.program import EVENTS, OTHER, REPLY, STRIP_LEFT, TEXT, Program
from slm2.errors import Slm2Error
from slm2.reference.json_text import read_json, write_json
from slm2.reference.messages import TOOL_NAME
from slm2.reference.stream import complete
from slm2.reference.tokenizer import decode
from slm2.reference.utf8 import is_open

Kind = Literal["reasoning", "content", "call", "bad_call", "stray_text", "unexpected", "unclosed", "ill_formed", "end"]

_CALL = re.compile(r'\n\{"name": "([^"\\]*)", "arguments": (.*)\}\n', re.DOTALL)
_CONTENT = EVENTS.index("content")


@dataclass(frozen=True, slots=True)
class ReplyEvent:
    """Something that a reply says.

    Attributes:
        kind: ``reasoning`` and ``content`` are text as it comes; ``call`` is a call; ``bad_call``, ``stray_text``, ``unexpected``,
            ``unclosed`` and ``ill_formed`` are faults of the reply; ``end`` is its end.
        text: of ``reasoning``, ``content`` and ``stray_text`` what came; of ``bad_call`` the raw text; of ``unexpected`` that of the token;
            of ``ill_formed`` the bytes in hex.
        ids: taken since the event before; the ids of all events are the ids of the reply.
        name: of a call.
        arguments: of a call: the text of a JSON object, as the model wrote it where that is how the template writes it.
        reason: of a fault the code; of ``end`` ``end_turn`` or ``cut``.
    """

    kind: Kind
    text: str = ""
    ids: tuple[int, ...] = ()
    name: str = ""
    arguments: str = ""
    reason: str = ""


class ReplyReader:
    """Reads one reply.

    It ends with ``end`` or ``ill_formed``; ids after ``end`` are ``unexpected``, after ``ill_formed`` the reader is closed.
    """

    def __init__(self, artifact: Artifact, program: Program, state: str) -> None:
        """Begin in the state in which the prompt ended.

        Raises:
            Slm2Error: ``invalid_value`` where no reply begins there.
        """
        names = [name for number, name in enumerate(program.states) if _begins_reply(program, number)]
        if state not in names:
            raise Slm2Error("invalid_value", field="state", expected=", ".join(names), found=str(state)[:64])
        self._artifact = artifact
        self._program = program
        self._marks = {mark: number for number, mark in enumerate(program.marks)}
        self._state = program.states.index(state)
        self._field = Field()
        self._calls = 0
        self._tainted = False
        self._position = 0
        self._ids: list[int] = []
        self._events: list[ReplyEvent] = []
        self._closed = False
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._called: list[dict[str, object]] = []
        self._reading = ""  # of reasoning, content, call or stray text, what is being read
        self._strips = self._strips_left()

    @property
    def state(self) -> str:
        """Of the machine, by name."""
        return self._program.states[self._state]

    @property
    def message(self) -> dict[str, object]:
        """What was said so far, as a message of a conversation; calls that are none are not in it (M-97)."""
        message: dict[str, object] = {
            "role": "assistant",
            "content": "".join(self._content),
            "reasoning_content": "".join(self._reasoning),
        }
        return {**message, "tool_calls": list(self._called)} if self._called else message

    def push(self, ids: Sequence[int]) -> list[ReplyEvent]:
        """What the ids say. An id without a token leaves the reader as it was before the call.

        Raises:
            Slm2Error: ``token_id_out_of_range``, ``stream_closed``.
        """
        self._check_open()
        for place, token in enumerate(ids):
            if not 0 <= token < self._artifact.token_limit or not self._has_token(token):
                limit = self._artifact.token_limit
                raise Slm2Error("token_id_out_of_range", position=self._position + place, id=token, limit=limit)
        self._events = []
        for token in ids:
            self._position += 1
            self._ids.append(token)
            if not self._closed:
                self._take(token)
        if self._closed and self._ids:
            # What came in the same call after ill-formed text is kept with it.
            last = self._events.pop()
            self._events.append(ReplyEvent(last.kind, last.text, (*last.ids, *self._ids), reason=last.reason))
            self._ids = []
        return self._events

    def finish(self) -> list[ReplyEvent]:
        """The end, where no token ended the turn; nothing where one did.

        Raises:
            Slm2Error: ``stream_closed``.
        """
        self._check_open()
        self._events = []
        if self._state != self._program.end:
            self._end("cut")
        self._closed = True
        return self._events

    def _check_open(self) -> None:
        if self._closed:
            raise Slm2Error("stream_closed", position=self._position)

    def _has_token(self, token: int) -> bool:
        return token < len(self._artifact.tokens) or token in self._artifact.special_text

    def _take(self, token: int) -> None:
        special = self._artifact.special_text.get(token)
        other = len(self._program.marks) + (TEXT if special is None else OTHER)
        symbol = other if special is None else self._marks.get(special, other)
        does, target = self._program.reply[self._state * self._program.reply_width + symbol]
        if special is not None and self._field.pending:
            self._ill_formed()
        elif REPLY[does] == "unexpected":
            self._unexpected(token)
        elif special is None:
            self._text(REPLY[does], decode(self._artifact, [token], "refuse"), target)
        else:
            self._mark(REPLY[does], target)

    def _say(self, kind: Kind, text: str = "", **fields: str) -> None:
        self._events.append(ReplyEvent(kind, text, tuple(self._ids), **fields))
        self._ids = []
        if kind == "content":
            self._content.append(text)
        elif kind == "reasoning":
            self._reasoning.append(text)
        elif kind == "call":
            self._called.append({"type": "function", "function": {"name": fields["name"], "arguments": fields["arguments"]}})

    def _unexpected(self, token: int) -> None:
        """A token that has no business here: told, and otherwise passed over. A call around it is no call any more."""
        self._tainted = self._tainted or self._reading == "call"
        data = decode(self._artifact, [token], "bytes")
        self._say("unexpected", data.decode("utf-8", "replace"), reason=self.state)

    def _text(self, verb: str, data: bytes, target: int) -> None:
        reading = "stray_text" if verb == "content" and self._calls else verb
        if reading != self._reading:
            self._reading, self._field = reading, Field(strips_left=self._strips and reading == "content")
        delta = self._field.add(data)
        self._state = target
        self._strips = False
        if reading in ("reasoning", "content") and delta:
            self._say("reasoning" if reading == "reasoning" else "content", delta)
        if self._field.broken:
            self._ill_formed()

    def _mark(self, verb: str, target: int) -> None:
        if verb == "open_reasoning":
            self._reading, self._field = "reasoning", Field(strips_left=True)
        elif verb == "close_reasoning":
            self._reading, self._field = "", Field()
        elif verb == "open_call":
            self._before_call()
            self._reading, self._field, self._tainted = "call", Field(), False
        elif verb == "close_call":
            self._call()
            self._calls += 1
            self._reading, self._field = "", Field()
        self._state = target
        self._strips = self._strips_left()
        if verb == "end_turn":
            self._end("end_turn")

    def _strips_left(self) -> bool:
        """Whether content that begins here loses its newlines at the left when it is rendered: the tables say so."""
        rules = self._program.cell(self._state, _CONTENT)
        return any(item.transform & STRIP_LEFT for rule in rules for item in rule.actions)

    def _before_call(self) -> None:
        """One newline before a call is the template's own, after content or a call; others belong to what they follow."""
        if self._reading == "content":
            self._flush("content", self._field.held[:-1])
        elif self._reading == "stray_text" and self._field.all_text() != "\n":
            self._say("stray_text", self._field.all_text())

    def _flush(self, kind: Kind, text: str) -> None:
        if text:
            self._say(kind, text)

    def _call(self) -> None:
        text = self._field.all_text()
        try:
            name, arguments = self._parsed(text)
        except Slm2Error as error:
            self._say("bad_call", text, reason=error.code)
        else:
            self._say("call", text, name=name, arguments=arguments)

    def _parsed(self, text: str) -> tuple[str, str]:
        """Name and arguments.

        Raises:
            Slm2Error: why the text is no call.
        """
        if self._tainted:
            raise Slm2Error("structural_id", position=self._position, id=self._ids[-1] if self._ids else 0)
        value = read_json(text)
        if not isinstance(value, dict) or set(value) != {"name", "arguments"}:
            raise Slm2Error("bad_tool_call", index=0, call=self._calls)
        name, arguments = value["name"], value["arguments"]
        if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
            raise Slm2Error("bad_tool_name", index=0, call=self._calls, found="")
        if not isinstance(arguments, dict):
            raise Slm2Error("arguments_not_json_object", index=0, call=self._calls)
        match = _CALL.fullmatch(text)
        return name, match[2] if match and match[1] == name else write_json(arguments, "arguments")

    def _end(self, reason: str) -> None:
        """What is open is told; then the end."""
        if self._field.pending:
            self._ill_formed()
            return
        if self._reading == "content":
            self._flush("content", self._field.held)
        elif self._reading == "stray_text":
            self._say("stray_text", self._field.all_text())
        elif self._reading == "call":
            self._say("bad_call", self._field.all_text(), reason="unclosed")
        elif self._reading == "reasoning":
            self._say("unclosed", reason="reasoning")
        self._reading, self._field = "", Field()
        self._say("end", reason=reason)

    def _ill_formed(self) -> None:
        """Decisions D12: what was delivered stays, the bytes from the open scalar value on are told, and the reader is closed."""
        if self._reading in ("call", "stray_text"):
            self._say("bad_call" if self._reading == "call" else "stray_text", self._field.all_text(), reason="ill_formed_text")
        self._say("ill_formed", self._field.pending.hex(), reason="ill_formed_text")
        self._closed = True


class Field:
    """Text of one field as it comes.

    Attributes:
        pending: bytes of an open scalar value, or that cannot become one.
        broken: whether they cannot.
    """

    def __init__(self, *, strips_left: bool = False) -> None:
        self._newlines = 0
        self.pending = b""
        self.broken = False
        self._strips_left = strips_left
        self._text: list[str] = []

    def add(self, data: bytes) -> str:
        """Text that can be told now."""
        text, self.pending = complete(self.pending + data)
        self.broken = bool(self.pending) and not is_open(self.pending)
        self._text.append(text)
        if self._strips_left:
            text = text.lstrip("\n")
            self._strips_left = not text
        told = text.rstrip("\n")
        held, self._newlines = self._newlines, len(text) - len(told)
        if not told:
            self._newlines += held
            return ""
        return "\n" * held + told

    @property
    def held(self) -> str:
        """Newlines at the end that are not told yet, since they may be the template's own."""
        return "\n" * self._newlines

    def all_text(self) -> str:
        """Everything that came, newlines included."""
        return "".join(self._text)


def _begins_reply(program: Program, state: int) -> bool:
    start = state * program.reply_width
    return any(does for does, _ in program.reply[start : start + program.reply_width])
