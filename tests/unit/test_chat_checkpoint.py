"""Chats that are saved between two turns and restored: they draw what the undisturbed one draws, or are refused."""

from __future__ import annotations

import hashlib
import json

import pytest

import slm2
from machine import ROOT
from scripted_models import END_OF_TURN, ScriptModel, WordModel, WordServer, config
from slm2.errors import Slm2Error
from slm2.logits_source import Served

NATIVE = slm2.load(engine="native")
HI = [{"role": "user", "content": "Hi"}]
REQUEST = json.loads((ROOT / "examples" / "support.json").read_bytes())
NO_TEXT = NATIVE.engine.token_id(b"\xff")
SAMPLING = {"contract": ("pcg32", "chacha8"), "publisher": ("mt19937-torch",)}


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize(("profile", "rng"), [(profile, rng) for profile, rngs in SAMPLING.items() for rng in rngs])
def test_a_chat_that_was_saved_and_restored_draws_what_the_undisturbed_one_draws(engine, profile, rng) -> None:
    """After every turn, one that was given up and one that was refused among them."""
    contract = slm2.load(engine=engine, profile=profile)
    settings = config(profile=profile, rng=rng, presence_penalty=0.5, max_tokens=6)
    undisturbed = slm2.Chat(WordModel(), settings, contract=contract)
    disturbed = slm2.Chat.restore(WordModel(), settings, undisturbed.save(), contract=contract)
    for number, question in enumerate(("Hi", "And then?", "Why?", "Really?")):
        results = [chat.begin([{"role": "user", "content": question}]).result() for chat in (undisturbed, disturbed)]
        assert results[0].ids == results[1].ids
        if number == 1:
            turn = disturbed.begin(HI)
            next(turn)
            turn.abandon()
        assert disturbed.save() == undisturbed.save()
        disturbed = slm2.Chat.restore(WordModel(), settings, disturbed.save(), contract=contract)
        assert disturbed.messages == undisturbed.messages
        assert disturbed.generator_state == undisturbed.generator_state is not None
    alone = slm2.Chat(WordModel(), settings, contract=contract, session=undisturbed.session)
    again = [chat.begin(HI).result().ids for chat in (undisturbed, disturbed, alone)]
    assert again[0] == again[1] != again[2]  # a session alone knows no generator


def test_a_reply_that_was_refused_has_moved_the_generator_of_a_checkpoint_too() -> None:
    replies = ([NO_TEXT], [9707, END_OF_TURN])
    chat = slm2.Chat(ScriptModel(*replies), config(max_tokens=1), contract=NATIVE)
    assert chat.begin(HI).result().refusal is not None
    assert chat.generator_state is not None
    assert slm2.Chat.restore(WordModel(), config(max_tokens=1), chat.save(), contract=NATIVE).generator_state == chat.generator_state


def changed(data: bytes, **members: object) -> bytes:
    """A checkpoint that says something else, sealed again."""
    content = {**json.loads(data)["checkpoint"], **members}
    text = json.dumps(content, ensure_ascii=False)
    return json.dumps({"checkpoint": content, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


def test_a_checkpoint_of_a_chat_is_checked() -> None:
    chat = slm2.Chat(WordModel(), config(), contract=NATIVE)
    chat.begin(HI).result()
    data = chat.save()

    def refused(given: bytes, source=None, **changes: object) -> tuple[str, dict]:
        with pytest.raises(Slm2Error) as caught:
            slm2.Chat.restore(source or WordModel(), config(**changes), given, contract=NATIVE)
        return caught.value.code, caught.value.fields

    assert slm2.Chat.restore(WordModel(), config(), changed(data), contract=NATIVE).save() == data  # laid out in another way
    no_chat = {"reason": "it is no checkpoint of a chat of the kind 'slm2 chat 1'"}
    for wrong in (
        chat.session.save(),
        b"5",
        b"[]",
        b"{}",
        b'{"checkpoint": 5}',
        changed(data, kind="slm2 chat 2"),
        changed(data, kind=None),
    ):
        assert refused(wrong) == ("checkpoint_refused", no_chat)
    assert refused(data.replace(b'"seed": 7', b'"seed": 8')) == ("checkpoint_refused", {"reason": "it was changed after it was saved"})
    for wrong in ({"session": 5}, {"generator": 5}, {"generator": "0"}, {"generator": "zz"}, {"generator": "AB"}):
        assert refused(changed(data, **wrong)) == ("checkpoint_refused", {"reason": "what it holds is no chat"})
    assert refused(changed(data, generator="00"))[0] == "generator_state"
    assert refused(changed(data, session="{}"))[0] == "checkpoint_refused"
    assert refused(changed(data, config=None))[0] == "checkpoint_refused"
    assert refused(b"{")[0] == "json_invalid"
    assert refused(data[:-2] + b', "sha256": ""}')[0] == "json_duplicate_key"
    for changes, said in (
        ({"seed": 8}, "seed was 7, and 8 came"),
        ({"temperature": 0.5}, "temperature was 0.6, and 0.5 came"),
        ({"presence_penalty": 0.5}, "presence_penalty was null, and 0.5 came"),
    ):
        code, fields = refused(data, **changes)
        assert code == "checkpoint_refused"
        assert said in fields["reason"]
    server = WordServer([Served([END_OF_TURN], "stop")])
    assert refused(data, server) == ("checkpoint_refused", {"reason": "its generator has drawn, and a server draws by itself"})
    with pytest.raises(TypeError):
        slm2.Chat(WordModel(), config(), contract=NATIVE, request=REQUEST).save()
