"""Turns over models that are made of nothing: events, results, the cache, budgets and refusals."""

from __future__ import annotations

import json

import numpy
import pytest

import slm2
from machine import ROOT
from scripted_models import END_OF_TURN, Failure, ScriptModel, WordModel, WordServer, config
from slm2.errors import Slm2Error
from slm2.logits_source import Served
from slm2.model_cache import cache_of
from slm2.turn import config_digest

every_engine = pytest.mark.parametrize("engine", ["native", "reference"])
NATIVE = slm2.load(engine="native")
HI = [{"role": "user", "content": "Hi"}]
REQUEST = json.loads((ROOT / "examples" / "support.json").read_bytes())


def ids(text: str) -> list[int]:
    return NATIVE.tokenizer.encode_trusted(text)


def code_of(function, *arguments, **named) -> tuple[str, dict]:
    with pytest.raises(Slm2Error) as caught:
        function(*arguments, **named)
    return caught.value.code, caught.value.fields


HALF = NATIVE.engine.token_id("中".encode()[:1])
NO_TEXT = NATIVE.engine.token_id(b"\xff")
CALL = '<think>\nHm.\n</think>\n\n<tool_call>\n{"name": "time", "arguments": {"zone": "UTC"}}\n</tool_call><|im_end|>'


def chat_that_says(reply, over, **changes):
    """A chat over a session or over the example's request, and its model, which says one thing."""
    given = REQUEST if over == "request" else None
    ids_before = NATIVE.prompt.assemble(REQUEST).input_ids if given else []
    heads = sum(ids_before[at : at + 3] == [151_644, 77_091, 198] for at in range(len(ids_before)))
    model = ScriptModel(*[()] * max(heads - 1, 0), reply)
    return slm2.Chat(model, config(**changes), contract=NATIVE, request=given), model


def begin(chat, over):
    return chat.begin(HI if over == "session" else ())


@every_engine
def test_events_and_result_of_a_reply(engine) -> None:
    contract = slm2.load(engine=engine)
    model = ScriptModel(ids(CALL), ids("<think>\n\n</think>\n\nNoon.<|im_end|>"))
    chat = slm2.Chat(model, config(max_tokens=64), contract=contract)
    turn = chat.begin(HI)
    events = list(turn)
    assert [event.kind for event in events] == ["reasoning", "reasoning", "reasoning", "call", "end"]
    assert (events[3].name, events[3].arguments) == ("time", '{"zone": "UTC"}')
    assert [token for event in events for token in event.ids] == ids(CALL)
    result = turn.result()
    assert (result.ids, result.text, result.reason, result.refusal) == (tuple(ids(CALL)), "", "StopToken", None)
    assert (result.sampled_by, result.model, result.kept_ids) == ("sampling2", "words", len(ids(CALL)))
    assert result.message["tool_calls"]
    second = chat.begin([{"role": "tool", "content": "12:00"}]).result()
    assert second.text == "Noon."
    assert [message["role"] for message in chat.messages] == ["user", "assistant", "tool", "assistant"]


def test_the_model_computes_what_the_session_says_and_no_more() -> None:
    """The delta of a session, but for the last id of a reply, which was drawn and never given to the model."""
    model = WordModel()
    chat = slm2.Chat(model, config(), contract=NATIVE)
    twin = NATIVE.session()
    held: list[int] = []
    for question in ("Hi", "And then?", "Why?"):
        message = [{"role": "user", "content": question}]
        delta = twin.extend(message)
        first = len(model.calls)
        result = chat.begin(message).result()
        keep, append = model.calls[first]
        assert keep == min(delta.keep, len(held))
        assert keep + append == delta.keep + len(delta.append)
        assert model.calls[first + 1 :] == [(keep + append + step, 1) for step in range(len(result.ids) - 1)]
        assert result.stats.reused_ids == keep
        assert result.stats.computed_ids == append + len(result.ids) - 1
        assert (result.stats.drawn_ids, result.stats.model_calls) == (len(result.ids), len(result.ids))
        twin.reply(result.ids)
        held = twin.cached_ids[:-1]
    assert chat.session.save() == twin.save()
    assert cache_of(model).ids == held


def test_two_chats_over_one_model_share_its_cache() -> None:
    model = WordModel()
    first, second = (slm2.Chat(model, config(), contract=NATIVE) for _ in range(2))
    alone = slm2.Chat(WordModel(), config(), contract=NATIVE)
    mine = first.begin(HI)
    next(mine)
    second.begin([{"role": "user", "content": "Another matter"}]).result()
    assert mine.result().ids == alone.begin(HI).result().ids


def test_generate_is_one_turn() -> None:
    turn = slm2.generate(ScriptModel(ids("Hello!<|im_end|>")), HI, config(), contract=NATIVE)
    assert [(event.kind, event.text) for event in turn] == [("content", "Hello"), ("content", "!"), ("end", "")]
    assert turn.result().text == "Hello!"
    thinking = slm2.generate(WordModel(), HI, config(), contract=NATIVE, enable_thinking=False)
    assert thinking.asked.ids == NATIVE.template.render(HI, add_generation_prompt=True, enable_thinking=False).input_ids


def test_a_request_is_assembled_for_each_question() -> None:
    model = WordModel()
    chat = slm2.Chat(model, config(), contract=NATIVE, request=REQUEST)
    first = chat.begin()
    assert first.asked.ids == NATIVE.prompt.assemble(REQUEST).input_ids
    said = first.result().message
    turn = chat.begin([{"role": "user", "content": "Thanks."}])
    grown = {**REQUEST, "user_turn": "Thanks.", "steps": []}
    grown["history"] = [*REQUEST["history"], {"role": "user", "content": REQUEST["user_turn"]}, *REQUEST["steps"], said]
    assert turn.asked.ids == NATIVE.prompt.assemble(grown).input_ids
    assert turn.stats.reused_ids > 100  # the policy and the tools, before anything that changes
    turn.abandon()
    assert chat.conversation.request["user_turn"] == REQUEST["user_turn"]
    assert REQUEST["policy"] not in repr(chat.conversation.request)


def test_a_request_that_changes_afterwards_changes_no_chat() -> None:
    given = json.loads((ROOT / "examples" / "support.json").read_bytes())
    chat = slm2.Chat(WordModel(), config(), contract=NATIVE, request=given)
    given["history"][0]["content"] = "Something else."
    given["tools"].clear()
    assert chat.begin().asked.ids == NATIVE.prompt.assemble(REQUEST).input_ids


def test_what_a_request_has_no_place_for_is_refused() -> None:
    chat = slm2.Chat(WordModel(), config(), contract=NATIVE, request=REQUEST)
    chat.begin().result()
    question = {"role": "user", "content": "Thanks.", "name": "Zoë"}
    assert code_of(chat.begin, [{**question, "tool_calls": []}])[1]["field"] == "messages[0].tool_calls"
    chat.begin([question]).result()


def test_a_request_whose_reserve_is_less_than_the_reply_may_have() -> None:
    code, fields = code_of(slm2.generate, WordModel(), REQUEST, config(max_tokens=1025), contract=NATIVE)
    assert (code, fields["field"], fields["found"]) == ("invalid_value", "max_tokens", "1025")


def test_a_full_window_is_refused_before_the_model_runs() -> None:
    model = WordModel()
    chat = slm2.Chat(model, config(max_tokens=16), contract=NATIVE, context=9 + 16)
    assert chat.begin(HI).result().budget.left == 0
    before, calls = chat.session.save(), model.count
    code, fields = code_of(chat.begin, HI)
    assert (code, fields["reserve"], fields["context"]) == ("context_full", 16, 25)
    assert (chat.session.save(), model.count) == (before, calls)


def test_a_reply_that_is_cut_off_says_so_and_stays() -> None:
    chat = slm2.Chat(ScriptModel(ids("one two three four")), config(max_tokens=3), contract=NATIVE)
    turn = chat.begin(HI)
    assert [event.reason for event in turn if event.kind == "end"] == ["cut"]
    assert (turn.result().reason, turn.result().text, turn.result().kept_ids) == ("MaxTokens", "one two three", 3)
    assert chat.messages[-1]["content"] == "one two three"


@pytest.mark.parametrize("over", ["session", "request"])
def test_a_character_that_is_cut_off_is_left_out_of_the_conversation(over) -> None:
    chat, model = chat_that_says([9707, HALF], over, max_tokens=2)
    turn = begin(chat, over)
    assert [event.kind for event in turn] == ["content", "ill_formed"]
    result = turn.result()
    assert (result.reason, result.stopped_by, result.kept_ids, result.refusal) == ("FatalError", "MaxTokens", 1, None)
    assert (result.ids, result.pending) == ((9707, HALF), NATIVE.tokenizer.token_bytes(HALF))
    said = chat.messages[-1] if over == "session" else chat.conversation.request["steps"][-1]
    assert said["content"] == "Hello"
    assert model.count == 1


@pytest.mark.parametrize(
    ("reply", "reason", "code"),
    [
        ([9707, NO_TEXT, 9707, END_OF_TURN], "FatalError", "ill_formed_text"),
        ([9707, HALF, END_OF_TURN], "FatalError", "ill_formed_text"),
        ([9707, 151_644, 1879, END_OF_TURN], "StopToken", "reply_refused"),
        ([151_643], "StopToken", "no_prompt"),
    ],
)
@pytest.mark.parametrize("over", ["session", "request"])
def test_a_reply_that_no_conversation_can_hold_is_told_and_not_kept(reply, reason, code, over) -> None:
    """Bytes that are no text, a structural token in the middle, nothing at all."""
    chat, _ = chat_that_says(reply, over)
    before = chat.session.save() if over == "session" else chat.conversation.request
    result = begin(chat, over).result()
    assert (result.reason, result.refusal.code, result.kept_ids) == (reason, code, 0)
    if code == "reply_refused":
        assert result.refusal.fields == {"position": 1, "id": 151_644}
    assert result.ids == tuple(reply[: len(result.ids)])
    assert (chat.session.save() if over == "session" else chat.conversation.request) == before


def test_a_stop_id_that_is_no_part_of_a_turn_is_told_with_the_end() -> None:
    chat = slm2.Chat(ScriptModel([9707, 151_643]), config(), contract=NATIVE)
    turn = chat.begin(HI)
    assert [(event.kind, event.ids, event.reason) for event in turn] == [("content", (9707,), ""), ("end", (151_643,), "cut")]
    assert (turn.result().reason, turn.result().kept_ids, turn.result().refusal) == ("StopToken", 1, None)
    assert chat.messages[-1]["content"] == "Hello"


def test_cancelling_and_abandoning_leave_the_chat_as_it_was() -> None:
    chat, alone = (slm2.Chat(WordModel(), config(), contract=NATIVE) for _ in range(2))
    chat.begin(HI).result()
    alone.begin(HI).result()
    before, state = chat.session.save(), chat.generator_state
    turn = chat.begin(HI)
    next(turn)
    turn.cancel()
    assert code_of(next, turn) == ("cancelled", {"steps": 1})
    assert code_of(next, turn) == ("generation_ended", {"reason": "cancelled"})
    other = chat.begin(HI)
    next(other)
    mine = chat.begin(HI)  # the other one is given up by it
    assert code_of(other.result)[0] == "generation_ended"
    assert (chat.session.save(), chat.generator_state) == (before, state)
    assert mine.result().ids == alone.begin(HI).result().ids


def test_the_generator_goes_on_from_turn_to_turn() -> None:
    model = ScriptModel([9707, END_OF_TURN], [9707, END_OF_TURN])
    chat = slm2.Chat(model, config(), contract=NATIVE)
    assert chat.generator_state is None
    chat.begin(HI).result()
    first = chat.generator_state
    chat.begin(HI).result()
    assert first != chat.generator_state


def test_a_server_draws_and_the_report_says_so() -> None:
    server = WordServer([Served([9707, 1879], None), Served([], None), Served([END_OF_TURN], "stop")])
    turn = slm2.generate(server, HI, config(), contract=NATIVE)
    assert [event.kind for event in turn] == ["content", "content", "end"]
    result = turn.result()
    assert (result.text, result.reason, result.sampled_by, result.to_dict()["sampled_by"]) == (
        "Hello world",
        "StopToken",
        "server",
        "server",
    )
    assert server.requests == [(NATIVE.template.render(HI, add_generation_prompt=True).input_ids, 16)]


@pytest.mark.parametrize(
    ("chunks", "reason", "text", "pending"),
    [
        ([Served([9707], "stop")], "StopToken", "Hello", b""),
        ([Served([9707], None), Served([], "stop")], "StopToken", "Hello", b""),
        ([Served([9707], "length")], "MaxTokens", "Hello", b""),
        ([Served([9707, HALF], "length")], "FatalError", "Hello", NATIVE.tokenizer.token_bytes(HALF)),
    ],
)
def test_how_a_server_may_end_a_reply(chunks, reason, text, pending) -> None:
    chat = slm2.Chat(WordServer(chunks), config(), contract=NATIVE)
    result = chat.begin(HI).result()
    assert (result.reason, result.text, result.refusal) == (reason, text, None)
    assert result.pending == pending
    assert chat.messages[-1]["content"] == "Hello"


def test_a_server_that_fails_is_asked_to_go_on_from_what_came() -> None:
    server = WordServer([Served([9707], None), Failure("connection lost")], [Served([1879, END_OF_TURN], "stop")])
    turn = slm2.generate(server, HI, config(), contract=NATIVE)
    assert next(turn).text == "Hello"
    assert code_of(next, turn) == ("model_failed", {"step": 1, "reason": "Failure: connection lost"})
    assert turn.result().text == "Hello world"
    prompt = turn.asked.ids
    assert server.requests == [(prompt, 16), ([*prompt, 9707], 15)]


@pytest.mark.parametrize("chunks", [[Served([9707], None)], [Served([END_OF_TURN, 9707], "stop")]])
def test_a_server_that_breaks_off_or_goes_on_after_the_end(chunks) -> None:
    turn = slm2.generate(WordServer(chunks, []), HI, config(), contract=NATIVE)
    assert code_of(turn.result)[0] == "model_failed"


@pytest.mark.parametrize("chunk", [Served([9707, END_OF_TURN, 9707, 9707], "stop"), Served([9707, 200_000, 1879, END_OF_TURN], "stop")])
def test_after_ids_that_are_no_reply_nothing_comes(chunk) -> None:
    chat = slm2.Chat(WordServer([chunk]), config(), contract=NATIVE)
    turn = chat.begin(HI)
    codes = [code_of(turn.result)[0] for _ in range(6)]
    assert codes[0] in {"model_failed", "token_id_out_of_range"}
    assert codes[1:] == ["generation_ended"] * 5
    turn.abandon()
    assert chat.messages == []


@pytest.mark.parametrize("ids", [[2**70], [2**32], [-1], [1.5], ["9707"], None])
def test_what_a_server_gives_that_is_no_id_is_a_typed_error(ids) -> None:
    turn = slm2.generate(WordServer([Served(ids, "stop")], [Served([9707, END_OF_TURN], "stop")]), HI, config(), contract=NATIVE)
    assert code_of(turn.result)[0] == "model_failed"
    assert turn.result().text == "Hello"


def test_integers_of_any_kind_are_ids() -> None:
    server = WordServer([Served(numpy.array([9707, END_OF_TURN]), "stop")])
    assert slm2.generate(server, HI, config(), contract=NATIVE).result().ids == (9707, END_OF_TURN)


def test_a_turn_goes_on_where_what_is_said_after_it_was_refused() -> None:
    model = WordModel()
    chat = slm2.Chat(model, config(), contract=NATIVE)
    model.fails_at = {1: "after"}
    turn = chat.begin(HI)
    assert code_of(turn.result)[0] == "model_failed"
    assert code_of(chat.begin, [{"role": "tool", "content": "no call was made"}])[0] == "tool_without_call"
    turn.result()
    assert len(chat.messages) == 2


def test_abandoning_closes_the_request_of_a_server() -> None:
    server = WordServer([Served([9707], None), Served([1879], "length")])
    turn = slm2.generate(server, HI, config(), contract=NATIVE)
    next(turn)
    assert server.closed == 0
    turn.abandon()
    assert server.closed == 1


def test_what_a_chat_is_made_of_is_checked() -> None:
    made = slm2.Chat
    assert code_of(made, object(), config(), contract=NATIVE)[0] == "invalid_type"
    says_nothing = WordModel()
    says_nothing.model = None
    assert code_of(made, says_nothing, config(), contract=NATIVE)[1]["field"] == "source.model"
    assert code_of(made, WordModel(), {"seed": 7}, contract=NATIVE)[0] == "invalid_type"
    other = slm2.load(engine="native", profile="publisher").session()
    assert code_of(made, WordModel(), config(), contract=NATIVE, session=other)[1]["field"] == "session.profile"
    assert code_of(made, WordModel(width=152_064), config(), contract=NATIVE)[0] == "model_mismatch"
    assert code_of(made, WordModel(context=512), config(), contract=NATIVE)[1]["what"] == "the longest context"
    made(WordModel(context=512), config(), contract=NATIVE, context=512)
    assert code_of(made, WordModel(), config(stop_ids=[]), contract=NATIVE)[1]["field"] == "stop_ids"
    assert code_of(made, WordModel(), config(stop_strings=["a"]), contract=NATIVE)[1]["field"] == "stop_strings"
    publisher = config(profile="publisher", rng="mt19937-torch")
    assert code_of(made, WordModel(), publisher, contract=NATIVE)[0] == "sampling_pairing"
    assert code_of(made(WordModel(), config(), contract=NATIVE).begin, "Hi")[0] == "invalid_type"
    assert code_of(slm2.generate, WordModel(), REQUEST, config(), contract=NATIVE, tools=[])[1]["field"] == "tools"


def test_profile_publisher_reports_itself() -> None:
    contract = slm2.load(engine="native", profile="publisher")
    result = slm2.generate(WordModel(), HI, config(profile="publisher", rng="mt19937-torch"), contract=contract).result()
    assert result.to_dict()["profile"] == "publisher (torch-2.13-cpu-avx512)"


def test_digest_of_a_configuration() -> None:
    assert config_digest(config()) == config_digest(config())
    assert config_digest(config()) != config_digest(config(seed=8))
    assert len(config_digest(config())) == 64
