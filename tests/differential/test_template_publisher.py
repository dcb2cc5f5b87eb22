"""Template2 against the publisher's template, rendered by transformers' Jinja environment and encoded by tokenizers."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

import slm2
from differential.conversations import Source
from differential.template_oracle import has_special, publisher_ids, publisher_text, repaired, separated_ids
from publisher import special_texts
from slm2.artifact import PROFILES, Profile
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.template import Template

CHUNKS = 20
# Of each chunk: 10,000 conversations in all, and 2,000 under `publisher`, where nothing but the normalisation of text differs.
CHUNK = {"contract": 500, "publisher": 100}
REFERENCE_CHUNK = 25
FIRST_STRUCTURAL = 151_643
REFUSALS = {
    *("invalid_type", "unknown_field", "empty_conversation", "unknown_role", "content_not_string", "unsupported_content_part"),
    *("system_not_first", "no_user", "role_order", "tool_without_call", "reserved_user_shape", "ambiguous_think"),
    *("bad_tool_call", "bad_tool_name", "arguments_not_json_object", "bad_tool_schema"),
}

every_profile = pytest.mark.parametrize("profile", PROFILES)


@cache
def template(profile: Profile, engine: EngineChoice = "native") -> Template:
    return slm2.load(engine=engine, profile=profile).template


def assert_same(messages: list, options: dict, profile: Profile, expected: list[int], engine: EngineChoice = "native") -> list[int]:
    rendering = template(profile, engine).render(messages, **options)
    assert rendering.input_ids == expected, f"{profile}: messages={messages!r} options={options!r}"
    assert [token.id for token in rendering.tokens] == expected
    return rendering.input_ids


def outcome(messages: list, options: dict, profile: Profile) -> list[int] | Slm2Error:
    try:
        return template(profile).render(messages, **options).input_ids
    except Slm2Error as refusal:
        return refusal


@every_profile
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_well_formed_conversations_give_the_publishers_ids(profile: Profile, seed: int) -> None:
    source, chunk = Source(seed), CHUNK[profile]
    seen: Counter[str] = Counter()
    for _ in range(chunk):
        messages, options = source.conversation()
        tagged = any("<think>\n" in (message.get("content") or "") for message in messages)
        assert tagged or not has_special([messages, options]), messages
        assert_same(messages, options, profile, publisher_ids(messages, options, profile))
        seen["calls"] += any("tool_calls" in message for message in messages)
        seen["tools"] += bool(options.get("tools"))
        seen["reasoning"] += any(message.get("reasoning_content") for message in messages)
        seen["thinking off"] += options.get("enable_thinking") is False and options["add_generation_prompt"]
        seen["think block"] += tagged
        seen["surrogates"] += repaired(messages) != messages
    assert all(seen[kind] >= chunk // 50 for kind in ("calls", "tools", "reasoning", "thinking off", "think block", "surrogates")), seen


@every_profile
@pytest.mark.parametrize("seed", range(1000, 1000 + CHUNKS))
def test_text_of_special_tokens_in_callers_fields_stays_text(profile: Profile, seed: int) -> None:
    source, chunk = Source(seed, list(special_texts())), CHUNK[profile]
    injected = 0
    for _ in range(chunk):
        messages, options = source.conversation()
        expected = separated_ids(messages, options, profile)
        ids = assert_same(messages, options, profile, expected)
        injected += ids != publisher_ids(messages, options, profile)
        # M-61: the program's own marks are the structural ids, one for each, and there is no other.
        items = [token for token in template(profile).render(messages, **options).tokens if token.id >= FIRST_STRUCTURAL]
        assert all(token.trust == "program" and token.ranges == () for token in items)
    assert injected > chunk // 2, injected


@every_profile
@pytest.mark.parametrize("seed", range(2000, 2000 + CHUNKS))
def test_wild_conversations_are_refused_or_give_the_publishers_ids(profile: Profile, seed: int) -> None:
    source, chunk = Source(seed, list(special_texts()) if seed % 2 else ()), CHUNK[profile]
    codes: Counter[str] = Counter()
    for _ in range(chunk):
        messages, options = source.wild()
        result = outcome(messages, options, profile)
        codes[result.code if isinstance(result, Slm2Error) else "accepted"] += 1
        if isinstance(result, Slm2Error):
            assert result.code in REFUSALS
            assert 0 <= result.fields.get("index", 0) <= len(messages)
        else:
            assert result == separated_ids(messages, options, profile), f"{profile}: messages={messages!r} options={options!r}"
    assert codes["accepted"] > chunk // 10, codes
    assert chunk - codes["accepted"] > chunk // 4, codes
    assert len(codes) > (10 if chunk > 100 else 6), codes


@every_profile
def test_the_reference_gives_the_same_ids(profile: Profile) -> None:
    for source, expected in ((Source(1), publisher_ids), (Source(2, list(special_texts())), separated_ids)):
        for _ in range(REFERENCE_CHUNK):
            messages, options = source.conversation()
            assert_same(messages, options, profile, expected(messages, options, profile), "reference")


def test_the_text_is_the_publishers() -> None:
    source = Source(3)
    for _ in range(500):
        messages, options = source.conversation()
        rendering = template("contract").render(messages, **options)
        assert rendering.text == publisher_text(messages, options)


def field_of(messages: list, source: str) -> bytes | None:
    """M-64: the field that a source names, from the request; None for literals and for what was written as JSON."""
    value: object = {"messages": messages}
    for name in re.findall(r"\w+", source):
        if source == "program" or not isinstance(value, (dict, list)):
            return None
        value = value[int(name)] if isinstance(value, list) else value.get(name)
    return value.encode() if isinstance(value, str) else None


def test_ranges_are_the_bytes_of_the_tokens() -> None:
    """M-64 in profile contract, where a token's bytes are its text's bytes: each range of a field holds them, in order, once."""
    contract = slm2.load(engine="native")
    compared = 0
    source = Source(4)
    for _ in range(500):
        messages = repaired(source.messages())
        ends: Counter[str] = Counter()
        for token in contract.template.render(messages).tokens:
            fields = [(field_of(messages, path), start, end) for path, start, end in token.ranges]
            if fields and all(field is not None for field, _, _ in fields):
                assert b"".join(field[start:end] for field, start, end in fields) == contract.engine.token_bytes(token.id)
                compared += 1
            for path, start, end in token.ranges:
                assert path == "program" or ends[path] <= start < end
                ends[path] = end
    assert compared > 5_000, compared
