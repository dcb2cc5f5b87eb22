"""Masks of a constraint engine on the sealed vocabulary: what is drawn obeys the grammar (contract/sampling.md, S-11)."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import slm2
from publisher import tokenizer_json
from sampling_cases import config, heavy_tailed
from slm2.sampling import STOP_IDS, WIDTH

llguidance = pytest.importorskip("llguidance")

SCHEMA = {
    "type": "object", "properties": {"ok": {"type": "boolean"}, "kind": {"enum": ["a", "b"]}}, "required": ["ok", "kind"],
    "additionalProperties": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def vocabulary():
    """Their tokenizer over the publisher's file, as wide as the logits."""
    return llguidance.LLTokenizer(tokenizer_json(), n_vocab=WIDTH, eos_token=STOP_IDS[0])


def constrained(vocabulary, grammar: str, seed: int, choice: str, profile: str) -> slm2.Generation:
    """A generation of random logits under a grammar."""
    import llguidance.numpy  # noqa: PLC0415

    matcher = llguidance.LLMatcher(vocabulary, grammar)
    assert not matcher.is_error(), matcher.get_error()
    bitmask = llguidance.numpy.allocate_token_bitmask(1, WIDTH)
    rng = np.random.default_rng(seed)
    taken = 0

    def allowed(drawn: tuple[int, ...]) -> np.ndarray:
        nonlocal taken
        for token in drawn[taken:]:
            assert matcher.consume_token(token), token
        taken = len(drawn)
        llguidance.numpy.fill_next_token_bitmask(matcher, bitmask, 0)
        return bitmask[0]

    setting = config(
        rng="pcg32" if profile == "contract" else "mt19937-torch", seed=seed, temperature=1.0, stop_ids=STOP_IDS, max_tokens=200
    )
    generation = slm2.load(engine=choice, profile=profile).generation(setting, special="refuse")
    for _ in generation.run(lambda _: heavy_tailed(rng), constraint=allowed):
        pass
    return generation


@pytest.mark.parametrize("profile", ["contract", "publisher"])
@pytest.mark.parametrize(("choice", "seeds"), [("native", range(8)), ("reference", range(2))])
def test_json_of_a_schema(vocabulary, choice, seeds, profile) -> None:
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(SCHEMA), overrides={"whitespace_flexible": False})
    values = set()
    for seed in seeds:
        result = constrained(vocabulary, grammar, seed, choice, profile).result
        assert result.reason == "StopToken"
        value = json.loads(result.text)
        assert value.keys() == {"ok", "kind"}
        assert value["kind"] in ("a", "b")
        values.add(result.text)
    assert len(values) > 1 or choice == "reference"


def test_a_regular_expression(vocabulary) -> None:
    grammar = llguidance.LLMatcher.grammar_from_regex(r"[a-f]{3}-[0-9]{4}")
    drawn = {constrained(vocabulary, grammar, seed, "native", "contract").result.text for seed in range(10)}
    assert all(re.fullmatch("[a-f]{3}-[0-9]{4}", text) for text in drawn)
    assert len(drawn) > 7
