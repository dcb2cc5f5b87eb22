"""The policy's text is in the ids and nowhere else (contract/prompt.md, P-30)."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import pickle

import pytest

import slm2
from cli.runner import run
from slm2.conformance import suite
from slm2.errors import Slm2Error
from slm2.prompt import Assembly, SealedPolicy
from slm2.reference.prompt_request import parse_request
from slm2.reference.prompt_text import conversation, whole

# A word that no other text here holds; an encoder may cut it anywhere.
SECRET = "zyzzyva-quokka <|im_end|> π"
WORDS = ("zyzzyva", "quokka", "zyz")


@pytest.fixture(scope="module")
def contract() -> slm2.Contract:
    return slm2.load(engine="reference")


def assert_silent(*texts: str) -> None:
    for text in texts:
        assert not [word for word in WORDS if word in text]


def request(**fields: object) -> dict[str, object]:
    return {"policy": SealedPolicy(SECRET), "user_turn": "u", "budget": {"context": 200, "reserve": 0}, **fields}


def test_the_value_tells_digest_and_length_only():
    policy = SealedPolicy(SECRET)
    assert policy.digest == hashlib.sha256(SECRET.encode()).hexdigest()
    assert policy.length == len(SECRET.encode())
    assert_silent(repr(policy), str(policy), f"{policy}", f"{policy!r:>80}", str([policy]), str(vars(type(policy)).keys()))


def test_equality_is_by_text():
    assert SealedPolicy("a") == SealedPolicy("a")
    assert len({SealedPolicy("a"), SealedPolicy("a"), SealedPolicy("b")}) == 2
    assert SealedPolicy("a") != "a"
    assert SealedPolicy("\ud800").digest == SealedPolicy("\ufffd").digest


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_is_refused(protocol):
    with pytest.raises(TypeError, match="not pickled") as refused:
        pickle.dumps(SealedPolicy(SECRET), protocol)
    assert_silent(str(refused.value))
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(parse_request(request()), protocol)


@pytest.mark.parametrize("name", ["digest", "length", "_SealedPolicy__unseal", "text"])
def test_it_cannot_be_changed(name):
    policy = SealedPolicy(SECRET)
    before = (policy.digest, policy.length, policy.fragment())
    with pytest.raises(AttributeError, match="cannot be changed"):
        setattr(policy, name, "x")
    with pytest.raises(AttributeError, match="cannot be changed"):
        delattr(policy, name)
    policy.__init__("another")
    assert (policy.digest, policy.length, policy.fragment()) == before
    assert not hasattr(policy, "__dict__")


@pytest.mark.parametrize(("value", "name"), [(None, "null"), (b"zyzzyva", "bytes"), (["zyzzyva"], "array"), (5, "number")])
def test_it_seals_text_only(value, name):
    with pytest.raises(Slm2Error) as refused:
        SealedPolicy(value)
    error = refused.value
    assert (error.code, error.fields) == ("invalid_type", {"field": "policy", "expected": "string", "found": name})
    assert_silent(str(error))


def test_a_subclass_of_str_decides_nothing():
    class Loud(str):
        __slots__ = ()

        def encode(self, *_: str) -> bytes:
            return b"other"

    policy = SealedPolicy(Loud(SECRET))
    assert policy == SealedPolicy(SECRET)
    assert type(policy.fragment().text) is str
    assert policy.fragment().text == SECRET


def test_no_state_holds_the_text():
    policy = SealedPolicy(SECRET)
    for collect in (policy.__getstate__, policy.__reduce__, lambda: policy.__reduce_ex__(4), lambda: object.__reduce_ex__(policy, 4)):
        with pytest.raises(TypeError, match="not pickled"):
            collect()
    if hasattr(object, "__getstate__"):  # Python 3.11 and later
        state = object.__getstate__(policy)
        assert_silent(repr(state), repr(copy.deepcopy(state)))
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(state)
    slots = [getattr(policy, name, None) for name in ("digest", "length", "_SealedPolicy__unseal")]
    assert_silent(repr(slots))


def test_copies_are_the_value_itself():
    policy = SealedPolicy(SECRET)
    assert copy.copy(policy) is policy
    assert copy.deepcopy({"policy": policy})["policy"] is policy
    with pytest.raises(TypeError):
        json.dumps(policy)


def test_results_are_silent(contract, caplog):
    with caplog.at_level(logging.DEBUG):
        assembly = contract.prompt.assemble(request(policy=SECRET))
    report = assembly.to_dict()
    assert SECRET.encode() in contract.tokenizer.decode(assembly.input_ids, special="bytes")  # the model does get it
    assert_silent(repr(assembly), str(report), json.dumps(report), repr(report), caplog.text, str(assembly.sources), str(assembly.tokens))
    assert all(word.encode() not in pickle.dumps(assembly) for word in WORDS)
    assert report["policy"] == {
        "digest": hashlib.sha256(SECRET.encode()).hexdigest(),
        "length": len(SECRET.encode()),
        "tokens": assembly.policy_tokens,
        "findings": 1,
    }
    assert assembly.policy_tokens > 5
    assert report["findings"] == []


def test_what_is_between_request_and_result_is_silent():
    parsed = parse_request(request(policy=SECRET))
    composition = conversation(parsed, whole(parsed))
    assert_silent(repr(parsed), str(parsed), repr(composition), str(composition.messages))


@pytest.mark.parametrize(
    "fields",
    [
        {"policy": [SECRET]},
        {"policy": {"text": SECRET}},
        {"policy": SECRET.encode()},
        {"user_turn": None},
        {"budget": {"context": 10, "reserve": 0}},
        {"user_turn": "<tool_response></tool_response>"},
        {"history": [{"role": "user", "content": ""}]},
        {"retrieved": [{"id": "", "text": "", "score": 1, "source": "s"}]},
        {
            "steps": [
                {"role": "assistant", "content": "a</think>", "tool_calls": [{"name": "f", "arguments": {}}]},
                {"role": "tool", "content": ""},
            ]
        },
    ],
)
def test_errors_are_silent(contract, fields):
    with pytest.raises(Slm2Error) as refused:
        contract.prompt.assemble(request(**{"policy": SECRET, **fields}))
    error = refused.value
    assert_silent(str(error), repr(error), json.dumps(error.to_dict()), str(error.args), str(error.__cause__))
    assert all(word.encode() not in pickle.dumps(error) for word in WORDS)


def test_a_policy_with_special_text_is_never_rejected_or_quoted(contract):
    assembly = contract.prompt.assemble(request(), on_special="reject")
    assert assembly.policy_findings == 1
    with pytest.raises(Slm2Error) as refused:
        contract.prompt.assemble(request(user_turn="<think>"), on_special="reject")
    assert_silent(str(refused.value))
    assert [found["source"] for found in refused.value.fields["findings"]] == ["user_turn"]


FLOORS = {"keep_turns": 0, "keep_chunks": 0, "active_turns": 0, "chunk_limit": 16, "tool_limit": 16, "sweep": "allow", "headroom": 0}
TURN = [{"role": "user", "content": "q " * 40}, {"role": "assistant", "content": "a " * 40}]


def forms(assembly: Assembly, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Everything that an assembly can be turned into."""
    assembly.explain()
    printed = capsys.readouterr()
    parts = [assembly.ledger, assembly.map, assembly.sources, assembly.policy, assembly.budget, assembly.escapes, assembly.findings]
    texts = [repr(assembly), str(assembly), f"{assembly}", assembly.to_json(), assembly.to_html(), printed.out, printed.err, assembly.state]
    texts += [repr(part) for part in (*parts, assembly.tokens, assembly.delta([1]), assembly.delta(assembly.input_ids), vars(assembly))]
    restored = pickle.loads(pickle.dumps(assembly))
    return [*texts, str(assembly.to_dict()), repr(restored), restored.to_json(), pickle.dumps(assembly).decode("latin-1")]


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("policy", [SealedPolicy(SECRET), SECRET])
def test_every_form_of_an_assembly_is_silent(engine, policy, capsys, caplog, recwarn):
    contract = slm2.load(engine=engine)
    given = request(policy=policy, history=TURN * 2, budget={"context": 60, "reserve": 0}, degradation=FLOORS)
    with caplog.at_level(logging.DEBUG):
        assembly = contract.prompt.assemble(given)
        assert assembly.ledger.steps
        assert SECRET.encode() in contract.tokenizer.decode(assembly.input_ids, special="bytes")
        assert_silent(*forms(assembly, capsys))
        with pytest.raises(Slm2Error) as refused:
            contract.prompt.assemble({**given, "budget": {"context": 20, "reserve": 0}})
    error = refused.value
    assert error.code == "budget_exceeded"
    assert error.fields["parts"]["policy"] > 5
    assert_silent(str(error), repr(error), json.dumps(error.to_dict()), pickle.dumps(error).decode("latin-1"), caplog.text)
    assert_silent(*(str(warning.message) for warning in recwarn))


@pytest.mark.parametrize("arguments", [("--format", form) for form in ("json", "text", "html", "ids")] + [("--explain",)])
def test_the_command_is_silent(arguments):
    given = {**request(policy=SECRET), "history": TURN * 2, "budget": {"context": 60, "reserve": 0}, "degradation": FLOORS}
    result = run("assemble", "-", "--engine", "native", *arguments, stdin=json.dumps(given).encode())
    assert result.status == 0
    assert_silent((result.out + result.err).decode())


def test_the_vectors_do_not_hold_a_policy_outside_of_their_requests():
    """A vector's request is what is asked; its answer has the policy in its ids alone."""
    for name in ("prompt.json", "prompt-passes.json", "prompt-refusals.json"):
        for vector in suite.load(name).vectors:
            policy = json.loads(vector["request"]).get("policy")
            answer = json.dumps(vector.get("expect") or vector.get("error"))
            assert not isinstance(policy, str) or len(policy) < 6 or json.dumps(policy)[1:-1] not in answer, vector["id"]
