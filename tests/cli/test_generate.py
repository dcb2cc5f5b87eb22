"""``slm2 generate`` over scripted models, which need no library."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cli.runner import EXAMPLE, run, run_process

SAMPLING = ("--preset", "thinking", "--seed", "7")


def generate(model, *arguments, stdin=b"", sampling=SAMPLING, before=()):
    return run(*before, "generate", "--model", f"python:scripted_entry:{model}", *sampling, *arguments, stdin=stdin)


def events(result):
    return [json.loads(line) for line in result.out.splitlines()]


def test_text_is_the_content_and_calls_are_json() -> None:
    result = generate("clock", "--prompt", "What time is it?")
    assert (result.status, result.err) == (0, b"")
    assert result.out == b'{"name": "time", "arguments": {"zone": "UTC"}}\n\n'
    shown = generate("clock", "--prompt", "What time is it?", "--show-reasoning")
    assert shown.out.startswith(b"The clock.")


def test_events_end_with_the_result() -> None:
    *said, last = events(generate("clock", "--prompt", "Hi", "--format", "events"))
    assert [event["kind"] for event in said][-2:] == ["call", "end"]
    result = last["result"]
    assert [token for event in said for token in event["ids"]] == result["ids"]
    assert (result["reason"], result["sampled_by"], result["model"], result["config"]["seed"]) == ("StopToken", "sampling2", "words", 7)
    assert result["stats"]["drawn_ids"] == len(result["ids"])
    assert result["budget"]["reserve"] == 1024


def test_ids_json_and_report(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ids = generate("words", "--prompt", "Hi", "--format", "ids", "--report", report)
    whole = json.loads(generate("words", "--prompt", "Hi", "--format", "json").out)
    assert [int(token) for token in ids.out.split()] == whole["ids"] == json.loads(report.read_bytes())["ids"]
    again = json.loads(generate("words", "--prompt", "Hi", "--format", "json", sampling=("--preset", "thinking", "--seed", "8")).out)
    assert again["ids"] != whole["ids"]
    assert again["config_digest"] != whole["config_digest"]


def test_messages_conversations_and_requests() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    plain = generate("words", stdin=json.dumps(messages).encode())
    same = generate("words", stdin=json.dumps({"messages": messages, "tools": None}).encode())
    silent = generate("words", "--format", "json", stdin=json.dumps({"messages": messages, "enable_thinking": False}).encode())
    assert plain.status == same.status == silent.status == 0
    assert plain.out == same.out != silent.out
    request = generate("words", EXAMPLE, "--format", "json")
    assert json.loads(request.out)["budget"] == {"context": 4096, "reserve": 1024, "prompt_tokens": 986, "left": 2086}


def test_a_configuration_from_a_file(tmp_path: Path) -> None:
    config = json.loads(generate("words", "--prompt", "Hi", "--format", "json").out)["config"]
    file = tmp_path / "c.json"
    file.write_text(json.dumps({**config, "max_tokens": 2}))
    arguments = ("generate", "--model", "python:scripted_entry:words", "--prompt", "Hi", "--config", file)
    result = run(*arguments)
    assert result.status == 0
    (warning,) = result.messages
    assert (warning["warning"]["code"], warning["warning"]["max_tokens"]) == ("reply_cut", 2)
    assert run(*arguments, "--seed", "7").error["code"] == "usage"


def test_a_server_is_told_in_report_and_warning() -> None:
    result = generate("server", "--prompt", "Hi", "--format", "json")
    assert json.loads(result.out)["sampled_by"] == "server"
    assert [line["warning"]["code"] for line in result.messages] == ["sampled_by_server"]


def test_a_reply_that_is_no_text_is_refused_after_what_came() -> None:
    result = generate("no_text", "--prompt", "Hi")
    assert (result.status, result.out, result.error["code"]) == (3, b"Hello\n", "ill_formed_text")


@pytest.mark.parametrize(
    ("model", "arguments", "code"),
    [
        ("failing", ("--prompt", "Hi"), "model_failed"),
        ("wide", ("--prompt", "Hi"), "model_mismatch"),
        ("nothing", ("--prompt", "Hi"), "invalid_type"),
        ("absent", ("--prompt", "Hi"), "invalid_value"),
        ("CALL", ("--prompt", "Hi"), "invalid_value"),
        ("broken", ("--prompt", "Hi"), "model_unsupported"),
        ("words", ("--prompt", "Hi", "--context", "100"), "context_full"),
        ("words", ("/no/such/file",), "file_unreadable"),
        ("words", (EXAMPLE, "--max-tokens", "2000"), "invalid_value"),
    ],
)
def test_refusals(model, arguments, code) -> None:
    result = generate(model, *arguments)
    assert (result.status, result.error["code"]) == (3, code)


@pytest.mark.parametrize("text", ["7", '"Hi"', '{"messages": 1}', '{"messages": [], "seed": 7}', "[", '{"user_turn": "Hi"}'])
def test_input_that_is_no_conversation(text) -> None:
    assert generate("words", stdin=text.encode()).status == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("--seed", "7"),
        ("--preset", "thinking"),
        ("--preset", "thinking", "--seed", "seven"),
        ("--preset", "thinking", "--seed", "7", "x.json"),
        ("--preset", "thinking", "--seed", "7", "--rng", "pcg64"),
    ],
)
def test_sampling_has_no_default(arguments) -> None:
    result = run("generate", "--model", "python:scripted_entry:words", "--prompt", "Hi", *arguments)
    assert (result.status, result.error["code"]) == (2, "usage")


def test_profile_publisher_and_keys_of_chacha8() -> None:
    publisher = generate("words", "--prompt", "Hi", "--profile", "publisher", "--format", "json")
    assert json.loads(publisher.out)["config"]["rng"] == "mt19937-torch"
    key = "ab" * 32
    sampling = ("--preset", "thinking", "--seed", key, "--rng", "chacha8")
    keyed = generate("words", "--prompt", "Hi", "--format", "json", sampling=sampling)
    assert json.loads(keyed.out)["config"]["seed"] == key


def test_a_model_of_an_extra_that_is_not_installed_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    result = run("generate", "--model", "transformers:.", *SAMPLING, "--prompt", "Hi")
    assert (result.status, result.error["code"], result.error["extra"]) == (3, "dependency_missing", "transformers")


def test_as_a_process_the_text_comes_as_it_is_said() -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    result = run_process("generate", "--model", "python:scripted_entry:clock", *SAMPLING, "--prompt", "Hi", env={"PYTHONPATH": path})
    assert (result.status, result.err) == (0, b"")
    assert result.out.startswith(b'{"name": "time"')


def test_verbose_tells_counts_and_twice_the_words_too() -> None:
    quiet, once, twice = (generate("words", "--prompt", "Tell me.", before=flags) for flags in ((), ("-v",), ("-vv",)))
    assert quiet.messages == []
    assert [line["log"]["message"].split(":")[0] for line in once.messages] == ["turn begun", "turn ended"]
    assert "Tell me." not in once.err.decode()
    assert "user: Tell me." in [line["log"]["message"] for line in twice.messages]
    assert quiet.out == once.out == twice.out
