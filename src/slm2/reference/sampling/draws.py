"""Whether a recorded draw follows from its seed and its numbers (contract/sampling.md, S-62)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slm2.errors import Slm2Error
from slm2.reference.sampling.config import SamplingConfig
from slm2.reference.sampling.generators import ChaCha8, Mt19937, Pcg32
from slm2.reference.sampling.publisher_profile import exponentials

__all__ = ["check_draw"]

Line = Mapping[str, Any]


def check_draw(line: Line, config: SamplingConfig, source: Pcg32 | ChaCha8 | Mt19937, width: int) -> None:
    """Take the words of a step, and compare what it recorded with what they make.

    Raises:
        Slm2Error: ``trace_differs``.
    """
    numbers = [float.fromhex(number) for number in line["numbers"]]
    if config.temperature == 0.0:
        _same(line, "numbers", numbers, [])
        _same(line, "words", line["words"], 0)
        _same(line, "probability", float.fromhex(line["probability"]), 1.0)
    elif isinstance(source, Mt19937):
        _same(line, "words", line["words"], 2 * width)
        _check_publisher(line, numbers, source, width)
    else:
        _same(line, "words", line["words"], 2)
        _check_contract(line, numbers, source)


def _check_contract(line: Line, numbers: list[float], source: Pcg32 | ChaCha8) -> None:
    _same(line, "numbers", len(numbers), 4)
    uniform, below, weight, mass = numbers
    _same(line, "numbers", uniform, source.uniform())
    target = uniform * mass
    reached = below + weight
    # The last kept token is drawn also where rounding leaves the target above its sum, which is the mass.
    _same(line, "numbers", (mass > 0.0) and (below <= target) and (reached > target or reached == mass), True)
    _same(line, "probability", float.fromhex(line["probability"]), weight / mass)


def _check_publisher(line: Line, numbers: list[float], source: Mt19937, width: int) -> None:
    _same(line, "numbers", len(numbers), 2)
    if line["id"] >= width:
        raise Slm2Error("trace_differs", step=line["step"], field="id", expected=line["id"], found=f"an id below {width}")
    variate = exponentials(source, width)[line["id"]]
    _same(line, "numbers", numbers[0], float(variate))
    ratio = np.float32(float.fromhex(line["probability"])) / variate
    _same(line, "numbers", numbers[1], float(ratio))


def _same(line: Line, field: str, recorded: object, value: object) -> None:
    if recorded != value:
        raise Slm2Error("trace_differs", step=line["step"], field=field, expected=recorded, found=value)
