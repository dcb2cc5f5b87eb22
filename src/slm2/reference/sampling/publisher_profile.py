"""Profile publisher: what transformers and torch do on a CPU with 16 float32 lanes (contract/sampling.md, S-50 to S-58).

Everything is float32, one rounding an operation, where nothing else is said.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slm2.reference.sampling.config import SamplingConfig
from slm2.reference.sampling.contract_profile import top_k
from slm2.reference.sampling.generators import Mt19937
from slm2.reference.sampling.introsort import introsort
from slm2.reference.sampling.outcome import Ids, Outcome
from slm2.reference.sampling.portable_math import exp, log, log1p
from slm2.reference.sampling.scores import Scores

__all__ = ["draw", "exponentials", "softmax"]

_LANES = 16
_SMALLEST_NORMAL = np.float32(1.1754943508222875e-38)


def draw(scores: Scores, config: SamplingConfig, generator: Mt19937) -> Outcome:
    """One id of scores that were divided by the temperature, at least one of which is finite."""
    candidates = np.flatnonzero(scores > -np.inf)
    survivors = top_k(scores, candidates, config.top_k)
    within_p = _top_p(_only(scores, survivors), survivors, config.top_p)
    kept = _min_p(_only(scores, within_p), within_p, config.min_p)

    probabilities = softmax(_only(scores, kept))[kept]
    variates = exponentials(generator, scores.size)[kept]
    with np.errstate(over="ignore", under="ignore"):
        ratios = probabilities / variates
    chosen = int(np.argmax(ratios))
    order = np.lexsort((kept, -probabilities))
    doubles = probabilities.astype(np.float64)
    return Outcome(
        id=int(kept[chosen]),
        probability=float(doubles[chosen]),
        log_probability=float(log(doubles[chosen])),
        sizes=(candidates.size, survivors.size, within_p.size, kept.size),
        words=2 * scores.size,
        numbers=(float(variates[chosen]), float(ratios[chosen])),
        kept=kept[order],
        probabilities=doubles[order],
        log_probabilities=_logarithms(doubles[order]),
    )


def softmax(scores: Scores) -> Scores:
    """Exp of the distances rounded from float64, summed in 16 lanes by position, times the reciprocal of the sum."""
    exponentials = exp((scores - scores.max()).astype(np.float64)).astype(np.float32)
    return exponentials * (np.float32(1.0) / _lane_sum(exponentials))


def _lane_sum(values: Scores) -> np.float32:
    """Lane j adds elements j, j + 16, ...; a last stretch that is shorter goes to the first lanes; then halves fold."""
    if values.size < _LANES:
        return np.float32(np.add.accumulate(values)[-1])
    whole = values.size - values.size % _LANES
    lanes = np.add.accumulate(values[:whole].reshape(-1, _LANES), axis=0)[-1].copy()
    lanes[: values.size - whole] += values[whole:]
    while lanes.size > 1:
        lanes = lanes[: lanes.size // 2] + lanes[lanes.size // 2 :]
    return np.float32(lanes[0])


def _only(scores: Scores, ids: Ids) -> Scores:
    row = np.full_like(scores, -np.inf)
    row[ids] = scores[ids]
    return row


def _top_p(scores: Scores, survivors: Ids, p: float) -> Ids:
    """Rising order; what lies where the mass so far is at most 1 - p goes, the last one never does."""
    if p >= 1.0:
        return survivors
    order = np.argsort(scores, kind="stable")
    mass = np.cumsum(softmax(scores[order]).astype(np.float64)).astype(np.float32)
    removed = mass <= np.float32(1.0 - p)
    removed[-1] = False
    cut = int(np.count_nonzero(removed))
    if cut > 0 and scores[order[cut - 1]] == scores[order[cut]] > -np.inf:
        order = np.array(introsort(scores.tolist()))
    kept = np.sort(order[cut:])
    return kept[scores[kept] > -np.inf]


def _min_p(scores: Scores, ids: Ids, p: float) -> Ids:
    """What has less than p of the greatest probability goes, strictly; the first of the greatest stays."""
    probabilities = softmax(scores)
    removed = probabilities < np.float32(p) * probabilities.max()
    removed[int(np.argmax(probabilities))] = False
    return np.asarray(ids[~removed[ids]])


def exponentials(generator: Mt19937, count: int) -> npt.NDArray[np.float32]:
    """-log1p(-u) for every id, rounded from float64."""
    uniforms = generator.uniforms(count)
    variates = (-log1p(-uniforms)).astype(np.float32)
    return np.where(uniforms == 0.0, _SMALLEST_NORMAL, variates)


def _logarithms(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of probabilities, -inf where one was rounded to 0."""
    return np.where(probabilities > 0.0, log(np.where(probabilities > 0.0, probabilities, 1.0)), -np.inf)
