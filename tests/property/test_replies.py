"""Replies read id by id: cut at every id, malformed, and of random ids (contract/template.md, M-90 to M-97)."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest

import slm2
from differential.conversations import Source
from publisher import special_texts
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.reply import Reply, ReplyEvent

CHUNKS = 20
REPLIES = 100  # a chunk: 2,000 replies in all, each cut at every id
STATES = ["ASSISTANT_OPEN", "ASSISTANT_THINKING", "ASSISTANT_ANSWERING", "ASSISTANT_RESPONDING"]
END = 151645


@cache
def contract(engine: EngineChoice = "native") -> Contract:
    return slm2.load(engine=engine)


def read(engine: EngineChoice, state: str, ids: list[int]) -> tuple[Reply, list[list[ReplyEvent]]]:
    """The events of each id, and of the end; a reply that broke has no end."""
    reply = contract(engine).reply(state)
    told = []
    for token in ids:
        told.append(reply.push(token))
        if any(event.kind == "ill_formed" for event in told[-1]):
            with pytest.raises(Slm2Error, match="ended after"):
                reply.push(token)
            return reply, [*told, []]
    told.append(reply.finish())
    return reply, told


def flat(told: list[list[ReplyEvent]]) -> list[ReplyEvent]:
    return [event for events in told for event in events]


def ids_of(events: list[ReplyEvent]) -> list[int]:
    return [token for event in events for token in event.ids]


def generated(rng: random.Random, source: Source) -> str:
    """What a model writes: reasoning, content and calls, well formed or with a fault."""
    text = f"<think>\n{source.text(4)}\n</think>\n\n" if rng.random() < 0.6 else ""
    text += source.text(5)
    for _ in range(rng.choice((0, 0, 1, 2))):
        arguments = json.dumps(source.mapping(), ensure_ascii=rng.random() < 0.3)
        text += f'\n<tool_call>\n{{"name": "f", "arguments": {arguments}}}\n</tool_call>'
    if rng.random() < 0.4:
        fault = rng.choice(["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_start|>", "<|endoftext|>", '"', "}", "x"])
        at = rng.randrange(len(text) + 1)
        text = text[:at] + fault + text[at:]
    return text + ("<|im_end|>" if rng.random() < 0.9 else "")


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_a_reply_cut_at_every_id_loses_nothing_and_invents_nothing(seed: int) -> None:
    rng, source = random.Random(seed), Source(seed)
    for number in range(REPLIES):
        ids = contract().tokenizer.encode_trusted(generated(rng, source))[:120]
        state = rng.choice(STATES)
        _, told = read("native", state, ids)
        assert ids_of(flat(told)) == ids[: len(ids_of(flat(told)))]
        ids = ids[: len(ids_of(flat(told)))]
        if number % 10 == 0:
            assert read("reference", state, ids)[1] == told
        for end in range(len(ids)):
            reply = contract().reply(state)
            events = reply.push(ids[:end])
            assert events == flat(told[:end]), (seed, number, end)
            events += reply.finish() if not any(event.kind == "ill_formed" for event in events) else []
            assert ids_of(events) == ids[:end]
            assert events[-1].kind in ("end", "ill_formed")


@pytest.mark.parametrize("seed", range(4))
def test_random_ids_are_read_alike_by_both_and_never_break(seed: int) -> None:
    rng = random.Random(100 + seed)
    calls = [contract().tokenizer.encode(text) for text in ("\n", '\n{"name": "f", "arguments": {"a": 1}}\n', "é🙂", "{")]
    for _ in range(250):
        ids: list[int] = []
        for _ in range(rng.randint(0, 30)):
            kind = rng.random()
            marks = list(special_texts().values())
            ids += [rng.choice(marks)] if kind < 0.4 else rng.choice(calls) if kind < 0.6 else [rng.randrange(151_643)]
        state = rng.choice(STATES)
        native, told = read("native", state, ids)
        assert told == read("reference", state, ids)[1]
        taken = ids[: len(ids_of(flat(told)))]
        assert ids_of(flat(told)) == taken
        assert native.ids == taken
        together = contract().reply(state)
        assert ids_of(together.push(ids)) in (ids, ids[: len(ids_of(flat(told[:-1])))])


@pytest.mark.parametrize("thinking", [None, False])
def test_m_97_rendering_a_reply_gives_its_ids_back(thinking: bool | None) -> None:
    template = contract().template
    given_back = 0
    for seed in range(60):
        messages = Source(seed).messages()
        for index, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            before = messages[:index]
            prompt = template.render(before, add_generation_prompt=True, enable_thinking=thinking)
            whole = template.render([*before, message]).input_ids
            # With thinking off the prompt has an empty block already, which the turn must have too.
            if whole[: len(prompt.input_ids)] != prompt.input_ids:
                continue
            ids = whole[len(prompt.input_ids) : -1]
            reply, told = read("native", prompt.state, ids)
            assert not reply.faults
            assert flat(told)[-1].reason == "end_turn"
            blank = not (message.get("content") or "").strip("\n") and message.get("tool_calls")
            if message.get("content") and blank:
                continue  # M-97: newlines alone before a call
            assert template.render([*before, reply.message]).input_ids == whole
            given_back += 1
    assert given_back > 50, given_back


def test_m_90_ids_without_a_token_leave_the_reply_as_it_was() -> None:
    for engine in ("native", "reference"):
        reply = contract(engine).reply("ASSISTANT_OPEN")
        with pytest.raises(Slm2Error) as caught:
            reply.push([9707, 2**40])
        assert (caught.value.code, caught.value.fields["position"]) == ("token_id_out_of_range", 1)
        assert reply.ids == []
        assert [event.text for event in reply.push([9707, END])] == ["Hello", ""]
        assert reply.state == "END"


def test_a_reply_needs_a_state_in_which_one_begins() -> None:
    with pytest.raises(Slm2Error) as caught:
        contract().reply("END")
    assert (caught.value.code, caught.value.fields["found"]) == ("invalid_value", "END")
