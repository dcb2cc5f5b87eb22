"""What is logged: one name, no policy at any level, no text of a prompt above DEBUG, and nothing where nobody asks."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

import slm2
from machine import ROOT
from scripted_models import ScriptModel, WordModel, WordServer, config
from slm2.errors import Slm2Error
from slm2.logits_source import Served

SECRET = "Zebra-9173 answers to nobody but Quince-4481."
SPOKEN = {
    "user": "my maiden name is Oxenstierna",
    "tool": "balance-of-Oxenstierna 31337",
    "fact": "Oxenstierna-locale",
    "passage": "passage about Oxenstierna",
    "earlier": "Oxenstierna said so before",
}
REQUEST = {
    **json.loads((ROOT / "examples" / "support.json").read_bytes()),
    "policy": SECRET,
    "user_turn": SPOKEN["user"],
    "local_state": [{"name": "locale", "value": SPOKEN["fact"], "priority": 1}],
    "retrieved": [{"id": "a", "source": "b", "score": 1, "text": SPOKEN["passage"]}],
    "history": [{"role": "user", "content": SPOKEN["earlier"]}, {"role": "assistant", "content": "Yes."}],
}
REQUEST["steps"][-1] = {"role": "tool", "content": SPOKEN["tool"]}


def everything(contract) -> None:
    """Every kind of turn: kept, refused, failing, given up, tried again; of a session, a request, and a server that says the policy."""
    said = contract.tokenizer.encode(SECRET)
    system = {"role": "system", "content": SECRET}
    for model in (WordModel(), ScriptModel([*said, 151_645], [9707, 151_644, 151_645])):
        chat = slm2.Chat(model, config(max_tokens=60), contract=contract)
        chat.begin([system, {"role": "user", "content": SPOKEN["user"]}]).result()
        model.fails_at = {model.count + 1: "after"}
        turn = chat.begin([{"role": "user", "content": SPOKEN["user"]}])
        with pytest.raises(Slm2Error):
            next(turn)
        turn.result()
        chat.begin([{"role": "user", "content": SPOKEN["user"]}]).abandon(f"for the log {len(said)}")
    chat = slm2.Chat(WordModel(), config(), contract=contract, request=REQUEST)
    chat.begin().result()
    chat.begin([{"role": "user", "content": SPOKEN["user"]}]).result()
    tight = {**REQUEST, "budget": {"context": 60, "reserve": 50}}
    with pytest.raises(Slm2Error):
        slm2.Chat(WordModel(), config(), contract=contract, request=tight).begin()
    server = WordServer([Served([*said, 151_645], "stop")])
    slm2.generate(server, [system, {"role": "user", "content": SPOKEN["user"]}], config(max_tokens=60), contract=contract).result()


def told(record: logging.LogRecord) -> str:
    """All that a handler could write of a record, its arguments and its exception included."""
    return " ".join([record.getMessage(), repr(record.__dict__), logging.Formatter().format(record)])


class Kept(logging.Handler):
    """Keeps the records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(scope="module")
def records():
    """At every level, of whatever logger."""
    handler, root, own = Kept(), logging.getLogger(), logging.getLogger("slm2")
    root.addHandler(handler)
    own.setLevel(logging.DEBUG)
    try:
        for engine in ("native", "reference"):
            everything(slm2.load(engine=engine))
    finally:
        root.removeHandler(handler)
        own.setLevel(logging.NOTSET)
    return handler.records


def test_every_record_has_the_one_name(records) -> None:
    assert {record.name for record in records} == {"slm2"}
    assert {record.levelno for record in records} == {logging.DEBUG, logging.INFO, logging.WARNING}


def test_the_policy_is_in_no_record_at_any_level(records) -> None:
    ids = slm2.load().tokenizer.encode(SECRET)
    for record in records:
        text = told(record)
        assert "Zebra" not in text
        assert "Quince" not in text
        assert str(ids[0]) + ", " + str(ids[1]) not in text  # the policy can be read out of its ids


def test_no_text_of_a_prompt_above_debug(records) -> None:
    above = [told(record) for record in records if record.levelno > logging.DEBUG]
    assert len(above) > 20
    assert [text for text in above if "Oxenstierna" in text] == []
    below = [told(record) for record in records if record.levelno == logging.DEBUG]
    assert [text for text in below if "Oxenstierna" in text]


def test_counts_are_logged(records) -> None:
    begun = [record.getMessage() for record in records if record.getMessage().startswith("turn begun")]
    ended = [record.getMessage() for record in records if record.getMessage().startswith("turn ended")]
    assert begun[0].startswith("turn begun: ")
    assert " prompt ids, 0 of them in the cache" in begun[0]
    assert any("reply_refused" in message for message in ended)
    assert any("sampled by server" in message for message in ended)


def test_a_report_holds_no_prompt() -> None:
    result = slm2.generate(WordModel(), REQUEST, config(), contract=slm2.load()).result()
    text = json.dumps(result.to_dict()) + repr(result)
    assert "Oxenstierna" not in text
    assert "Zebra" not in text
    assert set(result.stats.to_dict()) >= {"prompt_ids", "reused_ids", "drawn_ids", "prompt_seconds", "model_seconds", "sampling_seconds"}


def test_stats_add_up() -> None:
    chat = slm2.Chat(WordModel(), config(), contract=slm2.load())
    turn = chat.begin([{"role": "user", "content": "Hi"}])
    stats = turn.result().stats
    assert stats.model_calls == stats.drawn_ids == len(turn.result().ids)
    assert stats.computed_ids == stats.prompt_ids - stats.reused_ids + stats.drawn_ids - 1
    assert 0 < stats.first_seconds < stats.model_seconds < stats.seconds
    assert stats.ids_per_second > 0
    assert (turn.stats.failed_calls, stats.failed_calls) == (0, 0)


def test_nothing_is_printed_where_nobody_asks() -> None:
    """Not even a warning, which Python prints by itself for a logger without a handler."""
    program = "import logging, slm2; logging.getLogger('slm2').error('unheard'); assert logging.getLogger().handlers == []"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=60, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert (done.stdout, done.stderr) == (b"", b"")
