"""The runner of testees against programs that do what they should not (contract/conformance.md, C-1 to C-7)."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from slm2.conformance import hosts, process, suite
from slm2.conformance.asking import Part, Question, Running, check
from slm2.conformance.in_process import OPERATIONS
from slm2.conformance.process import BrokenTestee, Process
from slm2.conformance.protocol import Call, ProtocolError, call_of, inputs_of, line, outcome_of
from slm2.conformance.verdict import first_difference

HELLO = {"protocol": 1, "host": {"name": "x"}, "methods": ["hello", "echo", "memory"]}


def program(tmp_path: Path, body: str) -> list[str]:
    """A program that greets, and then does what is written, with ``number``, ``method`` and ``params`` of each request."""
    greeting = f"answer(number, {HELLO!r}); continue"
    source = f"""
    import json, os, sys, time
    def answer(number, result):
        print(json.dumps({{"id": number, "result": result}}), flush=True)
    for text in sys.stdin:
        request = json.loads(text)
        number, method, params = request["id"], request["method"], request["params"]
        if method == "hello": {greeting}
    """
    path = tmp_path / "testee.py"
    path.write_text(textwrap.dedent(source) + textwrap.indent(textwrap.dedent(body), "    "), encoding="utf-8")
    return [sys.executable, str(path)]


ECHO = "answer(number, params)\n"


def outcomes(started: Process, count: int = 1) -> list[dict]:
    return list(started.calls([Call("echo", {"n": number}) for number in range(count)]))


def test_many_calls_are_on_their_way_at_once_and_answers_keep_their_order(tmp_path: Path) -> None:
    started = Process(program(tmp_path, ECHO), "artifact")
    assert outcomes(started, 500) == [{"expect": {"n": number}} for number in range(500)]
    started.close()


def test_requests_larger_than_a_pipe_do_not_lock_both_sides(tmp_path: Path) -> None:
    started = Process(program(tmp_path, ECHO), "artifact")
    calls = [Call("echo", {"text": "x" * 400_000}) for _ in range(8)]
    assert [outcome["expect"] for outcome in started.calls(calls)] == [call.params for call in calls]
    started.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.stderr.write('out of luck\\n'); sys.exit(7)\n", r"it ended at echo \(status 7\); standard error: out of luck"),
        ("os.abort()\n", r"it ended at echo \(status -6\)"),
        ("print('hm', flush=True)\n", "what it wrote at echo is no answer.*'hm"),
        ("print('[]', flush=True)\n", "no answer: an object"),
        ("answer(number + 1, 0)\n", "the answer to request 2 where that to 1 was expected"),
        ("print(json.dumps({'id': number, 'error': {'code': 'x'}}), flush=True)\n", "an error is an object"),
        ("print(json.dumps({'id': number, 'error': {'code': 'x', 'fields': {}, 'message': ''}}), flush=True)\n", "an error is an object"),
        ("print(json.dumps({'id': True, 'result': 1}), flush=True)\n", "no answer: an object"),
    ],
)
def test_what_is_no_answer_is_told_with_its_place(tmp_path: Path, body: str, said: str) -> None:
    started = Process(program(tmp_path, body), "artifact")
    with pytest.raises(BrokenTestee, match=said):
        outcomes(started)


def test_a_testee_that_hangs_is_ended(tmp_path: Path) -> None:
    started = Process(program(tmp_path, "time.sleep(60)\n"), "artifact")
    with pytest.raises(BrokenTestee, match=r"no answer to echo within 0 s \(still running\)"):
        started.call(Call("echo", {}), 0.2)


def test_a_failure_is_an_outcome_and_the_testee_goes_on(tmp_path: Path) -> None:
    body = "print(json.dumps({'id': number, 'failure': 'odd'} if params['n'] % 2 else {'id': number, 'result': 1}), flush=True)\n"
    started = Process(program(tmp_path, body), "artifact")
    assert outcomes(started, 3) == [{"expect": 1}, {"exception": "odd"}, {"expect": 1}]
    started.close()


def test_a_bad_end_is_told(tmp_path: Path, monkeypatch) -> None:
    started = Process([*program(tmp_path, ECHO)], "artifact")
    outcomes(started)
    started.close()
    path = tmp_path / "testee.py"
    path.write_text(path.read_text(encoding="utf-8") + "\nsys.exit(3)\n", encoding="utf-8")
    with pytest.raises(BrokenTestee, match=r"it did not end well \(status 3\)"):
        Process([sys.executable, str(path)], "artifact").close()
    monkeypatch.setattr(process, "END_SECONDS", 0.2)
    path.write_text(path.read_text(encoding="utf-8").replace("sys.exit(3)", "time.sleep(60)"), encoding="utf-8")
    with pytest.raises(BrokenTestee, match="it did not end within"):
        Process([sys.executable, str(path)], "artifact").close()


def test_a_greeting_must_be_one(tmp_path: Path) -> None:
    command = program(tmp_path, ECHO)
    path = Path(command[1])
    path.write_text(path.read_text(encoding="utf-8").replace("'methods'", "'method'"), encoding="utf-8")
    with pytest.raises(BrokenTestee, match="its greeting is none"):
        Process(command, "artifact")
    with pytest.raises(BrokenTestee, match="cannot be started"):
        Process([str(tmp_path / "nothing")], "artifact")


def test_a_crash_costs_one_answer_and_three_end_it(tmp_path: Path) -> None:
    command = program(tmp_path, "sys.exit(1) if params['n'] in (1, 3, 5) else answer(number, params)\n")
    questions = [Question(f"q{n}", Call("echo", {"n": n}), {"expect": {"n": n}}) for n in range(8)]
    running = Running(lambda: Process(command, "artifact"))
    found = check(running, Part("echo", 1, questions), slow=False, advance=lambda _: None)
    # 1, 3 and 5 crashed; after the third crash 6 and 7 were not asked.
    assert (found.compared, found.differences, found.passed) == (8, 5, False)
    assert found.first is not None
    assert found.first.startswith("q1: the testee failed: it ended at echo (status 1)")
    assert running.close() is None


# ---- the forms ----


def test_every_vector_crosses_and_comes_back() -> None:
    kinds = set()
    for name in suite.files():
        for vector in suite.load(name).vectors:
            for profile in suite.profiles(vector):
                crossed = json.loads(line(call_of(vector, profile).params))
                inputs, asked = inputs_of(Call(vector["op"], crossed))
                told = {key: value for key, value in vector.items() if key not in ("id", "clause", "flags", "comment", "oracle", "profile")}
                assert suite.canonical(inputs) == suite.canonical({k: v for k, v in told.items() if k not in ("expect", "error")})
                assert asked == profile
                kinds.add(vector["op"])
    assert kinds == set(OPERATIONS) - {"tokens", "scalars", "special_tokens", "memory"}


def test_what_the_library_reads_crosses_as_text() -> None:
    config = {"seed": 2**64 - 1, "temperature": 1.0}
    assert call_of({"op": "sample", "config": config}, "contract").params["config"] == '{"seed": 18446744073709551615, "temperature": 1.0}'
    steps = [{"extend": [{"role": "user", "content": 1.0}]}, "save", {"reply": [1]}]
    crossing = call_of({"op": "session", "options": {}, "steps": steps}, "contract").params
    assert crossing["options"] == "{}"
    assert crossing["steps"] == [{"extend": '[{"role": "user", "content": 1.0}]'}, "save", {"reply": [1]}]
    words = call_of({"op": "random_words", "seed": 2**63, "stream": "größer"}, "contract").params
    assert words == {"profile": "contract", "seed": "9223372036854775808", "stream_name": "größer"}
    assert call_of({"op": "restore", "seed": "0f" * 32, "stream": 3}, "contract").params["key"] == "0f" * 32


@pytest.mark.parametrize("answer", [None, [], {}, {"id": 1}, {"id": 1, "result": 0, "error": 0}, {"id": "1", "result": 0}])
def test_what_is_no_answer(answer: object) -> None:
    with pytest.raises(ProtocolError):
        outcome_of(answer, 1)


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ({"expect": {"ids": [1, 2]}}, {"expect": {"ids": [1, 3]}}, "expect.ids[1]: expected 2, got 3"),
        ({"expect": {"ids": [1, 2]}}, {"expect": {"ids": [1]}}, "expect.ids[1]: expected 2, got nothing"),
        ({"expect": 1}, {"expect": True}, "expect: expected 1, got true"),
        ({"expect": 1}, {"expect": 1.0}, "expect: expected 1, got 1.0"),
        ({"expect": 1}, {"exception": "gone"}, "the testee failed: gone"),
        ({"expect": "a" * 500}, {"expect": ""}, f'expect: expected "{"a" * 159}…, got ""'),
    ],
)
def test_the_first_difference_has_its_place(expected: dict, actual: dict, said: str) -> None:
    assert first_difference(expected, actual) == said


# ---- the hosts ----


def test_every_host_has_a_name_a_command_and_a_way_to_be_made() -> None:
    assert list(hosts.HOSTS) == ["python-reference", "python-engine", "rust", "c", "node", "browser", "dotnet"]
    assert [name for name, host in hosts.HOSTS.items() if host.slow] == ["python-reference"]
    for host in hosts.HOSTS.values():
        assert not host.needs or host.made_by


def test_what_is_missing_says_how_it_is_made(tmp_path: Path) -> None:
    rust = hosts.HOSTS["rust"]
    assert rust.missing(None) == "it is made in a checkout of the project, and none is here"
    assert rust.missing(tmp_path) == "target/release/slm2-testee is not there; cargo build --release -p slm2-testee makes it"
    assert hosts.of_command("mine=no-such-program --x").missing(None) == "no-such-program is not installed"
    assert hosts.HOSTS["python-engine"].missing(None) is None


def test_hosts_of_other_projects_are_a_name_and_a_command() -> None:
    host = hosts.find("mine=./testee --fast 'a b'")
    assert host is not None
    assert (host.name, list(host.command)) == ("mine", ["./testee", "--fast", "a b"])
    assert hosts.find("mine=") is None
    assert hosts.find("=x") is None
    assert hosts.find("nobody") is None
