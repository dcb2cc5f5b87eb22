"""The request as a model of pydantic, and its published schema (contract/prompt.md, P-10 to P-22)."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from jsonschema import Draft202012Validator

import slm2
from machine import ROOT
from slm2.conformance import suite
from slm2.errors import Slm2Error
from slm2.prompt import SealedPolicy
from slm2.prompt_request import Budget, Chunk, Degradation, Fact, PromptRequest, UserMessage, json_schema
from slm2.reference.json_text import read_json
from slm2.reference.prompt_request import parse_request

SCHEMA = ROOT / "contract" / "schemas" / "prompt-request.schema.json"
FILES = ("prompt.json", "prompt-refusals.json", "prompt-passes.json")
SECRET = "zyzzyva-quokka"


@pytest.fixture(scope="module")
def contract() -> slm2.Contract:
    return slm2.load(engine="native")


def requests() -> list[str]:
    return [vector["request"] for name in FILES for vector in suite.load(name).vectors]


def outcome(make, *arguments) -> object:
    try:
        return make(*arguments)
    except Slm2Error as error:
        return (error.code, error.fields)


def test_it_accepts_and_refuses_what_the_page_does(contract):
    def assembled(given) -> str:
        return contract.prompt.assemble(given).to_json()

    refusals = 0
    for text in requests():
        expected = outcome(parse_request, read_json(text)) if text.strip() else None
        made = outcome(PromptRequest.from_json, text)
        if isinstance(expected, tuple):
            assert made == expected, text
            refusals += 1
            continue
        assert isinstance(made, PromptRequest), (text, made)
        assert outcome(assembled, made) == outcome(assembled, read_json(text))
    assert refusals > 30


def test_the_schema_is_published_and_says_the_same_of_every_request():
    schema = json.loads(SCHEMA.read_bytes())
    assert schema == json_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    # What a schema cannot say: what belongs together, JSON inside of text, which of two numbers is larger, that 1.0 is no integer.
    beyond = {"duplicate_identifier", "not_paired", "message_refused"}
    accepted, refused = 0, 0
    for text in requests():
        request = json.loads(text)
        expected = outcome(parse_request, read_json(text))
        if not isinstance(expected, tuple):
            assert [error.message for error in validator.iter_errors(request)] == [], text
            accepted += 1
        # In the patterns of Python's validator, and of it alone, a newline may follow the end.
        elif expected[0] not in beyond and not {"budget.reserve", "number", "a\n"} & set(map(str, expected[1].values())):
            assert not validator.is_valid(request), (text, expected)
            refused += 1
    assert accepted > 150
    assert refused > 15


def test_models_in_models_and_parts_by_name(contract):
    request = PromptRequest(
        policy=SealedPolicy("Be brief."),
        user_turn="Open?",
        local_state=[Fact(name="city", value="Turku", priority=1)],
        retrieved=[Chunk(id="a", text="t" * 400, score=1, source="s"), Chunk(id="b", text="t", score=2, source="s", limit=16)],
        history=[UserMessage(role="user", content="a"), {"role": "assistant", "content": "b", "reasoning_content": None}],
        budget=Budget(context=90, reserve=0),
        degradation=Degradation(keep_turns=0, keep_chunks=0, active_turns=0, chunk_limit=16, tool_limit=16, sweep="allow", headroom=0),
    )
    assembly = contract.prompt.assemble(request)
    assert [step.source for step in assembly.ledger.steps] == ["history[0]", "retrieved[a]"]
    assert request.retrieved is not None
    assert request.retrieved[0].score == 1.0
    assert PromptRequest.model_validate(request) is request


def test_the_policy_is_sealed_in_it():
    request = PromptRequest.from_json(json.dumps({"policy": SECRET, "user_turn": "u", "budget": {"context": 9, "reserve": 0}}))
    assert isinstance(request.policy, SealedPolicy)
    shown = [repr(request), str(request), str(request.model_dump()), str(request.as_mapping()), repr(copy.deepcopy(request))]
    assert not [text for text in shown if SECRET in text]
    for serialize in (request.model_dump_json, lambda: pickle.dumps(request)):
        with pytest.raises((TypeError, ValueError)) as refused:
            serialize()
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "fields", [{}, {"user_turn": 5}, {"budget": {}}, {"retrieved": [{}]}, {"nothing": 1}, {"history": [{"role": "user"}]}]
)
def test_refusals_hold_no_text_of_the_policy(fields):
    given = {"policy": SECRET, "budget": {"context": 9, "reserve": 0}, **fields}
    for make in (
        PromptRequest.model_validate,
        lambda given: PromptRequest(**given),
        lambda given: PromptRequest.from_json(json.dumps(given)),
    ):
        with pytest.raises(Slm2Error) as refused:
            make(given)
        error = refused.value
        assert SECRET not in f"{error} {error!r} {error.fields} {error.__cause__!r} {error.__context__!r}"
