"""exp, log and log1p: how far they are from the truth, and the same bits in both engines (contract/sampling.md, S-40 to S-43)."""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable

import numpy as np
import pytest

from sampling_cases import engine, full
from slm2.reference.sampling import portable_math

decimal.getcontext().prec = 60
POINTS = {
    "exp": lambda rng, count: np.concatenate([rng.uniform(-745, 700, count // 4), rng.uniform(-40, 0, count - count // 4)]),
    "log": lambda rng, count: np.exp2(rng.uniform(-1074, 1023, count)) * rng.uniform(1, 2, count),
    "log1p": lambda rng, count: -np.concatenate([rng.random(count // 2), np.exp2(rng.uniform(-60, -1, count - count // 2))]),
}
TRUTH: dict[str, Callable[[decimal.Decimal], decimal.Decimal]] = {
    "exp": lambda x: x.exp(),
    "log": lambda x: x.ln(),
    "log1p": lambda x: (1 + x).ln(),
}


@pytest.mark.parametrize("function", POINTS)
def test_less_than_one_unit_in_the_last_place(function: str) -> None:
    points = POINTS[function](np.random.default_rng(1), full(3_000, 100_000))
    results = getattr(portable_math, function)(points)
    worst = 0.0
    for x, y in zip(points.tolist(), results.tolist(), strict=True):
        truth = TRUTH[function](decimal.Decimal(x))
        worst = max(worst, abs(float((decimal.Decimal(y) - truth) / decimal.Decimal(math.ulp(y)))))
        with np.errstate(over="ignore"):
            assert np.float32(y) == np.float32(float(truth)), x.hex()
    assert 0.5 < worst < 0.9


def test_special_values() -> None:
    ends = [0.0, -0.0, -math.inf, math.inf, -746.0, 710.0, -745.13321910194110842, -708.5, -744.0]
    found = portable_math.exp(ends).tolist()
    assert found[:6] == [1.0, 1.0, 0.0, math.inf, 0.0, math.inf]
    assert all(0.0 < value < 1e-300 for value in found[6:])
    assert np.isnan(portable_math.exp(math.nan))
    assert portable_math.log([1.0, 5e-324]).tolist() == [0.0, math.log(5e-324)]
    assert portable_math.log1p([-0.0, -(2.0**-60)]).tolist() == [-0.0, -(2.0**-60)]


@pytest.mark.parametrize("function", POINTS)
def test_both_engines_have_the_same_bits(function: str) -> None:
    """1,000,000 operations; tests/wasm compares the same with WASM."""
    points = POINTS[function](np.random.default_rng(2), 1_000_000 // 3 + 1)
    if function == "exp":
        edges = [0.0, -0.0, math.inf, -math.inf, math.nan, *(k * math.log(2.0) / 2 for k in range(-2160, 2060))]
        points = np.concatenate([points, edges])
    data = points.astype("<f8").tobytes()
    native, reference = (engine(choice).portable(function, data) for choice in ("native", "reference"))
    assert native == reference
    assert len(native) == 8 * points.size > 2_666_000
    assert struct.unpack("<d", native[:8])[0] == pytest.approx(float(TRUTH[function](decimal.Decimal(float(points[0])))))
