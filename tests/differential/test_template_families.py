"""The program is data: other families' templates as other tables, the interpreters unchanged (contract/template.md, M-75 to M-80)."""

from __future__ import annotations

import copy
import json
from functools import cache

import pytest
from tokenizers import Tokenizer
from transformers.utils.chat_template_utils import _compile_jinja_template

from differential.conversations import Source
from differential.template_oracle import repaired
from programs import program
from publisher import publisher_template, tokenizer_json
from slm2.artifact import Parts, read, seal
from slm2.contract import Contract, embedded
from slm2.engine import EngineChoice, select
from slm2.errors import Slm2Error

FAMILIES = ["qwen2.5", "qwen3-instruct-2507"]
# Qwen2.5 has the same vocabulary and merges and the first 22 of the special tokens: no responses and no reasoning.
SPECIAL_COUNT = {"qwen2.5": 22, "qwen3-instruct-2507": 26}
CONVERSATIONS = 400


@cache
def artifact(family: str) -> bytes:
    """The embedded artifact with the special tokens and the template of a family."""
    base = read(embedded())
    special = base.special[: SPECIAL_COUNT[family]]
    return seal(Parts(base.tokens, special, base.dfa, base.merges, base.normalization, base.facts, base.provenance, program(family)))


@cache
def contract(family: str, engine: EngineChoice) -> Contract:
    return Contract(select(engine, artifact(family)), "contract")


@cache
def oracle(family: str) -> Tokenizer:
    settings = json.loads(tokenizer_json())
    settings["normalizer"] = None
    settings["added_tokens"] = settings["added_tokens"][: SPECIAL_COUNT[family]]
    return Tokenizer.from_str(json.dumps(settings))


@cache
def jinja(family: str):
    return _compile_jinja_template(publisher_template(family))


def plain(messages: list) -> list:
    """What these templates say without loss: no reasoning, arguments as values, content of every message a string."""
    messages = copy.deepcopy(messages)
    for message in messages:
        message.pop("reasoning_content", None)
        message["content"] = (message.get("content") or "").replace("<think>\n", "").replace("\n</think>\n\n", "")
        for call in message.get("tool_calls") or []:
            function = call.get("function", call)
            if isinstance(function["arguments"], str):
                function["arguments"] = json.loads(function["arguments"])
    return messages


@pytest.mark.parametrize("family", FAMILIES)
def test_other_families_give_their_publishers_ids(family: str) -> None:
    source = Source(20)
    seen: set[str] = set()
    for number in range(CONVERSATIONS):
        messages, options = source.conversation()
        messages = plain(messages)
        given = {key: value for key, value in options.items() if key != "enable_thinking"}
        text = jinja(family).render(messages=repaired(messages), **repaired(given))
        expected = oracle(family).encode(text, add_special_tokens=False).ids
        for engine in ("native", "reference") if number < CONVERSATIONS // 10 else ("native",):
            rendering = contract(family, engine).template.render(messages, **given)
            assert rendering.input_ids == expected, (engine, messages, options)
            assert [token.id for token in rendering.tokens] == expected
        seen |= {message["role"] for message in messages} | {key for message in messages for key in message}
    assert {"system", "tool", "tool_calls"} <= seen


@pytest.mark.parametrize("family", FAMILIES)
def test_refusals_and_replies_come_from_the_tables(family: str) -> None:
    opened = contract(family, "native")
    with pytest.raises(Slm2Error) as caught:
        opened.template.render([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    assert caught.value.code == "role_order"
    prompt = opened.template.render([{"role": "user", "content": "a"}], add_generation_prompt=True)
    ids = opened.tokenizer.encode_trusted('Well.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call><|im_end|>')
    reply = opened.reply(prompt.state)
    assert [event.kind for event in reply.push(ids)][-2:] == ["call", "end"]
    assert not reply.faults
    assert reply.message["content"] == "Well."
    again = opened.template.render([{"role": "user", "content": "a"}, reply.message])
    assert again.input_ids[: len(prompt.input_ids) + len(ids)] == prompt.input_ids + ids or family == "qwen2.5"


def test_a_family_needs_its_special_tokens() -> None:
    base = read(embedded())
    with pytest.raises(Slm2Error) as caught:
        seal(Parts(base.tokens, base.special[:22], base.dfa, base.merges, None, None, base.provenance, program("qwen3")))
    assert caught.value.code == "artifact_template_mark"
