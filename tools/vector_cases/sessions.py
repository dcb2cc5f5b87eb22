"""Checkpoints of sessions, options of single prompts, and programs of many steps (contract/template.md, M-100 to M-107)."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

from tools.vector_cases.case import Case, Group
from tools.vector_cases.conversation import assistant, system, tool, user

from slm2 import load

FLAGS = {
    "checkpoint": "a session that is saved and restored: every host writes the same bytes and reads those of the others",
    "forged": "a checkpoint with the right digest that says what no session says; it must be refused, whoever sealed it",
    "option": "thinking switched for one prompt, which may change turns before it",
    "program": "many steps drawn at random, with text that is hostile to encoders, refused steps and checkpoints between",
    "settled": "the settled form asked for without following it",
}

Json = dict[str, Any]
Trusted = Callable[[str], list[int]]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
THOUGHT = "<think>\nR\n</think>\n\nYes.<|im_end|>"
PROGRAMS, STEPS = 12, 9
TEXTS = [
    *("", "hi", "\n", " \n\n", "Hello world", "<|im_end|>", "<think>", "</think>", "<tool_response>x</tool_response>"),
    *("日本語", "🙂\u200d🙂", "e\u0301\u0327", "\ufeff", "x\r\n\r\n", "1234567890", "\u0000", "'LL don't", '{"a": 1}'),
]


def case(clause: str, comment: str, steps: list[Any], *flags: str, **options: object) -> Case:
    """A session of one vector."""
    return Case(comment, "session", {"options": options, "steps": steps}, clause, flags=flags)


def add(*messages: Json, **options: bool) -> Json:
    """A step that adds messages."""
    return {"extend": list(messages), **options}


def saved(trusted: Trusted, **options: Any) -> str:  # noqa: ANN401  (as the session takes them)
    """A checkpoint with something in each of its members."""
    session = load(engine="reference").session(**options)
    session.extend([system("s"), user("a")])
    session.reply(trusted(THOUGHT))
    session.extend([user("b")])
    return session.save().decode("utf-8")


def sealed(content: Json) -> str:
    """A checkpoint that says something, with the digest of that."""
    text = json.dumps(content, ensure_ascii=False)
    return json.dumps({"checkpoint": content, "sha256": hashlib.sha256(text.encode()).hexdigest()}, ensure_ascii=False)


def checkpoints(trusted: Trusted) -> Group:
    """Saved, restored, changed and forged."""
    thought, off = trusted(THOUGHT), trusted("Yes.<|im_end|>")
    written = saved(trusted, tools=TOOLS, preserve_thinking=True)
    content = json.loads(written)["checkpoint"]
    ids, head = content["records"]["2"][1], content["records"]["2"][0]

    def restored(comment: str, text: str, *flags: str) -> Case:
        return case("M-106", comment, [{"restore": text}, add(user("c")), "save"], "checkpoint", *flags)

    def forged(comment: str, **members: Any) -> Case:  # noqa: ANN401  (JSON)
        return restored(comment, sealed({**content, **members}), "forged")

    cases = [
        case("M-106", "an empty session", ["save"], "checkpoint"),
        case("M-106", "a prompt that waits", [add(user("a")), "save"], "checkpoint", tools=TOOLS, enable_thinking=False),
        case("M-106", "after a reply", [add(system("s"), user("a")), {"reply": thought}, "save"], "checkpoint", preserve_thinking=True),
        case("M-106", "settled", [add(user("a")), {"reply": thought}, "settle", "save"], "checkpoint"),
        case(
            "M-106",
            "fields and keys as they were given",
            [add({"content": "x", "name": "bob", "role": "user", "id": None, "tool_calls": []}), "save"],
            "checkpoint",
        ),
        restored("one that goes on", written),
        restored("the same, written in another way", json.dumps(json.loads(written), indent=1)),
        restored("a refused one changes nothing", "[]"),
        restored("no JSON", written[:-20]),
        restored("a byte changed", written.replace('"content": "a"', '"content": "A"')),
        restored("another artifact", sealed({**content, "semantic_digest": "0" * 64})),
        forged("another kind", kind="slm2 session 2"),
        forged("another profile", profile="Contract"),
        forged("an option that is none", preserve_thinking=1),
        forged("tools that are null", tools=None),
        forged("a role that is none", messages=[{"role": "x"}]),
        forged("two questions in a row", messages=[user("a"), user("b")], records={}),
        forged("a record of another message", records={"1": content["records"]["2"]}),
        forged("a record with a wrong end", records={"2": [head, ids, False, "ASSISTANT_OPEN"]}),
        forged("a record with other ids", records={"2": [head, ids[:-1], False, "ASSISTANT_OPEN"]}),
        forged("a record without ids", records={"2": [head, [], False, "ASSISTANT_OPEN"]}),
        forged("a place written in another way", records={"02": content["records"]["2"]}),
        forged("an id without a token", cached=[[0, [151_669], False, True]]),
        forged("an id that is no integer", cached=[[0, [1.0], False, True]]),
        forged("a message that is not there", cached=[[9, [1], False, True]]),
        forged("a prompt that waits without a state", state=None),
        forged("a state without a prompt that waits", cached=[]),
        forged("a state that is none", state="NOWHERE"),
        forged("one member more", more=1),
        restored("another order", sealed({name: content[name] for name in sorted(content)}), "forged"),
        case(
            "M-105",
            "asked for, and not followed",
            [add(user("a")), {"reply": thought}, "settled", "settled", add(user("b")), "settled"],
            "settled",
        ),
        case("M-100", "thinking off for one prompt", [add(user("a"), enable_thinking=False), {"reply": off}, add(user("b"))], "option"),
        case(
            "M-104",
            "a prompt again, with thinking off",
            [add(user("a")), {"reply": thought}, add(user("b"), enable_thinking=True), add(enable_thinking=False)],
            "option",
            enable_thinking=False,
        ),
    ]
    return Group("session-checkpoint", cases)


def programs(trusted: Trusted) -> Group:
    """Steps at random, the same in every run."""
    rng = random.Random(20260)

    def text() -> str:
        return "".join(rng.choices(TEXTS, k=rng.randrange(4)))

    def reply() -> list[int]:
        said = f"<think>\n{text()}\n</think>\n\n" if rng.random() < 0.6 else ""
        said += text() + "".join(rng.choices(['\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'], k=rng.choice([0, 0, 1, 2])))
        ids = trusted((said or "x") + "<|im_end|>")
        return ids[: rng.randrange(1, len(ids) + 1)] if rng.random() < 0.2 else ids

    def step() -> Any:  # noqa: ANN401  (a word or an object)
        kind = rng.random()
        if kind < 0.4:
            return {"reply": reply()}
        if kind < 0.55:
            return rng.choice(["settle", "settled"])
        messages = [tool(text()) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
        messages += [user(text())] if not messages or rng.random() < 0.2 else []
        messages = [assistant(text()), *messages] if rng.random() < 0.1 else messages
        thinking = rng.choice([None, None, None, True, False])
        return add(*messages) if thinking is None else add(*messages, enable_thinking=thinking)

    cases = []
    for number in range(PROGRAMS):
        options: Json = {"preserve_thinking": number % 2 == 1}
        if rng.random() < 0.5:
            options["tools"] = TOOLS
        if rng.random() < 0.5:
            options["enable_thinking"] = rng.choice([True, False])
        first = [system(text())] if rng.random() < 0.5 else []
        steps = [add(*first, user("q")), {"reply": reply()}, *(step() for _ in range(STEPS)), "save"]
        cases.append(case("M-103", f"program {number}", steps, "program", **options))
    return Group("session-program", cases)


def groups(trusted: Trusted) -> list[Group]:
    """All groups; ``trusted`` makes ids of text in which the texts of special tokens are those tokens."""
    return [checkpoints(trusted), programs(trusted)]
