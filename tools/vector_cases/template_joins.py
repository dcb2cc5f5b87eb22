"""Joins of the template's literals with what callers write: the places where encoding apart would give other ids.

Each row is a request that makes the join. ``parts`` are neighbouring pieces in the prompt; ``differs`` says whether they have other
ids encoded one by one than encoded together, so that a row with False is a control. tests/unit/test_template_joins.py proves it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["JOINS", "Join"]


class Join(NamedTuple):
    """One row."""

    name: str
    parts: tuple[str, ...]
    differs: bool
    request: dict[str, object]


_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_END = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
_NAME = '\n{"name": "'
_ARGUMENTS = '", "arguments": '

Message = dict[str, object]


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _assistant(content: str, **fields: object) -> Message:
    return {"role": "assistant", "content": content, **fields}


def _turns(*messages: Message, **options: object) -> dict[str, object]:
    return {"messages": list(messages), **options}


def _system(content: str, **options: object) -> dict[str, object]:
    return _turns({"role": "system", "content": content}, _user("hi"), **options)


def _history(content: str) -> dict[str, object]:
    return _turns(_user("q"), _assistant(content), _user("r"), add_generation_prompt=True)


def _thought(reasoning: str, content: str = "x") -> dict[str, object]:
    return _turns(_user("q"), _assistant(content, reasoning_content=reasoning))


def _called(name: str, arguments: object, content: str = "") -> dict[str, object]:
    return _turns(_user("q"), _assistant(content, tool_calls=[{"name": name, "arguments": arguments}]))


def _answered(content: str) -> dict[str, object]:
    call = _assistant("", tool_calls=[{"name": "f", "arguments": {}}])
    return _turns(_user("q"), call, {"role": "tool", "content": content}, add_generation_prompt=True)


_PING: dict[str, object] = {"tools": [{"name": "ping"}]}

JOINS: tuple[Join, ...] = (
    Join("user header, newline", ("user\n", "\nhi"), True, _turns(_user("\nhi"))),
    Join("user header, carriage return", ("user\n", "\r\nhi"), False, _turns(_user("\r\nhi"))),
    Join("user header, blank line", ("user\n", "  \n x"), True, _turns(_user("  \n x"))),
    Join("user header, letters", ("user\n", "hi"), False, _turns(_user("hi"))),
    Join("user header, blank", ("user\n", " "), False, _turns(_user(" "))),
    Join("user header, combining mark", ("user\n", "\u0301x"), False, _turns(_user("\u0301x"))),
    Join("system header, newline", ("system\n", "\n# Policy"), True, _system("\n# Policy")),
    Join("system full stop, tools", ("You are terse.", "\n\n", _HEAD), True, _system("You are terse.", **_PING)),
    Join("system newline, tools", ("Be brief\n", "\n\n", _HEAD), True, _system("Be brief\n", **_PING)),
    Join("system blank, tools", ("Be brief ", "\n\n", _HEAD), True, _system("Be brief ", **_PING)),
    Join("system letters, tools", ("Be brief", "\n\n", _HEAD), False, _system("Be brief", **_PING)),
    Join("empty system, tools", ("system\n", "\n\n", _HEAD), True, _system("", **_PING)),
    Join("tools tag, newline", (_HEAD, "\n", '{"type": "function"}'), True, _turns(_user("hi"), tools=[{"type": "function"}])),
    Join(
        "tool, next tool",
        ('{"a": {"b": 1}}', "\n", '{"c": 2}'),
        True,
        _turns(_user("hi"), tools=[{"a": {"b": 1}}, {"c": 2}]),
    ),
    Join("last tool, end of tools", ('{"a": {"b": 1}}', _END), True, _turns(_user("hi"), tools=[{"a": {"b": 1}}])),
    Join("think, blank line", ("\n", "  \nR", "\n"), True, _thought("  \nR")),
    Join("think, empty reasoning", ("\n", "\n"), True, _thought("")),
    Join("reasoning full stop, newline", ("\n", "Done.", "\n"), True, _thought("Done.")),
    Join("reasoning blank, newline", ("\n", "Done ", "\n"), True, _thought("Done ")),
    Join("after think, carriage return", ("\n\n", "\r\nA"), False, _thought("R", "\r\nA")),
    Join("after think, blank line", ("\n\n", " \n A"), False, _thought("R", " \n A")),
    Join("after think, content of one newline before a call", ("\n\n", "\n"), True, _called("f", {}, "\n")),
    Join("content full stop, call", ("\n\n", "Calling.", "\n"), True, _called("f", {}, "Calling.")),
    Join("content blanks, call", ("\n\n", "Calling \t", "\n"), True, _called("f", {}, "Calling \t")),
    Join("name begins with underscore", (_NAME, "_f", _ARGUMENTS), True, _called("_f", {})),
    Join("name of letters", (_NAME, "f"), False, _called("f", {})),
    Join("name ends with full stop", ("f.", _ARGUMENTS), True, _called("f.", {})),
    Join("arguments as object", (_ARGUMENTS, '{"a": 1}', "}\n"), True, _called("f", {"a": 1})),
    Join("arguments empty object", (_ARGUMENTS, "{}", "}\n"), True, _called("f", {})),
    Join("arguments as text with a blank", (_ARGUMENTS, ' {"a": 1}', "}\n"), True, _called("f", ' {"a": 1}')),
    Join("arguments as text without blanks", (_ARGUMENTS, '{"a":1}', "}\n"), True, _called("f", '{"a":1}')),
    Join("answer, newlines", ("\n", "\n\nresult", "\n"), True, _answered("\n\nresult")),
    Join("answer, full stop", ("\n", "ok.", "\n"), True, _answered("ok.")),
    Join("answer, JSON", ("\n", '{"ok": true}', "\n"), True, _answered('{"ok": true}')),
    Join("answer, empty", ("\n", "\n"), True, _answered("")),
    Join("assistant header, newline in history", ("assistant\n", "\nHi"), True, _history("\nHi")),
    Join("assistant header, letters in history", ("assistant\n", "Hi"), False, _history("Hi")),
)
