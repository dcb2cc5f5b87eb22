"""Configurations: nothing is taken for granted, and what is none is refused by name (contract/sampling.md, S-1 to S-5)."""

from __future__ import annotations

import json
import math

import pytest

import slm2
from sampling_cases import config, engine
from slm2.errors import Slm2Error
from slm2.reference.sampling.config import PUBLISHER_STREAM
from slm2.sampling import PRESETS, STOP_IDS, SamplingConfig, config_from_generation_config, config_from_preset

GOOD = {
    "profile": "contract", "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0, "repetition_penalty": 1.0,
    "rng": "pcg32", "seed": 1, "max_tokens": 10, "stop_ids": [151_645],
}  # fmt: skip
EXPLICIT = {"profile": "contract", "rng": "chacha8", "seed": 3, "max_tokens": 10}


def refusal(**changes) -> Slm2Error:
    with pytest.raises(Slm2Error) as caught:
        SamplingConfig.from_dict({**GOOD, **changes})
    return caught.value


@pytest.mark.parametrize("name", GOOD)
def test_no_field_has_a_default(name: str) -> None:
    with pytest.raises(Slm2Error) as caught:
        SamplingConfig.from_dict({key: value for key, value in GOOD.items() if key != name})
    assert (caught.value.code, caught.value.fields["field"]) == ("missing_field", name)
    with pytest.raises(TypeError):
        SamplingConfig(**{key: value for key, value in GOOD.items() if key != name})


IMPOSSIBLE = [
    ("temperature", -0.1), ("temperature", math.nan), ("temperature", math.inf), ("temperature", 1e-60), ("temperature", 1e39),
    ("temperature", 10**400), ("top_k", -1), ("top_k", 2**32), ("top_p", -1e-9), ("top_p", 1.0000001), ("top_p", math.nan),
    ("min_p", -0.1), ("min_p", 1.1), ("min_p", math.nan), ("repetition_penalty", 0), ("repetition_penalty", -1.0),
    ("repetition_penalty", math.inf), ("repetition_penalty", 1e-50), ("repetition_penalty", math.nan), ("seed", -1), ("seed", 2**64),
    ("max_tokens", 0), ("max_tokens", 2**32), ("stop_ids", [-1]), ("stop_ids", [151_936]), ("stream", -1), ("stream", 2**64),
    ("stream", "\ud800"), ("presence_penalty", math.inf), ("frequency_penalty", 1e39), ("logit_bias", {"5": math.nan}),
    ("logit_bias", {"151936": 1.0}), ("banned_ids", [2**40]), ("stop_strings", [""]), ("stop_strings", ["a\ud800"]),
    ("rng", "philox"), ("profile", "torch"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), IMPOSSIBLE)
def test_impossible_values_are_refused_by_name(name: str, value: object) -> None:
    error = refusal(**{name: value})
    assert error.code == "invalid_value"
    assert str(error.fields["field"]).startswith(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "0.6"), ("temperature", None), ("temperature", True), ("top_k", 20.0), ("top_k", True), ("top_p", [1]),
        ("seed", 1.0), ("seed", "00" * 32), ("max_tokens", None), ("stop_ids", 151_645), ("stop_ids", "151645"), ("stop_ids", [1.0]),
        ("stream", 1.5), ("logit_bias", [1]), ("logit_bias", {"x": 1.0}), ("stop_strings", "abc"), ("stop_strings", [1]), ("rng", 1),
    ],
)  # fmt: skip
def test_wrong_types_are_refused_by_name(name: str, value: object) -> None:
    error = refusal(**{name: value})
    assert error.code == "invalid_type"
    assert str(error.fields["field"]).startswith(name)


def test_unknown_fields_are_refused() -> None:
    assert refusal(typical_p=0.9).code == "unknown_field"


def test_profiles_and_generators_are_pairs() -> None:
    for profile, rng in (("contract", "mt19937-torch"), ("publisher", "pcg32"), ("publisher", "chacha8")):
        error = refusal(profile=profile, rng=rng)
        assert (error.code, error.fields["profile"], error.fields["rng"]) == ("sampling_pairing", profile, rng)


def test_streams_and_keys() -> None:
    assert SamplingConfig.from_dict(GOOD).stream == 0
    assert refusal(profile="publisher", rng="mt19937-torch", stream=1).fields["field"] == "stream"
    assert refusal(profile="publisher", rng="mt19937-torch", stream="a").fields["field"] == "stream"
    assert SamplingConfig.from_dict({**GOOD, "rng": "chacha8", "seed": "AB" * 32}).seed == "ab" * 32
    for digits in ("ab", "zz" * 32, "ab" * 33, "ab" * 31 + "é"):
        assert refusal(rng="chacha8", seed=digits).fields["field"] == "seed"


def test_the_core_refuses_the_same() -> None:
    """The class checks first; behind its back the core says the same codes and fields."""

    class Anything:
        def __init__(self, values) -> None:
            self.__dict__.update(config().to_dict() | {"stream": 0, "logit_bias": {}, "banned_ids": []} | OFFSETS | values)

    refused = 0
    for name, value in [*IMPOSSIBLE, ("rng", "mt19937-torch")]:
        if name in OFFSETS or name in ("temperature", "top_p", "min_p", "repetition_penalty"):
            if isinstance(value, int) and value > 2**63:
                continue
            with pytest.raises(Slm2Error) as caught:
                engine("native").sampler(Anything({name: value}), [], 64)
            theirs = refusal(**{name: value})
            assert caught.value.code == theirs.code
            assert [caught.value.fields[key] for key in ("field", "expected")] == [theirs.fields[key] for key in ("field", "expected")]
            refused += 1
    assert refused > 15
    with pytest.raises(Slm2Error) as caught:
        engine("native").sampler(Anything({"rng": "mt19937-torch"}), [], 64)
    assert caught.value.fields == refusal(rng="mt19937-torch").fields


OFFSETS = {"presence_penalty": 0.0, "frequency_penalty": 0.0}


def test_what_goes_out_comes_back() -> None:
    extras = {"stream": "a", "logit_bias": {"5": 1.5}, "banned_ids": [7], "presence_penalty": 0.5, "stop_strings": ["x"]}
    for changes in ({}, extras, {"rng": "chacha8", "seed": "ab" * 32}):
        made = SamplingConfig.from_dict({**GOOD, **changes})
        assert SamplingConfig.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert SamplingConfig.from_dict(GOOD).to_dict() == GOOD


def test_reports_name_the_torch_release() -> None:
    assert config().report_name == "contract"
    assert config(rng="mt19937-torch").report_name == f"publisher ({PUBLISHER_STREAM})"
    assert PUBLISHER_STREAM == "torch-2.13-cpu-avx512"


def test_presets_are_the_publishers_and_say_so() -> None:
    assert str(PRESETS["thinking"]) == "thinking: temperature=0.6, top_k=20, top_p=0.95, min_p=0.0, repetition_penalty=1.0"
    assert str(PRESETS["non-thinking"]) == "non-thinking: temperature=0.7, top_k=20, top_p=0.8, min_p=0.0, repetition_penalty=1.0"
    made = config_from_preset("non-thinking", **EXPLICIT, stop_ids=STOP_IDS)
    assert (made.temperature, made.top_k, made.top_p, made.min_p, made.repetition_penalty) == (0.7, 20, 0.8, 0.0, 1.0)
    with pytest.raises(Slm2Error) as caught:
        config_from_preset("thinking", profile="contract")
    assert caught.value.code == "missing_field"
    with pytest.raises(Slm2Error) as caught:
        config_from_preset("creative", **EXPLICIT)
    assert caught.value.code == "invalid_value"


def write(folder, **values):
    path = folder / "generation_config.json"
    path.write_text(json.dumps(values))
    return path


PUBLISHED = {
    "bos_token_id": 151643, "do_sample": True, "eos_token_id": [151645, 151643], "pad_token_id": 151643, "temperature": 0.6,
    "top_k": 20, "top_p": 0.95, "transformers_version": "4.51.0",
}  # fmt: skip


def test_a_checkpoints_file_is_read_when_asked_for(tmp_path) -> None:
    path = write(tmp_path, **PUBLISHED)
    made = config_from_generation_config(path, **EXPLICIT, min_p=0, repetition_penalty=1)
    assert (made.temperature, made.top_k, made.top_p, made.stop_ids) == (0.6, 20, 0.95, STOP_IDS)
    assert config_from_generation_config(path, **EXPLICIT, min_p=0, repetition_penalty=1, top_k=5).top_k == 5


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"typical_p": 0.9}, "unknown_field"), ({"num_beams": 4}, "unknown_field"), ({"do_sample": False}, "invalid_value")],
)
def test_a_file_that_asks_for_something_else_is_refused(tmp_path, changes, code) -> None:
    with pytest.raises(Slm2Error) as caught:
        config_from_generation_config(write(tmp_path, **(PUBLISHED | changes)), **EXPLICIT, min_p=0, repetition_penalty=1)
    assert caught.value.code == code


def test_what_no_file_says_must_be_given(tmp_path) -> None:
    path = write(tmp_path, **PUBLISHED)
    with pytest.raises(Slm2Error) as caught:
        config_from_generation_config(path, **EXPLICIT)
    assert (caught.value.code, caught.value.fields["field"]) == ("missing_field", "min_p")
    for content in ("[1]", "{"):
        path.write_text(content)
        with pytest.raises(Slm2Error):
            config_from_generation_config(path, **EXPLICIT)
    with pytest.raises(Slm2Error) as caught:
        config_from_generation_config(tmp_path / "none.json", **EXPLICIT)
    assert caught.value.code == "file_unreadable"


def test_a_contract_takes_configurations_of_its_profile() -> None:
    contract = slm2.load(engine="native", profile="publisher")
    with pytest.raises(Slm2Error) as caught:
        contract.sampler(config())
    assert caught.value.code == "sampling_pairing"
    assert contract.sampler(config(rng="mt19937-torch")).position == 0


def test_an_id_is_biased_under_one_name() -> None:
    with pytest.raises(Slm2Error) as caught:
        SamplingConfig.from_dict({**config().to_dict(), "logit_bias": {"5": 1.0, "05": -1.0}})
    assert caught.value.code == "invalid_type"
    assert caught.value.fields["field"] == "logit_bias"


def test_an_empty_name_of_a_stream_is_one() -> None:
    named = config(stream="")
    assert SamplingConfig.from_dict(named.to_dict()) == named
