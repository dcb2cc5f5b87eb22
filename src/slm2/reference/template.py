"""Template2: a conversation becomes pieces of text and structural tokens.

``compose`` is the publisher's template at the pinned revision (decisions D6) without its language; contract/template.md has the
same rules as tables. It never makes a string that would have to be parsed again: only :class:`Structural` items become special
ids, and only literals of this module make those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from slm2.reference.messages import CLOSE_THINK, OPEN_THINK, Message, ToolCall, is_response_shape, text_of
from slm2.reference.pieces import Fragment, Item, Part, Piece, Structural
from slm2.reference.utf8 import to_utf8

# M-44: the text around the tool schemas; the four marks in its last sentences are structural tokens.
_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_END = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
_TOOLS_TAGS = " XML tags:\n"
_TOOLS_EXAMPLE = '\n{"name": <function-name>, "arguments": <args-json-object>}\n'


@dataclass(frozen=True, slots=True)
class _Field:
    """The bytes from ``start`` to ``end`` of the text of one field; each keeps its fragment through every cut."""

    fragments: tuple[Fragment, ...]
    data: bytes
    start: int
    end: int

    @property
    def text(self) -> bytes:
        return self.data[self.start : self.end]

    def cut(self, start: int, end: int) -> _Field:
        """The part from ``start`` to ``end`` of this stretch."""
        return replace(self, start=self.start + start, end=self.start + end)

    def without_newlines(self, *, left: bool, right: bool) -> _Field:
        """Without U+000A at its ends, and nothing else: no blanks, no U+000D."""
        text = self.text
        end = len(text.rstrip(b"\n")) if right else len(text)
        start = end - len(text[:end].lstrip(b"\n")) if left else 0
        return self.cut(start, end)

    def stretches(self) -> Iterator[tuple[bytes, Fragment, int]]:
        """Data, fragment, and byte offset in the fragment, of each fragment that has a part in this stretch."""
        at = 0
        for fragment in self.fragments:
            size = len(to_utf8(fragment.text))
            start, end = max(self.start, at), min(self.end, at + size)
            if start < end:
                yield self.data[start:end], fragment, start - at
            at += size


def _field(fragments: Sequence[Fragment]) -> _Field:
    data = text_of(fragments)
    return _Field(tuple(fragments), data, 0, len(data))


class _Output:
    """Collects items; ``role`` and ``message`` are those of the turn being written."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.role = ""
        self.message: int | None = None

    def turn(self, role: str, message: int | None) -> None:
        self.role, self.message = role, message

    def mark(self, text: str, part: Part) -> None:
        self.items.append(Structural(text, self.role, part, self.message))

    def literal(self, text: str, part: Part) -> None:
        self.items.append(Piece(text.encode("ascii"), "program", "program", 0, self.role, part, self.message))

    def field(self, field: _Field, part: Part) -> None:
        for data, fragment, start in field.stretches():
            self.items.append(Piece(data, fragment.trust, fragment.source, start, self.role, part, self.message))

    def open_turn(self, header: str) -> None:
        self.mark("<|im_start|>", "structure")
        self.literal(header, "role_header")

    def close_turn(self) -> None:
        self.mark("<|im_end|>", "structure")
        self.literal("\n", "structure")


def compose(
    messages: Sequence[Message], tools: Sequence[Fragment], *, enable_thinking: bool | None, add_generation_prompt: bool
) -> list[Item]:
    """What the template makes of a conversation (M-40 to M-56).

    It renders whatever order of roles it gets, as the publisher's does; callers ``check`` before.

    Args:
        messages: at least one.
        tools: JSON text of each tool.
        enable_thinking: False closes the reasoning in the generation prompt; True and None leave it to the model.
        add_generation_prompt: whether the prompt ends with the head of an assistant turn.
    """
    out = _Output()
    if tools:
        _tools_turn(out, messages[0], tools)
    elif messages[0].role == "system":
        _plain_turn(out, messages[0], 0)
    query = _last_query(messages)
    for index, message in enumerate(messages):
        if message.role == "assistant":
            _assistant_turn(out, message, index, may_think=index > query, is_last=index == len(messages) - 1)
        elif message.role == "tool":
            first = index == 0 or messages[index - 1].role != "tool"
            last = index == len(messages) - 1 or messages[index + 1].role != "tool"
            _tool_response(out, message, index, first=first, last=last)
        elif message.role == "user" or index > 0:
            _plain_turn(out, message, index)
    if add_generation_prompt:
        _generation_prompt(out, enable_thinking)
    return out.items


def dropped_reasoning(messages: Sequence[Message], items: Sequence[Item]) -> list[int]:
    """Indices of the messages whose reasoning the template left out (M-52)."""
    kept = {item.message for item in items if isinstance(item, Structural) and item.part == "reasoning"}
    replies = ((index, message) for index, message in enumerate(messages) if message.role == "assistant")
    return [index for index, message in replies if index not in kept and _split(message)[0].text.strip(b"\n")]


def _last_query(messages: Sequence[Message]) -> int:
    """M-42: the last user message that does not look like a tool's answer; the last message where there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user" and not is_response_shape(text_of(messages[index].content)):
            return index
    return len(messages) - 1


def _tools_turn(out: _Output, first: Message, tools: Sequence[Fragment]) -> None:
    """M-43, M-44: the system turn that ends with the tool schemas."""
    is_system = first.role == "system"
    out.turn("system", 0 if is_system else None)
    out.open_turn("system\n")
    if is_system:
        out.field(_field(first.content), "content")
        out.literal("\n\n", "content")
    out.turn("system", None)
    out.literal(_TOOLS_HEAD, "tools")
    for tool in tools:
        out.literal("\n", "tools")
        out.field(_field([tool]), "tools")
    out.literal(_TOOLS_END, "tools")
    out.mark("<tool_call>", "tools")
    out.mark("</tool_call>", "tools")
    out.literal(_TOOLS_TAGS, "tools")
    out.mark("<tool_call>", "tools")
    out.literal(_TOOLS_EXAMPLE, "tools")
    out.mark("</tool_call>", "tools")
    out.turn("system", 0 if is_system else None)
    out.close_turn()


def _plain_turn(out: _Output, message: Message, index: int) -> None:
    """M-45, M-46: a user turn, or a system turn without tools."""
    out.turn(message.role, index)
    out.open_turn(f"{message.role}\n")
    out.field(_field(message.content), "content")
    out.close_turn()


def _split(message: Message) -> tuple[_Field, _Field]:
    """M-50, M-51: reasoning and content of an assistant message."""
    content = _field(message.content)
    if message.reasoning is not None:
        return _field(message.reasoning), content
    text = content.text
    if CLOSE_THINK not in text:
        return content.cut(0, 0), content
    head = content.cut(0, text.find(CLOSE_THINK)).without_newlines(left=False, right=True)
    opened = head.text.rfind(OPEN_THINK)
    begin = opened + len(OPEN_THINK) if opened >= 0 else 0
    reasoning = head.cut(begin, len(head.text)).without_newlines(left=True, right=False)
    rest = content.cut(text.rfind(CLOSE_THINK) + len(CLOSE_THINK), len(text))
    return reasoning, rest.without_newlines(left=True, right=False)


def _assistant_turn(out: _Output, message: Message, index: int, *, may_think: bool, is_last: bool) -> None:
    """M-52, M-53: head, reasoning where the template keeps it, content, calls."""
    reasoning, content = _split(message)
    out.turn("assistant", index)
    out.open_turn("assistant\n")
    if may_think and (is_last or reasoning.text):
        out.mark("<think>", "reasoning")
        out.literal("\n", "reasoning")
        out.field(reasoning.without_newlines(left=True, right=True), "reasoning")
        out.literal("\n", "reasoning")
        out.mark("</think>", "reasoning")
        out.literal("\n\n", "reasoning")
        out.field(content.without_newlines(left=True, right=False), "content")
    else:
        out.field(content, "content")
    for number, call in enumerate(message.tool_calls):
        # The content before its newlines were stripped: a content of one newline still puts one before the call.
        _call(out, call, on_new_line=number > 0 or content.text != b"")
    out.close_turn()


def _call(out: _Output, call: ToolCall, *, on_new_line: bool) -> None:
    """M-54: one call."""
    if on_new_line:
        out.literal("\n", "tool_call")
    out.mark("<tool_call>", "tool_call")
    out.literal('\n{"name": "', "tool_call")
    out.field(_field([call.name]), "tool_call")
    out.literal('", "arguments": ', "tool_call")
    out.field(_field([call.arguments]), "tool_call")
    out.literal("}\n", "tool_call")
    out.mark("</tool_call>", "tool_call")


def _tool_response(out: _Output, message: Message, index: int, *, first: bool, last: bool) -> None:
    """M-55: answers that follow one another share one user turn."""
    out.turn("tool", index)
    if first:
        out.open_turn("user")
    out.literal("\n", "tool_response")
    out.mark("<tool_response>", "tool_response")
    out.literal("\n", "tool_response")
    out.field(_field(message.content), "content")
    out.literal("\n", "tool_response")
    out.mark("</tool_response>", "tool_response")
    if last:
        out.close_turn()


def _generation_prompt(out: _Output, enable_thinking: bool | None) -> None:
    """M-56: the head of the turn that the model writes."""
    out.turn("assistant", None)
    out.mark("<|im_start|>", "generation_prompt")
    out.literal("assistant\n", "generation_prompt")
    if enable_thinking is False:
        out.mark("<think>", "generation_prompt")
        out.literal("\n\n", "generation_prompt")
        out.mark("</think>", "generation_prompt")
        out.literal("\n\n", "generation_prompt")
