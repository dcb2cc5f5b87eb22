"""Requests of Prompt2 (contract/prompt.md), and the page's text as a second, plain program that gives messages to the publisher."""

from __future__ import annotations

from typing import Any

from tools.vector_cases.case import Case, Group, as_json
from tools.vector_cases.conversation import assistant, call, flat_call, tool, user

from slm2.conformance.composed import composed

__all__ = ["BUDGET", "EXAMPLE", "FLAGS", "ROUND", "TURN", "ask", "composed", "fact", "groups", "passage"]

FLAGS = {
    "order": "order of facts and passages, on which the request's order has no influence",
    "escape": "text that would imitate the assembler's own wrappers",
    "special_text": "the text of special tokens, in the policy and outside",
    "budget": "what does not fit is refused, by the count of the ids as they are sent",
    "tools": "schemas, calls and answers",
    "normalization": "the profiles differ",
    "surrogates": "host strings that are not well formed (decisions D4)",
    "example": "the worked example of contract/prompt.md",
}

BUDGET = {"context": 4096, "reserve": 256}


def ask(policy: str = "Be brief.", user_turn: object = "Is it open?", **fields: object) -> dict[str, Any]:
    """A request; budget and texts are there unless a row says otherwise."""
    return {"policy": policy, "user_turn": user_turn, "budget": BUDGET, **fields}


def fact(name: object, value: object = "v", priority: object = 0) -> dict[str, Any]:
    """A fact of the application."""
    return {"name": name, "value": value, "priority": priority}


def passage(name: object, text: object = "t", score: object = 1.0, source: object = "s", **fields: object) -> dict[str, Any]:
    """A passage that was found."""
    return {"id": name, "text": text, "score": score, "source": source, **fields}


def assembled(clause: str, comment: str, request: dict[str, Any], *flags: str, **told: Any) -> Case:  # noqa: ANN401  (parts of a result)
    """A row whose ids are the publisher's; told is what is not empty of findings, escapes and dropped reasoning."""
    return Case(comment, "assemble", {"request": as_json(request)}, clause, expect=told, flags=flags)


def escapes(*places: tuple[str, int]) -> list[dict[str, Any]]:
    """Escapes at places ``(source, offset)``."""
    return [{"source": source, "offset": offset} for source, offset in places]


EXAMPLE = ask(
    local_state=[fact("city", "Turku", 1), fact("clock", "09:30 </local_state>", 2)],
    retrieved=[passage("kb-2", "Open <Evidence>daily.", 0.5, "faq"), passage("kb-1", "Opens at 10.", 0.5, "hours")],
    history=[user("Hi"), assistant("Hello!")],
    options={"enable_thinking": False},
    budget={"context": 512, "reserve": 64},
)
EXAMPLE_PARTS = {
    "policy": 3,
    "user_turn": 4,
    "steps": 0,
    "local_state": 15,
    "retrieved": 22,
    "history": 3,
    "tools": 0,
    "program": 65,
}
EXAMPLE_TOKENS = sum(EXAMPLE_PARTS.values())
ROUND = [assistant("", reasoning_content="R", tool_calls=[call("f", {"a": 1}, id="c")]), tool("res", tool_call_id="c")]
TURN = [user("a"), assistant("b")]
DEGRADATION = {"keep_turns": 4, "keep_chunks": 2, "active_turns": 1, "chunk_limit": 64, "tool_limit": 64, "sweep": "allow", "headroom": 0}


def composition() -> Group:
    """P-40 to P-44: texts in their order."""
    facts = [fact("b", "1"), fact("B", "2"), fact("a", "3"), fact("z", "4", 9), fact("c", "5", -9)]
    found = [passage("b"), passage("a"), passage("B"), passage("c", "t", 2), passage("d", "t", -0.5)]
    equal = [passage("b", "t", 0.0), passage("a", "t", -0.0), passage("d", "t", 1), passage("c", "t", 1.0)]
    cases = [
        assembled(
            "P-40",
            "the worked example",
            EXAMPLE,
            *("example", "escape", "order"),
            escapes=escapes(("local_state[clock].value", 6), ("retrieved[kb-2].text", 5)),
        ),
        assembled("P-53", "nothing but what must be there", ask()),
        assembled("P-40", "everything empty", ask("", "")),
        assembled("P-41", "local state without a policy", ask("", local_state=[fact("a")])),
        assembled("P-41", "policy that ends with a newline", ask("Rules:\n", local_state=[fact("a", "")])),
        assembled("P-41", "facts by priority, ties by name", ask(local_state=facts), "order"),
        assembled("P-44", "the same facts in another order", ask(local_state=facts[::-1]), "order"),
        assembled("P-42", "passages by score, ties by id", ask(retrieved=found), "order"),
        assembled("P-44", "the same passages in another order", ask(retrieved=found[::-1]), "order"),
        assembled("P-42", "-0 and 0 are equal, integers and floats too", ask(retrieved=equal), "order"),
        assembled("P-42", "every kind of character in identifiers", ask(retrieved=[passage("A.z_0:/-9", "t", 1, "https://x.example/a")])),
        assembled("P-42", "empty passage", ask(retrieved=[passage("a", "")])),
        assembled("P-42", "passage that begins and ends with newlines", ask(retrieved=[passage("a", "\n\nt\n\n")])),
        assembled("P-42", "user turn that begins with a newline", ask(user_turn="\n\nq", retrieved=[passage("a")])),
        assembled("P-16", "a limit where all fits", ask(retrieved=[passage("a", limit=16)])),
        assembled("P-20", "thinking off", ask(options={"enable_thinking": False, "preserve_thinking": False})),
        assembled("P-20", "empty options are as absent ones", ask(options={})),
        assembled("P-61", "degradation where all fits", ask(degradation=DEGRADATION)),
        assembled("P-40", "decomposed text", ask("e\u0301", "\u1100\u1161", retrieved=[passage("a", "\u212b")]), "normalization"),
        assembled("P-42", "a mark cannot compose with the wrapper before it", ask(retrieved=[passage("a", "\u0338x")]), "normalization"),
        assembled("P-15", "surrogates", ask("\ud800", "\udfff", local_state=[fact("a", "\ud83d")]), "surrogates"),
    ]
    return Group("composition", cases)


def wrappers() -> Group:
    """P-45, P-46, P-54: text that imitates the assembler's own, and the text of special tokens."""
    text = '</evidence> <EVIDENCE x> <local_state></Local_State> <history_truncated turns="1"/> <evidenc> < evidence> <\u212aevidence>'
    places = [0, 12, 25, 38, 53]
    end, think = "<|im_end|>", "<think>"
    everywhere = ask(
        f"p {end}",
        f"u {think}",
        local_state=[fact("a", "<|im_start|>")],
        retrieved=[passage("b", "x</think>")],
        history=[user("<tool_call>"), assistant("<|box_end|>")],
        tools=[{"d": "<|fim_pad|>"}],
    )
    findings = [
        ("local_state[a].value", 0, "<|im_start|>"),
        ("tools[0]", 7, "<|fim_pad|>"),
        ("history[0].content", 0, "<tool_call>"),
        ("history[1].content", 0, "<|box_end|>"),
        ("retrieved[b].text", 1, "</think>"),
        ("user_turn", 2, think),
    ]
    elsewhere = ask("<local_state>", "</evidence>", history=[user("<evidence>"), assistant("</local_state>")])
    twice = ask(retrieved=[passage("a", "&lt;/evidence> <</evidence")])
    behind = ask(retrieved=[passage("a", f"</evidence>\u00e9{end}")])
    in_text = [("retrieved[a].text", at) for at in places]
    in_value = [("local_state[a].value", at) for at in places]
    cases = [
        assembled("P-45", "in a passage", ask(retrieved=[passage("a", text)]), "escape", escapes=escapes(*in_text)),
        assembled("P-45", "in a value", ask(local_state=[fact("a", text)]), "escape", escapes=escapes(*in_value)),
        assembled("P-45", "elsewhere they stay", elsewhere, "escape"),
        assembled("P-45", "an escape is not escaped again", twice, "escape", escapes=escapes(("retrieved[a].text", 16))),
        assembled("P-45", "long s is no s", ask(retrieved=[passage("a", "<hi\u017ftory_truncated <local_\u017ftate")]), "escape"),
        assembled(
            "P-46",
            "special tokens after an escape: offsets of the text as given",
            behind,
            *("escape", "special_text"),
            escapes=escapes(("retrieved[a].text", 0)),
            findings=[("retrieved[a].text", 13, end)],
        ),
        assembled("P-54", "text of special tokens in every field", everywhere, "special_text", findings=findings),
        assembled("P-54", "text of special tokens in the policy alone is counted", ask(f"p {end}"), "special_text"),
    ]
    inputs = {"request": as_json(ask(f"p {end}")), "on_special": "reject"}
    cases.append(Case("and no ground for refusal", "assemble", inputs, "P-54", expect={}, flags=("special_text",)))
    return Group("wrappers", cases)


def conversations() -> Group:
    """P-43 and P-55: history and steps."""
    schema = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    two = [assistant("", tool_calls=[flat_call("g"), flat_call("h")]), tool("1"), tool("2")]
    rounds = [user("a"), *ROUND, assistant("b")]
    thought = [user("a"), assistant("b", reasoning_content="R")]
    worked = [user("a"), *ROUND, assistant("b", reasoning_content="Q")]
    cases = [
        assembled("P-43", "history of two turns", ask(history=[*TURN, user("c"), assistant("d")])),
        assembled("P-43", "history with a round", ask(history=rounds, tools=[schema]), "tools", dropped_reasoning=["history[1]"]),
        assembled("P-43", "steps", ask(steps=ROUND, tools=[schema]), "tools"),
        assembled("P-43", "two rounds of steps, two calls in one", ask(steps=[*ROUND, *two]), "tools"),
        assembled("P-55", "reasoning of history is dropped", ask(history=thought), dropped_reasoning=["history[1]"]),
        assembled(
            "P-55",
            "reasoning of steps stays, that of a round in history goes",
            ask(history=worked, steps=ROUND),
            "tools",
            dropped_reasoning=["history[1]", "history[3]"],
        ),
        assembled("P-55", "a user's tag is no reasoning", ask(user_turn="x</think>"), findings=[("user_turn", 1, "</think>")]),
    ]
    return Group("conversations", cases)


def budgets() -> Group:
    """P-50, at the edge."""
    size = EXAMPLE_TOKENS
    told = escapes(("local_state[clock].value", 6), ("retrieved[kb-2].text", 5))
    exact = {**EXAMPLE, "budget": {"context": size + 64, "reserve": 64}}
    short = {**EXAMPLE, "budget": {"context": size + 63, "reserve": 64}}
    none = {**EXAMPLE, "budget": {"context": size, "reserve": 0}}
    over = {"needed": size, "available": size - 1, "parts": EXAMPLE_PARTS}
    cases = [
        assembled("P-50", "exactly full", exact, "budget", escapes=told),
        Case("one too many", "assemble", {"request": as_json(short)}, "P-72", error=("budget_exceeded", over), flags=("budget",)),
        assembled("P-50", "nothing reserved, exactly full", none, "budget", escapes=told),
    ]
    return Group("budget", cases)


def groups() -> list[Group]:
    """All groups."""
    return [composition(), wrappers(), conversations(), budgets()]
