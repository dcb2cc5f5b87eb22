"""Sampling2's face: logits to a token id, one row at a time (contract/sampling.md)."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fsdecode
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from slm2.engine import Engine, EngineGenerator, OfOneProcess, integer_id, integer_ids, shown_integer
from slm2.errors import Slm2Error
from slm2.reference.sampling.config import PUBLISHER_STREAM, RNGS, WIDTH, Rng, SamplingConfig
from slm2.reference.sampling.trace import MOST_LOGITS, Trace, digest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

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

# <|im_end|> and <|endoftext|>: what the publisher's generation_config.json ends a reply with.
STOP_IDS = (151_645, 151_643)
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
        row = _row(logits)
        mask = allowed if allowed is None or type(allowed) is bytes else _mask(allowed, self.width)
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
        raise Slm2Error("invalid_type", field="logits", expected="an array of rows", found=_kind(logits))
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


# ---- arrays ----


def widen(bits: Any, dtype: Literal["float16", "bfloat16"]) -> Row:  # noqa: ANN401
    """The float32 values of an array of 16-bit patterns; exact.

    Args:
        bits: array of uint16, as ``tensor.view(torch.uint16).numpy()`` gives it.
        dtype: what the patterns are.

    Raises:
        Slm2Error: ``invalid_type``, ``invalid_value``.
    """
    import numpy as np  # noqa: PLC0415

    if not isinstance(bits, np.ndarray) or bits.dtype != np.uint16:
        raise Slm2Error("invalid_type", field="bits", expected="a numpy.ndarray of uint16", found=_kind(bits))
    if dtype == "float16":
        return bits.view(np.float16).astype(np.float32)
    if dtype != "bfloat16":
        raise Slm2Error("invalid_value", field="dtype", expected="float16 or bfloat16", found=repr(dtype))
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _row(logits: Any) -> Row:  # noqa: ANN401
    """A contiguous, aligned float32 array in the machine's order: the caller's own where it is one."""
    import numpy as np  # noqa: PLC0415

    if type(logits) is np.ndarray and logits.dtype == np.float32 and logits.ndim == 1 and logits.flags.forc and logits.flags.aligned:
        return logits
    if not isinstance(logits, np.ndarray) or logits.ndim != 1:
        raise Slm2Error("invalid_type", field="logits", expected="a one-dimensional numpy.ndarray", found=_kind(logits))
    if logits.dtype.name == "bfloat16":  # of ml_dtypes, which NumPy knows by this name alone
        return widen(np.ascontiguousarray(logits).view(np.uint16), "bfloat16")
    if logits.dtype.kind != "f" or logits.dtype.itemsize > 4:
        raise Slm2Error("invalid_type", field="logits", expected="float32, or float16 or bfloat16, which are widened", found=_kind(logits))
    return np.require(np.array(logits, np.float32), requirements=["C", "A"])


def _mask(allowed: Any, width: int) -> bytes:  # noqa: ANN401
    """A bit for each id."""
    import numpy as np  # noqa: PLC0415

    if isinstance(allowed, bytearray | memoryview):
        return bytes(allowed)
    if isinstance(allowed, np.ndarray) and allowed.ndim == 1 and allowed.dtype == np.bool_:
        if allowed.size != width:
            raise Slm2Error("allowed_length", found=(allowed.size + 7) // 8, expected=(width + 7) // 8)
        return np.packbits(allowed, bitorder="little").tobytes()
    if isinstance(allowed, np.ndarray) and allowed.ndim == 1 and allowed.dtype in (np.int32, np.uint32):
        words, expected = allowed.astype("<u4").tobytes(), (width + 31) // 32 * 4
        if len(words) != expected:
            raise Slm2Error("allowed_length", found=len(words), expected=expected)
        return words[: (width + 7) // 8]
    expected_kind = "bytes, or a one-dimensional array of bool, int32 or uint32"
    raise Slm2Error("invalid_type", field="allowed", expected=expected_kind, found=_kind(allowed))


def _kind(value: Any) -> str:  # noqa: ANN401
    """A type for an error, of an array with dtype and dimensions."""
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return f"{type(value).__name__} of {value.dtype} with {value.ndim} dimensions"
    return type(value).__name__


# ---- the publisher's values ----


@dataclass(frozen=True)
class Preset:
    """The publisher's values for a way to use the model; ``str`` says what it sets.

    Attributes:
        name: of the preset.
        values: fields of :class:`SamplingConfig`.
    """

    name: str
    values: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.name}: " + ", ".join(f"{field}={value}" for field, value in self.values.items())


def _preset(name: str, temperature: float, top_p: float) -> Preset:
    values = {"temperature": temperature, "top_k": 20, "top_p": top_p, "min_p": 0.0, "repetition_penalty": 1.0}
    return Preset(name, values)


PRESETS: Mapping[str, Preset] = {"thinking": _preset("thinking", 0.6, 0.95), "non-thinking": _preset("non-thinking", 0.7, 0.8)}


def config_from_preset(name: str, **explicit: Any) -> SamplingConfig:  # noqa: ANN401  (SamplingConfig checks them)
    """A configuration with the values of a preset; all that the preset does not set must be given, and what is given goes first.

    >>> print(PRESETS["thinking"])
    thinking: temperature=0.6, top_k=20, top_p=0.95, min_p=0.0, repetition_penalty=1.0

    Raises:
        Slm2Error: ``invalid_value``, or what :class:`SamplingConfig` raises.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise Slm2Error("invalid_value", field="preset", expected=" or ".join(PRESETS), found=repr(name))
    return SamplingConfig.from_dict({**PRESETS[name].values, **explicit})


# Of a generation_config.json: what sets a field here, what says nothing about sampling, and what must be off.
_TAKEN = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
_SAYS_NOTHING = {"bos_token_id", "pad_token_id", "do_sample", "transformers_version", "_from_model_config", "max_length", "use_cache"}


def config_from_generation_config(path: str | PathLike[str], **explicit: Any) -> SamplingConfig:  # noqa: ANN401
    """A configuration from a checkpoint's ``generation_config.json``.

    Taken are temperature, top_k, top_p, min_p, repetition_penalty, ``eos_token_id`` as stop_ids and ``max_new_tokens`` as max_tokens. What
    the file does not say must be given, and what is given goes first.

    Raises:
        Slm2Error: ``file_unreadable``; ``missing_field`` for what neither the file nor the caller says; ``unknown_field`` for a setting
            that this sampler does not have; ``invalid_value`` where the file says ``do_sample: false`` and no temperature is given.
    """
    if not isinstance(path, str | PathLike):
        raise Slm2Error("invalid_type", field="path", expected="a path", found=type(path).__name__)
    name = fsdecode(path)
    try:
        values = json.loads(Path(name).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Slm2Error("file_unreadable", path=name, reason=getattr(error, "strerror", None) or str(error)) from None
    if not isinstance(values, dict):
        raise Slm2Error("invalid_type", field=name, expected="object", found=type(values).__name__)
    known = {*_TAKEN, "eos_token_id", "max_new_tokens", *_SAYS_NOTHING}
    for key in values:
        if key not in known:
            raise Slm2Error("unknown_field", field=key, known=", ".join(sorted(known)))
    if values.get("do_sample") is False and "temperature" not in explicit:
        raise Slm2Error("invalid_value", field="do_sample", expected="true, or a temperature from the caller", found="false")
    read = {key: values[key] for key in _TAKEN if key in values}
    if "eos_token_id" in values:
        ids = values["eos_token_id"]
        read["stop_ids"] = ids if isinstance(ids, list) else [ids]
    if "max_new_tokens" in values:
        read["max_tokens"] = values["max_new_tokens"]
    return SamplingConfig.from_dict({**read, **explicit})
