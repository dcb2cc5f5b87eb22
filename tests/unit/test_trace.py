"""Traces: what was recorded can be replayed, and whatever was changed is found at its step (contract/sampling.md, S-61 to S-63)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sampling_cases import config, engine
from slm2.errors import Slm2Error
from slm2.reference.sampling.recipe import Recipe
from slm2.reference.sampling.trace import Trace, digest_of_ids, link
from slm2.replay import audit, replay
from slm2.sampling import Sampler

ROWS = np.stack([Recipe(3, step, 1.0, 9.0).logits(512) for step in range(6)])
SETTINGS = [
    config(rng=rng, repetition_penalty=1.2, temperature=temperature)
    for rng in ("pcg32", "chacha8", "mt19937-torch")
    for temperature in (0.8, 0)
]
every_setting = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: f"{setting.rng}-{setting.temperature}")


def recorded(setting, choice="native") -> Trace:
    sampler = Sampler(engine(choice), setting, [4, 5], width=512, record=True)
    for number, row in enumerate(ROWS):
        if number == 2:
            sampler.extend([7, 8])
        if number == 4:
            sampler.advance(9)
        if number == 5:
            sampler.restore(Sampler(engine(choice), setting, width=512).state())
        sampler.sample(row)
    return Trace.from_jsonl(sampler.trace().to_jsonl())


@every_setting
def test_both_engines_record_the_same_and_replay_it(setting) -> None:
    first, second = recorded(setting, "native"), recorded(setting, "reference")
    assert first.to_jsonl() == second.to_jsonl()
    assert audit(first) == 6
    for choice in ("native", "reference"):
        assert replay(first, engine(choice), ROWS) == 6


def differs(trace: Trace, check=audit) -> dict:
    with pytest.raises(Slm2Error) as caught:
        check(trace)
    assert caught.value.code == "trace_differs"
    return caught.value.fields


def changed(trace: Trace, step: int, name: str, value: object, *, linked: bool) -> Trace:
    """One field of a step changed; and all chains made anew, where the forger knows how."""
    lines = [dict(line) for line in trace.lines]
    line = next(line for line in lines if line.get("step") == step)
    line[name] = value
    if linked:
        chain = digest_of_ids(trace.head["prompt"])
        for other in lines:
            chain = link(chain, other)
            if "step" in other:
                other["chain"] = chain
    return Trace(trace.head, lines)


FORGERIES = {
    "logits": "0" * 64, "history": "0" * 64, "position": 1, "id": 3, "kept": "0" * 64, "words": 5, "probability": "0x1.8p-3",
    "log_probability": "-0x1.8p-3", "sizes": [1, 1, 1, 1], "numbers": ["0x1.0p-1"] * 4,
}  # fmt: skip


@every_setting
@pytest.mark.parametrize("name", FORGERIES)
def test_a_changed_field_is_found_at_its_step(setting, name) -> None:
    trace = changed(recorded(setting), 3, name, FORGERIES[name], linked=False)
    assert differs(trace)["step"] == 3
    forged = changed(recorded(setting), 3, name, FORGERIES[name], linked=True)
    fields = differs(forged, lambda trace: replay(trace, engine("native"), ROWS))
    assert (fields["step"], fields["field"]) == (3, name)


def test_a_forger_without_the_seed_is_found_without_logits() -> None:
    for setting in SETTINGS:
        for name, value in FORGERIES.items():
            if name in ("position", "history", "numbers", "words", "probability"):
                assert differs(changed(recorded(setting), 3, name, value, linked=True))["step"] == 3


def test_other_rows_are_found() -> None:
    trace = recorded(SETTINGS[0])
    rows = ROWS.copy()
    rows[4, 100] += 0.5
    fields = differs(trace, lambda trace: replay(trace, engine("native"), rows))
    assert (fields["step"], fields["field"]) == (4, "logits")
    with pytest.raises(Slm2Error) as caught:
        replay(trace, engine("native"), ROWS[:5])
    assert caught.value.code == "logits_length"


def test_masks_are_digests_alone() -> None:
    sampler = Sampler(engine("native"), SETTINGS[0], width=512, record=True)
    sampler.sample(ROWS[0], allowed=b"\xff" * 64)
    assert audit(sampler.trace()) == 1
    with pytest.raises(Slm2Error) as caught:
        replay(sampler.trace(), engine("native"), ROWS[:1])
    assert caught.value.code == "trace_invalid"


GOOD = recorded(SETTINGS[0]).to_jsonl().splitlines()
STEP = json.loads(GOOD[1])
INVALID = [
    "", "{", "[]", "null", json.dumps({"trace": 2}), json.dumps({"trace": 1}), json.dumps({**json.loads(GOOD[0]), "prompt": [-1]}),
    json.dumps({**json.loads(GOOD[0]), "config": {}}), *(
        "\n".join([GOOD[0], json.dumps(line)])
        for line in (
            {}, {"step": 0}, {"leap": 1}, {"advance": "1"}, {"extend": [-1]}, {"extend": [1], "advance": 2}, {**STEP, "id": -1},
            {**STEP, "numbers": [0.5]}, {**STEP, "probability": "half"}, [1],
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("text", INVALID)
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(Slm2Error) as caught:
        audit(Trace.from_jsonl(text))
    assert caught.value.code == "trace_invalid"
