"""Configurations and rows of logits, random and adversarial, the same in every run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from slm2.contract import embedded
from slm2.engine import Engine, EngineChoice, EngineSampler, select
from slm2.errors import Slm2Error
from slm2.sampling import WIDTH, SamplingConfig

Row = npt.NDArray[np.float32]

RNG_NAMES = ("pcg32", "chacha8", "mt19937-torch")


def full(bounded: int, whole: int) -> int:
    """How many: all that the page promises where SLM2_FULL is set, else what fits in the test command."""
    return whole if os.environ.get("SLM2_FULL") else bounded


@cache
def engine(choice: EngineChoice) -> Engine:
    return select(choice, embedded())


def config(**changes) -> SamplingConfig:
    """The preset for thinking, with changes; the profile follows the generator."""
    values = {
        "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0, "repetition_penalty": 1.0,
        "rng": "pcg32", "seed": 1, "max_tokens": 100, "stop_ids": (),
    }  # fmt: skip
    values |= changes
    values.setdefault("profile", "publisher" if values["rng"] == "mt19937-torch" else "contract")
    return SamplingConfig(**values)


def random_config(rng: np.random.Generator, rng_name: str, width: int = WIDTH) -> SamplingConfig:
    """Any setting: common ones mostly, extremes among them, extras now and then."""

    def one_of(*values):
        return values[int(rng.integers(len(values)))]

    changes = {
        "temperature": one_of(0.6, 0.7, 1.0, 1.3, 0.05, 3.7, 0),
        "top_k": one_of(0, 20, 20, 50, 1, 2, 7, 1000, width, 2**32 - 1),
        "top_p": one_of(0.95, 0.95, 0.8, 0.5, 1.0, 1.0, 0.0, 0.999999, 1e-9, float(rng.random())),
        "min_p": one_of(0.0, 0.0, 0.05, 0.3, 1.0, float(rng.random()) ** 4),
        "repetition_penalty": one_of(1.0, 1.0, 1.1, 1.5, 0.7),
        "seed": int(rng.integers(2**63)),
        "rng": rng_name,
    }
    if rng_name != "mt19937-torch":
        changes["stream"] = one_of(0, 1, int(rng.integers(2**62)), "a name", "größer")
    if rng.random() < 0.2:
        changes["logit_bias"] = {int(token): float(rng.normal(0, 3)) for token in rng.integers(width, size=5)}
        changes["banned_ids"] = tuple(map(int, rng.integers(width, size=3)))
        changes["presence_penalty"], changes["frequency_penalty"] = float(rng.normal()), float(rng.normal(0, 0.3))
    return config(**changes)


@cache
def _bodies() -> Row:
    """Student's t with 8 degrees of freedom: tails as heavy as those of a model's logits."""
    return np.random.default_rng(8).standard_t(8, size=(8, WIDTH)).astype(np.float32)


def heavy_tailed(rng: np.random.Generator) -> Row:
    """A row as models make them: a wide body, most often with a head; half of them rounded to bfloat16, which makes ties."""
    row = np.roll(_bodies()[rng.integers(8)], int(rng.integers(WIDTH))) * np.float32(rng.uniform(0.3, 2.0))
    if rng.random() < 0.6:
        row[rng.integers(WIDTH, size=40)] += rng.exponential(4.0, size=40).astype(np.float32)
    if rng.random() < 0.5:
        row = (row.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.ascontiguousarray(row, np.float32)


def adversarial(rng: np.random.Generator, width: int) -> Row:
    """A row that sits on the edges: ties, equalities on every threshold, subnormal numbers, zeros of both signs, huge ranges."""
    kinds = (_tied, _on_thresholds, _neighbours, _tiny, _zeros, _huge, _mostly_excluded, _steps)
    return np.ascontiguousarray(kinds[int(rng.integers(len(kinds)))](rng, width), np.float32)


def _tied(rng: np.random.Generator, width: int) -> Row:
    return rng.choice(np.array([1.0, 2.0, 2.5], np.float32)[: 1 + int(rng.integers(3))], width)


def _on_thresholds(rng: np.random.Generator, width: int) -> Row:
    """Powers of two of mass: cumulative sums are exact fractions, and meet top_p and min_p."""
    row = np.full(width, -np.inf, np.float32)
    chosen = rng.permutation(width)[: int(rng.integers(2, 40))]
    row[chosen] = np.float32(np.log(2.0)) * -rng.integers(0, 6, chosen.size).astype(np.float32)
    return row


def _neighbours(rng: np.random.Generator, width: int) -> Row:
    """Adjacent floats, which a division by the temperature merges."""
    base = np.float32(rng.choice([1.0, -3.0, 17.0, 1e-3])).view(np.uint32)
    return (base + rng.integers(0, 6, width).astype(np.uint32)).view(np.float32)


def _tiny(rng: np.random.Generator, width: int) -> Row:
    return (rng.integers(0, 2**24, width).astype(np.uint32) | (rng.integers(0, 2, width).astype(np.uint32) << np.uint32(31))).view(
        np.float32
    )


def _zeros(rng: np.random.Generator, width: int) -> Row:
    return rng.choice(np.array([0.0, -0.0, 1e-45, -1e-45], np.float32), width)


def _huge(rng: np.random.Generator, width: int) -> Row:
    """From -1e37 to 1e37: weights that underflow, many of them to 0."""
    return (rng.normal(0, 1, width) * 10.0 ** rng.uniform(0, 36)).astype(np.float32)


def _mostly_excluded(rng: np.random.Generator, width: int) -> Row:
    row = rng.normal(0, 2, width).astype(np.float32)
    row[rng.random(width) < 0.99] = -np.inf
    row[int(rng.integers(width // 2))] = 0.5
    return row


def _steps(rng: np.random.Generator, width: int) -> Row:
    """Few levels far apart: the running sums stop growing."""
    return rng.choice(np.array([0.0, -20.0, -36.0, -745.0, -746.0, -800.0], np.float32), width)


def compare(pair: tuple[EngineSampler, EngineSampler], row: Row, allowed: bytes | None, top: int) -> bool:
    """Both give the same bits (ids, probabilities, sizes, numbers, kept ids, place in the stream), or refuse alike; whether they drew."""
    first, second = (outcome(sampler, row, allowed, top) for sampler in pair)
    assert first == second
    return not isinstance(first[0], str)


def outcome(sampler: EngineSampler, row: Row, allowed: bytes | None, top: int) -> tuple[object, ...]:
    """All that can be seen of a step."""
    try:
        drawn = sampler.sample(row, allowed, top)
    except Slm2Error as error:
        return error.code, error.fields, sampler.position
    return (*drawn, sampler.kept(), sampler.position)


def pairs(seed: int, width: int = WIDTH) -> Iterator[tuple[np.random.Generator, tuple[EngineSampler, EngineSampler]]]:
    """Samplers of both engines with random settings, without end, the generators in turn."""
    rng = np.random.default_rng(seed)
    number = 0
    while True:
        setting = random_config(rng, RNG_NAMES[number % 3], width)
        prompt = list(map(int, rng.integers(width, size=int(rng.integers(0, 20)))))
        yield rng, (engine("native").sampler(setting, prompt, width), engine("reference").sampler(setting, prompt, width))
        number += 1
