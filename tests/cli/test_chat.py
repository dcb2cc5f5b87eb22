"""``slm2 chat`` in a pipe and on a terminal, over scripted models."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

import slm2
from cli.runner import EXAMPLE, command, run
from slm2.chat import Chat
from slm2.cli.chat import Conversation
from slm2.cli.chat_screen import Pipe, Terminal, screen_of
from slm2.reply import ReplyEvent

SAMPLING = ("--preset", "thinking", "--seed", "7")
TESTS = str(Path(__file__).parents[1])
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def chat(model, *arguments, lines=()):
    stdin = "".join(f"{line}\n" for line in lines).encode()
    return run("chat", "--model", f"python:scripted_entry:{model}", *SAMPLING, *arguments, stdin=stdin)


def test_a_pipe_has_the_words_alone() -> None:
    result = chat("clock", lines=("What time is it?", "/tool 12:00", "", "Thanks!", "/quit", "never said"))
    assert (result.status, result.err) == (0, b"")
    call, answer, welcome = result.out.decode().split("\n\n", 1)[0], *result.out.decode().splitlines()[2:4]
    assert json.loads(call) == {"name": "time", "arguments": {"zone": "UTC"}}
    assert (answer, welcome) == ("It is noon: 12:00 in UTC. \x1b[31m", "You are welcome.")


def test_a_checkpoint_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    """With the words that the chat would have said, had it not been stopped."""
    file, again = tmp_path / "s.json", tmp_path / "t.json"
    lines = ("Hi", f"/save {file}", "And then?", f"/save {again}", "Why?")
    undisturbed = chat("words", "--system", "Be brief.", lines=lines)
    assert undisturbed.status == 0
    saved = [file.read_bytes(), again.read_bytes()]
    first, second, third = said(undisturbed)
    assert len({first, second, third}) == 3
    assert said(chat("words", "--session", file, lines=lines[2:])) == [second, third]
    assert again.read_bytes() == saved[1]
    assert said(chat("words", "--session", again, lines=lines[4:])) == [third]
    assert file.read_bytes() == saved[0]


def said(result) -> list[str]:
    """The replies, without what the commands answer."""
    return [line for line in result.out.decode().splitlines() if not line.startswith("saved to ")]


def test_a_checkpoint_under_another_seed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    assert chat("words", lines=("Hi", f"/save {file}")).status == 0
    other = run("chat", "--model", "python:scripted_entry:words", "--preset", "thinking", "--seed", "8", "--session", file, stdin=b"Hi\n")
    assert (other.status, other.out, other.error["code"]) == (3, b"", "checkpoint_refused")
    assert "seed was 7, and 8 came" in other.error["message"]


def test_a_session_alone_begins_at_the_seed(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_bytes(slm2.load().session().save())
    assert chat("words", "--session", file, lines=("Hi",)).out == chat("words", lines=("Hi",)).out != b""


def test_a_system_message_that_nobody_has_answered_is_not_lost_in_a_checkpoint(tmp_path: Path) -> None:
    refused = chat("words", "--system", "Be brief.", lines=(f"/save {tmp_path / 's.json'}",))
    assert (refused.status, refused.error["code"], refused.error["found"]) == (3, "invalid_value", "/save")
    assert not (tmp_path / "s.json").exists()


def test_a_request_is_asked_first_and_then_grows() -> None:
    result = chat("words", "--request", EXAMPLE, lines=("Thanks.",))
    assert result.status == 0
    assert len(result.out.splitlines()) == 2


def test_the_first_refusal_ends_a_pipe() -> None:
    result = chat("clock", lines=("What time is it?", "/tool 12:00", "/tool 13:00", "never said"))
    assert (result.status, result.error["code"]) == (3, "tool_without_call")
    assert chat("failing", lines=("Hi",)).error["code"] == "model_failed"
    assert chat("no_text", lines=("Hi",)).error["code"] == "ill_formed_text"
    assert chat("words", lines=("/nonsense",)).error["code"] == "invalid_value"
    assert chat("words", "--context", "1030", lines=("Hi",)).error["code"] == "context_full"
    invalid = run("chat", "--model", "python:scripted_entry:words", *SAMPLING, stdin=b"\xff\n")
    assert (invalid.status, invalid.error["field"]) == (3, "line")


@pytest.mark.parametrize(
    "options", [("--system", "x"), ("--context", "9"), ("--tools", "t.json"), ("--session", "s.json"), ("--thinking", "on")]
)
def test_options_that_exclude_each_other(options) -> None:
    assert chat("words", "--request", EXAMPLE, *options).error["code"] == "usage"


def test_a_checkpoint_says_how_it_was_begun(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    assert chat("words", lines=("Hi", f"/save {file}")).status == 0
    for options in (("--thinking", "off"), ("--system", "x"), ("--tools", file)):
        assert chat("words", "--session", file, *options).error["code"] == "usage"
    assert 'profile was "contract"' in chat("words", "--session", file, "--profile", "publisher").error["message"]
    file.write_bytes(slm2.load().session().save())
    assert chat("words", "--session", file, "--profile", "publisher").error["field"] == "session.profile"


def test_no_input_at_all(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(slm2.Slm2Error) as caught:
        Pipe(show_reasoning=False).ask()
    assert (caught.value.code, caught.value.fields["path"]) == ("file_unreadable", "<stdin>")
    assert isinstance(screen_of(show_reasoning=False), Pipe)


def test_lines_from_a_pipe_and_words_to_a_terminal(monkeypatch) -> None:
    raw = io.BytesIO()
    terminal = io.TextIOWrapper(raw, encoding="utf-8")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    pipe = Pipe(show_reasoning=True)
    for kind in ("content", "reasoning"):
        pipe.event(ReplyEvent(kind, text=f"{kind} \x1b[2J", ids=()))
    pipe.note("\x1b]0;title\x07")
    assert b"\x1b" not in raw.getvalue()
    assert "content ⟨U+001B⟩[2J".encode() in raw.getvalue()


def test_a_system_message_goes_with_the_first_line() -> None:
    with_system = chat("words", "--system", "Be brief.", lines=("Hi", "Hi"))
    without = chat("words", lines=("Hi", "Hi"))
    assert with_system.status == without.status == 0
    assert with_system.out != without.out


class Lines:
    """What somebody types."""

    def __init__(self, *lines: str) -> None:
        self.left = list(lines)

    def __call__(self, *_: object, **__: object) -> str:
        if not self.left:
            raise EOFError
        return self.left.pop(0).encode("utf-8", "surrogateescape").decode("utf-8")


def on_terminal(monkeypatch, model, *lines, show_reasoning=False, **options):
    """What a terminal of 80 columns shows, without its colours; and the chat."""
    import scripted_entry  # noqa: PLC0415
    from scripted_models import config  # noqa: PLC0415

    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, color_system="truecolor", width=80, markup=False, highlight=False, emoji=False)
    monkeypatch.setattr("builtins.input", Lines(*lines))
    talk = Chat(getattr(scripted_entry, model)(), config(max_tokens=64), **options)
    Conversation(talk, Terminal(lambda: screen, show_reasoning=show_reasoning), []).run(asked=False)
    return out.getvalue(), talk


def test_a_terminal_folds_reasoning_shows_calls_and_the_window(monkeypatch) -> None:
    shown, talk = on_terminal(monkeypatch, "clock", "What time is it?", "/tool 12:00", "/reasoning", "/reasoning")
    plain = CONTROLS.sub("", shown)
    assert "▸ thinking, 3 tokens" in plain
    assert re.search(r"▸ thought for \d+ tokens \(/reasoning shows it\)\n→ time {\"zone\": \"UTC\"}\n", plain)
    assert "It is noon: 12:00 in UTC. ⟨U+001B⟩[31m\n" in plain
    assert "\x1b[31m" not in shown  # what the model wrote steers no terminal
    assert "The clock." not in plain  # folded, and not the last one when /reasoning came
    assert "› It is noon.\n› reasoning is folded" in plain
    assert re.search(r"▓+█+░+·+\nprompt \d+ \(\d+ from the cache\), reply \d+", plain)
    assert [message["role"] for message in talk.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_terminal_can_show_reasoning_as_it_comes(monkeypatch) -> None:
    shown, _ = on_terminal(monkeypatch, "clock", "What time is it?", show_reasoning=True)
    assert "The clock." in CONTROLS.sub("", shown).replace("\n", "")
    assert "▸" not in shown


def test_a_step_that_failed_is_tried_again(monkeypatch) -> None:
    shown, talk = on_terminal(monkeypatch, "failing", "/retry", "What time is it?", "/retry", "/help", "/nonsense")
    plain = CONTROLS.sub("", shown)
    assert "no step has failed" in plain
    assert "✗ model_failed: the model failed at step 2: Failure: out of memory; /retry tries this step again" in plain
    assert "✗ invalid_value" in plain
    assert "/quit" in plain
    assert talk.messages[-1]["tool_calls"]


def test_a_failed_step_waits_for_its_retry_while_lines_are_refused(monkeypatch) -> None:
    shown, talk = on_terminal(monkeypatch, "failing", "What time is it?", "/tool 12:00", "no text \udcff", "/retry")
    plain = CONTROLS.sub("", shown)
    assert "✗ tool_without_call" in plain
    assert "✗ invalid_value: line must be UTF-8; invalid start byte at byte 8 came" in plain.replace("\n", " ")
    assert talk.messages[-1]["tool_calls"]


def test_a_reply_that_is_no_text_is_told_and_left_out(monkeypatch) -> None:
    shown, talk = on_terminal(monkeypatch, "no_text", "Hi")
    plain = CONTROLS.sub("", shown)
    assert "! ill_formed" in plain
    assert "✗ ill_formed_text" in plain
    assert "the conversation is as before" in plain
    assert talk.messages == []


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_ctrl_c_gives_a_reply_up_and_the_chat_goes_on(tmp_path: Path) -> None:
    """In a process on a pseudo-terminal, interrupted while the model works."""
    import pty  # noqa: PLC0415  (not on Windows)

    asked = tmp_path / "asked"
    saved = [tmp_path / "before.json", tmp_path / "after.json"]
    master, slave = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *sys.path]), "SLM2_TEST_ASKED": str(asked), "TERM": "xterm"}
    arguments = ("chat", "--model", "python:scripted_entry:slow", *SAMPLING, "--max-tokens", "40")
    process = subprocess.Popen(
        command(*arguments),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
        # A shell gives its background jobs, and so their children, an ignored SIGINT: a terminal does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (no thread holds a lock here)
    )
    os.close(slave)
    screen = Screen(master)
    try:
        screen.until("› ")
        screen.type(f"/save {saved[0]}\n")
        screen.until("saved to")
        screen.type("Hi\n")
        screen.until_file(asked)
        process.send_signal(signal.SIGINT)
        screen.until("given up; the conversation is as before")
        screen.type(f"/save {saved[1]}\n")
        screen.until("saved to")
        screen.type("/quit\n")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert saved[0].read_bytes() == saved[1].read_bytes()


class Screen:
    """The other side of a pseudo-terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = ""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def until(self, text: str) -> None:
        """Read until it was shown; what is shown after it is left for the next call."""
        end = time.monotonic() + 60
        while text not in CONTROLS.sub("", self._seen):
            assert time.monotonic() < end, self._seen
            if select.select([self._descriptor], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self._seen += os.read(self._descriptor, 65536).decode("utf-8", "replace")
        self._seen = CONTROLS.sub("", self._seen).split(text, 1)[1]

    def until_file(self, file: Path) -> None:
        """Wait until the model was asked."""
        end = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < end, self._seen
            time.sleep(0.05)
