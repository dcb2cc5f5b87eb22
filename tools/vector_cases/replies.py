"""Replies read id by id, and deltas of sessions (contract/template.md, M-90 to M-105)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.vector_cases.case import Case, Group
from tools.vector_cases.conversation import assistant, call, system, tool, user

__all__ = ["FLAGS", "groups"]

FLAGS = {
    "malformed": "replies that are not what the template would write: told as typed events, with all their ids",
    "cut": "the reply ends without the end of its turn",
    "preserve": "preserve_thinking: not the publisher's ids",
    "lost": "the cache loses ids, and it is said which turn lost them and why",
}

OPEN, THINKING, ANSWERING = "ASSISTANT_OPEN", "ASSISTANT_THINKING", "ASSISTANT_ANSWERING"
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1.0}}\n</tool_call>'
Row = tuple[str, str, str, str, tuple[str, ...]]

ROWS: list[Row] = [
    ("M-92", "reasoning, content, end", OPEN, "<think>\nBecause.\n</think>\n\nYes.<|im_end|>", ()),
    ("M-92", "no reasoning", OPEN, "Yes.\n<|im_end|>", ()),
    ("M-92", "thinking off: newlines at the left are the template's", ANSWERING, "\n\nYes.\n\n<|im_end|>", ()),
    ("M-92", "scalar values over several ids", OPEN, "<think>\n🙂 é\n</think>\n\n한👍🏽<|im_end|>", ()),
    ("M-93", "a call", OPEN, f"<think>\nR\n</think>\n\n{CALL}<|im_end|>", ()),
    ("M-93", "content, then two calls", ANSWERING, f"Calling.\n{CALL}\n{CALL}<|im_end|>", ()),
    ("M-93", "a call spaced in another way", ANSWERING, '<tool_call>{"name":"f","arguments":{"a":1e5}}</tool_call><|im_end|>', ()),
    ("M-95", "no end of the reasoning", OPEN, "<think>\nBecause<|im_end|>", ("malformed",)),
    ("M-95", "no end at all", THINKING, "half", ("malformed", "cut")),
    ("M-94", "a call that is not closed", ANSWERING, '<tool_call>\n{"name": "f"<|im_end|>', ("malformed",)),
    ("M-94", "a call in a call", ANSWERING, f"<tool_call>\n{CALL}<|im_end|>", ("malformed",)),
    ("M-94", "no JSON", ANSWERING, "<tool_call>\nf(1)\n</tool_call><|im_end|>", ("malformed",)),
    ("M-94", "another key", ANSWERING, '<tool_call>\n{"name": "f", "arguments": {}, "x": 1}\n</tool_call><|im_end|>', ("malformed",)),
    ("M-94", "no name", ANSWERING, '<tool_call>\n{"name": "a b", "arguments": {}}\n</tool_call><|im_end|>', ("malformed",)),
    ("M-94", "arguments as text", ANSWERING, '<tool_call>\n{"name": "f", "arguments": "{}"}\n</tool_call><|im_end|>', ("malformed",)),
    ("M-94", "a key twice", ANSWERING, '<tool_call>\n{"name": "f", "name": "g", "arguments": {}}\n</tool_call><|im_end|>', ("malformed",)),
    ("M-94", "text after the call", ANSWERING, f"{CALL}\nDone.<|im_end|>", ("malformed",)),
    ("M-95", "tags inside tags", OPEN, "<think>\na<think>b<tool_call>c\n</think>\n\nd<|im_end|>", ("malformed",)),
    ("M-95", "a closing tag alone", ANSWERING, "a</think>b</tool_call><|im_end|>", ("malformed",)),
    ("M-95", "ids with no business in a reply", ANSWERING, "a<|im_start|>user\nb<|endoftext|><|fim_prefix|><|im_end|>", ("malformed",)),
    ("M-95", "tokens after the end", ANSWERING, "a<|im_end|>b<|im_start|>", ("malformed",)),
]


def reply_group(trusted: Callable[[str], list[int]]) -> Group:
    """One call for each id, then the end."""
    cases = []
    for clause, comment, state, text, flags in ROWS:
        ids = trusted(text)
        cases.append(Case(comment, "reply", {"state": state, "calls": [[token] for token in ids] + ["finish"]}, clause, flags=flags))
    emoji = trusted("🙂")
    broken: list[list[Any]] = [[emoji[0]], [trusted("a")[0], trusted("b")[0]], [trusted("c")[0]]]
    cases += [
        Case("a scalar value that cannot be completed", "reply", {"state": OPEN, "calls": broken}, "M-96", flags=("malformed",)),
        Case("an end inside a scalar value", "reply", {"state": OPEN, "calls": [[emoji[0]], "finish"]}, "M-96", flags=("malformed", "cut")),
        Case("all ids at once", "reply", {"state": OPEN, "calls": [trusted(ROWS[4][3]), "finish"]}, "M-91"),
        Case("an id without a token", "reply", {"state": OPEN, "calls": [[9707, 151669], [9707], "finish"]}, "M-90"),
        Case(
            "no reply begins in INIT",
            "reply",
            {"state": "INIT", "calls": []},
            "M-90",
            error=(
                "invalid_value",
                {
                    "field": "state",
                    "expected": "ASSISTANT_OPEN, ASSISTANT_THINKING, ASSISTANT_ANSWERING, ASSISTANT_RESPONDING, "
                    "ASSISTANT_CALLING, ASSISTANT_TURN",
                    "found": "INIT",
                },
            ),
        ),
    ]
    return Group("reply", cases)


def session_group(trusted: Callable[[str], list[int]]) -> Group:
    """Steps of a session: messages that are added, replies by their ids, settled forms."""
    thought = trusted("<think>\nR\n</think>\n\nYes.<|im_end|>")
    off = trusted("Yes.<|im_end|>")
    asks = trusted(f"<think>\nR\n</think>\n\n{CALL}<|im_end|>")
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    rewritten = trusted('<think>\nR\n</think>\n\n<tool_call>\n{"name": "f", "arguments":  {"a":1}}\n</tool_call><|im_end|>')

    def case(clause: str, comment: str, steps: list[Any], *flags: str, **options: object) -> Case:
        return Case(comment, "session", {"options": options, "steps": steps}, clause, flags=flags)

    def add(*messages: dict[str, Any]) -> dict[str, Any]:
        return {"extend": list(messages)}

    def reply(ids: list[int]) -> dict[str, Any]:
        return {"reply": ids}

    cases = [
        case("M-104", "thinking on, a user turn", [add(user("a")), reply(thought), add(user("b"))], "lost"),
        case("M-104", "the empty block vanishes", [add(user("a")), reply(off), add(user("b"))], "lost", enable_thinking=False),
        case("M-100", "the model skipped thinking", [add(system("s"), user("a")), reply(off), add(user("b"))]),
        case("M-100", "a tool step keeps all", [add(user("a")), reply(asks), add(tool("t"))], tools=tools),
        case("M-104", "arguments are written anew", [add(user("a")), reply(rewritten), add(tool("t"))], "lost", tools=tools),
        case(
            "M-104",
            "a user turn after a tool loop",
            [add(user("a")), reply(asks), add(tool("t")), reply(thought), add(user("b"))],
            "lost",
            tools=tools,
        ),
        case(
            "M-102",
            "the same, preserved",
            [add(user("a")), reply(asks), add(tool("t")), reply(thought), add(user("b"))],
            "preserve",
            tools=tools,
            preserve_thinking=True,
        ),
        case("M-102", "arguments keep their ids", [add(user("a")), reply(rewritten), add(tool("t"))], "preserve", preserve_thinking=True),
        case(
            "M-102",
            "a reply that was cut",
            [add(user("a")), reply(trusted("<think>\nR")), add(user("b"))],
            "preserve",
            "cut",
            preserve_thinking=True,
        ),
        case("M-104", "a prompt without a reply", [add(user("a")), add({**assistant("x")}, user("b"))], "lost"),
        case("M-105", "settled", [add(user("a")), reply(thought), "settle", add(user("b"))], "lost"),
        case("M-103", "a refused step changes nothing", [add(user("a")), add(user("b")), reply(thought), add(user("c"))], "lost"),
        case("M-101", "a structural id in a reply", [add(user("a")), reply(trusted("a<|im_start|>b<|im_end|>")), reply(off)]),
        case("M-101", "no prompt", [reply(off), add(user("a")), reply([]), reply(off), reply(off)]),
        case("M-100", "messages with calls", [add(user("a"), assistant("", tool_calls=[call()]), tool("t"))]),
    ]
    return Group("session", cases)


def groups(trusted: Callable[[str], list[int]]) -> list[Group]:
    """All groups; ``trusted`` makes ids of text in which the texts of special tokens are those tokens."""
    return [reply_group(trusted), session_group(trusted)]
