"""``-`` in the place of a file's name is stdin or stdout, in every command that takes a file; none makes a file of that name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import pytest

from cli.runner import Result, run
from slm2 import compiler
from slm2.cli import main
from slm2.conformance import verification
from slm2.contract import embedded

CHAT = b'{"messages": [{"role": "user", "content": "Hi"}]}'
GENERATE = ("generate", "--model", "python:scripted_entry:words", "--preset", "thinking", "--seed", "7", "--prompt", "Hi")
# Every option that names a file to write, by its command; each has a test below.
WRITING = {
    ("compile", "--output"), ("encode-corpus", "--report"), ("generate", "--report"), ("render", "--html"), ("sample", "--trace"),
    ("sample", "--plot"), ("verify", "--json"), ("verify", "--html"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which each test runs and no file of that name may be left."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not (tmp_path / "-").exists()


def usage_error(result: Result) -> str:
    assert (result.status, result.out) == (2, b"")
    return result.error["message"]


def test_no_option_that_writes_a_file_is_forgotten() -> None:
    """Those whose help says that they write or draw, or where something goes."""
    found = {
        (name, max(option.opts, key=len))
        for name in main.list_commands(click.Context(main))
        for option in main.get_command(click.Context(main), name).params
        if isinstance(option, click.Option) and option.metavar and re.match("Write |Draw |Where ", option.help or "")
    }
    assert found == WRITING


def test_generate() -> None:
    alone = run(*GENERATE, "--report", "-")
    assert (alone.status, alone.err) == (0, b"")
    report = json.loads(alone.out)
    assert report["ids"] == json.loads(run(*GENERATE, "--format", "json").out)["ids"]
    assert "leave one out" in usage_error(run(*GENERATE, "--report", "-", "--format", "text"))


def test_render() -> None:
    run("render", "--html", "page.html", stdin=CHAT)
    alone = run("render", "--html", "-", stdin=CHAT)
    assert (alone.status, alone.out) == (0, Path("page.html").read_bytes())
    both = run("render", "--html", "-", "--explain", stdin=CHAT)
    assert both.out == alone.out
    assert b"tokens" in both.err
    assert "leave one out" in usage_error(run("render", "--html", "-", "--format", "ids", stdin=CHAT))


def test_trace(folder: Path) -> None:
    np.save("L.npy", np.random.default_rng(1).normal(0, 3, (3, 151_936)).astype(np.float32))
    config = {
        "profile": "contract", "temperature": 0.7, "top_k": 20, "top_p": 0.9, "min_p": 0, "repetition_penalty": 1, "rng": "pcg32",
        "seed": 3, "max_tokens": 9, "stop_ids": [],
    }  # fmt: skip
    Path("C.json").write_text(json.dumps(config))
    lines = run("sample", "--config", "C.json", "--logits", "L.npy", "--trace", "T.jsonl").out
    assert len(lines.splitlines()) == 3
    trace = run("sample", "--config", "C.json", "--logits", "L.npy", "--trace", "-")
    assert (trace.status, trace.out) == (0, Path("T.jsonl").read_bytes())
    assert run("replay", "-", stdin=trace.out).out == b'{"steps": 3, "logits": false}\n'
    rows = Path("L.npy").read_bytes()
    assert run("sample", "--config", "C.json", "--logits", "-", stdin=rows).out == lines
    assert run("replay", "T.jsonl", "--logits", "-", stdin=rows).out == b'{"steps": 3, "logits": true}\n'
    assert run("sample", "--config", "C.json", "--logits", "-", stdin=b"").error["code"] == "file_unreadable"
    assert run("sample", "--config", "C.json", "--logits", "L.npy", "--plot", "-").error["code"] in ("invalid_value", "dependency_missing")
    assert run("sample", "--config", "C.json", "--logits", "L.npy", "--trace", folder / "none" / "T").error["code"] == "file_unwritable"


def test_artifact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "compile_sources", lambda _source_dir, _progress, _template: embedded())
    made = run("compile", ".", "-o", "-")
    assert (made.status, made.out) == (0, embedded())


def test_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "verify", lambda _plan, _hosts, _advance: [])
    asked = ("verify", "--host", "python-reference", "--tier", "1")
    page = run(*asked, "--html", "-")
    assert page.out.startswith(b"<!doctype html>")
    assert page.out.rstrip().endswith(b"</html>")
    assert "tier" in json.loads(run(*asked, "--json", "-", "--html", "page.html").out)
    assert Path("page.html").read_bytes() == page.out
    assert "one report" in usage_error(run(*asked, "--json", "-", "--html", "-"))


def test_corpus() -> None:
    Path("a.txt").write_text("Hello\n")
    made = run(
        "encode-corpus", "a.txt", "--output", "out", "--from", "lines", "--to", "shards", "--append", "none", "--report", "-"
    )  # fmt: skip
    assert (made.status, json.loads(made.out)["total"]["documents"]) == (0, 1)


def test_a_chat_has_stdout_to_itself() -> None:
    chat = ("chat", *GENERATE[1:-2])
    refused = run(*chat, stdin=b"Hi\n/save -\n")
    assert (refused.status, refused.error["code"], refused.error["found"]) == (3, "invalid_value", "/save -")
