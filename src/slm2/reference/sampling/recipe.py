"""Logits that any host can rebuild bit for bit, for vectors and tests (contract/sampling.md, S-70 to S-73)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

__all__ = ["Recipe", "round_to_bfloat16", "splitmix64"]

_U64 = 2**64 - 1
_HEAD = 40
_HEAD_FROM, _HISTORY_FROM = 1 << 19, (1 << 19) + 100


def splitmix64(counters: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea and Flood 2014) of counters."""
    with np.errstate(over="ignore"):
        z = counters + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@dataclass(frozen=True)
class Recipe:
    """A bell of sums of four uniforms, with a head of 40 ids that decays.

    Attributes:
        seed: from 0 to 2^64 - 1.
        step: counted from 0.
        scale: of the bell.
        head: height of the first of the 40.
        bfloat16: whether logits are rounded to bfloat16 at the end.
    """

    seed: int
    step: int
    scale: float
    head: float
    bfloat16: bool = False

    def logits(self, width: int) -> npt.NDArray[np.float32]:
        """One row."""
        z = self._numbers(0, width)
        parts = [((z >> np.uint64(16 * k)) & np.uint64(0xFFFF)).astype(np.float64) for k in range(4)]
        body = ((parts[0] + parts[1] + parts[2] + parts[3]) - 131070.0) / 32768.0 * self.scale
        for j, t in enumerate(map(int, self._numbers(_HEAD_FROM, _HEAD))):
            body[t % width] += (t >> 40) / 2.0**24 * self.head * (1.0 - j / 40.0)
        rounded = body.astype(np.float32)
        return round_to_bfloat16(rounded) if self.bfloat16 else rounded

    def history(self, count: int, width: int) -> list[int]:
        """The ids before the first step."""
        return [int(z) % width for z in replace(self, step=0)._numbers(_HISTORY_FROM, count)]

    def _numbers(self, first: int, count: int) -> npt.NDArray[np.uint64]:
        base = ((self.seed * 1_000_003 + self.step) << 20) & _U64
        with np.errstate(over="ignore"):
            return splitmix64(np.uint64(base) + np.uint64(first) + np.arange(count, dtype=np.uint64))


def round_to_bfloat16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """To the nearest bfloat16, ties to even, as float32; for finite values."""
    bits = values.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)
