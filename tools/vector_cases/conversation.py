"""Messages and requests, short enough to read in a table."""

from __future__ import annotations

from typing import Any

__all__ = ["assistant", "call", "chat", "flat_call", "system", "tool", "user"]

Message = dict[str, Any]


def system(content: object) -> Message:
    """A system message."""
    return {"role": "system", "content": content}


def user(content: object = "q") -> Message:
    """A user message."""
    return {"role": "user", "content": content}


def assistant(content: object = "x", **fields: object) -> Message:
    """An assistant message; ``reasoning_content`` and ``tool_calls`` among the fields."""
    return {"role": "assistant", "content": content, **fields}


def tool(content: object = "r", **fields: object) -> Message:
    """The answer of a tool."""
    return {"role": "tool", "content": content, **fields}


def call(name: object = "f", arguments: object = None, **fields: object) -> Message:
    """A call with its name and arguments under ``function``."""
    return {"type": "function", "function": {"name": name, "arguments": {} if arguments is None else arguments}, **fields}


def flat_call(name: object = "f", arguments: object = None, **fields: object) -> Message:
    """A call without ``function``."""
    return {"name": name, "arguments": {} if arguments is None else arguments, **fields}


def chat(*messages: object, **options: object) -> dict[str, Any]:
    """A request of Template2."""
    return {"messages": list(messages), **options}
