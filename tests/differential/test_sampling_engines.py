"""The engine against the reference, bit for bit (contract/sampling.md). SLM2_FULL=1 runs all the steps that docs/performance.md reports."""

from __future__ import annotations

import numpy as np
import pytest

from sampling_cases import RNG_NAMES, adversarial, compare, config, engine, full, heavy_tailed, pairs
from slm2.reference.sampling.recipe import Recipe
from slm2.sampling import WIDTH

STEPS_OF_A_SAMPLER = 5


@pytest.mark.parametrize("part", range(4))
def test_random_steps(part: int) -> None:
    steps = full(1_200, 20_000) // 4
    for number, (rng, pair) in enumerate(pairs(100 + part)):
        if number * STEPS_OF_A_SAMPLER >= steps:
            break
        for _ in range(STEPS_OF_A_SAMPLER):
            allowed = bytes(rng.integers(0, 256, WIDTH // 8, dtype=np.uint8)) if rng.random() < 0.1 else None
            assert compare(pair, heavy_tailed(rng), allowed, int(rng.integers(8)))


@pytest.mark.parametrize(("width", "steps", "seed"), [(4096, 950, 1), (4096, 950, 2), (151_936, 100, 3)])
def test_adversarial_steps(width: int, steps: int, seed: int) -> None:
    drawn = 0
    for rng, pair in pairs(seed, width):
        row = adversarial(rng, width)
        drawn += compare(pair, row, None, int(rng.integers(8)))
        if drawn == steps:
            break


@pytest.mark.parametrize("width", [1, 2, 7, 8, 15, 16, 17, 40, 127, 128, 129, 1000])
def test_narrow_rows(width: int) -> None:
    for number, (rng, pair) in enumerate(pairs(width, width)):
        if number == 60:
            break
        compare(pair, rng.normal(0, 3, width).astype(np.float32).round(1), None, 3)


@pytest.mark.parametrize("rng_name", RNG_NAMES)
def test_ten_thousand_continuous_steps(rng_name: str) -> None:
    """One sampler of each engine over one stream, its own ids in its history; tests/wasm has the same for WASM."""
    width, steps = 512, 10_000
    setting = config(rng=rng_name, seed=77, top_k=0, repetition_penalty=1.05, max_tokens=steps)
    pair = engine("native").sampler(setting, [1, 2], width), engine("reference").sampler(setting, [1, 2], width)
    for step in range(steps):
        assert compare(pair, Recipe(5, step, 1.0, 6.0).logits(width), None, 0)


def test_a_batch_is_single_calls_in_any_order() -> None:
    rng = np.random.default_rng(4)
    rows = np.stack([heavy_tailed(rng) for _ in range(6)])
    settings = [config(rng=RNG_NAMES[number % 3], seed=number, top_k=[0, 20, 50][number // 2]) for number in range(6)]
    for choice in ("native", "reference"):
        forward = [engine(choice).sampler(setting, [number], WIDTH) for number, setting in enumerate(settings)]
        backward = [engine(choice).sampler(setting, [number], WIDTH) for number, setting in enumerate(settings)]
        for _ in range(2):
            first = [sampler.sample(row, None, 2) for sampler, row in zip(forward, rows, strict=True)]
            second = [sampler.sample(row, None, 2) for sampler, row in zip(reversed(backward), reversed(rows), strict=True)]
            assert first == second[::-1]
