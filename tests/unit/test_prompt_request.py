"""Which requests are refused, with which code and fields (contract/prompt.md, P-10 to P-26)."""

from __future__ import annotations

import math

import pytest

from slm2.errors import Slm2Error
from slm2.reference.prompt_request import parse_request

BUDGET = {"context": 100, "reserve": 10}
DEGRADATION = {
    "keep_turns": 3,
    "keep_chunks": 2,
    "active_turns": 1,
    "chunk_limit": 64,
    "tool_limit": 64,
    "sweep": "refuse",
    "headroom": 0,
}
USER = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a"}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": {}}]}
TWO_CALLS = {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": {}}] * 2}
RESPONSE = {"role": "tool", "content": "r"}
SHAPE = "<tool_response>x</tool_response>"


def request(**fields: object) -> dict[str, object]:
    return {"policy": "p", "user_turn": "u", "budget": BUDGET, **fields}


def chunk(**fields: object) -> dict[str, object]:
    return {"id": "a", "text": "t", "score": 1, "source": "s", **fields}


def fact(**fields: object) -> dict[str, object]:
    return {"name": "n", "value": "v", "priority": 0, **fields}


def without(given: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in given.items() if key != name}


def refusal(given: object) -> dict[str, object]:
    with pytest.raises(Slm2Error) as refused:
        parse_request(given)
    return {"code": refused.value.code, **refused.value.fields}


def test_a_whole_request_is_accepted():
    parsed = parse_request(
        request(
            steps=[CALL, RESPONSE, TWO_CALLS, RESPONSE, RESPONSE],
            local_state=[fact(), fact(name="m", value="", priority=-(2**53) + 1)],
            retrieved=[chunk(limit=16), chunk(id="b" * 128, score=-0.5)],
            history=[USER, CALL, RESPONSE, ANSWER, USER, ANSWER],
            tools=[{"name": "f"}],
            options={"enable_thinking": False, "preserve_thinking": False},
            degradation=DEGRADATION,
        )
    )
    assert len(parsed.steps) == 5
    assert len(parsed.history) == 6
    assert parsed.options.enable_thinking is False
    assert parsed.retrieved[0].limit == 16
    assert parsed.degradation is not None
    assert parsed.degradation.keep_turns == 3


def test_null_counts_as_absent():
    names = ("steps", "local_state", "retrieved", "history", "tools", "options", "degradation")
    assert parse_request(request(**dict.fromkeys(names))) == parse_request(request())
    assert refusal(request(policy=None)) == {"code": "missing_field", "field": "policy"}


@pytest.mark.parametrize("name", ["policy", "user_turn", "budget"])
def test_missing(name):
    assert refusal(without(request(), name)) == {"code": "missing_field", "field": name}


@pytest.mark.parametrize("name", ["id", "text", "score", "source"])
def test_missing_in_a_chunk(name):
    assert refusal(request(retrieved=[chunk(id="first"), without(chunk(), name)])) == {
        "code": "missing_field",
        "field": f"retrieved[1].{name}",
    }


@pytest.mark.parametrize("name", ["name", "value", "priority"])
def test_missing_in_a_fact(name):
    assert refusal(request(local_state=[without(fact(), name)])) == {"code": "missing_field", "field": f"local_state[0].{name}"}


@pytest.mark.parametrize("name", [*BUDGET])
def test_missing_in_the_budget(name):
    assert refusal(request(budget=without(BUDGET, name))) == {"code": "missing_field", "field": f"budget.{name}"}


@pytest.mark.parametrize("name", [*DEGRADATION])
def test_missing_in_degradation(name):
    assert refusal(request(degradation=without(DEGRADATION, name))) == {"code": "missing_field", "field": f"degradation.{name}"}


@pytest.mark.parametrize(
    ("given", "field", "known"),
    [
        (
            request(polcy="x"),
            "polcy",
            "policy, user_turn, steps, local_state, retrieved, history, tools, options, budget, degradation",
        ),
        (request(local_state=[fact(weight=1)]), "local_state[0].weight", "name, value, priority"),
        (request(retrieved=[chunk(rank=1)]), "retrieved[0].rank", "id, text, score, source, limit"),
        (request(options={"thinking": True}), "options.thinking", "enable_thinking, preserve_thinking"),
        (request(budget={**BUDGET, "max": 1}), "budget.max", "context, reserve"),
        (request(**{"k" * 65: 1}), "k" * 64 + "…", None),
        ({**request(), 5: 1}, "5", None),
        (request(budget={**BUDGET, (1, "\ud800"): 1}), "budget.(1, '\\ud800')", None),
        (request(budget={**BUDGET, tuple(range(99)): 1}), "budget." + repr(tuple(range(99)))[:64] + "…", None),
        (request(budget={**BUDGET, 10**5_000: 1}), "budget.number", None),  # CPython would not print it
    ],
)
def test_unknown_fields(given, field, known):
    found = refusal(given)
    assert (found["code"], found["field"]) == ("unknown_field", field)
    assert known is None or found["known"] == known


@pytest.mark.parametrize(
    ("given", "field", "expected", "found"),
    [
        ([], "request", "object", "array"),
        (request(policy=["secret"]), "policy", "string", "array"),
        (request(policy={"text": "secret"}), "policy", "string", "object"),
        (request(user_turn=7), "user_turn", "string", "number"),
        (request(steps={}), "steps", "array", "object"),
        (request(history="x"), "history", "array", "string"),
        (request(local_state=fact()), "local_state", "array", "object"),
        (request(local_state=["x"]), "local_state[0]", "object", "string"),
        (request(local_state=[fact(value=7)]), "local_state[0].value", "string", "number"),
        (request(local_state=[fact(priority=1.0)]), "local_state[0].priority", "integer", "number"),
        (request(local_state=[fact(priority=True)]), "local_state[0].priority", "integer", "boolean"),
        (request(retrieved=[chunk(score="1")]), "retrieved[0].score", "number", "string"),
        (request(retrieved=[chunk(score=True)]), "retrieved[0].score", "number", "boolean"),
        (request(retrieved=[chunk(limit=16.5)]), "retrieved[0].limit", "integer", "number"),
        (request(tools={}), "tools", "array", "object"),
        (request(options=[]), "options", "object", "array"),
        (request(options={"enable_thinking": 1}), "options.enable_thinking", "boolean", "number"),
        (request(budget=100), "budget", "object", "number"),
        (request(budget={**BUDGET, "context": "100"}), "budget.context", "integer", "string"),
        (request(degradation=7), "degradation", "object", "number"),
        (request(degradation={**DEGRADATION, "sweep": True}), "degradation.sweep", "string", "boolean"),
    ],
)
def test_types(given, field, expected, found):
    assert refusal(given) == {"code": "invalid_type", "field": field, "expected": expected, "found": found}


@pytest.mark.parametrize(
    ("given", "field", "found"),
    [
        (request(local_state=[fact(priority=2**53)]), "local_state[0].priority", str(2**53)),
        (request(local_state=[fact(priority=10**5000)]), "local_state[0].priority", "an integer of more than 16384 bits"),
        (request(retrieved=[chunk(score=math.nan)]), "retrieved[0].score", "nan"),
        (request(retrieved=[chunk(score=-math.inf)]), "retrieved[0].score", "-inf"),
        (request(retrieved=[chunk(score=10**400)]), "retrieved[0].score", "an integer of 1329 bits"),
        (request(retrieved=[chunk(limit=15)]), "retrieved[0].limit", "15"),
        (request(budget={"context": 0, "reserve": 0}), "budget.context", "0"),
        (request(budget={"context": 32_769, "reserve": 0}), "budget.context", "32769"),
        (request(budget={"context": 10, "reserve": 11}), "budget.reserve", "11"),
        (request(budget={"context": 10, "reserve": -1}), "budget.reserve", "-1"),
        (request(degradation={**DEGRADATION, "keep_turns": -1}), "degradation.keep_turns", "-1"),
        (request(degradation={**DEGRADATION, "active_turns": 4}), "degradation.active_turns", "4"),
        (request(degradation={**DEGRADATION, "chunk_limit": 15}), "degradation.chunk_limit", "15"),
        (request(degradation={**DEGRADATION, "tool_limit": 15}), "degradation.tool_limit", "15"),
        (request(degradation={**DEGRADATION, "sweep": "maybe"}), "degradation.sweep", "maybe"),
        (request(degradation={**DEGRADATION, "headroom": -1}), "degradation.headroom", "-1"),
        (request(degradation="gentle"), "degradation", "gentle"),
    ],
)
def test_values(given, field, found):
    refused = refusal(given)
    assert (refused["code"], refused["field"], refused["found"]) == ("invalid_value", field, found)


@pytest.mark.parametrize("name", ["", "a b", "a\n", "é", "a]", 'a"', "a" * 129, "a\u0000", "１"])
def test_identifiers(name):
    shown = name if len(name) <= 64 else name[:64] + "…"
    assert refusal(request(retrieved=[chunk(id=name)])) == {"code": "bad_identifier", "field": "retrieved[0].id", "found": shown}
    assert refusal(request(retrieved=[chunk(source=name)]))["field"] == "retrieved[0].source"
    assert refusal(request(local_state=[fact(name=name)]))["field"] == "local_state[0].name"


def test_twins():
    assert refusal(request(retrieved=[chunk(), chunk(id="b"), chunk(text="other")])) == {
        "code": "duplicate_identifier",
        "field": "retrieved[2].id",
        "found": "a",
    }
    assert refusal(request(local_state=[fact(), fact()])) == {
        "code": "duplicate_identifier",
        "field": "local_state[1].name",
        "found": "n",
    }
    parse_request(request(retrieved=[chunk(), chunk(id="A")], local_state=[fact(), fact(name="a")]))


@pytest.mark.parametrize("value", ["\n", "a\r", "x\r\ny"])
def test_line_breaks(value):
    assert refusal(request(local_state=[fact(value=value)])) == {"code": "line_break_in_value", "field": "local_state[0].value"}
    parse_request(request(local_state=[fact(value="a\u2028\u0085\u000b")]))


@pytest.mark.parametrize(
    ("field", "messages", "index"),
    [
        ("history", [ANSWER], 0),
        ("history", [USER], 0),
        ("history", [USER, ANSWER, USER], 2),
        ("history", [USER, USER, ANSWER], 1),
        ("history", [USER, ANSWER, ANSWER], 2),
        ("history", [USER, RESPONSE, ANSWER], 1),
        ("history", [USER, CALL, ANSWER], 1),
        ("history", [USER, CALL, RESPONSE], 2),
        ("history", [USER, TWO_CALLS, RESPONSE, ANSWER], 1),
        ("history", [USER, CALL, RESPONSE, RESPONSE, ANSWER], 1),
        ("history", [USER, CALL], 1),
        ("history", [{"role": "system", "content": "s"}, USER, ANSWER], 0),
        ("history", [USER, {"role": "system", "content": "s"}, ANSWER], 1),
        ("steps", [ANSWER], 0),
        ("steps", [CALL], 0),
        ("steps", [RESPONSE], 0),
        ("steps", [USER], 0),
        ("steps", [CALL, RESPONSE, ANSWER], 2),
        ("steps", [CALL, RESPONSE, RESPONSE], 0),
        ("steps", [CALL, RESPONSE, CALL, CALL, RESPONSE], 2),
    ],
)
def test_pairing(field, messages, index):
    refused = refusal(request(**{field: messages}))
    assert (refused["code"], refused["field"], refused["index"]) == ("not_paired", field, index)


@pytest.mark.parametrize(
    ("given", "field", "cause"),
    [
        (request(user_turn=SHAPE), "user_turn", "reserved_user_shape"),
        (request(user_turn=SHAPE, retrieved=[chunk()]), "user_turn", "reserved_user_shape"),
        (
            request(history=[USER, ANSWER, {"role": "user", "content": SHAPE}, ANSWER]),
            "history[2]",
            "reserved_user_shape",
        ),
        (request(history=[USER, {"role": "model", "content": ""}]), "history[1]", "unknown_role"),
        (request(history=[USER, {"role": "assistant", "content": ["x"]}]), "history[1]", "content_not_string"),
        (request(steps=[{"role": "assistant", "content": "", "tool_calls": [7]}]), "steps[0]", "bad_tool_call"),
        (
            request(steps=[CALL, RESPONSE, {"role": "assistant", "content": "", "tool_calls": [{"name": "a b", "arguments": {}}]}]),
            "steps[2]",
            "bad_tool_name",
        ),
        (
            request(steps=[{"role": "assistant", "content": "", "tool_calls": [{"name": "a", "arguments": "[]"}]}]),
            "steps[0]",
            "arguments_not_json_object",
        ),
    ],
)
def test_messages_are_refused_with_their_place(given, field, cause):
    refused = refusal(given)
    assert (refused["code"], refused["field"], refused["cause"]) == ("message_refused", field, cause)


def test_other_shapes_near_the_reserved_one_are_accepted():
    for text in ("<tool_response>", "x" + SHAPE, SHAPE + "\n", "<tool_response>x", "x</tool_response>"):
        parse_request(request(user_turn=text, history=[{"role": "user", "content": text}, ANSWER]))


def test_the_first_field_at_fault_is_named():
    wrong = {"user_turn": 1, "local_state": 1, "retrieved": 1, "budget": 1}
    assert refusal(request(**wrong))["field"] == "user_turn"
    assert refusal(request(**without(wrong, "user_turn")))["field"] == "local_state"
