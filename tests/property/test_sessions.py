"""Sessions: deltas against rendering from scratch, and a cache that only grows with preserve_thinking (M-100 to M-107)."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from functools import cache
from types import FrameType

import pytest

import slm2
from differential.conversations import Source
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error

USER = {"role": "user", "content": "q"}
CHUNKS = 8
CONVERSATIONS = 40


@cache
def contract(engine: EngineChoice = "native") -> Contract:
    return slm2.load(engine=engine)


def steps(messages: list[dict]) -> list[list[dict]]:
    """The messages between two replies: each list ends where a reply is due."""
    rounds: list[list[dict]] = [[]]
    for message in messages:
        if message["role"] == "assistant":
            rounds.append([])
        else:
            rounds[-1].append(message)
    return [part for part in rounds if part]


def reply_ids(rng: random.Random, source: Source, calls: int, *, thinks: bool) -> list[int]:
    """A reply that a model could write, not always as an encoder would: ids cut into bytes, spaces in the JSON, no end."""
    text = f"<think>{rng.choice(chr(10) + ' ')}{source.text(3)}\n</think>\n\n" if thinks and rng.random() < 0.6 else ""
    text += rng.choice(["", source.text(4)]) if calls else source.text(4)
    spaces = rng.choice(["", " "])
    text += f'\n<tool_call>\n{{"name": "f", "arguments": {spaces}{{"a":1}}}}\n</tool_call>' * calls
    ids = contract().tokenizer.encode_trusted((text or "x") + "<|im_end|>")
    if rng.random() < 0.3:
        ids = [part for token in ids for part in ([*contract().tokenizer.encode("He"), 385] if token == 9707 else [token])]
    return ids[:-1] if not calls and rng.random() < 0.2 else ids


def common(left: list[int], right: list[int]) -> int:
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


@pytest.mark.parametrize("preserve", [False, True])
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_deltas_are_the_common_prefix_and_with_preserve_thinking_nothing_is_cut(seed: int, preserve: bool) -> None:
    rng, source = random.Random(seed), Source(seed)
    lost = 0
    for _ in range(CONVERSATIONS):
        messages = source.messages()
        tools = source.options(messages).get("tools")
        thinking = rng.choice([None, False])
        session = contract().session(tools=tools, preserve_thinking=preserve, enable_thinking=thinking)
        cache: list[int] = []
        rounds = steps(messages)
        for number, part in enumerate(rounds):
            asked = [message for following in rounds[number + 1 : number + 2] for message in following if message["role"] == "tool"]
            said = [{key: value for key, value in message.items() if key != "tool_call_id"} for message in part]
            before = list(cache)
            delta = session.extend(said)
            cache = cache[: delta.keep] + delta.append
            assert cache == session.cached_ids
            assert sum(loss.ids for loss in delta.lost) == len(before) - delta.keep
            if preserve:
                assert delta.keep == len(before), (seed, delta.lost)  # M-102
            else:
                given = session.messages
                scratch = contract().template.render(given, tools=tools, add_generation_prompt=True, enable_thinking=thinking)
                assert cache == scratch.input_ids
                assert delta.keep == common(before, cache)
            lost += len(before) - delta.keep
            ids = reply_ids(rng, source, len(asked), thinks=thinking is None)
            session.reply(ids)
            cache += ids
            assert cache == session.cached_ids
            restored = contract().restore_session(session.save())
            assert restored.cached_ids == cache
            fork = session.fork()
            if not asked:
                assert restored.extend([USER]) == fork.extend([USER])
            assert session.cached_ids == cache
    assert (lost == 0) == preserve


def test_incremental_is_from_scratch_with_the_recorded_ids() -> None:
    """M-102: a restored session renders everything anew, and has the ids that the session came to step by step."""
    session = contract().session(preserve_thinking=True)
    cached: list[int] = []
    for word in ("one", "two", "three"):
        delta = session.extend([{"role": "user", "content": word}])
        cached = cached[: delta.keep] + delta.append
        ids = contract().tokenizer.encode_trusted(f"<think>\n{word}\n</think>\n\nSo.<|im_end|>")
        session.reply(ids)
        cached += ids
    restored = contract().restore_session(changed(session.save(), cached=[], state=None))
    delta = restored.extend([USER])
    assert (delta.keep, delta.append[: len(cached)]) == (0, cached)


def changed(saved: bytes, **members: object) -> bytes:
    """A checkpoint that says something else, with the digest of that."""
    content = {**json.loads(saved)["checkpoint"], **members}
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
    return json.dumps({"checkpoint": content, "sha256": digest}).encode()


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("preserve", [False, True])
def test_m_103_a_step_that_is_cancelled_anywhere_changes_nothing(preserve: bool, engine: EngineChoice) -> None:
    session = contract(engine).session(preserve_thinking=preserve)
    session.extend([USER])
    session.reply(contract().tokenizer.encode_trusted("<think>\nR\n</think>\n\nx<|im_end|>"))
    whole = session.save()

    def cancel_at(line: int) -> bool:
        """Cancel a call where it comes to the n-th of its lines; whether it came so far."""
        left = line

        def trace(frame: FrameType, event: str, _: object):
            nonlocal left
            if "slm2" not in frame.f_code.co_filename:
                return None
            left -= event == "line"
            if left < 0:
                raise KeyboardInterrupt
            return trace

        outer = sys.gettrace()
        sys.settrace(trace)
        try:
            session.extend([USER])
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(outer)
        return False

    lines = 0
    while cancel_at(lines):
        # The last step is the one that sets the state; what comes before it changes nothing.
        if session.save() != whole:
            assert session.messages[-1] == USER
            break
        lines += 1
    assert lines > (100 if engine == "reference" else 1), lines


def test_m_104_m_105_what_is_lost_and_the_settled_form() -> None:
    session = contract().session(enable_thinking=False)
    session.extend([USER])
    session.reply(contract().tokenizer.encode_trusted("Yes.<|im_end|>"))
    expected = session.fork().extend([USER])
    assert [(loss.message, loss.reason) for loss in expected.lost] == [(1, "reasoning")]
    told = session.settled()
    settled = session.settle()
    assert settled == told
    prefilled = session.cached_ids
    delta = session.extend([USER])
    assert (delta.keep, delta.lost) == (len(prefilled), [])


def test_m_106_checkpoints_of_others_are_refused() -> None:
    session = contract().session()
    session.extend([USER])
    saved = session.save()

    def reason(data: bytes) -> str:
        with pytest.raises(Slm2Error) as caught:
            contract().restore_session(data)
        assert caught.value.code == "checkpoint_refused"
        return str(caught.value.fields["reason"])

    assert "changed" in reason(saved.replace(b'"q"', b'"p"'))
    assert "no checkpoint" in reason(b"[]")
    assert "artifact 000" in reason(changed(saved, semantic_digest="0" * 64))
    assert json.loads(saved)["checkpoint"]["semantic_digest"] == contract().digest


def test_m_107_what_is_encoded_does_not_grow_with_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the reference; of the engine a test of the core asks it (crates/core/src/session/tests.rs)."""
    session = contract("reference").session()
    core, encoded = session._session._core, [0]  # type: ignore[attr-defined]
    real = core.encode

    def encode(data: bytes) -> list[int]:
        encoded[0] += len(data)
        return real(data)

    monkeypatch.setattr(core, "encode", encode)
    sizes = []
    for _ in range(40):
        encoded[0] = 0
        session.extend([{"role": "user", "content": "word " * 100}])
        session.reply(contract().tokenizer.encode_trusted("<think>\nR\n</think>\n\nx<|im_end|>"))
        sizes.append(encoded[0])
    assert max(sizes[2:]) == min(sizes[2:])


def test_what_a_caller_does_with_its_messages_afterwards_changes_nothing() -> None:
    contract = slm2.load(engine="native")
    session = contract.session()
    message = {"role": "user", "content": "Hi"}
    session.extend([message])
    message["content"] = "changed"
    session.messages[0]["content"] = "changed"
    assert session.messages == [{"role": "user", "content": "Hi"}]
    assert contract.restore_session(session.save()).cached_ids == session.cached_ids


@pytest.mark.parametrize("options", [{"enable_thinking": "no"}, {"preserve_thinking": None}, {"preserve_thinking": 1}])
def test_options_of_another_type_are_refused(options) -> None:
    with pytest.raises(slm2.Slm2Error) as caught:
        slm2.load(engine="native").session(**options)
    assert caught.value.code == "invalid_type"
