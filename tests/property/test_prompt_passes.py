"""The passes against their naive re-statement, and what must hold of every assembly (contract/prompt.md, P-50, P-60 to P-73)."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache, partial
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slm2
from differential.test_template_families import FAMILIES
from differential.test_template_families import contract as family_contract
from prompt_model import Model, as_utf8
from prompt_requests import Source, request
from slm2.artifact import PROFILES, Profile
from slm2.contract import Contract
from slm2.errors import Slm2Error
from slm2.prompt import Assembly
from slm2.reference import prompt
from slm2.reference.prompt_request import parse_request
from slm2.template import TemplateProgram

# Requests for each engine; in chunks, so that both cores work.
ENGINE_COUNT, REFERENCE_COUNT = 20_000, 1_500
CHUNKS = 4

ENTROPY = st.binary(min_size=160, max_size=160)
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


@cache
def contract(profile: Profile) -> Contract:
    return slm2.load(engine="native", profile=profile)


@cache
def reference_alone() -> Contract:
    return slm2.load(engine="reference")


@cache
def parts(profile: Profile) -> prompt.Parts:
    """The reference's assembler over the engine's encoder."""
    engine = contract(profile).engine
    return prompt.Parts(
        program=TemplateProgram(engine).of_artifact,
        encode_spans=partial(engine.encode_spans, profile=profile, unit="bytes"),
        find_special=engine.find_special,
        id_of_special={data.decode(): token_id for token_id, data in engine.special_tokens},
        digest=engine.semantic_digest,
    )


def asked(data: bytes) -> tuple[Profile, dict]:
    source = Source(data)
    profile = PROFILES[source.below(len(PROFILES))]
    return profile, request(source)


def outcome(make, *arguments):
    try:
        return make(*arguments)
    except Slm2Error as error:
        return error


def steps_of(assembly: Assembly) -> list[tuple[str, str, str, int, int]]:
    return [(step.pass_name, step.action, step.source, step.before, step.after) for step in assembly.ledger.steps]


@pytest.mark.parametrize("_chunk", range(CHUNKS))
@settings(QUIET, max_examples=ENGINE_COUNT // CHUNKS)
@given(data=ENTROPY)
def test_the_engine_does_what_the_model_does(_chunk, data):
    profile, asked_for = asked(data)
    model = Model(contract(profile), asked_for)
    expected = model.run()
    available = asked_for["budget"]["context"] - asked_for["budget"]["reserve"]
    assembly = outcome(contract(profile).prompt.assemble, asked_for)
    if isinstance(assembly, Slm2Error):
        assert (assembly.code, expected.ids) == ("budget_exceeded", None)
        assert (assembly.fields["needed"], assembly.fields["available"]) == (expected.size, available)
        assert sum(assembly.fields["parts"].values()) == expected.size > available
        return
    assert assembly.input_ids == expected.ids
    assert steps_of(assembly) == expected.steps
    check_invariants(profile, asked_for, assembly, available)
    check_larger_budget(profile, asked_for, assembly)


def check_invariants(profile: Profile, asked_for: dict, assembly: Assembly, available: int) -> None:
    assert len(assembly.input_ids) == assembly.budget.prompt_tokens <= available
    steps = assembly.ledger.steps
    assert all(before.after == after.before for before, after in pairwise(steps))
    if steps:
        # Minimal: without the last step it would not fit what was aimed at; nor would it with any but the last ones.
        aim = available if steps[-1].pass_name == "sweep" else assembly.ledger.target
        assert all(step.before > aim for step in steps)
        assert steps[-1].after == len(assembly.input_ids)
    if profile == "contract":
        text = contract(profile).tokenizer.decode(assembly.input_ids, special="bytes")
        assert text.startswith(b"<|im_start|>system\n" + as_utf8(asked_for["policy"]))
        assert as_utf8(asked_for["user_turn"]) + b"<|im_end|>" in text
    # A turn is there whole or not at all, and steps are always there.
    there = {stretch.source for stretch in assembly.map}
    kept = [index for index in range(len(asked_for["history"])) if f"history[{index}]" in there]
    assert kept == list(range(len(asked_for["history"]) - len(kept), len(asked_for["history"])))
    assert not kept or asked_for["history"][kept[0]]["role"] == "user"
    assert {f"steps[{index}]" for index in range(len(asked_for["steps"]))} <= there
    assert sum(count.tokens for count in assembly.sources) == sum(count.after for count in assembly.ledger.parts) == len(assembly.input_ids)


def check_larger_budget(profile: Profile, asked_for: dict, assembly: Assembly) -> None:
    """Monotone: with more room the steps are the first ones of those with less."""
    degradation = asked_for["degradation"]
    if not isinstance(degradation, dict) or degradation["headroom"] or not assembly.ledger.steps:
        return
    budget = {**asked_for["budget"], "context": asked_for["budget"]["context"] + 1 + len(assembly.input_ids) // 9}
    steps, fewer = steps_of(assembly), steps_of(contract(profile).prompt.assemble({**asked_for, "budget": budget}))
    assert fewer == steps[: len(fewer)]


@pytest.mark.parametrize("_chunk", range(CHUNKS))
@settings(QUIET, max_examples=REFERENCE_COUNT // CHUNKS)
@given(data=ENTROPY, reject=st.sampled_from([False, False, False, True]))
def test_the_reference_and_the_engine_give_the_same_bytes(_chunk, data, reject):
    profile, asked_for = asked(data)
    cached = list(data[:20])
    try:
        assembled = prompt.assemble(parse_request(asked_for), parts(profile), reject_special=reject)
        expected = (assembled.to_json(), assembled.report(), assembled.delta(cached), assembled.tokens())
    except Slm2Error as error:
        expected = (error.code, error.fields)
    try:
        native = contract(profile).engine.assemble(asked_for, profile, "reject" if reject else "literal")
        actual = (native.to_json(), native.report(), native.delta(cached), native.tokens())
    except Slm2Error as error:
        actual = (error.code, error.fields)
    assert actual == expected


@settings(QUIET, max_examples=30)
@given(data=ENTROPY)
def test_the_reference_alone_does_what_the_model_does(data):
    """With its own encoder too."""
    _, asked_for = asked(data)
    alone = reference_alone()
    expected = Model(contract("contract"), asked_for).run()
    assembly = outcome(alone.prompt.assemble, asked_for)
    if isinstance(assembly, Slm2Error):
        assert (assembly.code, expected.ids) == ("budget_exceeded", None)
        return
    assert (assembly.input_ids, steps_of(assembly)) == (expected.ids, expected.steps)


@settings(QUIET, max_examples=200)
@given(data=ENTROPY, shuffled=st.randoms(use_true_random=False))
def test_the_order_of_lists_decides_nothing(data, shuffled):
    profile, asked_for = asked(data)
    other = {**asked_for, "retrieved": list(asked_for["retrieved"]), "local_state": list(asked_for["local_state"])}
    shuffled.shuffle(other["retrieved"])
    shuffled.shuffle(other["local_state"])
    told = [outcome(contract(profile).prompt.assemble, one) for one in (asked_for, other)]
    texts = [str((one.code, one.fields)) if isinstance(one, Slm2Error) else one.to_json() for one in told]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_templates_of_other_families(family):
    """Responses between structural tokens and in plain text, thinking or none: the account is the model's there too."""
    rng = random.Random(11)
    opened = family_contract(family, "native")
    steps = 0
    for _ in range(300):
        asked_for = request(Source(rng.randbytes(160)))
        for message in asked_for["history"]:
            message.pop("reasoning_content", None)
        expected, assembly = Model(opened, asked_for).run(), outcome(opened.prompt.assemble, asked_for)
        if isinstance(assembly, Slm2Error):
            assert (assembly.code, expected.ids) == ("budget_exceeded", None)
            continue
        assert (assembly.input_ids, steps_of(assembly)) == (expected.ids, expected.steps)
        steps += len(expected.steps)
    assert steps > 300


def test_the_requests_reach_every_step():
    rng = random.Random(5)
    told = [outcome(contract("contract").prompt.assemble, request(Source(rng.randbytes(160)))) for _ in range(1_000)]
    reached = Counter(step[:2] for assembly in told if isinstance(assembly, Assembly) for step in steps_of(assembly))
    passes = [("1", "drop_turn"), ("2", "drop_chunk"), ("3", "truncate_history"), ("4", "cut_chunk"), ("4", "cut_tool_response")]
    assert min(reached[step] for step in [*passes, *(("sweep", f"drop_{item}") for item in ("turn", "chunk", "fact"))]) > 20
    assert 100 < sum(isinstance(one, Slm2Error) for one in told) < 400
