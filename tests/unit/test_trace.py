"""Traces: what was recorded can be replayed, and whatever was changed is found at its step (contract/sampling.md, S-61 to S-63)."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

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
    assert caught.value.code == "rows_length"


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


def _lines() -> list[dict]:
    trace = recorded(config(rng="pcg32", temperature=0.8))
    return [trace.head, *trace.lines]


def _read(lines: list[dict]) -> Trace:
    return Trace.from_jsonl("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    "event",
    [{"advance": -1}, {"advance": 2**64}, {"advance": True}, {"restore": "zz"}, {"restore": "0"}, {"restore": "0 1 "}],
    ids=str,
)
def test_events_that_none_can_follow_are_refused(event) -> None:
    head, *steps = _lines()
    with pytest.raises(Slm2Error) as caught:
        _read([head, event, *steps])
    assert caught.value.code == "trace_invalid"
    assert caught.value.fields["line"] == 2


@pytest.mark.parametrize("rng", ["pcg32", "mt19937-torch"])
def test_events_that_its_generator_cannot_follow_are_refused(rng) -> None:
    trace = recorded(config(rng=rng, temperature=0.8))
    for event in ({"advance": 2**64 - 1}, {"restore": "00"}, {"restore": ""}):
        if rng == "pcg32" and "advance" in event:
            continue
        changed = _read([trace.head, event, *trace.lines])
        for check in (audit, lambda trace: replay(trace, engine("native"), ROWS)):
            with pytest.raises(Slm2Error) as caught:
                check(changed)
            assert (caught.value.code, caught.value.fields["line"]) == ("trace_invalid", 2)


@pytest.mark.parametrize("width", [0, -5, True, 2**24 + 1, 10**14])
def test_a_width_that_no_sampler_has_is_refused(width) -> None:
    head, *steps = _lines()
    with pytest.raises(Slm2Error) as caught:
        _read([{**head, "width": width}, *steps])
    assert caught.value.code == "trace_invalid"


@pytest.mark.parametrize("numbers", [["0x1p99999"], ["nan"], ["inf"], "0123", 5, {}, [5]], ids=str)
def test_numbers_that_are_none_are_refused(numbers) -> None:
    head, step, *steps = _lines()
    with pytest.raises(Slm2Error) as caught:
        _read([head, {**step, "numbers": numbers}, *steps])
    assert caught.value.code == "trace_invalid"


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(Slm2Error) as caught:
        Trace.from_jsonl("[" * 200_000)
    assert caught.value.code == "trace_invalid"


def test_a_total_of_nothing_is_a_difference() -> None:
    head, step, *_ = _lines()
    changed = {**step, "numbers": [step["numbers"][0], "0x0.0p+0", "0x0.0p+0", "0x0.0p+0"]}
    changed["chain"] = link(digest_of_ids(head["prompt"]), changed)
    with pytest.raises(Slm2Error) as caught:
        audit(_read([head, changed]))
    assert caught.value.code == "trace_differs"
    assert caught.value.fields["field"] == "numbers"


@pytest.mark.parametrize("choice", ["native", "reference"])
def test_a_stream_whose_name_is_empty_is_in_the_trace(choice) -> None:
    sampler = Sampler(engine(choice), config(stream=""), width=512, record=True)
    sampler.sample(ROWS[0])
    trace = Trace.from_jsonl(sampler.trace().to_jsonl())
    assert trace.head["config"]["stream"] == ""
    assert audit(trace) == 1 == replay(trace, engine(choice), ROWS[:1])


def test_threads_that_share_a_sampler_leave_a_trace_that_can_be_replayed() -> None:
    sampler = Sampler(engine("native"), config(), width=512, record=True)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: sampler.sample(ROWS[0]), range(300)))
    finally:
        sys.setswitchinterval(before)
    assert audit(sampler.trace()) == 300
