"""Help, exit status, errors and the other manners of the command line."""

from __future__ import annotations

import errno
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import slm2
from cli.runner import EXAMPLE, ROOT, command, run, run_process
from slm2 import engine
from slm2.cli.group import COMMANDS

FULL = Path("/dev/full")
LINE = "a file with one line of JSON"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_page_tells_what_the_commands_tell(name):
    module = importlib.import_module(f"slm2.cli.{name.replace('-', '_')}")
    assert module.command.name == name
    assert module.command.get_short_help_str(limit=200) == COMMANDS[name]
    for arguments in ((name, "--help"), (name, "-h")):
        result = run(*arguments)
        assert (result.status, result.err) == (0, b"")
        assert f"Usage: slm2 {name}".encode() in result.out


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_the_first_page_is_help(arguments):
    result = run(*arguments)
    assert (result.status, result.err) == (0, b"")
    assert all(f"\n  {name} ".encode() in result.out for name in COMMANDS)


def test_help_imports_no_command_and_nothing_slow():
    code = "import sys; from slm2.cli import main\ntry: main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert "slm2.cli.group" in modules
    slow = {"rich.console", "numpy", "slm2.compiler", *(f"slm2.cli.{name}" for name in COMMANDS)}
    assert not slow & set(modules)


def test_version():
    assert run("--version").out == f"slm2, version {slm2.__version__}\n".encode()


@pytest.mark.parametrize(
    ("arguments", "words", "page"),
    [
        (("encod",), "No such command", "slm2 --help"),
        (("--wrong",), "--wrong", "slm2 --help"),
        (("encode", "--wrong"), "--wrong", "slm2 encode --help"),
        (("encode", "--profile", "nfc"), "--profile", "slm2 encode --help"),
        (("encode", "--engine", "rust"), "--engine", "slm2 encode --help"),
        (("encode", "--format", "yaml"), "--format", "slm2 encode --help"),
        (("encode", "a", "b"), "b", "slm2 encode --help"),
        (("encode", "--trusted", "--on-special", "reject"), "--trusted and --on-special", "slm2 encode --help"),
        (("encode", "--jsonl", "--format", "ids"), "--jsonl and --format", "slm2 encode --help"),
        (("assemble",), "REQUEST.json", "slm2 assemble --help"),
        (("compile", "x"), "--output", "slm2 compile --help"),
        (("inspect",), "FILE", "slm2 inspect --help"),
        (("verify", "--tier", "9"), "--tier", "slm2 verify --help"),
        (("verify", "--engine", "native"), "--engine", "slm2 verify --help"),
    ],
)
def test_wrong_usage(arguments, words, page):
    result = run(*arguments)
    assert (result.status, result.out) == (2, b"")
    assert len(result.messages) == 1
    assert result.error["code"] == "usage"
    assert words in result.error["message"]
    assert result.error["help"] == page


@pytest.mark.parametrize("arguments", [("encode",), ("decode",), ("render",), ("assemble",), ("encode", "--jsonl"), ("inspect",)])
def test_a_file_that_is_not_there(arguments, tmp_path):
    path = tmp_path / "no\nsuch\x1bfile"
    result = run(*arguments, path)
    assert (result.status, result.out) == (3, b"")
    assert (result.error["code"], result.error["path"]) == ("file_unreadable", str(path))
    assert b"\x1b" not in result.err


def test_a_folder_is_no_file(tmp_path):
    assert run("encode", tmp_path).error["code"] == "file_unreadable"


def test_an_artifact_that_is_none(tmp_path):
    path = tmp_path / "other"
    path.write_bytes(b"x" * 200)
    for arguments in (("encode", "--artifact", path), ("inspect", path), ("verify", "--artifact", path)):
        result = run(*arguments)
        assert (result.status, result.out, result.error["code"]) == (3, b"", "artifact_magic")


def test_without_the_native_engine_auto_warns_and_native_is_refused(monkeypatch):
    monkeypatch.setattr(engine, "native_reason", lambda: "no toolchain")
    result = run("encode", stdin=b"Hello")
    assert (result.status, result.out) == (0, b"9707\n")
    assert [line["warning"]["code"] for line in result.messages] == ["reference_engine"]
    assert "no toolchain" in result.messages[0]["warning"]["message"]
    refused = run("encode", "--engine", "native")
    assert (refused.status, refused.error["code"], refused.error["reason"]) == (3, "engine_unavailable", "no toolchain")
    assert run("encode", "--engine", "reference", stdin=b"Hello").err == b""


def test_exit_status_in_processes():
    assert run_process("encode", "--engine", "native", stdin=b"x").status == 0
    usage = run_process("encode", "--wrong")
    assert (usage.status, usage.out, usage.error["code"]) == (2, b"", "usage")
    refused = run_process("decode", "--engine", "native", stdin=b"x")
    assert (refused.status, refused.out, refused.error["code"]) == (3, b"", "invalid_value")


@pytest.mark.parametrize(
    "arguments", [("encode", "--jsonl", "--engine", "native"), ("assemble", EXAMPLE, "--explain", "--engine", "native"), ("info",)]
)
def test_a_reader_that_goes_away_is_no_event(arguments):
    with subprocess.Popen(command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        try:
            process.stdin.write(b'"Hello"\n' * 10)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not FULL.exists(), reason=f"this system has no {FULL}, the device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("encode", "--engine", "native"),
        ("encode", "--jsonl", "--engine", "native", LINE),
        ("assemble", EXAMPLE, "--explain", "--engine", "native"),
        ("info",),
        ("info", "--json"),
        ("inspect", ROOT / "tests" / "data" / "small-v1.slm2"),
        ("encode", "--help"),
        ("--help",),
        ("--version",),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:2])),
)
def test_output_that_cannot_be_written(arguments, tmp_path):
    line = tmp_path / "line"
    line.write_bytes(b'"Hello"\n')
    arguments = [line if argument is LINE else argument for argument in arguments]
    with FULL.open("wb") as full:
        status, messages = outcome(arguments, stdout=full)
    assert (status, [line["error"]["code"] for line in messages]) == (3, ["file_unwritable"])
    assert (messages[0]["error"]["path"], messages[0]["error"]["reason"]) == ("<stdout>", os.strerror(errno.ENOSPC))


@pytest.mark.skipif(not FULL.exists(), reason=f"this system has no {FULL}, the device that is always full")
def test_messages_that_cannot_be_written_change_no_status():
    with FULL.open("wb") as full:
        for arguments, status in ((("encode", "--wrong"), 2), (("encode", FULL.parent), 3)):
            assert subprocess.run(command(*arguments), stdin=subprocess.DEVNULL, stderr=full, check=False, timeout=60).returncode == status


def test_streams_that_are_closed():
    status, messages = outcome(("info",), preexec_fn=lambda: os.close(1))
    assert (status, messages[-1]["error"]["path"]) == (3, "<stdout>")
    for arguments in (("encode",), ("encode", "--jsonl")):
        status, messages = outcome((*arguments, "--engine", "native"), preexec_fn=lambda: os.close(0))
        assert (status, messages[-1]["error"]["code"], messages[-1]["error"]["path"]) == (3, "file_unreadable", "<stdin>")


@pytest.mark.parametrize("arguments", [("encode",), ("encode", "--jsonl")])
def test_stdin_that_cannot_be_read(arguments, tmp_path):
    unreadable = os.open(tmp_path / "written", os.O_WRONLY | os.O_CREAT)
    try:
        status, messages = outcome((*arguments, "--engine", "native"), stdin=unreadable)
    finally:
        os.close(unreadable)
    assert (status, messages[-1]["error"]["code"], messages[-1]["error"]["path"]) == (3, "file_unreadable", "<stdin>")


@pytest.mark.parametrize("arguments", [("encode",), ("encode", "--artifact"), ("inspect",), ("encode", "--jsonl"), ("encode", "-")])
def test_names_that_are_not_utf8_leave_the_json_strict(arguments):
    result = run_process(*arguments, os.fsdecode(b"no\xffsuch"))
    assert result.status in (2, 3)
    assert b"\\ud" not in result.err.replace(b"\\\\ud", b"")  # no escape of a surrogate; a backslash before it is text
    assert "no\\udcffsuch" in result.error["message"]


def test_a_name_that_is_not_utf8_in_a_report(tmp_path):
    artifact = tmp_path / os.fsdecode(b"\xff.slm2")
    try:
        artifact.write_bytes((ROOT / "tests" / "data" / "small-v1.slm2").read_bytes())
    except (OSError, UnicodeError):
        pytest.skip("this file system has UTF-8 names only")
    report = run("info", "--json", "--artifact", artifact)
    assert json.loads(report.out)["file"] == f"{tmp_path}/\\udcff.slm2"


def outcome(arguments, **streams) -> tuple[int, list[dict]]:
    """Exit status and messages of a process; what is not given is empty or thrown away."""
    chosen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **streams}
    done = subprocess.run(command(*arguments), stderr=subprocess.PIPE, check=False, timeout=60, **chosen)
    return done.returncode, [json.loads(line) for line in done.stderr.decode("ascii").splitlines()]


def test_an_interrupt_ends_with_130():
    with subprocess.Popen(
        command("encode", "--jsonl", "--engine", "native"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell gives its background jobs, and so their children, an ignored SIGINT: a terminal does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (no thread holds a lock here)
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'"Hello"\n')
        process.stdin.flush()
        assert process.stdout.readline() == b"[9707]\n"  # answered at once, before the input ends
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read().strip() == b""


def test_info():
    result = run("info", "--json", "--engine", "native", "--profile", "publisher")
    report = json.loads(result.out)
    contract = slm2.load(engine="native")
    assert report["engine"] == "native"
    assert report["profile"] == "publisher"
    assert report["native"] == {"available": True, "reason": None}
    assert report["artifact"] == {"file_digest": contract.file_digest, "semantic_digest": contract.digest}
    assert report["vocabulary"] == {"plain_tokens": 151_643, "special_tokens": 26, "token_limit": 151_669}
    assert (report["slm2"], report["contract_version"], report["unicode"]) == (slm2.__version__, 1, "16.0.0")
    table = run("info", "--engine", "native").out.decode()
    assert contract.digest in table
    assert "tokenizers-0.23" in table


def test_info_says_why_the_native_engine_is_not_there(monkeypatch):
    for module in ("slm2.engine", "slm2.cli.info"):
        monkeypatch.setattr(importlib.import_module(module), "native_reason", lambda: "no toolchain")
    result = run("info", "--json")
    report = json.loads(result.out)
    assert result.err == b""
    assert (report["engine"], report["native"]) == ("reference", {"available": False, "reason": "no toolchain"})
