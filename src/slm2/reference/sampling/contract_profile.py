"""Profile contract: float64 weights, never divided, in a total order (contract/sampling.md, S-20 to S-26; decisions D8)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slm2.reference.sampling.config import SamplingConfig
from slm2.reference.sampling.generators import Generator
from slm2.reference.sampling.outcome import Ids, Outcome
from slm2.reference.sampling.portable_math import exp, log
from slm2.reference.sampling.scores import Scores

__all__ = ["draw", "greatest", "lane_total", "top_k"]

Doubles = npt.NDArray[np.float64]
_LANES = 8


def draw(scores: Scores, config: SamplingConfig, generator: Generator) -> Outcome:
    """One id of scores that were divided by the temperature, at least one of which is finite."""
    candidates = np.flatnonzero(scores > -np.inf)
    survivors = top_k(scores, candidates, config.top_k)
    distances = scores[survivors].astype(np.float64) - float(scores[survivors].max()) + 0.0  # no -0.0, whichever zero is the greatest
    weights = exp(distances)
    total = lane_total(survivors, weights)
    order = np.lexsort((survivors, -weights))
    ids, weights, distances = survivors[order], weights[order], distances[order]
    running = np.add.accumulate(weights)  # sequential, in this order

    within_p = ids.size if config.top_p == 1.0 else _first(running > config.top_p * total, ids.size - 1) + 1
    kept = int(np.count_nonzero(weights[:within_p] >= config.min_p))

    uniform = generator.uniform()
    mass = float(running[kept - 1])
    chosen = _first(running[:kept] > uniform * mass, kept - 1)
    probabilities = weights[:kept] / mass
    log_probabilities = distances[:kept] - float(log(mass))
    below = float(running[chosen - 1]) if chosen else 0.0
    return Outcome(
        id=int(ids[chosen]),
        probability=float(probabilities[chosen]),
        log_probability=float(log_probabilities[chosen]),
        sizes=(candidates.size, survivors.size, within_p, kept),
        words=2,
        numbers=(uniform, below, float(weights[chosen]), mass),
        kept=ids[:kept],
        probabilities=probabilities,
        log_probabilities=log_probabilities,
    )


def greatest(scores: Scores) -> Outcome:
    """Temperature 0: the greatest score, the lowest id among equal ones; the generator is left alone."""
    chosen = int(np.argmax(scores))
    one, nothing = np.array([1.0]), np.array([0.0])
    sizes = (int(np.count_nonzero(scores > -np.inf)), 1, 1, 1)
    return Outcome(chosen, 1.0, 0.0, sizes, 0, (), np.array([chosen]), one, nothing)


def top_k(scores: Scores, candidates: Ids, k: int) -> Ids:
    """The candidates whose score is at least the k-th greatest; all of them where k is 0."""
    if k == 0 or k >= candidates.size:
        return candidates
    values = scores[candidates]
    kth = np.partition(values, values.size - k)[values.size - k]
    return np.asarray(candidates[values >= kth])


def lane_total(ids: Ids, weights: Doubles) -> float:
    """The sum in 8 lanes, id mod 8, each in rising id, folded in halves."""
    lanes = [0.0] * _LANES
    for lane in range(_LANES):
        members = weights[ids % _LANES == lane]
        lanes[lane] = float(np.add.accumulate(members)[-1]) if members.size else 0.0
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


def _first(condition: npt.NDArray[np.bool_], otherwise: int) -> int:
    """Where a condition holds first."""
    return int(np.argmax(condition)) if condition.any() else otherwise
