"""Many turns: a cache that is kept, saved and restored at every turn, draws over what it holds, a budget that gets smaller (tier 3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from tools.vector_cases.case import Case, Group, as_json
from tools.vector_cases.conversation import assistant, system, tool, user
from tools.vector_cases.pipeline import HOSTILE

import slm2
from slm2.artifact import PROFILES

__all__ = ["FLAGS", "groups"]

FLAGS = {
    "checkpoint": "the session goes on from what it saved; on every host the same text, so that one host's checkpoint is another's",
    "refusal": "checkpoints that must not be restored",
    "preserve": "preserve_thinking: the cache only ever grows",
    "lost": "what the publisher's template takes out of the cache at the next turn",
    "budget": "one request with less and less room: what is given up, in which order, and the refusal in the end",
    "turn": "draws of one turn after all before it, every id of which is in the history of the penalties",
}

Trusted = Callable[[str], list[int]]
Profile = Literal["contract", "publisher"]
Json = dict[str, Any]

CALL = '<tool_call>\n{"name": "look_up", "arguments": {"q":  "é\\u0301", "n": 1.0}}\n</tool_call>'
TOOLS = [
    {"type": "function", "function": {"name": "look_up", "description": "Ünïcode", "parameters": {"type": "object", "properties": {}}}}
]
THOUGHTS = list(HOSTILE.values())


@cache
def contract(profile: Profile) -> slm2.Contract:
    """The reference: what a session saves is the next step's input."""
    return slm2.load(engine="reference", profile=profile)


def reply_text(number: int, *, thinking: bool = True) -> str:
    """Of one turn: with reasoning, without, with a call, cut off."""
    thought = THOUGHTS[(number + 5) % len(THOUGHTS)].replace("<", "‹")
    answer = THOUGHTS[(number + 9) % len(THOUGHTS)].replace("<", "‹")
    forms = [
        f"<think>\n{thought}\n</think>\n\n{answer}<|im_end|>",
        f"{answer}<|im_end|>",
        f"<think>\n{thought}\n</think>\n\n{CALL}<|im_end|>",
        f"<think>\n{thought}\n</think>\n\n{answer}",
    ]
    return forms[number % len(forms)] if thinking else forms[1]


def rolled(trusted: Trusted, profile: Profile, turns: int, options: Json) -> list[Any]:
    """Steps: messages, a reply, a checkpoint, and the session of that checkpoint, turn after turn."""
    session = contract(profile).session(**options)
    thinking = options.get("enable_thinking") is not False
    steps: list[Any] = []
    for number in range(turns):
        called = number and "tool_call" in reply_text(number - 1, thinking=thinking)
        said = [tool(THOUGHTS[number % len(THOUGHTS)])] if called else [user(THOUGHTS[number % len(THOUGHTS)])]
        messages = [system("Be brief."), *said] if number == 0 else said
        ids = trusted(reply_text(number, thinking=thinking))
        session.extend(messages)
        session.reply(ids)
        steps += [{"extend": messages}, {"reply": ids}]
        if number in (0, turns // 2, turns - 1):
            saved = session.save().decode("utf-8")
            steps += ["save", {"restore": saved}]
        elif number % 3 == 1:
            steps.append("save")
    return steps


def rolling(trusted: Trusted) -> Group:
    """Sessions of several turns."""
    cases = []
    forms: list[tuple[str, str, Json, int, tuple[str, ...]]] = [
        ("kept whole", "M-102", {"preserve_thinking": True, "tools": TOOLS}, 8, ("checkpoint", "preserve")),
        ("as the publisher's template has it", "M-104", {"tools": TOOLS}, 8, ("checkpoint", "lost")),
        ("without thinking", "M-104", {"enable_thinking": False}, 3, ("checkpoint", "lost")),
    ]
    for comment, clause, options, turns, flags in forms:
        for profile in PROFILES:
            inputs = {"options": options, "steps": rolled(trusted, profile, turns, options)}
            cases.append(Case(f"{turns} turns, {comment}", "session", inputs, clause, profile=profile, flags=flags))
    return Group("turns-session", cases)


def refused(trusted: Trusted) -> Group:
    """Checkpoints that were damaged, are none, or belong to something else."""
    session = contract("contract").session()
    session.extend([user("a")])
    session.reply(trusted("b<|im_end|>"))
    saved = session.save().decode("utf-8")
    other = saved.replace(contract("contract").digest, "0" * 64)
    rows = [
        ("a word of the conversation is another", saved.replace('"content": "b"', '"content": "c"')),
        ("of another artifact, its digest as it was", other),
        ("no checkpoint", '{"checkpoint": {}, "sha256": ""}'),
        ("cut short", saved[:-10]),
        ("no object", "[]"),
    ]
    steps = [({"extend": [user("a")]}, {"reply": trusted("b<|im_end|>")}, {"restore": text}, {"extend": [user("d")]}) for _, text in rows]
    flags = ("checkpoint", "refusal")
    cases = [
        Case(
            f"{comment}; the session is as before",
            "session",
            {"options": {}, "steps": list(given)},
            "M-106",
            profile="contract",
            flags=flags,
        )
        for (comment, _), given in zip(rows, steps, strict=True)
    ]
    return Group("turns-refused", cases)


def drawn(trusted: Trusted) -> Group:
    """Draws after each turn, over all ids that a cache would hold."""
    cases = []
    for number in range(6):
        session = contract("contract").session(preserve_thinking=True)
        for turn in range(number + 1):
            said = tool("t") if turn and "tool_call" in reply_text(turn - 1) else user(THOUGHTS[turn])
            session.extend([said])
            if turn < number:
                session.reply(trusted(reply_text(turn)))
        publisher = number % 2 == 1
        config = {
            "profile": "publisher" if publisher else "contract",
            "temperature": 0.7,
            "top_k": 20,
            "top_p": 0.8,
            "min_p": 0.0,
            "repetition_penalty": 1.3,
            "rng": "mt19937-torch" if publisher else "chacha8",
            "seed": 500 + number,
            "max_tokens": 64,
            "stop_ids": [151645, 151643],
        }
        first = {"seed": 600 + number, "step": 0, "scale": 1.0, "head": 11.0, "bfloat16": True}
        inputs = {"config": config, "width": 151_936, "history": session.cached_ids, "recipe": first, "cycle": 10, "steps": 24}
        cases.append(
            Case(f"turn {number + 1}", "draw", inputs, "S-13", profile=config["profile"], flags=("turn",))  # type: ignore[arg-type]
        )
    return Group("turns-draws", cases)


def shrinking() -> Group:
    """One request, turn after turn with less room, through every pass to the refusal."""
    history: list[Json] = []
    for number in range(6):
        history += [user(THOUGHTS[number]), assistant(THOUGHTS[number + 6].replace("<", "‹"))]
    chunks = [{"id": f"c{number}", "source": "s", "text": THOUGHTS[number + 4] * 3, "score": number / 8} for number in range(5)]
    facts = [{"name": f"fact{number}", "value": "v" * 20, "priority": number} for number in range(3)]
    floors = {"keep_turns": 2, "keep_chunks": 2, "active_turns": 1, "chunk_limit": 64, "tool_limit": 64, "sweep": "allow", "headroom": 0}
    request = {
        "policy": "Be brief.",
        "user_turn": THOUGHTS[0],
        "local_state": facts,
        "retrieved": chunks,
        "history": history,
        "degradation": floors,
    }
    cases = []
    for context in (4096, 1400, 1200, 1000, 800, 650, 550, 450, 400, 350, 300, 250, 200, 150, 100, 40):
        given = {**request, "budget": {"context": context, "reserve": 16}}
        inputs = {"request": as_json(given)}
        cases.append(Case(f"{context} tokens", "assemble", inputs, "P-70", flags=("budget",)))
    return Group("turns-budget", cases)


def groups(trusted: Trusted) -> list[Group]:
    """All groups; ``trusted`` makes ids of text in which the texts of special tokens are those tokens."""
    return [rolling(trusted), refused(trusted), drawn(trusted), shrinking()]
