"""What one step gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Ids", "Outcome"]

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One draw.

    Attributes:
        id: the token.
        probability: of the token among the kept ones.
        log_probability: its natural logarithm.
        sizes: how many ids were left before top_k, after it, after top_p and after min_p.
        words: how many 32-bit words the step took from the generator.
        numbers: what decided, by which the draw can be checked (S-62): in profile contract uniform, mass below, weight and total; in
            profile publisher the exponential variate of the token and its ratio; nothing at temperature 0.
        kept: the kept ids, most probable first, equal ones by rising id.
        probabilities: of the kept ids.
        log_probabilities: of the kept ids.
    """

    id: int
    probability: float
    log_probability: float
    sizes: tuple[int, int, int, int]
    words: int
    numbers: tuple[float, ...]
    kept: Ids
    probabilities: npt.NDArray[np.float64]
    log_probabilities: npt.NDArray[np.float64]
