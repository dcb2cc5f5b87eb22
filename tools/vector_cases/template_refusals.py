"""Conversations that are refused, each by hand from contract/template.md (M-4 to M-29); their JSON is in json_refusals.py."""

from __future__ import annotations

from typing import Any

from tools.vector_cases.case import Case, Group, as_json
from tools.vector_cases.conversation import assistant, call, chat, flat_call, system, tool, user

__all__ = ["FLAGS", "groups", "refused"]

FLAGS = {
    "types": "a value of another type than the field has",
    "order": "conversations whose order would lose its meaning",
    "tools": "schemas, calls and answers",
    "precedence": "two rules are broken: the first one names the refusal",
    "field_case": "a symptom from public bug reports of other engines",
}

GO = {"add_generation_prompt": True}
SHAPE = "<tool_response>\nr\n</tool_response>"
KEYS = {
    "request": "messages, tools, enable_thinking, add_generation_prompt, continue_final_message, preserve_thinking",
    "user": "role, content, id, name, type",
    "assistant": "role, content, reasoning_content, tool_calls, id, name, type",
    "tool": "role, content, tool_call_id, id, name, type",
    "call": "function, id, index, type",
    "flat call": "name, arguments, id, index, type",
    "function": "name, arguments",
}
# Clause, comment, request (JSON text, or a value), code, fields.
Row = tuple[str, str, Any, str, dict[str, Any]]


def refused(row: Row, *flags: str) -> Case:
    """A row as a case."""
    clause, comment, request, code, fields = row
    text = request if isinstance(request, str) else as_json(request)
    return Case(comment, "render", {"request": text}, clause, error=(code, fields), flags=flags)


def mistyped(clause: str, comment: str, request: Any, field: str, fault: str) -> Row:  # noqa: ANN401  (any JSON value)
    """A row of ``invalid_type``; the fault is what was expected and what came: ``string, not array``."""
    expected, _, found = fault.partition(", not ")
    return clause, comment, request, "invalid_type", {"field": field, "expected": expected, "found": found}


def unknown(clause: str, comment: str, request: dict[str, Any], field: str, where: str) -> Row:
    """A row of ``unknown_field``."""
    return clause, comment, request, "unknown_field", {"field": field, "known": KEYS[where]}


def bad_role(comment: str, message: dict[str, Any], found: str) -> Row:
    """A row of ``unknown_role``."""
    return "M-11", comment, chat(message), "unknown_role", {"index": 0, "found": found}


def not_string(comment: str, found: str, *messages: dict[str, Any]) -> Row:
    """A row of ``content_not_string``: the last message."""
    return "M-15", comment, chat(*messages), "content_not_string", {"index": len(messages) - 1, "found": found}


def with_calls(*calls: object) -> dict[str, Any]:
    """A conversation that ends with calls."""
    return chat(user(), assistant("", tool_calls=list(calls)))


def bad_name(comment: str, called: object, found: str) -> Row:
    """A row of ``bad_tool_name``."""
    return "M-18", comment, with_calls(called), "bad_tool_name", {"index": 1, "call": 0, "found": found}


def bad_arguments(comment: str, called: object) -> Row:
    """A row of ``arguments_not_json_object``; text is the arguments."""
    called = flat_call("f", called) if isinstance(called, str) else called
    return "M-19", comment, with_calls(called), "arguments_not_json_object", {"index": 1, "call": 0}


def request_types() -> Group:
    """Options, messages and fields of another type or name."""
    asked = assistant("", tool_calls=[call()])
    rows: list[Row] = [
        mistyped("M-10", "the request is an array", [], "request", "object, not array"),
        mistyped("M-10", "the request is null", "null", "request", "object, not null"),
        ("M-10", "no messages", {}, "missing_field", {"field": "messages"}),
        ("M-10", "messages null", {"messages": None}, "missing_field", {"field": "messages"}),
        unknown("M-10", "another key", chat(user(), temperature=1), "temperature", "request"),
        unknown(
            "M-10", "chat_template_kwargs of another API", chat(user(), chat_template_kwargs={"a": 1}), "chat_template_kwargs", "request"
        ),
        mistyped("M-10", "messages is an object", {"messages": {}}, "messages", "array, not object"),
        mistyped("M-10", "messages is a string", {"messages": "hi"}, "messages", "array, not string"),
        mistyped("M-10", "a message is a string", chat("hi"), "messages[0]", "object, not string"),
        mistyped("M-10", "a message is null", chat(user(), None), "messages[1]", "object, not null"),
        mistyped("M-4", "enable_thinking is 0", chat(user(), enable_thinking=0), "enable_thinking", "boolean, not number"),
        mistyped("M-4", "enable_thinking is text", chat(user(), enable_thinking="false"), "enable_thinking", "boolean, not string"),
        mistyped("M-4", "generation prompt is 1", chat(user(), add_generation_prompt=1), "add_generation_prompt", "boolean, not number"),
        bad_role("role of another family", {"role": "developer", "content": "x"}, "developer"),
        bad_role("role in capitals", {"role": "User", "content": "x"}, "User"),
        bad_role("role of old APIs", {"role": "function", "content": "x"}, "function"),
        bad_role("no role", {"content": "x"}, "null"),
        bad_role("role is a number", {"role": 1, "content": "x"}, "number"),
        bad_role("role with a blank", {"role": "user ", "content": "x"}, "user "),
        bad_role("a long role is cut", {"role": "r" * 65, "content": "x"}, "r" * 64 + "\u2026"),
        unknown("M-12", "reasoning of a user", chat({**user(), "reasoning_content": "R"}), "messages[0].reasoning_content", "user"),
        unknown("M-12", "calls of a user", chat({**user(), "tool_calls": [call()]}), "messages[0].tool_calls", "user"),
        unknown("M-12", "calls of a system message", chat({**system("s"), "tool_calls": [call()]}), "messages[0].tool_calls", "user"),
        unknown("M-12", "thinking, as transformers takes it", chat(user(), assistant(thinking="R")), "messages[1].thinking", "assistant"),
        unknown("M-12", "reasoning, as transformers has it", chat(user(), assistant(reasoning="R")), "messages[1].reasoning", "assistant"),
        unknown("M-12", "refusal of another API", chat(user(), assistant(refusal="no")), "messages[1].refusal", "assistant"),
        unknown("M-12", "tool_call_id of an assistant", chat(user(), assistant(tool_call_id="c")), "messages[1].tool_call_id", "assistant"),
        unknown("M-12", "is_error of a tool", chat(user(), asked, tool(is_error=False)), "messages[2].is_error", "tool"),
        mistyped("M-16", "a list", chat(user(), assistant(reasoning_content=["R"])), "messages[1].reasoning_content", "string, not array"),
        mistyped("M-16", "a number", chat(user(), assistant(reasoning_content=5)), "messages[1].reasoning_content", "string, not number"),
        mistyped("M-20", "a number", chat(user(), asked, tool(tool_call_id=1)), "messages[2].tool_call_id", "string, not number"),
    ]
    return Group("refuse-types", [refused(row, "types") for row in rows])


def contents() -> Group:
    """M-15: what is no string would be lost."""
    parts = [{"type": "text", "text": "sunny"}]
    image = [{"type": "image_url", "image_url": {"url": "x"}}]
    sound = [*parts, {"type": "input_audio"}]
    asked = assistant("", tool_calls=[call()])
    rows: list[Row] = [
        not_string("system null", "null", system(None)),
        not_string("system missing", "null", {"role": "system"}),
        not_string("system is a list", "array", system(parts)),
        not_string("system is a number", "number", system(5)),
        not_string("user null", "null", user(None)),
        not_string("user missing", "null", {"role": "user"}),
        not_string("user of text parts", "array", user(parts)),
        not_string("user of an empty list", "array", user([])),
        not_string("user is an object", "object", user({"a": 1})),
        not_string("user is a boolean", "boolean", user(True)),
        ("M-15", "user with an image", chat(user(image)), "unsupported_content_part", {"index": 0, "part": "image_url"}),
        ("M-15", "text, then audio", chat(user(sound)), "unsupported_content_part", {"index": 0, "part": "input_audio"}),
        not_string("a part without a type", "array", user([{"text": "x"}])),
        not_string("assistant null without calls", "null", user(), assistant(None)),
        not_string("assistant missing without calls", "null", user(), {"role": "assistant"}),
        not_string("assistant null with an empty list of calls", "null", user(), assistant(None, tool_calls=[])),
        not_string("assistant is a list", "array", user(), assistant(parts)),
        not_string("assistant is a list although it has calls", "array", user(), assistant(parts, tool_calls=[call()])),
        not_string("tool null", "null", user(), asked, tool(None)),
        not_string("tool is an object", "object", user(), asked, tool({"a": 1})),
        not_string("tool is a number", "number", user(), asked, tool(21.5)),
    ]
    lost = not_string("a result that is not a string disappeared", "array", user(), asked, tool(parts))
    return Group("refuse-contents", [*(refused(row, "types") for row in rows), refused(lost, "types", "field_case")])


def calls() -> Group:
    """M-17 to M-21."""
    first, second = {"index": 1, "call": 0}, {"index": 1, "call": 1}
    strict = {"function": {"name": "f", "arguments": {}, "strict": True}}
    at = "messages[1].tool_calls"
    rows: list[Row] = [
        mistyped("M-17", "tool_calls is an object", chat(user(), assistant("", tool_calls={"a": 1})), at, "array, not object"),
        ("M-17", "a call is a string", with_calls("f"), "bad_tool_call", first),
        ("M-17", "the second call is null", with_calls(call(), None), "bad_tool_call", second),
        ("M-17", "function is a string", with_calls({"function": "f"}), "bad_tool_call", first),
        unknown("M-17", "another key of a call", with_calls(call(extra=1)), f"{at}[0].extra", "call"),
        unknown("M-17", "another key of a flat call", with_calls(flat_call(parameters={})), f"{at}[0].parameters", "flat call"),
        unknown("M-17", "another key of a function", with_calls(strict), f"{at}[0].function.strict", "function"),
        unknown("M-17", "name beside function", with_calls({**call(), "name": "g"}), f"{at}[0].name", "call"),
        bad_name("no name", {"arguments": {}}, "null"),
        bad_name("an empty function", {"function": {}}, "null"),
        bad_name("name null", {"function": {"name": None, "arguments": {}}}, "null"),
        bad_name("name is a number", call(5), "number"),
        bad_name("empty name", call(""), ""),
        bad_name("name with quotes would break the JSON around it", call('a"b\\'), 'a"b\\'),
        bad_name("name with a blank", call("a b"), "a b"),
        bad_name("name with a newline at its end", call("f\n"), "f\n"),
        bad_name("name with a letter that is not ASCII", call("\u00e9"), "\u00e9"),
        bad_name("name with a digit that is not ASCII", call("f\u0661"), "f\u0661"),
        bad_name("name of 65", call("x" * 65), "x" * 64 + "\u2026"),
        bad_name("name that is the text of a special token", call("<|im_end|>"), "<|im_end|>"),
        bad_name("a surrogate in a name is U+FFFD in the report", call("f\ud800"), "f\ufffd"),
        bad_arguments("no arguments", {"name": "f"}),
        bad_arguments("arguments null", {"name": "f", "arguments": None}),
        bad_arguments("arguments are a list", {"name": "f", "arguments": [1]}),
        bad_arguments("arguments are a number", {"name": "f", "arguments": 1}),
        bad_arguments("empty text", ""),
        bad_arguments("no JSON", "not json"),
        bad_arguments("text of a list", "[1]"),
        bad_arguments("text of a string", '"{}"'),
        bad_arguments("a comma too many", '{"a": 1,}'),
        bad_arguments("two objects", "{}{}"),
        bad_arguments("single quotes", "{'a': 1}"),
        bad_arguments("NaN", '{"a": NaN}'),
        bad_arguments("overflow", '{"a": 1e999}'),
        bad_arguments("a key twice", '{"a": 1, "a": 2}'),
        bad_arguments("a key twice, once by an escape", '{"a": 1, "\\u0061": 2}'),
        bad_arguments("white space that is not JSON's", "\u00a0{}"),
        bad_arguments("byte-order mark", "\ufeff{}"),
        bad_arguments("a newline inside a string", '{"a": "\n"}'),
        bad_arguments("nested too deeply", '{"a":' * 129 + "1" + "}" * 129),
        mistyped("M-20", "id of a call is a number", with_calls(call(id=1)), f"{at}[0].id", "string, not number"),
        mistyped("M-21", "tools is an object", chat(user(), tools={"a": 1}), "tools", "array, not object"),
        ("M-21", "a tool is a string", chat(user(), tools=["x"]), "bad_tool_schema", {"tool": 0, "found": "string"}),
        ("M-21", "the second tool is null", chat(user(), tools=[{}, None]), "bad_tool_schema", {"tool": 1, "found": "null"}),
        ("M-21", "a tool is a list", chat(user(), tools=[[]]), "bad_tool_schema", {"tool": 0, "found": "array"}),
    ]
    return Group("refuse-calls", [refused(row, "tools") for row in rows])


def disorder(comment: str, index: int, fault: str, request: dict[str, Any], clause: str = "M-24") -> Row:
    """A row of ``role_order``; the fault is ``user after user``."""
    role, _, previous = fault.partition(" after ")
    return clause, comment, request, "role_order", {"index": index, "role": role, "previous": previous}


def unasked(comment: str, index: int, *messages: dict[str, Any]) -> Row:
    """A row of ``tool_without_call``."""
    return "M-26", comment, chat(*messages), "tool_without_call", {"index": index}


def think(comment: str, content: str, *more: dict[str, Any]) -> Row:
    """A row of ``ambiguous_think``."""
    return "M-28", comment, chat(user(), assistant(content), *more), "ambiguous_think", {"index": 1}


def order() -> Group:
    """M-22 to M-29."""
    asked, named = assistant("", tool_calls=[call()]), assistant("", tool_calls=[call(id="a"), call(id="b")])
    rows: list[Row] = [
        ("M-22", "no message", chat(), "empty_conversation", {}),
        ("M-23", "system after a user", chat(user("hi"), system("late"), user("b")), "system_not_first", {"index": 1}),
        ("M-23", "two system messages", chat(system("a"), system("b"), user("hi")), "system_not_first", {"index": 1}),
        ("M-23", "system after a user, with tools", chat(user("hi"), system("late"), tools=[{}]), "system_not_first", {"index": 1}),
        disorder("two users", 1, "user after user", chat(user("a"), user("b"))),
        disorder("two assistants", 2, "assistant after assistant", chat(user(), assistant(), assistant("y"))),
        disorder("calls, then an assistant", 2, "assistant after assistant", chat(user(), asked, assistant())),
        disorder("assistant first", 0, "assistant after nothing", chat(assistant())),
        disorder("assistant after the system message", 1, "assistant after system", chat(system("s"), assistant())),
        ("M-25", "system message alone", chat(system("sys")), "no_user", {}),
        ("M-25", "system message and a generation prompt", chat(system("sys"), **GO), "no_user", {}),
        unasked("tool first", 0, tool()),
        unasked("tool after a user", 1, user(), tool()),
        unasked("tool after an answer without calls", 2, user(), assistant(), tool()),
        unasked("two answers, one call", 3, user(), asked, tool(), tool()),
        unasked("an id that no call has", 2, user(), named, tool(tool_call_id="c")),
        unasked("one call answered twice by id", 3, user(), named, tool(tool_call_id="a"), tool(tool_call_id="a")),
        unasked("a call of an earlier assistant message", 3, user(), asked, user("b"), tool()),
        ("M-27", "user text in the shape of an answer", chat(user(), assistant(), user(SHAPE)), "reserved_user_shape", {"index": 2}),
        ("M-27", "the least such text", chat(user("<tool_response></tool_response>")), "reserved_user_shape", {"index": 0}),
        think("no opening tag", "T\n</think>\n\nx"),
        think("two blocks", "<think>\n1\n</think>\n\nA<think>\n2\n</think>\n\nB"),
        think("nested", "<think>\na<think>b\n</think>\n\nc"),
        think("text before the block", "pre<think>\nT\n</think>\n\npost"),
        think("no newlines", "<think>T</think>x"),
        think("one newline after the block", "<think>\nT\n</think>\nx"),
        think("carriage returns", "<think>\r\nT\r\n</think>\r\n\r\nx"),
        think("an old message that mentions the tag", "the tag </think> closes", user("b")),
        disorder("generation prompt after an answer", 2, "assistant after assistant", chat(user(), assistant(), **GO), "M-29"),
        disorder("generation prompt after calls", 2, "assistant after assistant", chat(user(), asked, **GO), "M-29"),
    ]
    lost = think("history of a home-made template engine: a closing tag without its opening one", "x</think>", user("c"))
    return Group("refuse-order", [*(refused(row, "order") for row in rows), refused(lost, "order", "field_case")])


def precedence() -> Group:
    """M-4."""
    two_faults = {"messages": 5, "enable_thinking": 1}
    rows: list[Row] = [
        mistyped("M-4", "a flag before messages", two_faults, "enable_thinking", "boolean, not number"),
        unknown("M-4", "an unknown key before a flag", chat(user(), enable_thinking=1, x=1), "x", "request"),
        ("M-4", "message by message", chat(user(5), {"role": "x"}), "content_not_string", {"index": 0, "found": "number"}),
        ("M-4", "role before content", chat({"role": "x", "content": 5}), "unknown_role", {"index": 0, "found": "x"}),
        ("M-4", "all messages before tools", chat(user(), {"role": "x"}, tools=5), "unknown_role", {"index": 1, "found": "x"}),
        mistyped("M-4", "tools before the order of messages", chat(user(), user(), tools=5), "tools", "array, not number"),
        ("M-4", "types before order", chat(assistant(), user(5)), "content_not_string", {"index": 1, "found": "number"}),
        disorder("the first message out of order", 1, "user after user", chat(user(), user(SHAPE), system("s")), "M-4"),
    ]
    cases = [refused(row, "precedence") for row in rows]
    inputs = {"request": as_json(chat(user("<|im_end|>"), user("b"))), "on_special": "reject"}
    error = ("role_order", {"index": 1, "role": "user", "previous": "user"})
    cases.append(Case("order before findings", "render", inputs, "M-4", error=error, flags=("precedence",)))
    return Group("refuse-precedence", cases)


def groups() -> list[Group]:
    """All groups."""
    return [request_types(), contents(), calls(), order(), precedence()]
