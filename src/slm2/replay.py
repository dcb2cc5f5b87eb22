"""Replaying a trace: each draw again from the seed, and against the logits where they are at hand (contract/sampling.md, S-63)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slm2.engine import Engine
from slm2.errors import Slm2Error
from slm2.reference.sampling.config import SamplingConfig, stream_number
from slm2.reference.sampling.draws import check_draw
from slm2.reference.sampling.generators import generator, restored
from slm2.reference.sampling.trace import GrowingDigest, Trace, link
from slm2.sampling import Sampler

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["audit", "replay"]

Line = dict[str, Any]


def audit(trace: Trace) -> int:
    """Check a trace by itself: every uniform from the seed, every draw from its numbers, every history. Needs no logits.

    Returns:
        How many steps were checked.

    Raises:
        Slm2Error: ``trace_differs`` for the first step that is not as it must be; ``trace_invalid``.
    """
    config = _config(trace)
    source = generator(config.rng, config.seed, stream_number(config.stream))
    history, steps = GrowingDigest(trace.head["prompt"]), 0
    chain = history.hex()
    for number, line in enumerate(trace.lines, start=2):
        chain = link(chain, line)
        if "step" not in line:
            (name, value) = next(iter(line.items()))
            try:
                if name == "advance":
                    source.advance(value)
                elif name == "restore":
                    source = restored(config.rng, bytes.fromhex(value))
                else:
                    history.add(value)
            except Slm2Error as error:  # no generator was so
                raise Slm2Error("trace_invalid", line=number, reason=str(error)) from None
            continue
        _expect(line, "chain", chain)
        _expect(line, "step", steps)
        _expect(line, "history", history.hex())
        _expect(line, "position", source.position)
        check_draw(line, config, source, trace.head["width"])
        history.add([line["id"]])
        steps += 1
    return steps


def replay(trace: Trace, engine: Engine, logits: npt.NDArray[np.float32]) -> int:
    """Draw everything again from rows of logits, and compare every field.

    Args:
        trace: without masks of allowed ids, which it holds as digests alone.
        engine: computes.
        logits: [steps, width] float32.

    Returns:
        How many steps were checked.

    Raises:
        Slm2Error: ``trace_differs`` for the first step that is not as it must be; ``trace_invalid``;
            ``rows_length`` where there is not one row for each step; ``logits_length``.
    """
    config = _config(trace)
    sampler = Sampler(engine, config, trace.head["prompt"], width=trace.head["width"], record=True)
    steps = sum("step" in line for line in trace.lines)
    if len(logits) != steps:
        raise Slm2Error("rows_length", found=len(logits), expected=steps)
    rows = iter(logits)
    for number, line in enumerate(trace.lines, start=2):
        if "step" not in line:
            (name, value) = next(iter(line.items()))
            try:
                getattr(sampler, name)(bytes.fromhex(value) if name == "restore" else value)
            except Slm2Error as error:
                raise Slm2Error("trace_invalid", line=number, reason=str(error)) from None
            continue
        if line["allowed"] is not None:
            raise Slm2Error("trace_invalid", line=number, reason="the mask of allowed ids is not in the trace; audit it without logits")
        sampler.sample(next(rows))
        for field, value in sampler.trace().lines[-1].items():
            _expect(line, field, value)
    return steps


def _config(trace: Trace) -> SamplingConfig:
    try:
        return SamplingConfig.from_dict(trace.head["config"])
    except Slm2Error as error:
        raise Slm2Error("trace_invalid", line=1, reason=str(error)) from None


def _expect(line: Line, field: str, value: object) -> None:
    if line[field] != value:
        raise Slm2Error("trace_differs", step=line["step"], field=field, expected=line[field], found=value)
