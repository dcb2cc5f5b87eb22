"""The engine and the reference agree on bytes at random: in parts, as a whole, with a low limit, decoded again.

A loop of a few seconds with a seed that is printed where something differs; SLM2_FUZZ_SEED gives the same texts again, and
SLM2_FUZZ_SECONDS makes it longer. The crate in fuzz/ compares the engine with a definition of its own, and is much faster.
"""

from __future__ import annotations

import os
import random
import time
from functools import cache
from pathlib import Path

import pytest

from documents import generated
from slm2.artifact import PROFILES, Profile
from slm2.contract import embedded
from slm2.engine import Engine, select
from slm2.errors import Slm2Error

SEED = int(os.environ.get("SLM2_FUZZ_SEED") or time.time_ns() % 2**32)
SECONDS = float(os.environ.get("SLM2_FUZZ_SECONDS") or 5)
SMALL = (Path(__file__).resolve().parents[1] / "data" / "small-v1.slm2").read_bytes()
LOW, HIGH = 256, 1 << 20
UNITS = ("bytes", "code_points", "utf16")


@cache
def engines(artifact: str, limit: int) -> tuple[Engine, Engine]:
    """The engine and the reference."""
    data = SMALL if artifact == "small" else embedded()
    return select("native", data, limit), select("reference", data, limit)


def damaged(rng: random.Random, text: str) -> bytes:
    """UTF-8 with some bytes changed, left out or repeated; now and then one stretch again and again."""
    data = bytearray(text.encode("utf-8"))
    for _ in range(rng.choice([0, 0, 1, 3, 10])):
        at = rng.randrange(len(data) + 1)
        end = at + rng.choice([0, 1, 1, 2, 5])
        data[at:end] = rng.choice([b"", rng.randbytes(1), b"\xcc\x81", b"\xcd\x84", b"<s>", bytes(data[at:end]) * rng.randint(2, 150)])
    return bytes(data)


def answer(question):
    """What comes back, or how it is refused."""
    try:
        return question()
    except Slm2Error as error:
        return error.code, error.fields


def in_parts(engine: Engine, data: bytes, cuts: list[int], profile: Profile):
    """The ids of a text in parts."""
    chunks = engine.chunks(profile)
    ids = [token_id for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True) for token_id in chunks.push(data[start:end])]
    return ids + chunks.finish()


def grown(engine: Engine, data: bytes, cuts: list[int], profile: Profile):
    """What each part of a text that grows changes."""
    text = engine.growing_text(profile)
    return [text.append(data[start:end]) for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def compare(pair: tuple[Engine, Engine], data: bytes, cuts: list[int], profile: Profile) -> None:
    questions = {
        "encode": lambda engine: engine.encode(data, profile),
        "count": lambda engine: engine.count(data, profile),
        "trusted": lambda engine: engine.encode_trusted(data, profile),
        "special": lambda engine: engine.find_special(data),
        "pieces": lambda engine: engine.piece_ends(data),
        "parts": lambda engine: in_parts(engine, data, cuts, profile),
        "grown": lambda engine: grown(engine, data, cuts, profile),
        **{unit: lambda engine, unit=unit: engine.encode_spans(data, profile, unit) for unit in UNITS},
    }
    for name, question in questions.items():
        native, reference = (answer(lambda engine=engine, question=question: question(engine)) for engine in pair)
        assert native == reference, f"SLM2_FUZZ_SEED={SEED}: {name}, {profile}, cuts {cuts}: {data!r}"


@pytest.mark.parametrize("artifact", ["embedded", "small"])
def test_engine_and_reference_agree_on_bytes_at_random(artifact):
    rng = random.Random(f"{SEED} {artifact}")
    texts = generated(rng.randrange(2**32), 10**9)
    end = time.monotonic() + SECONDS
    refused = compared = 0
    while time.monotonic() < end:
        data = damaged(rng, next(texts))[: rng.choice([40, 200, 600])]
        cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(0, 5)))
        pair = engines(artifact, rng.choice([LOW, HIGH, HIGH]))
        for profile in PROFILES:
            compare(pair, data, cuts, profile)
            refused += isinstance(answer(lambda: pair[0].encode(data, profile)), tuple)  # noqa: B023  (called at once)
        compared += 1
    print(f"SLM2_FUZZ_SEED={SEED}: {compared} texts, {refused} refusals")
    assert compared > 0
