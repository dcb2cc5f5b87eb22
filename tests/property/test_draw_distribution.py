"""1,000,000 draws of each generator against the distribution that they are drawn from (contract/sampling.md, S-25, S-53)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sampling_cases import RNG_NAMES, config, engine

DRAWS = 1_000_000
WIDTH = 24


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> tuple[float, int]:
    """The statistic and its degrees of freedom."""
    expected = probabilities * counts.sum()
    assert expected.min() > 5
    return float(((counts - expected) ** 2 / expected).sum()), counts.size - 1


def bounds(degrees: int) -> tuple[float, float]:
    """Wilson and Hilferty's approximation, five standard deviations to each side: chance of less than one in a million."""
    spread = math.sqrt(2 / (9 * degrees))
    low, high = ((1 - 2 / (9 * degrees) + z * spread) ** 3 * degrees for z in (-5, 5))
    return max(low, 0.0), high


@pytest.mark.parametrize("rng_name", RNG_NAMES)
def test_draws_have_the_distribution_that_they_tell(rng_name: str) -> None:
    row = np.linspace(0.0, -5.0, WIDTH).astype(np.float32)
    setting = config(rng=rng_name, seed=20_261_130, temperature=1.0, top_k=0, top_p=0.99, min_p=0.01, max_tokens=1)
    sampler = engine("native").sampler(setting, [], WIDTH)
    counts = np.zeros(WIDTH, np.int64)
    *_, top = sampler.sample(row, None, WIDTH)
    for _ in range(DRAWS):
        counts[sampler.sample(row, None, 0)[0]] += 1
    kept = [token for token, *_ in top]
    assert 15 < len(kept) < WIDTH
    assert counts.sum() == counts[kept].sum() == DRAWS
    # What is told is itself what the logits say.
    weights = np.exp(row[kept].astype(np.float64))
    told = np.array([probability for _, probability, _ in top])
    assert np.allclose(told, weights / weights.sum(), rtol=1e-6)
    statistic, degrees = chi_square(counts[kept], weights / weights.sum())
    low, high = bounds(degrees)
    assert low < statistic < high


def test_the_test_sees_a_distribution_that_is_a_little_off() -> None:
    """A tenth of a percent of the mass from the first token to the last is found in as many draws."""
    probabilities = np.full(20, 0.05)
    wrong = probabilities.copy()
    wrong[0] -= 0.001
    wrong[-1] += 0.001
    counts = np.random.default_rng(1).multinomial(DRAWS, wrong)
    statistic, degrees = chi_square(counts, probabilities)
    assert statistic > 2 * degrees > degrees > chi_square(np.random.default_rng(1).multinomial(DRAWS, probabilities), probabilities)[0] / 2


@pytest.mark.parametrize("rng_name", RNG_NAMES)
def test_uniforms_fill_their_range_evenly(rng_name: str) -> None:
    generator = engine("native").generator(rng_name, 5, 0)
    drawn = np.array([generator.uniform() for _ in range(200_000)])
    assert 0.0 <= drawn.min() < drawn.max() < 1.0
    assert np.all(drawn * 2.0**53 == np.floor(drawn * 2.0**53))
    statistic, degrees = chi_square(np.bincount((drawn * 256).astype(int), minlength=256), np.full(256, 1 / 256))
    low, high = bounds(degrees)
    assert low < statistic < high
