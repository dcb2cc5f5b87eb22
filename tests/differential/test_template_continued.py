"""Prompts that end inside a message (M-57) against transformers' ``continue_final_message``."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

import slm2
from differential.conversations import Source
from differential.template_oracle import repaired
from publisher import publisher_template, publisher_tokenizer
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.template import Template

CHUNKS, CHUNK = 4, 400
# What transformers leaves out of the prompt without a word, the contract refuses.
REFUSED = {
    "content": {"only an assistant message can be continued", "its tool calls would be left out"},
    "reasoning_content": {"its tool calls would be left out", "its content would be left out"},
}


@cache
def template(engine: EngineChoice) -> Template:
    return slm2.load(engine=engine, profile="contract").template


def conversation(source: Source, field: str) -> tuple[list, dict]:
    """One that mostly can be continued in this field."""
    messages, options = source.conversation()
    del options["add_generation_prompt"]
    if messages[-1]["role"] != "assistant" and source.chance(0.9):
        messages.append(source.assistant([source.call(None)] if source.chance(0.1) else []))
    last = messages[-1]
    if field == "reasoning_content" and last["role"] == "assistant" and source.chance(0.7):
        last["content"] = source.random.choice(("", "", None))
        last.setdefault("reasoning_content", source.text())
    return messages, options


def theirs(messages: list, options: dict, field: str) -> list[int] | str:
    try:
        texts, _ = render_jinja_template(
            [repaired(messages)], chat_template=publisher_template(), continue_final_message=field, **repaired(options)
        )
    except ValueError as refusal:
        return str(refusal)
    return publisher_tokenizer("contract").encode(texts[0], add_special_tokens=False).ids


def ours(messages: list, options: dict, field: bool | str, engine: EngineChoice = "native") -> list[int] | Slm2Error:
    try:
        return template(engine).render(messages, continue_final_message=field, **options).input_ids
    except Slm2Error as refusal:
        return refusal


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_where_both_continue_a_message_the_ids_are_the_same(field: str, seed: int) -> None:
    source = Source(70 + seed)
    seen: Counter[str] = Counter()
    for number in range(CHUNK):
        messages, options = conversation(source, field)
        expected, got = theirs(messages, options, field), ours(messages, options, field)
        if isinstance(got, Slm2Error):
            assert got.code == "cannot_continue"
            reason = str(got.fields["reason"])
            assert isinstance(expected, str) or reason in REFUSED[field], (messages, options)
            seen["refused"] += 1
        elif isinstance(expected, str):
            # It looks for the content in the prompt, where the newlines around a think block in the content were stripped.
            assert "does not appear in the chat" in expected
            assert field == "content"
            assert "</think>" in messages[-1]["content"], messages
            seen["not found by transformers"] += 1
        else:
            assert got == expected, (messages, options)
            seen["same"] += 1
            if number < CHUNK // 20:
                assert ours(messages, options, field, "reference") == expected
    assert seen["same"] > CHUNK // 3, seen
    assert seen["refused"] > CHUNK // 20, seen


def test_true_means_content() -> None:
    source = Source(1)
    for _ in range(50):
        messages, options = conversation(source, "content")
        got, named = ours(messages, options, True), ours(messages, options, "content")
        assert got == named or (isinstance(got, Slm2Error) and isinstance(named, Slm2Error))
