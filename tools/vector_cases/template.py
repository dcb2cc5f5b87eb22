"""Conversations that are rendered: turns, reasoning, calls, schemas, joins (contract/template.md, M-10 to M-60)."""

from __future__ import annotations

from typing import Any

from tools.vector_cases.case import Case, Group, as_json
from tools.vector_cases.conversation import assistant, call, chat, flat_call, system, tool, user
from tools.vector_cases.template_joins import JOINS

__all__ = ["FLAGS", "GO", "PING", "groups", "rendered"]

FLAGS = {
    "joint": "neighbouring pieces that would have other ids encoded apart",
    "reasoning": "which reasoning stays in the prompt",
    "tools": "schemas, calls and answers",
    "special_text": "tags in callers' text where the template looks for tags",
}

GO = {"add_generation_prompt": True}
PING = {"type": "function", "function": {"name": "ping", "description": "d", "parameters": {"type": "object", "properties": {}}}}


def rendered(comment: str, request: dict[str, Any], clause: str, *flags: str, **told: Any) -> Case:  # noqa: ANN401  (parts of a result)
    """A row whose text and ids are the publisher's; told is what is not empty of findings and dropped reasoning."""
    return Case(comment, "render", {"request": as_json(request)}, clause, expect=told, flags=flags)


def options() -> Group:
    """Prompts that end inside a message, and reasoning that stays (M-57, M-58): not the publisher's template alone."""
    said = assistant("\n\nThe answer.\n", reasoning_content="\nR\n")
    old = [user("a"), assistant("x", reasoning_content="R"), user("b"), assistant("\ny"), user("c")]
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("M-57", "content goes on", chat(user(), assistant("The answer"), continue_final_message=True)),
        ("M-57", "by name, with reasoning before", chat(user(), said, continue_final_message="content")),
        (
            "M-57",
            "reasoning goes on",
            chat(user(), assistant("", reasoning_content="\nhalf\n"), continue_final_message="reasoning_content"),
        ),
        (
            "M-57",
            "empty reasoning goes on",
            chat(user(), {"role": "assistant", "reasoning_content": ""}, continue_final_message="reasoning_content"),
        ),
        ("M-57", "false", chat(user(), said, continue_final_message=False)),
        ("M-58", "reasoning of all turns", chat(*old, preserve_thinking=True, **GO)),
        ("M-58", "thinking off", chat(*old, preserve_thinking=True, enable_thinking=False, **GO)),
        ("M-58", "false", chat(*old, preserve_thinking=False, **GO)),
    ]
    return Group("options", [rendered(comment, request, clause, "reasoning") for clause, comment, request in rows])


def turns() -> Group:
    """HEAD, USER, ASSISTANT, GENERATION without tools."""
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("M-41", "user alone", chat(user("hi"))),
        ("M-56", "with generation prompt", chat(user("hi"), **GO)),
        ("M-56", "thinking off", chat(user("hi"), enable_thinking=False, **GO)),
        ("M-56", "thinking on is as absent", chat(user("hi"), enable_thinking=True, **GO)),
        ("M-56", "thinking null is as absent", chat(user("hi"), enable_thinking=None, **GO)),
        ("M-56", "thinking off without generation prompt does nothing", chat(user("hi"), enable_thinking=False)),
        ("M-56", "no generation prompt by name", chat(user("hi"), add_generation_prompt=False)),
        ("M-45", "system and user", chat(system("sys"), user("hi"), **GO)),
        ("M-45", "empty system message", chat(system(""), user("hi"))),
        ("M-46", "empty user message", chat(user(""))),
        ("M-47", "question and answer", chat(user("a"), assistant("x"))),
        ("M-47", "empty answer", chat(user("a"), assistant(""))),
        ("M-47", "two turns", chat(user("a"), assistant("x"), user("b"), **GO)),
        ("M-40", "three turns", chat(system("s"), user("a"), assistant("x"), user("b"), assistant("y"), user("c"), **GO)),
        ("M-46", "newlines and blanks are never stripped from a user", chat(user("\n\n hi \n\n"), **GO)),
        ("M-45", "newlines and blanks are never stripped from a system message", chat(system("\n s \n"), user("q"))),
        ("M-47", "newlines of an old answer stay", chat(user("a"), assistant("\n\nx\n\n"), user("b"))),
        ("M-53", "leading newlines of the last answer go, the others stay", chat(user("a"), assistant("\n\n x\n\n"))),
        ("M-53", "a carriage return is no newline", chat(user("a"), assistant("\r\nx"))),
        ("M-14", "id, name and type are ignored", chat({**user("hi"), "id": "m1", "name": "bob", "type": "message"})),
        ("M-13", "null and empty lists count as absent, under any key", chat({**user("hi"), "tool_calls": [], "x": None, "y": []})),
        ("M-10", "null in the request", chat(user("hi"), tools=None, enable_thinking=None, add_generation_prompt=None)),
        ("M-46", "scripts and emoji", chat(system("\u4f60\u662f"), user("\u0645\u0631\u062d \U0001f600 \u05e9\u05dc\u05d5"))),
        ("M-46", "NUL, joiners, byte-order mark", chat(user("a\x00b\u200d\ufeff"))),
        ("M-46", "HTML is not escaped", chat(user("<b>&amp;\"'</b>"))),
        ("M-46", "what looks like a template is text", chat(user("{{ messages }} {% raw %} {# x #}"))),
        ("M-46", "CR LF", chat(user("a\r\nb\r\n"), **GO)),
    ]
    cases = [rendered(comment, request, clause) for clause, comment, request in rows]
    begins = chat(user("a"), assistant("x"), user("<tool_response>r"))
    longer = chat(user("a"), assistant("x"), user("<tool_response>\nr\n</tool_response>\n"))
    opened, closed = ("messages[2].content", 0, "<tool_response>"), ("messages[2].content", 18, "</tool_response>")
    cases += [
        rendered("a user's text that only begins like an answer of a tool", begins, "M-42", "special_text", findings=[opened]),
        rendered("a newline after it: the shape is exact", longer, "M-42", "special_text", findings=[opened, closed]),
        rendered("an empty list in the request counts as absent, under unknown keys too", chat(user("hi"), content=[], x=[]), "M-10"),
    ]
    return Group("turns", cases)


def reasoning() -> Group:
    """M-50 to M-53."""
    block = "<think>\nT\n</think>\n\n"
    asked = assistant("", tool_calls=[call()])

    def last(content: str = "x", *after: object, **fields: object) -> dict[str, Any]:
        return chat(user(), assistant(content, **fields), *after)

    def loop(*after: object, thought: str = "R", times: int = 1) -> dict[str, Any]:
        step = [assistant("", reasoning_content=thought, tool_calls=[call()]), tool()]
        return chat(user(), *step * times, *after)

    rows: list[tuple[str, str, dict[str, Any], list[int]]] = [
        ("M-52", "reasoning of the last message stays", last(reasoning_content="R"), []),
        ("M-52", "the last message always has a block", last(), []),
        ("M-52", "old reasoning goes", last("x", user("b"), reasoning_content="R"), [1]),
        ("M-52", "old reasoning of newlines alone is nothing to tell", last("x", user("b"), reasoning_content="\n\n"), []),
        ("M-52", "old reasoning of a blank is told", last("x", user("b"), reasoning_content=" "), [1]),
        ("M-53", "newlines around reasoning go, blanks stay", last(reasoning_content="\n\n R \n \n"), []),
        ("M-53", "carriage returns around reasoning stay", last(reasoning_content="\r\nR\r\n"), []),
        ("M-51", "empty reasoning_content", last(reasoning_content=""), []),
        ("M-51", "reasoning_content null: the content is split", last(block + "x", reasoning_content=None), []),
        ("M-50", "reasoning in the content of the last message", last(block + "x"), []),
        ("M-50", "reasoning in the content of an old message goes", last(block + "x", user("b")), [1]),
        ("M-50", "block and no answer", last(block), []),
        ("M-50", "empty block", last("<think>\n\n</think>\n\nx"), []),
        ("M-50", "empty block of an old message is nothing to tell", last("<think>\n\n</think>\n\nx", user("b")), []),
        ("M-50", "newlines inside the block", last("<think>\n\n\n T\nU \n\n</think>\n\n\nx\n"), []),
        ("M-53", "content before calls in a block is stripped", last("\nC\n", reasoning_content="R", tool_calls=[call()]), []),
        ("M-52", "reasoning before an answer of a tool stays", loop(), []),
        ("M-52", "no reasoning before an answer of a tool: no block", chat(user(), asked, tool(), **GO), []),
        ("M-52", "all of a loop stays until the next question", loop(assistant("y", reasoning_content="Q")), []),
        ("M-52", "and goes with it", loop(assistant("y", reasoning_content="Q"), user("b")), [1, 3]),
        ("M-52", "two loops after one question", loop(times=2), []),
        ("M-52", "blank reasoning in a loop keeps its block", loop(thought=" "), []),
        ("M-52", "a newline as reasoning in a loop keeps its block", loop(thought="\n"), []),
        ("M-52", "empty reasoning in a loop has none", loop(thought=""), []),
    ]
    cases = [rendered(comment, request, clause, "reasoning", dropped_reasoning=told) for clause, comment, request, told in rows]
    tags = [("messages[1].content", 0, "<think>"), ("messages[1].content", 10, "</think>")]
    literal, half = last(block + "x", reasoning_content=""), last("<think>\nhalf")
    cases += [
        rendered("empty reasoning_content: tags in the content are text", literal, "M-51", "reasoning", "special_text", findings=tags),
        rendered("an opening tag alone is text", half, "M-51", "reasoning", "special_text", findings=tags[:1]),
    ]
    return Group("reasoning", cases)


def calls() -> Group:
    """M-54 and M-55."""
    two = [call("f", {"a": 1}, id="c1"), call("g", {"b": "x"}, id="c2")]
    asked, twice = assistant("", tool_calls=[call()]), assistant("", tool_calls=two)
    by_id = [tool("r2", tool_call_id="c2"), tool("r1", tool_call_id="c1")]

    def last(*calls: object, content: object = "") -> dict[str, Any]:
        return chat(user(), assistant(content, tool_calls=list(calls)))

    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("M-54", "a call under function", last(call("f", {"a": 1}))),
        ("M-54", "a flat call", last(flat_call("f", {"a": 1}))),
        ("M-17", "function is null: the flat fields count", last({"function": None, **flat_call("g")})),
        ("M-54", "content before a call", last(call(), content="pre")),
        ("M-54", "content of one newline puts one before the call", last(call(), content="\n")),
        ("M-54", "the same in an old message", chat(*last(call(), content="\n")["messages"], tool(), assistant("y"), user("b"))),
        ("M-15", "content null", last(call(), content=None)),
        ("M-15", "content missing", chat(user(), {"role": "assistant", "tool_calls": [call()]})),
        ("M-54", "two calls", last(*two)),
        ("M-54", "content and two calls", last(*two, content="Calling.")),
        ("M-55", "one answer", chat(user(), asked, tool("res"), **GO)),
        ("M-55", "two answers share a turn", chat(user(), twice, tool("r1"), tool("r2"), **GO)),
        ("M-26", "answers in the other order, by id", chat(user(), twice, *by_id)),
        ("M-26", "an id that no call has, and a call without one", chat(user(), asked, tool("r", tool_call_id="z"))),
        ("M-26", "a call stays unanswered", chat(user(), twice, tool("r1"), assistant("y"))),
        ("M-26", "no answer at all, the next question", chat(user(), twice, user("b"), **GO)),
        ("M-55", "empty answer", chat(user(), asked, tool(""), **GO)),
        ("M-55", "newlines of an answer stay", chat(user(), asked, tool("\n\nr\n\n"), **GO)),
        ("M-14", "name of a tool message is ignored", chat(user(), asked, tool("r", name="f", tool_call_id="c"))),
        ("M-55", "answer, then a call again, then an answer", chat(user(), asked, tool(), asked, tool(), **GO)),
        ("M-13", "an empty list of calls", last(content="x")),
        ("M-18", "every kind of character in a name, 64 of them", last(call("aZ09_.-" + "x" * 57))),
        ("M-17", "index and type of a call are ignored", last(call(index=0), flat_call(index=1, type="function"))),
        ("M-56", "thinking off after an answer", chat(user(), asked, tool(), enable_thinking=False, **GO)),
    ]
    return Group("calls", [rendered(comment, request, clause, "tools") for clause, comment, request in rows])


def schemas() -> Group:
    """M-43 and M-44."""
    properties = {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}}
    parameters = {"type": "object", "properties": properties, "required": ["city"]}
    weather = {"name": "get_weather", "description": "Weather <b>now</b>, \u5929\u6c14 \u00e9", "parameters": parameters}
    rich = {"type": "function", "function": weather}
    answered = [system("s"), user(), assistant("", tool_calls=[call("get_weather", {"city": "K\u00f6ln"})]), tool("{}")]
    rows: list[tuple[str, dict[str, Any]]] = [
        ("no system message", chat(user("hi"), tools=[PING], **GO)),
        ("system message", chat(system("sys"), user("hi"), tools=[PING])),
        ("empty system message: three newlines in a row", chat(system(""), user("hi"), tools=[PING])),
        ("an empty list is none", chat(system("sys"), user("hi"), tools=[])),
        ("two tools", chat(user("hi"), tools=[PING, rich])),
        ("keys in their order", chat(user("hi"), tools=[{"b": 1, "a": {"10": 1, "2": 2}}])),
        ("no wrapper", chat(user("hi"), tools=[{"name": "ping"}])),
        ("an empty object", chat(user("hi"), tools=[{}])),
        ("nested arrays, null, booleans", chat(user("hi"), tools=[{"a": [[], [1, None, True, False], {}]}])),
        ("schemas, calls, answers, thinking off", chat(*answered, tools=[rich], enable_thinking=False, **GO)),
    ]
    return Group("schemas", [rendered(comment, request, "M-43" if "system" in comment else "M-44", "tools") for comment, request in rows])


def joints() -> Group:
    """M-60: the table of joins, shared with the unit test that shows that they matter."""
    cases = [rendered(join.name, join.request, "M-60", "tools", *(("joint",) if join.differs else ())) for join in JOINS]
    return Group("joins", cases)


def groups() -> list[Group]:
    """All groups."""
    return [turns(), options(), reasoning(), calls(), schemas(), joints()]
