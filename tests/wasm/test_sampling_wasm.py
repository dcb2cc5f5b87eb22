"""The module for browsers against the native engine: the same bits (contract/sampling.md)."""

from __future__ import annotations

import numpy as np
import pytest

from sampling_cases import RNG_NAMES, adversarial, config, engine, full, heavy_tailed, random_config
from slm2.errors import Slm2Error
from slm2.reference.sampling.recipe import Recipe
from slm2.sampling import WIDTH
from wasm.module import Module, WasmSampler

pytestmark = pytest.mark.xdist_group("wasm")


def outcome(sampler, row, allowed=None) -> tuple:
    """What both can tell of a step."""
    try:
        drawn = sampler.sample(row, allowed, 0)
    except Slm2Error as error:
        return (error.code,)
    if len(drawn) == 1:
        return drawn
    return (*drawn[:6], sampler.kept())


@pytest.mark.parametrize("function", ["exp", "log", "log1p"])
def test_a_million_operations_have_the_same_bits(function: str) -> None:
    """Native and WASM here, native and reference in tests/unit/test_portable_math.py, over points of the same kinds."""
    rng = np.random.default_rng(3)
    count = 1_000_000 // 3 + 1
    points = {
        "exp": np.concatenate([rng.uniform(-760, 720, count // 2), rng.uniform(-40, 0, count - count // 2), [np.inf, -np.inf, -0.0]]),
        "log": np.exp2(rng.uniform(-1074, 1023, count)),
        "log1p": -rng.random(count),
    }[function]
    assert Module().portable(function, points) == engine("native").portable(function, points.astype("<f8").tobytes())
    assert Module().portable(function, points) == engine("reference").portable(function, points.astype("<f8").tobytes())


@pytest.mark.parametrize("rng_name", RNG_NAMES)
def test_ten_thousand_continuous_steps(rng_name: str) -> None:
    """The stream of tests/differential/test_sampling_engines.py, where native and reference draw it."""
    width, steps = 512, 10_000
    setting = config(rng=rng_name, seed=77, top_k=0, repetition_penalty=1.05, max_tokens=steps)
    native, wasm = engine("native").sampler(setting, [1, 2], width), WasmSampler(Module(), setting, [1, 2], width)
    for step in range(steps):
        row = Recipe(5, step, 1.0, 6.0).logits(width)
        assert wasm.recipe(5, step, 1.0, 6.0) == row.tobytes()
        assert outcome(native, row) == outcome(wasm, None), step


def test_random_and_adversarial_steps() -> None:
    rng = np.random.default_rng(6)
    module = Module()
    for number in range(full(60, 600)):
        width = WIDTH if number % 3 == 0 else 4096
        setting = random_config(rng, RNG_NAMES[number // 3 % 3], width)
        pair = engine("native").sampler(setting, [3, 4], width), WasmSampler(module, setting, [3, 4], width)
        for _ in range(2):
            row = heavy_tailed(rng) if width == WIDTH else adversarial(rng, width)
            allowed = bytes(rng.integers(0, 256, width // 8, dtype=np.uint8)) if number % 5 == 0 else None
            assert outcome(pair[0], row, allowed) == outcome(pair[1], row, allowed)


def test_refusals_come_with_their_code() -> None:
    module = Module()
    sampler = WasmSampler(module, config(), [], 64)
    assert sampler.sample(np.full(64, np.nan, np.float32), None, 0) == ("logits_invalid",)
    assert module.error()["fields"] == {"id": 0, "found": "NaN"}
    assert sampler.sample(np.full(64, -np.inf, np.float32), None, 0) == ("logits_excluded",)
    assert sampler.sample(np.zeros(64, np.float32), None, 0)[4] == 2
