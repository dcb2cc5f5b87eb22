"""Both engines end random generations alike: the same text at each step, the same reason, the same rest (S-80 to S-84)."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import get_args

import pytest

from sampling_cases import config, engine
from slm2.engine import EngineChoice, EngineGeneratedText, SpecialPolicy
from slm2.errors import Slm2Error

STOP = 151_645
PIECES = ["Hello", ", ", "world", "!", "\n", "🙂", "한국", "é", "aa", "ab", "<|im_start|>", "</think>"]
STOPS = ["world", "o, w", "!", "aab", "aaab", "🙂", "\n\n", "国", "한", "nothing", "<|im_start|>", "a"]


@cache
def ids_of(piece: str) -> list[int]:
    return engine("native").encode_trusted(piece.encode(), "contract")


def taken(text: EngineGeneratedText, ids: list[int]) -> list[object]:
    told: list[object] = []
    for token in ids:
        try:
            told.append(text.take(token))
        except Slm2Error as refusal:
            told.append((refusal.code, refusal.fields))
        told.append((text.reason, text.stopped_by, text.stop_string, text.pending, text.text))
    return [*told, list(text.ids)]


@pytest.mark.parametrize("seed", range(4))
def test_random_generations(seed: int) -> None:
    rng = random.Random(seed)
    reasons: Counter[object] = Counter()
    for _ in range(250):
        ids = [token for piece in rng.choices(PIECES, k=rng.randrange(1, 9)) for token in ids_of(piece)]
        for _ in range(rng.randrange(3)):
            ids.insert(rng.randrange(len(ids) + 1), rng.choice([STOP, 9284, 151_644, rng.randrange(256), 151_800]))
        setting = config(
            stop_ids=[STOP], max_tokens=rng.choice([1, 4, 100]), stop_strings=rng.sample(STOPS, rng.randrange(3)), temperature=0
        )
        special: SpecialPolicy = rng.choice(get_args(SpecialPolicy))
        engines: tuple[EngineChoice, ...] = ("native", "reference")
        native, reference = (taken(engine(choice).generated_text(setting, special), ids) for choice in engines)
        assert native == reference, (ids, setting, special)
        last = native[-2]
        assert isinstance(last, tuple)
        reasons[last[0]] += 1
    assert set(reasons) == {None, "StopToken", "MaxTokens", "StopString", "FatalError"}, reasons
