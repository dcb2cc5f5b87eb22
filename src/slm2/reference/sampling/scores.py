"""From logits to scores: what is excluded, penalties, bias, temperature; all in float32, one rounding an operation (S-10 to S-18)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slm2.errors import Slm2Error
from slm2.reference.sampling.config import SamplingConfig

__all__ = ["History", "Scores", "scores", "with_temperature"]

Scores = npt.NDArray[np.float32]
_MINUS_INFINITY = np.float32(-np.inf)


class History(NamedTuple):
    """The ids of a sequence: those that the model was given, and those that were drawn."""

    prompt: list[int]
    output: list[int]


def scores(logits: Scores, config: SamplingConfig, limit: int, history: History, allowed: bytes | None) -> Scores:
    """The scores before the temperature, in a new array.

    Args:
        logits: of one step.
        config: of the sampler.
        limit: ids from here on have no meaning in profile ``contract``.
        history: penalties count its ids.
        allowed: a bit for each id, lowest first; None where all are allowed.
    """
    _check(logits)
    row = logits.copy()
    if config.profile == "contract":
        row[limit:] = _MINUS_INFINITY
    if allowed is not None:
        row[np.unpackbits(np.frombuffer(allowed, np.uint8), bitorder="little")[: row.size] == 0] = _MINUS_INFINITY
    row[list(config.banned_ids)] = _MINUS_INFINITY
    with np.errstate(over="ignore", under="ignore"):
        if np.float32(config.repetition_penalty) != 1.0:
            _set(row, config, "repetition_penalty", {token: _penalised(row[token], config) for token in {*history.prompt, *history.output}})
        if config.frequency_penalty or config.presence_penalty:
            _set(
                row,
                config,
                "presence_penalty",
                {token: _offset(row[token], count, config) for token, count in Counter(history.output).items()},
            )
        _set(row, config, "logit_bias", {token: row[token] + np.float32(bias) for token, bias in config.logit_bias.items()})
    if not np.any(row > _MINUS_INFINITY):
        raise Slm2Error("logits_excluded", width=row.size)
    return row


def with_temperature(row: Scores, config: SamplingConfig) -> Scores:
    """Divided by the temperature, which is not 0: a true division, never a multiplication by 1 / T."""
    with np.errstate(over="ignore", under="ignore"):
        divided = row / np.float32(config.temperature)
    if np.any(fallen := _fallen(row, divided, config)):
        raise Slm2Error("logits_overflow", id=int(np.argmax(fallen)), operation="temperature")
    if not np.any(divided > _MINUS_INFINITY):  # profile publisher alone gets here
        raise Slm2Error("logits_excluded", width=row.size)
    return divided


def _check(logits: Scores) -> None:
    bad = ~(logits < np.inf)
    if np.any(bad):
        token = int(np.argmax(bad))
        raise Slm2Error("logits_invalid", id=token, found="NaN" if np.isnan(logits[token]) else "Infinity")


def _fallen(before: Scores, after: Scores, config: SamplingConfig) -> npt.NDArray[np.bool_]:
    """Finite values that became infinite; torch goes on with -inf, so that profile publisher does."""
    return np.isfinite(before) & (np.isinf(after) if config.profile == "contract" else after == np.inf)


def _set(row: Scores, config: SamplingConfig, operation: str, values: Mapping[int, np.float32]) -> None:
    for token in sorted(values):
        if _fallen(row[token : token + 1], np.array([values[token]], np.float32), config)[0]:
            raise Slm2Error("logits_overflow", id=token, operation=operation)
    for token, value in values.items():
        row[token] = value


def _penalised(score: np.float32, config: SamplingConfig) -> np.float32:
    """The publisher's rule, which branches on the sign (S-13 says why it is kept)."""
    penalty = np.float32(config.repetition_penalty)
    return score * penalty if score < 0 else score / penalty


def _offset(score: np.float32, count: int, config: SamplingConfig) -> np.float32:
    if score == _MINUS_INFINITY:  # out already, also where the penalty for so many is infinite
        return score
    frequency = np.float32(config.frequency_penalty) * np.float32(count)
    return (score - frequency) - np.float32(config.presence_penalty)
