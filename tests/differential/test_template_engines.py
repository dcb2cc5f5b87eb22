"""Both engines on the same requests: the same ids, origins, texts and findings, or the same refusal with the same fields."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, UserDict, deque
from functools import cache
from types import MappingProxyType

import numpy
import pytest

import slm2
from differential.conversations import Source
from publisher import special_texts
from slm2.artifact import PROFILES, Profile
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.template import Template

USER = {"role": "user", "content": "q"}


@cache
def template(engine: EngineChoice, profile: Profile) -> Template:
    return slm2.load(engine=engine, profile=profile).template


def outcome(engine: EngineChoice, profile: Profile, request: object) -> object:
    try:
        rendering = template(engine, profile).render_request(request)
        told = (rendering.input_ids, rendering.tokens, rendering.text, rendering.findings, rendering.dropped_reasoning, rendering.state)
    except Slm2Error as refusal:
        return refusal.code, refusal.fields
    return told


def assert_alike(request: object, profile: Profile = "contract") -> object:
    native = outcome("native", profile, request)
    assert native == outcome("reference", profile, request), request
    return native


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(8))
def test_wild_requests_have_one_outcome(profile: Profile, seed: int) -> None:
    source = Source(3000 + seed, list(special_texts()) if seed % 2 else ())
    codes: Counter[str] = Counter()
    for _ in range(120):
        messages, options = source.wild() if source.chance(0.8) else source.conversation()
        request = {"messages": messages, **options}
        if source.chance(0.3):
            request["preserve_thinking"] = source.random.choice((True, False, None, 1))
        if source.chance(0.3):
            request["continue_final_message"] = source.random.choice((True, False, None, "content", "reasoning_content", "x", 1))
            request["add_generation_prompt"] = source.chance(0.2)
        found = assert_alike(request, profile)
        codes[found[0] if isinstance(found[0], str) else "accepted"] += 1
    assert codes["accepted"] > 20, codes
    assert len(codes) > 6, codes


class Word(str):
    def encode(self, *_: object) -> bytes:
        raise AssertionError


class Number(int):
    pass


class Colour(enum.IntEnum):
    RED = 7


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def holding_itself() -> dict:
    value: dict = {}
    value["a"] = value
    return value


@pytest.mark.parametrize(
    "schema",
    [
        {"a": 2**64, "b": -(10**700), "c": True, "d": None, "e": (1, 2)},
        {"a": Number(5), "b": Colour.RED, "c": Word("x"), "d": numpy.float64(0.1), Word("k"): 1},
        {"a": "\ud83d\ude00\ud800", "\ud800": 1},
        {chr(0xD800): 1, chr(0xFFFD): 2},
        {"a": 1e16, "b": 123456789.125, "c": 5e-324, "d": -0.0, "e": 2192364534185285.25},
        {"a": float("nan")},
        {"a": [1, {"b": float("-inf")}]},
        {"a": {1: 2}},
        {"a": {None: 2}},
        {"a": {10**5000: 2}},
        {"a": object()},
        {"a": {1, 2}},
        {"a": deque([1])},
        {"a": numpy.int64(3)},
        {"a": b"x"},
        {"x" * 300: object()},
        {"a": deep(127)},
        {"a": deep(128)},
        holding_itself(),
        OrderedDict(b=1, a=2),
        MappingProxyType({"a": UserDict({"b": 1})}),
        UserDict({"a": 1}),
    ],
    ids=lambda schema: str(type(schema).__name__),
)
def test_values_of_the_host(schema: object) -> None:
    assert_alike({"messages": [USER], "tools": [schema]})
    assert_alike({"messages": [USER, {"role": "assistant", "tool_calls": [{"name": "f", "arguments": schema}]}]})


@pytest.mark.parametrize(
    "message",
    [
        {"role": Word("user"), "content": Word("x")},
        {"role": "user", "content": "\ud800"},
        {"role": "user", "content": "x", 5: 1},
        {"role": "user", "content": "x", (1, "a" * 100): 1},
        {"role": "user", "content": "x", "k" * 100: 1},
        {"role": ["user"], "content": "x"},
        {"role": "u" * 100, "content": "x"},
        {"role": "user", "content": []},
        {"role": "user", "content": ({"type": "image"},)},
        {"role": "user", "content": [{"type": "text"}, {"type": 5}, {"type": "i" * 70}]},
        UserDict(USER),
        ("role", "user"),
        {"role": "assistant", "content": "x", "tool_calls": [{"function": []}]},
        {"role": "assistant", "content": "x", "tool_calls": [{"function": {"name": "f"}, "x": []}]},
        {"role": "assistant", "content": "x", "tool_calls": ({"function": {"name": "f", "arguments": "{}"}, "id": 5},)},
        {"role": "assistant", "content": "x", "tool_calls": [{"function": {"name": "f", "arguments": "{}", "id": "x"}}]},
        {"role": "assistant", "content": "x", "tool_calls": [{"name": "f", "arguments": {}, "function": None}]},
        {"role": "assistant", "content": "x", "tool_calls": [{"name": "é", "arguments": {}}]},
        {"role": "assistant", "content": "x", "tool_calls": "f"},
        {"role": "tool", "content": "x", "tool_call_id": 5},
    ],
    ids=repr,
)
def test_messages_of_the_host(message: object) -> None:
    assert_alike({"messages": [USER, message]})
    assert_alike({"messages": [message]})


@pytest.mark.parametrize(
    "request_",
    [
        None,
        [],
        5,
        {},
        {"messages": 5},
        {"messages": ()},
        {"messages": [USER], 5: 1},
        {"messages": [USER], "tools": 5},
        UserDict(messages=[USER]),
    ],
)
def test_requests_of_the_host(request_: object) -> None:
    assert_alike(request_)
