"""Weights that do not belong to the contract are refused, and what they do not say is not compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

import slm2
from slm2.errors import Slm2Error
from slm2.logits_source import ModelFacts, check_model

CONTRACT = slm2.load()
FITTING = ModelFacts("tiny", 151_936, {"<|im_end|>": 151_645, "<think>": 151_667}, (151_645, 151_643))


def refusal(facts: ModelFacts) -> dict[str, object]:
    with pytest.raises(Slm2Error) as caught:
        check_model(CONTRACT, facts)
    assert caught.value.code == "model_mismatch"
    return caught.value.fields


def test_what_fits_is_taken() -> None:
    check_model(CONTRACT, FITTING)
    check_model(CONTRACT, ModelFacts("a server that says nothing", None))


def test_another_width() -> None:
    fields = refusal(replace(FITTING, width=152_064))
    assert fields == {"model": "tiny", "what": "the width of its logits", "expected": 151_936, "found": 152_064}


def test_a_special_token_with_another_id() -> None:
    fields = refusal(replace(FITTING, special_ids={"<|im_end|>": 151_645, "<think>": 151_648}))
    assert (fields["what"], fields["expected"], fields["found"]) == ("the id of <think>", 151_667, 151_648)


def test_a_special_token_that_the_contract_does_not_have() -> None:
    fields = refusal(replace(FITTING, special_ids={"<|eot_id|>": 128_009}))
    assert (fields["what"], fields["expected"], fields["found"]) == ("the id of <|eot_id|>", "no such token", 128_009)


def test_a_reply_that_ends_with_a_plain_token() -> None:
    fields = refusal(replace(FITTING, end_ids=(151_645, 2)))
    assert (fields["what"], fields["found"]) == ("an id that ends its replies", 2)
