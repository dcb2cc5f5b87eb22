"""Metamorphic relations of contract source section 10: what is appended changes nothing before the window that is evaluated again.

Glitch tokens are here the entries of the vocabulary that no text of their own bytes encodes to: the compiler's proof finds all of them
(contract/tokenizer.md, T-6), and a model hardly met them in training.
"""

from __future__ import annotations

import random
from functools import cache

import pytest

import slm2
from slm2.artifact import PROFILES, read
from slm2.contract import embedded

PREFIXES = ["Hello, world", "It's 12:30 in ", "def f(x):\n\treturn ", "naïve cafe\u0301", "안녕하세", "tab\t\t  ", "x" * 300, "中文，", "e"]
every_profile = pytest.mark.parametrize("profile", PROFILES)


@cache
def contract(profile: str, engine: str = "native") -> slm2.Contract:
    return slm2.load(engine=engine, profile=profile)


@cache
def glitches() -> list[bytes]:
    artifact = read(embedded())
    assert artifact.facts is not None
    return [artifact.tokens[token_id] for token_id in artifact.facts.not_encoded]


def appended(profile: str, engine: str, prefix: str, glitch: bytes) -> tuple[bool, list[int]]:
    """Whether the ids of both parts are those of the whole; and the whole, after all that must hold was found to hold."""
    tokenizer = contract(profile, engine).tokenizer
    data = prefix.encode()
    before, whole = tokenizer.encode(data), tokenizer.encode(data + glitch)
    chunks = tokenizer.chunks()
    certain = chunks.push(data)
    # What was certain stays, whatever comes; what waits is the window, and no more than it is evaluated again.
    assert whole[: len(certain)] == certain
    text = tokenizer.encoded_text()
    assert text.append(data).append == before
    delta = text.append(glitch)
    assert delta.keep >= len(certain)
    assert before[: delta.keep] + delta.append == whole == text.ids
    assert certain + chunks.push(glitch) + chunks.finish() == whole
    return before + tokenizer.encode(glitch) == whole, whole


def test_the_proof_finds_glitch_tokens() -> None:
    assert len(glitches()) == 1_746
    tokenizer = contract("contract").tokenizer
    assert all(len(tokenizer.encode(glitch)) > 1 for glitch in glitches())


@every_profile
def test_a_glitch_token_changes_nothing_before_the_window(profile: str) -> None:
    joined = [appended(profile, "native", prefix, glitch)[0] for prefix in PREFIXES for glitch in glitches()]
    # Else the relation would hold of itself.
    assert 100 < joined.count(False) < len(joined)


@every_profile
def test_sequences_of_glitch_tokens_do_neither(profile: str) -> None:
    rng = random.Random(20261130)
    for _ in range(2_000):
        sequence = b"".join(rng.choices(glitches(), k=rng.randint(1, 6)))
        appended(profile, "native", rng.choice(PREFIXES), sequence)


@every_profile
def test_the_reference_has_the_same_window(profile: str) -> None:
    rng = random.Random(30112026)
    for glitch in rng.sample(glitches(), 40):
        prefix = rng.choice(PREFIXES)
        assert appended(profile, "reference", prefix, glitch) == appended(profile, "native", prefix, glitch)
