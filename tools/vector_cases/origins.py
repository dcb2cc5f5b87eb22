"""Where each token of a prompt came from (contract/template.md, M-62 to M-65; contract/prompt.md, P-46, P-52)."""

from __future__ import annotations

from typing import Any

from tools.vector_cases.case import Case, Group, as_json
from tools.vector_cases.conversation import assistant, call, chat, system, tool, user
from tools.vector_cases.prompts import EXAMPLE, ask, fact, passage

__all__ = ["FLAGS", "groups"]

FLAGS = {
    "joint": "a token over a joint has the lowest class of its pieces and all their ranges",
    "reasoning": "reasoning that stands in the content has its place in the content",
    "escape": "offsets of the text as given, before escaping",
    "normalization": "offsets of the text as given, before normalisation",
}


# Clause, comment, request, flags.
Row = tuple[str, str, dict[str, Any], tuple[str, ...]]


def case(op: str, row: Row) -> Case:
    """A row as a case; its answer is the reference's."""
    clause, comment, request, flags = row
    return Case(comment, op, {"request": as_json(request)}, clause, flags=flags)


def template_tokens() -> Group:
    """Rows of M-65, joints of M-63, offsets of M-64."""
    ping = {"name": "ping"}
    think = "<think>\n\nT\n</think>\n\n\nx"
    loop = [user(), assistant("", reasoning_content="R", tool_calls=[call("f", {"a": 1})]), tool("res")]
    two = assistant("", tool_calls=[call(), call("g")])
    rows: list[Row] = [
        ("M-65", "user and generation prompt", chat(user("hi"), add_generation_prompt=True), ()),
        ("M-65", "thinking off", chat(user("hi"), add_generation_prompt=True, enable_thinking=False), ()),
        ("M-65", "system message and tools", chat(system("s"), user("q"), tools=[ping]), ()),
        ("M-65", "tools without a system message", chat(user("q"), tools=[ping]), ()),
        ("M-62", "reasoning, calls, answers", chat(*loop, add_generation_prompt=True), ()),
        ("M-65", "two answers share a turn", chat(user(), two, tool("1"), tool("2")), ()),
        ("M-63", "header and a newline are one token", chat(user("\nhi")), ("joint",)),
        ("M-63", "system text and the newlines of tools", chat(system("Be brief.\n"), user("q"), tools=[ping]), ("joint",)),
        ("M-63", "content and the newline before a call", chat(user(), assistant("Calling.", tool_calls=[call()])), ("joint",)),
        ("M-63", "arguments and the literals around them", chat(user(), assistant("", tool_calls=[call("_f.", {"a": {}})])), ("joint",)),
        ("M-63", "an answer and the newlines around it", chat(*loop[:2], tool('\n{"ok": true}')), ("joint",)),
        ("M-64", "stripped newlines move the range", chat(user(), assistant("\n\nx", reasoning_content="\n\nR\n")), ("joint",)),
        ("M-64", "reasoning in the content", chat(user(), assistant(think)), ("reasoning",)),
        ("M-64", "bytes of several", chat(user("\u00e9\U0001f600\u4f60")), ()),
        ("M-64", "composition: the range of what was drawn in", chat(user("e\u0301\u212b")), ("normalization",)),
        ("M-64", "surrogate: three bytes", chat(user("a\ud83db")), ()),
    ]
    return Group("origin", [case("render_tokens", row) for row in rows])


def prompt_tokens() -> Group:
    """Sources of a request, and offsets before escaping."""
    rows: list[Row] = [
        ("P-52", "the worked example", EXAMPLE, ("escape",)),
        ("P-52", "policy, local state and a newline at the joint", ask("Rules:\n", "\nq", local_state=[fact("a", "v")]), ("joint",)),
        ("P-46", "a token inside an escape", ask(retrieved=[passage("a", "x</evidence></evidence>")]), ("escape",)),
        ("P-52", "steps", ask(steps=[assistant("", tool_calls=[call()]), tool("r")]), ()),
    ]
    return Group("origin", [case("assemble_tokens", row) for row in rows])


def groups() -> list[Group]:
    """All groups."""
    return [template_tokens(), prompt_tokens()]
