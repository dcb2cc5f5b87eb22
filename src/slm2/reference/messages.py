"""A conversation as callers give it becomes messages that cannot be wrong in type.

Which input is accepted and which code refuses the rest: contract/template.md, M-10 to M-21. Their order is the template program's
business. Prompt2 builds the same messages from fragments of several origins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from slm2.errors import Slm2Error
from slm2.reference.json_text import json_type, read_json, shown, shown_key, write_json
from slm2.reference.pieces import Fragment
from slm2.reference.utf8 import to_utf8

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)

# M-14: keys that the template does not read and that carry no text of the conversation.
IGNORED_KEYS = ("id", "name", "type")
_KEYS: dict[Role, tuple[str, ...]] = {
    "system": ("role", "content", *IGNORED_KEYS),
    "user": ("role", "content", *IGNORED_KEYS),
    "assistant": ("role", "content", "reasoning_content", "tool_calls", *IGNORED_KEYS),
    "tool": ("role", "content", "tool_call_id", *IGNORED_KEYS),
}
_WRAPPED_CALL_KEYS = ("function", "id", "index", "type")
_FUNCTION_KEYS = ("name", "arguments")
_FLAT_CALL_KEYS = ("name", "arguments", "id", "index", "type")

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of an assistant message.

    Attributes:
        name: of the tool; it goes into the prompt as it is.
        arguments: the text of a JSON object; it goes into the prompt as it is.
        id: by which a tool message can name the call.
    """

    name: Fragment = field(repr=False)
    arguments: Fragment = field(repr=False)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: of the sender.
        content: text, in fragments that follow one another without anything between.
        reasoning: what the caller gave apart from the content; None where nothing was given, which is not the empty text (M-51).
        tool_calls: of an assistant message.
        tool_call_id: the call that a tool message says it answers.
    """

    role: Role
    content: tuple[Fragment, ...] = field(repr=False)
    reasoning: tuple[Fragment, ...] | None = field(default=None, repr=False)
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


def text_of(fragments: Sequence[Fragment]) -> bytes:
    """UTF-8 of the fragments one after the other."""
    if len(fragments) == 1:
        return to_utf8(fragments[0].text)
    return b"".join([to_utf8(fragment.text) for fragment in fragments])


def is_response_shape(text: bytes) -> bool:
    """P-25: whether a user's text has the shape of a tool's answer."""
    return text.startswith(b"<tool_response>") and text.endswith(b"</tool_response>")


def parse(messages: object, source: str = "messages", *, first: int = 0, continues_reasoning: bool = False) -> list[Message]:
    """Messages as the template sees them (M-10 to M-20).

    Args:
        messages: a list of objects with ``role``, ``content`` and so on.
        source: the path of the list in the request; provenance and errors begin with it.
        first: index of the first one, where they are added to others.
        continues_reasoning: the last message ends in its reasoning, so that its content may be absent (M-57).

    Raises:
        Slm2Error: ``invalid_type``, ``unknown_field``, ``unknown_role``, ``content_not_string``, ``unsupported_content_part``,
            ``bad_tool_call``, ``bad_tool_name``, ``arguments_not_json_object``, or what JSON values are refused with.
    """
    if not isinstance(messages, (list, tuple)):
        raise Slm2Error("invalid_type", field=source, expected="array", found=json_type(messages))
    last = first + len(messages) - 1 if continues_reasoning else -1
    numbered = enumerate(messages, start=first)
    return [_message(message, index, f"{source}[{index}]", may_lack_content=index == last) for index, message in numbered]


def parse_tools(tools: object, source: str = "tools") -> list[Fragment]:
    """JSON text of each tool (M-21); None is no tool."""
    if tools is None:
        return []
    if not isinstance(tools, (list, tuple)):
        raise Slm2Error("invalid_type", field=source, expected="array", found=json_type(tools))
    fragments = []
    for index, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            raise Slm2Error("bad_tool_schema", tool=index, found=json_type(tool))
        path = f"{source}[{index}]"
        fragments.append(Fragment(write_json(tool, path), "application", path))
    return fragments


def _message(message: object, index: int, path: str, *, may_lack_content: bool) -> Message:
    if not isinstance(message, Mapping):
        raise Slm2Error("invalid_type", field=path, expected="object", found=json_type(message))
    role = message.get("role")
    if role not in ROLES:
        raise Slm2Error("unknown_role", index=index, found=shown(role))
    given = _given(message, _KEYS[role], path)
    calls = _calls(given.get("tool_calls"), index, f"{path}.tool_calls")
    reasoning = _optional_string(given, "reasoning_content", path)
    return Message(
        role=role,
        content=_content(given.get("content"), index, path, absent_is_empty=bool(calls) or may_lack_content),
        reasoning=None if reasoning is None else (Fragment(reasoning, "untrusted", f"{path}.reasoning_content"),),
        tool_calls=calls,
        tool_call_id=_optional_string(given, "tool_call_id", path),
    )


def _given(fields: Mapping[object, object], known: tuple[str, ...], path: str) -> dict[str, object]:
    """The fields that say something: null counts as absent, and so does an empty list under any key but ``content`` (M-13)."""
    given: dict[str, object] = {}
    for key, value in fields.items():
        if value is None or (isinstance(value, (list, tuple)) and not value and key != "content"):
            continue
        if not isinstance(key, str) or key not in known:
            raise Slm2Error("unknown_field", field=f"{path}.{shown_key(key)}", known=", ".join(known))
        given[key] = value
    return given


def _content(content: object, index: int, path: str, *, absent_is_empty: bool) -> tuple[Fragment, ...]:
    if isinstance(content, str):
        return (Fragment(content, "untrusted", f"{path}.content"),)
    if content is None and absent_is_empty:
        return ()
    if isinstance(content, (list, tuple)):
        for part in content:
            kind = part.get("type") if isinstance(part, Mapping) else None
            if isinstance(kind, str) and kind != "text":
                raise Slm2Error("unsupported_content_part", index=index, part=shown(kind))
    raise Slm2Error("content_not_string", index=index, found=json_type(content))


def _calls(calls: object, index: int, path: str) -> tuple[ToolCall, ...]:
    if calls is None:
        return ()
    if not isinstance(calls, (list, tuple)):
        raise Slm2Error("invalid_type", field=path, expected="array", found=json_type(calls))
    return tuple(_call(call, index, number, f"{path}[{number}]") for number, call in enumerate(calls))


def _call(call: object, index: int, number: int, path: str) -> ToolCall:
    """A call, flat or with its name and arguments under ``function``."""
    if not isinstance(call, Mapping):
        raise Slm2Error("bad_tool_call", index=index, call=number)
    wrapped = call.get("function") is not None
    outer = _given(call, _WRAPPED_CALL_KEYS if wrapped else _FLAT_CALL_KEYS, path)
    function: Mapping[str, object] = outer
    inner_path = path
    if wrapped:
        inner, inner_path = call["function"], f"{path}.function"
        if not isinstance(inner, Mapping):
            raise Slm2Error("bad_tool_call", index=index, call=number)
        function = _given(inner, _FUNCTION_KEYS, inner_path)
    name = function.get("name")
    if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
        raise Slm2Error("bad_tool_name", index=index, call=number, found=shown(name))
    arguments = _arguments(function.get("arguments"), index, number, f"{inner_path}.arguments")
    return ToolCall(Fragment(name, "untrusted", f"{inner_path}.name"), arguments, _optional_string(outer, "id", path))


def _arguments(arguments: object, index: int, number: int, path: str) -> Fragment:
    """Text stays as it is, so that a model's own call keeps its own ids; a value is written as the publisher writes it."""
    if isinstance(arguments, Mapping):
        return Fragment(write_json(arguments, path), "untrusted", path)
    refusal = Slm2Error("arguments_not_json_object", index=index, call=number)
    if not isinstance(arguments, str):
        raise refusal
    try:
        value = read_json(arguments)
    except Slm2Error as reason:
        raise refusal from reason
    if not isinstance(value, dict):
        raise refusal
    return Fragment(arguments, "untrusted", path)


def _optional_string(fields: Mapping[str, object], key: str, path: str) -> str | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise Slm2Error("invalid_type", field=f"{path}.{key}", expected="string", found=json_type(value))
    return value
