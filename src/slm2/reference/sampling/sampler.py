"""A sampler: configuration, generator and history; one id for each row of logits (contract/sampling.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slm2.errors import Slm2Error
from slm2.reference.sampling import contract_profile, publisher_profile
from slm2.reference.sampling.config import SamplingConfig, stream_number
from slm2.reference.sampling.generators import Mt19937, generator, restored
from slm2.reference.sampling.outcome import Outcome
from slm2.reference.sampling.scores import History, Scores, scores, with_temperature

__all__ = ["ReferenceSampler"]

SampleRow = tuple[int, float, float, tuple[int, int, int, int], int, tuple[float, ...], list[tuple[int, float, float]]]


class ReferenceSampler:
    """See :class:`slm2.engine.EngineSampler`."""

    def __init__(self, config: SamplingConfig, prompt: Sequence[int], width: int, limit: int) -> None:
        self._config, self._width, self._limit = config, width, limit
        self._generator = generator(config.rng, config.seed, stream_number(config.stream))
        for name, ids in (("banned_ids", config.banned_ids), ("logit_bias", tuple(config.logit_bias))):
            for token in ids:
                if token >= width:
                    raise Slm2Error("invalid_value", field=name, expected=f"ids below {width}", found=str(token))
        _check_history(prompt, width)
        self._history = History(list(prompt), [])
        self._last: Outcome | None = None

    def sample(self, logits: Scores, allowed: bytes | None, top: int) -> SampleRow:
        if logits.size != self._width:
            raise Slm2Error("logits_length", found=logits.size, expected=self._width)
        if allowed is not None and len(allowed) != (self._width + 7) // 8:
            raise Slm2Error("allowed_length", found=len(allowed), expected=(self._width + 7) // 8)
        row = scores(logits, self._config, self._limit, self._history, allowed)
        outcome = self._draw(row)
        self._last = outcome
        self._history.output.append(outcome.id)
        best = [
            (int(outcome.kept[at]), float(outcome.probabilities[at]), float(outcome.log_probabilities[at]))
            for at in range(min(top, outcome.kept.size))
        ]
        return (
            outcome.id,
            outcome.probability,
            outcome.log_probability,
            outcome.sizes,
            outcome.words,
            outcome.numbers,
            best,
        )

    def _draw(self, row: Scores) -> Outcome:
        if self._config.temperature == 0.0:
            return contract_profile.greatest(row)
        row = with_temperature(row, self._config)
        if isinstance(self._generator, Mt19937):
            return publisher_profile.draw(row, self._config, self._generator)
        return contract_profile.draw(row, self._config, self._generator)

    def kept(self) -> bytes:
        if self._last is None:
            return b""
        return np.sort(self._last.kept).astype("<u4").tobytes()

    def extend(self, ids: Sequence[int]) -> None:
        _check_history(ids, self._width)
        self._history.prompt.extend(ids)

    @property
    def position(self) -> int:
        return self._generator.position

    def advance(self, words: int) -> None:
        self._generator.advance(words)

    def state(self) -> bytes:
        return self._generator.state()

    def restore(self, state: bytes) -> None:
        self._generator = restored(self._config.rng, state)


def _check_history(ids: Sequence[int], width: int) -> None:
    for position, token in enumerate(ids):
        if not 0 <= token < width:
            raise Slm2Error("token_id_out_of_range", position=position, id=token, limit=width)
