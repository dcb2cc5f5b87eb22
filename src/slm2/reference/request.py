"""A request to Template2, read in the order in which the contract checks it (contract/template.md, M-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slm2.artifact.program import Program
from slm2.errors import Slm2Error
from slm2.reference.events import Continues, Options
from slm2.reference.json_text import json_type, shown, shown_key
from slm2.reference.messages import Message, parse, parse_tools
from slm2.reference.pieces import Fragment
from slm2.reference.template import Composition, compose

_KEYS = ("messages", "tools", "enable_thinking", "add_generation_prompt", "continue_final_message", "preserve_thinking")


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be rendered; its order is not checked yet."""

    messages: list[Message]
    tools: list[Fragment]
    options: Options


def read(request: object) -> Request:
    """A request in parts.

    Raises:
        Slm2Error: ``invalid_type``, ``unknown_field``, ``missing_field``, ``invalid_value``,
            ``cannot_continue``, or what M-10 to M-21 name.
    """
    if not isinstance(request, Mapping):
        raise Slm2Error("invalid_type", field="request", expected="object", found=json_type(request))
    given: dict[str, object] = {}
    for key, value in request.items():
        if value is None or (isinstance(value, (list, tuple)) and not value and key != "messages"):
            continue
        if key not in _KEYS:
            raise Slm2Error("unknown_field", field=shown_key(key), known=", ".join(_KEYS))
        given[key] = value
    if "messages" not in given:
        raise Slm2Error("missing_field", field="messages")
    options = _options(given)
    messages = parse(given["messages"], continues_reasoning=options.continues == "reasoning_content")
    tools = parse_tools(given.get("tools"))
    check_continues(messages, options)
    return Request(messages, tools, options)


def composed(program: Program, request: object) -> Composition:
    """What a program makes of a request."""
    parts = read(request)
    return compose(program, parts.messages, parts.tools, parts.options)


def _options(given: Mapping[str, object]) -> Options:
    flags = {name: _flag(given, name) for name in ("enable_thinking", "add_generation_prompt", "preserve_thinking")}
    continues = _continues(given.get("continue_final_message", False))
    if continues is not None and flags["add_generation_prompt"]:
        expected = "false where add_generation_prompt is true"
        raise Slm2Error("invalid_value", field="continue_final_message", expected=expected, found="both")
    return Options(
        enable_thinking=flags["enable_thinking"],
        add_generation_prompt=flags["add_generation_prompt"] is True,
        continues=continues,
        preserve_thinking=flags["preserve_thinking"] is True,
    )


def _flag(given: Mapping[str, object], field: str) -> bool | None:
    value = given.get(field)
    if value is not None and not isinstance(value, bool):
        raise Slm2Error("invalid_type", field=field, expected="boolean", found=json_type(value))
    return value


def _continues(value: object) -> Continues | None:
    if isinstance(value, bool):
        return "content" if value else None
    if not isinstance(value, str):
        raise Slm2Error("invalid_type", field="continue_final_message", expected="boolean or string", found=json_type(value))
    if value not in ("content", "reasoning_content"):
        raise Slm2Error("invalid_value", field="continue_final_message", expected="content or reasoning_content", found=shown(value))
    return "content" if value == "content" else "reasoning_content"


def check_continues(messages: Sequence[Message], options: Options) -> None:
    """M-57: what is continued is there, and nothing comes after it.

    Raises:
        Slm2Error: ``cannot_continue``.
    """
    if options.continues is None or not messages:
        return
    last = messages[-1]
    in_reasoning = options.continues == "reasoning_content"
    reasons = {
        "only an assistant message can be continued": last.role != "assistant",
        "its tool calls would be left out": bool(last.tool_calls),
        "it has no reasoning_content": in_reasoning and last.reasoning is None,
        "its content would be left out": in_reasoning and any(fragment.text for fragment in last.content),
    }
    for reason, holds in reasons.items():
        if holds:
            raise Slm2Error("cannot_continue", index=len(messages) - 1, reason=reason)
