"""What callers may pass as ids and as text, the same on both engines."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import slm2
from slm2.errors import Slm2Error
from slm2.sampling import config_from_preset

ENGINES = ["native", "reference"]


@cache
def contract(engine: str) -> slm2.Contract:
    return slm2.load(engine=engine)


class Index:
    """An integer of another library."""

    def __index__(self) -> int:
        return 2


class Broken:
    def __index__(self) -> int:
        raise ZeroDivisionError


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [list, tuple, iter, np.array, lambda ids: (token_id for token_id in ids), lambda ids: [ids[0], Index()]])
def test_any_ordered_iterable_of_integers_is_taken(engine, make):
    assert contract(engine).tokenizer.decode(make([1, 2]), special="refuse") == b'"#'
    assert contract(engine).tokenizer.decode_text(make([1, 2]), special="refuse") == '"#'
    assert contract(engine).stream_decoder(special="bytes").push(make([1, 2])) == '"#'


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ids", [None, 5.0, "12", b"12", bytearray(b"12"), {1, 2}, {1: 2}])
def test_what_is_no_sequence_of_ids_is_refused(engine, ids):
    for call in (
        lambda: contract(engine).tokenizer.decode(ids, special="bytes"),
        lambda: contract(engine).tokenizer.decode_text(ids, special="bytes"),
        lambda: contract(engine).stream_decoder(special="bytes").push(ids),
    ):
        with pytest.raises(Slm2Error) as caught:
            call()
        assert caught.value.code == "invalid_type"
        assert caught.value.fields == {"field": "ids", "expected": "a sequence of integers", "found": type(ids).__name__}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrong", [None, 1.0, float("nan"), "1", [1], np.zeros(2, np.uint32)])
def test_what_is_no_id_is_refused_with_its_place(engine, wrong):
    tokenizer = contract(engine).tokenizer
    for call, field in (
        (lambda: tokenizer.decode([1, wrong], special="bytes"), "ids[1]"),
        (lambda: tokenizer.decode((1, wrong), special="bytes"), "ids[1]"),
        (lambda: tokenizer.decode_text([1, wrong], special="bytes"), "ids[1]"),
        (lambda: tokenizer.decode_text((1, wrong), special="bytes"), "ids[1]"),
        (lambda: tokenizer.token_bytes(wrong), "token_id"),
    ):
        with pytest.raises(Slm2Error) as caught:
            call()
        assert caught.value.fields == {"field": field, "expected": "an integer", "found": type(wrong).__name__}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_of_the_callers_own_comes_through(engine):
    for decode in (contract(engine).tokenizer.decode, contract(engine).tokenizer.decode_text):
        with pytest.raises(ZeroDivisionError):
            decode([1, Broken()], special="bytes")


class Clearing:
    """An integer that empties the list that it is asked in."""

    def __init__(self, ids: list[object]) -> None:
        self.ids = ids

    def __index__(self) -> int:
        self.ids.clear()
        return 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_list_may_change_while_it_is_read(engine):
    for decode, expected in ((contract(engine).tokenizer.decode, b'#"'), (contract(engine).tokenizer.decode_text, '#"')):
        ids: list[object] = [2]
        ids += [Clearing(ids), 3, 4]
        assert decode(ids, special="bytes") == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_token_is_found_by_any_kind_of_text(engine):
    tokenizer = contract(engine).tokenizer
    for text in (b"hi", "hi", bytearray(b"hi"), memoryview(b"hi")):
        assert tokenizer.token_id(text) == 6023
    assert tokenizer.token_id("no such token, surely") is None
    for wrong in (None, 5, [104, 105]):
        with pytest.raises(Slm2Error) as caught:
            tokenizer.token_id(wrong)
        assert caught.value.code == "invalid_type"


HUGE = 10**5000  # Python writes no integer of so many digits


@pytest.mark.parametrize(
    "call",
    [
        lambda contract, number: contract.tokenizer.token_bytes(number),
        lambda contract, number: contract.tokenizer.decode([number], special="skip"),
        lambda contract, number: contract.tokenizer.decode_text([1, number], special="skip"),
        lambda contract, number: contract.tokenizer.count_until("a", -abs(number)),
        lambda contract, number: contract.tokenizer.encode_batch(["a"], threads=-abs(number)),
        lambda contract, number: contract.stream_decoder(special="skip").push(number),
        lambda contract, number: contract.reply("ASSISTANT_OPEN").push(number),
        lambda contract, number: slm2.load(max_pretoken=number, engine=contract.engine.name),
    ],
)
@pytest.mark.parametrize("number", [HUGE, -HUGE], ids=["huge", "minus huge"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_integer_of_any_size_has_a_typed_refusal(engine, call, number):
    with pytest.raises(slm2.Slm2Error) as caught:
        call(contract(engine), number)
    assert str(caught.value)
    assert "bits" in json.dumps(caught.value.to_dict())


@pytest.mark.parametrize("number", [-1, 2**32, 2**32 + 5])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_id_of_a_prompt_is_told_as_it_was_given(engine, number):
    config = config_from_preset("thinking", profile="contract", rng="pcg32", seed=1, max_tokens=1, stop_ids=())
    with pytest.raises(slm2.Slm2Error) as caught:
        contract(engine).sampler(config, [5, number])
    assert caught.value.fields == {"position": 1, "id": number, "limit": 151_936}


@pytest.mark.parametrize("state", [5, None, b"INIT", "\ud800"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_that_is_none_is_refused(engine, state):
    with pytest.raises(slm2.Slm2Error) as caught:
        contract(engine).reply(state)
    assert caught.value.code in ("invalid_type", "invalid_value")
    assert caught.value.fields["field"] == "state"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_released_view_is_refused(engine):
    view = memoryview(b"abc")
    view.release()
    for call in (contract(engine).tokenizer.encode, lambda ids: contract(engine).tokenizer.decode(ids, special="skip")):
        with pytest.raises(slm2.Slm2Error) as caught:
            call(view)
        assert caught.value.code == "invalid_type"
