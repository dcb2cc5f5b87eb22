"""Sampling2's face: logits to a token id, one row at a time (contract/sampling.md)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from slm2.engine import Engine, EngineGenerator, OfOneProcess, integer_id, integer_ids, shown_integer
from slm2.errors import Slm2Error
from slm2.logits_arrays import kind_of, mask_of, row_of, widen
from slm2.presets import PRESETS, STOP_IDS, Preset, config_from_generation_config, config_from_preset
from slm2.reference.sampling.config import PUBLISHER_STREAM, RNGS, WIDTH, Rng, SamplingConfig
from slm2.reference.sampling.trace import MOST_LOGITS, Trace, digest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "PRESETS",
    "PUBLISHER_STREAM",
    "RNGS",
    "STOP_IDS",
    "WIDTH",
    "Preset",
    "Rng",
    "Sample",
    "Sampler",
    "SamplingConfig",
    "Trace",
    "config_from_generation_config",
    "config_from_preset",
    "sample_batch",
    "widen",
]

_U64 = 2**64 - 1


class Sample(NamedTuple):
    """One draw.

    Attributes:
        id: the token.
        probability: of the token among the kept ones.
        log_probability: its natural logarithm.
        sizes: how many ids were left before top_k, after it, after top_p and after min_p.
        words: how many 32-bit words the step took from the generator.
        numbers: what decided, for audits (contract/sampling.md, S-62).
        top: the most probable of the kept tokens, as many as were asked for: id, probability, log-probability.
    """

    id: int
    probability: float
    log_probability: float
    sizes: tuple[int, int, int, int]
    words: int
    numbers: tuple[float, ...]
    top: list[tuple[int, float, float]]

    @property
    def kept(self) -> int:
        """How many ids were left to draw from."""
        return self.sizes[3]


class Sampler(OfOneProcess):
    """A configuration, a generator and a history: what draws the ids of one sequence.

    It is of one sequence: a batch has one for each row. Calls from several threads wait for each other.

    Attributes:
        config: what it was made with.
        width: logits of a row; 151,936 but in tests.
    """

    def __init__(
        self, engine: Engine, config: SamplingConfig, prompt: Iterable[int] = (), *, width: int = WIDTH, record: bool = False
    ) -> None:
        """Begin at the start of the stream.

        Args:
            engine: computes.
            config: all that decides beside logits and history.
            prompt: ids that the model has seen; penalties count them.
            width: logits of a row.
            record: keep a trace.

        Raises:
            Slm2Error: ``invalid_type``, ``token_id_out_of_range``.
        """
        if not isinstance(config, SamplingConfig):
            raise Slm2Error("invalid_type", field="config", expected="a SamplingConfig", found=type(config).__name__)
        if not 1 <= integer_id("width", width) <= MOST_LOGITS:
            raise Slm2Error("invalid_value", field="width", expected="an integer from 1 to 2^24", found=shown_integer(width))
        ids = integer_ids("prompt", prompt)
        self.config, self.width = config, width
        self._sampler = engine.sampler(config, ids, width)
        self._trace = Trace.begin(config, ids, width) if record else None
        # A draw and its line belong together, whichever thread comes next.
        self._recording = RLock()

    def sample(self, logits: Any, *, allowed: Any = None, top: int = 0) -> Sample:  # noqa: ANN401  (arrays of several libraries)
        """Draw an id of one row of logits, and take it into the history.

        Args:
            logits: one-dimensional array of ``width`` float32; float16 and bfloat16 are widened, which is exact. It may be read-only
                and need not be contiguous. It is not changed, and not copied where it is a contiguous float32 array.
            allowed: which ids may be drawn, None for all: bytes with a bit for each id, lowest first; an array of ``width`` booleans; or
                one of 32-bit words of such bits, as llguidance and xgrammar fill it.
            top: how many of the most probable kept tokens to tell.

        Raises:
            Slm2Error: ``invalid_type``, ``logits_length``, ``logits_invalid``, ``logits_overflow``, ``logits_excluded``,
                ``allowed_length``; nothing has changed then.
        """
        row = row_of(logits)
        mask = allowed if allowed is None or type(allowed) is bytes else mask_of(allowed, self.width)
        if not 0 <= integer_id("top", top) <= self.width:
            raise Slm2Error("invalid_value", field="top", expected=f"an integer from 0 to {self.width}", found=shown_integer(top))
        if self._trace is None:
            return Sample._make(self._sampler.sample(row, mask, top))
        with self._recording:
            position = self._sampler.position
            drawn = Sample._make(self._sampler.sample(row, mask, top))
            inputs = {"logits": digest(row.tobytes()), "allowed": None if mask is None else digest(mask)}
            self._trace.add_step(inputs, position, drawn._asdict(), digest(self._sampler.kept()))
        return drawn

    def kept(self) -> npt.NDArray[np.uint32]:
        """The ids that the last step kept, rising; empty before the first."""
        import numpy as np  # noqa: PLC0415

        return np.frombuffer(self._sampler.kept(), "<u4").astype(np.uint32)

    def extend(self, ids: Iterable[int]) -> None:
        """Take ids into the history that the model has seen and this sampler did not draw.

        Raises:
            Slm2Error: ``invalid_type``, ``token_id_out_of_range``.
        """
        taken = integer_ids("ids", ids)
        with self._recording:
            self._sampler.extend(taken)
            if self._trace is not None:
                self._trace.add_event("extend", taken)

    @property
    def position(self) -> int:
        """How many 32-bit words were taken since the seed."""
        return self._sampler.position

    def advance(self, words: int) -> None:
        """Go on as if so many words, from 0 to 2^64 - 1, had been taken: O(log n) with pcg32, O(1) with chacha8.

        With mt19937-torch it is O(n), and at most 2^32 words in one call.

        Raises:
            Slm2Error: ``invalid_type``, ``invalid_value``.
        """
        if not 0 <= integer_id("words", words) <= _U64:
            raise Slm2Error("invalid_value", field="words", expected="an integer from 0 to 2^64 - 1", found=shown_integer(words))
        with self._recording:
            self._sampler.advance(words)
            if self._trace is not None:
                self._trace.add_event("advance", operator.index(words))

    def state(self) -> bytes:
        """The state of the generator, to be kept as it is (contract/sampling.md, S-35). The history is not in it."""
        return self._sampler.state()

    def restore(self, state: bytes) -> None:
        """Go on from a saved state of a generator of the same kind.

        Raises:
            Slm2Error: ``generator_state``, ``invalid_type``.
        """
        if not isinstance(state, bytes):
            raise Slm2Error("invalid_type", field="state", expected="bytes", found=type(state).__name__)
        with self._recording:
            self._sampler.restore(state)
            if self._trace is not None:
                self._trace.add_event("restore", state.hex())

    def trace(self) -> Trace:
        """What was recorded so far.

        Raises:
            Slm2Error: ``invalid_value`` where the sampler was made without ``record=True``.
        """
        if self._trace is None:
            raise Slm2Error("invalid_value", field="record", expected="True when the sampler is made", found="False")
        return self._trace


def sample_batch(samplers: Sequence[Sampler], logits: Any, *, top: int = 0) -> list[Sample]:  # noqa: ANN401
    """One draw for each row, by its own sampler: the same as single calls in any order.

    Args:
        samplers: one a row.
        logits: array of [rows, width].
        top: as in :meth:`Sampler.sample`.

    Raises:
        Slm2Error: as :meth:`Sampler.sample`; rows before the one refused were drawn. ``logits_length`` where there is not a row for each.
    """
    if not isinstance(samplers, Sequence) or not all(isinstance(sampler, Sampler) for sampler in samplers):
        raise Slm2Error("invalid_type", field="samplers", expected="a sequence of Samplers", found=type(samplers).__name__)
    if not hasattr(type(logits), "__len__") or getattr(logits, "ndim", 1) == 0:
        raise Slm2Error("invalid_type", field="logits", expected="an array of rows", found=kind_of(logits))
    if len(samplers) != len(logits):
        raise Slm2Error("logits_length", found=len(logits), expected=len(samplers))
    return [sampler.sample(row, top=top) for sampler, row in zip(samplers, logits, strict=True)]


def generator(engine: Engine, rng: Rng, seed: int | str, stream: int | str = 0) -> EngineGenerator:
    """A generator by itself, under the names of :class:`SamplingConfig`.

    Raises:
        Slm2Error: as :class:`SamplingConfig`.
    """
    profile: Literal["contract", "publisher"] = "publisher" if rng == "mt19937-torch" else "contract"
    config = config_from_preset("thinking", profile=profile, rng=rng, seed=seed, stream=stream, max_tokens=1, stop_ids=())
    return engine.generator(config.rng, config.seed, config.stream)
