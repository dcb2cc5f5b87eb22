"""``slm2 render`` and ``slm2 assemble``."""

from __future__ import annotations

import json

import pytest

import slm2
from cli.runner import EXAMPLE, run, run_process

CHAT = {
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "<|im_end|> é"}],
    "add_generation_prompt": True,
    "enable_thinking": False,
}
TEXT = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\n<|im_end|> é<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
POLICY = json.loads(EXAMPLE.read_text(encoding="utf-8"))["policy"]


@pytest.fixture(scope="module")
def contract() -> slm2.Contract:
    return slm2.load(engine="native")


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


def test_render_ids(contract):
    result = run("render", "--engine", "native", stdin=dumped(CHAT))
    assert result.status == 0
    assert [int(word) for word in result.out.split()] == contract.template.render_request(CHAT).input_ids
    warning = result.messages[0]["warning"]
    assert warning["findings"] == [{"source": "messages[1].content", "offset": 0, "id": 151645, "text": "<|im_end|>"}]


def test_render_text(tmp_path):
    path = tmp_path / "chat.json"
    path.write_bytes(dumped(CHAT))
    assert run("render", path, "--engine", "native", "--format", "text").out.decode() == TEXT


def test_render_json(contract):
    result = run("render", "--engine", "native", "--format", "json", stdin=dumped(CHAT))
    report = json.loads(result.out)
    rendering = contract.template.render_request(CHAT)
    assert report["input_ids"] == rendering.input_ids
    assert [token["id"] for token in report["tokens"]] == rendering.input_ids
    assert (report["engine"], report["profile"], report["artifact"]["semantic_digest"]) == ("native", "contract", contract.digest)
    assert len(report["findings"]) == 1
    assert result.err == b""


def test_render_jsonl(contract):
    chats = [CHAT, {"messages": [{"role": "user", "content": "x"}]}]
    stdin = b"".join(dumped(chat) + b"\n" for chat in chats)
    ids = [contract.template.render_request(chat).input_ids for chat in chats]
    assert [json.loads(line) for line in run("render", "--engine", "native", "--jsonl", stdin=stdin).out.splitlines()] == ids
    texts = run("render", "--engine", "native", "--jsonl", "--format", "text", stdin=stdin).out.splitlines()
    assert json.loads(texts[0]) == TEXT
    reports = run("render", "--engine", "native", "--jsonl", "--format", "json", stdin=stdin).out.splitlines()
    assert [json.loads(line)["input_ids"] for line in reports] == ids


@pytest.mark.parametrize(
    ("stdin", "code", "fields"),
    [
        (b"{", "json_invalid", {"line": 1, "column": 2}),
        (b"[]", "invalid_type", {"field": "request"}),
        (b"{}", "missing_field", {"field": "messages"}),
        (b'{"messages": [], "messages": []}', "json_duplicate_key", {"key": "messages"}),
        (b'{"messages": []}', "empty_conversation", {}),
        (b'{"messages": [{"role": "model", "content": ""}]}', "unknown_role", {"index": 0}),
        (b'{"messages": [], "tools": [{"x": NaN}]}', "json_number", {"found": "NaN"}),
        (b'{"messages": [], "tools": [{"x": 1e999}]}', "json_number", {}),
    ],
)
def test_render_refuses(stdin, code, fields):
    result = run("render", "--engine", "native", stdin=stdin)
    assert (result.status, result.out) == (3, b"")
    assert {name: result.error[name] for name in ["code", *fields]} == {"code": code, **fields}


def test_assemble_ids(contract):
    result = run("assemble", EXAMPLE, "--engine", "native")
    request = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert [int(word) for word in result.out.split()] == contract.prompt.assemble(request).input_ids
    assert [found["text"] for found in result.messages[0]["warning"]["findings"]] == ["<|im_end|>", "<|im_start|>", "<|im_end|>"]


def test_assemble_reads_stdin(contract):
    request = {"policy": "p", "user_turn": "<think>", "budget": {"context": 100, "reserve": 0}}
    result = run("assemble", "-", "--engine", "native", "--profile", "publisher", stdin=dumped(request))
    assert [int(word) for word in result.out.split()] == contract.prompt.assemble(request).input_ids


def test_assemble_json(contract):
    result = run("assemble", EXAMPLE, "--engine", "native", "--format", "json")
    report = json.loads(result.out)
    assembly = contract.prompt.assemble(json.loads(EXAMPLE.read_text(encoding="utf-8")))
    assert {name: report[name] for name in assembly.to_dict()} == json.loads(json.dumps(assembly.to_dict()))
    assert (report["engine"], report["profile"], report["artifact"]["file_digest"]) == ("native", "contract", contract.file_digest)
    assert result.err == b""


def test_assemble_text_masks_the_policy_and_nothing_else(contract):
    result = run("assemble", EXAMPLE, "--engine", "native", "--format", "text")
    assembly = contract.prompt.assemble(json.loads(EXAMPLE.read_text(encoding="utf-8")))
    whole = contract.tokenizer.decode(assembly.input_ids, special="bytes").decode()
    mask = f"[policy: {assembly.policy_tokens} tokens, {assembly.policy.length} bytes, sha256 {assembly.policy.digest}]"
    assert result.out.decode() == whole.replace(POLICY, mask)


@pytest.mark.parametrize("policy", ["", "\n", "\n\nSecret", "Secret\n", "Sécret 🙂", "\u0301", " "])
@pytest.mark.parametrize("state", [[], [{"name": "n", "value": "v", "priority": 0}]])
def test_the_mask_is_exact_at_its_edges(contract, policy, state):
    request = {"policy": policy, "user_turn": "🙂", "local_state": state, "budget": {"context": 200, "reserve": 0}}
    text = run("assemble", "-", "--engine", "native", "--format", "text", stdin=dumped(request)).out.decode()
    assembly = contract.prompt.assemble(request)
    if policy:
        head, _, tail = text.partition("[policy: ")
        text = head + policy + tail.partition("]")[2]
    assert text == contract.tokenizer.decode(assembly.input_ids, special="bytes").decode()


@pytest.mark.parametrize(
    "arguments", [("--explain",), ("--format", "text"), ("--explain", "--format", "text"), ("--explain", "--format", "json")]
)
def test_the_policy_is_not_on_the_screen(arguments):
    result = run("assemble", EXAMPLE, "--engine", "native", *arguments)
    shown = (result.out + result.err).decode()
    assert result.status == 0
    for phrase in ("Alder", "colleague", "Never promise", POLICY[:30]):
        assert phrase not in shown


def test_a_request_that_does_not_fit_is_refused_without_its_policy():
    request = {**json.loads(EXAMPLE.read_text(encoding="utf-8")), "budget": {"context": 1000, "reserve": 500}}
    result = run("assemble", "-", "--engine", "native", "--explain", stdin=dumped(request))
    assert (result.status, result.out) == (3, b"")
    assert (result.error["code"], result.error["needed"], result.error["available"]) == ("budget_exceeded", 887, 500)
    assert sum(result.error["parts"].values()) == 887
    assert b"Alder" not in result.err


FLOORS = {"keep_turns": 0, "keep_chunks": 1, "active_turns": 0, "chunk_limit": 32, "tool_limit": 16, "sweep": "allow", "headroom": 0}


def test_the_budget_of_the_command_line_goes_before_that_of_the_request(contract):
    request = {**json.loads(EXAMPLE.read_text(encoding="utf-8")), "degradation": FLOORS}
    result = run("assemble", "-", "--engine", "native", "--budget", "700", "--reserve", "20", "--format", "json", stdin=dumped(request))
    report = json.loads(result.out)
    assert (report["budget"]["context"], report["budget"]["reserve"]) == (700, 20)
    assert report["budget"]["prompt_tokens"] <= 680
    assert [step["action"] for step in report["ledger"]["steps"]][:2] == ["drop_turn", "drop_chunk"]
    asked = {**request, "budget": {"context": 700, "reserve": 20}}
    assert report["input_ids"] == contract.prompt.assemble(asked).input_ids
    without = {name: value for name, value in asked.items() if name != "budget"}
    again = run("assemble", "-", "--engine", "native", "--budget", "700", "--reserve", "20", stdin=dumped(without))
    assert list(map(int, again.out.split())) == report["input_ids"]


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        (("--budget", "0"), "invalid_value", "budget.context"),
        (("--budget", "32769"), "invalid_value", "budget.context"),
        (("--budget", "500"), "invalid_value", "budget.reserve"),
        (("--reserve", "-1"), "invalid_value", "budget.reserve"),
    ],
)
def test_a_budget_of_the_command_line_is_checked_like_any_other(options, code, field):
    result = run("assemble", EXAMPLE, "--engine", "native", *options)
    assert (result.status, result.error["code"], result.error["field"]) == (3, code, field)


def test_what_does_not_fit_after_all_steps_ends_with_status_3():
    request = {**json.loads(EXAMPLE.read_text(encoding="utf-8")), "degradation": FLOORS}
    result = run("assemble", "-", "--engine", "native", "--budget", "300", "--reserve", "0", stdin=dumped(request))
    assert (result.status, result.out, result.error["code"]) == (3, b"", "budget_exceeded")
    assert result.error["needed"] == sum(result.error["parts"].values()) > result.error["available"] == 300


def test_assemble_html_is_one_page_without_the_policy():
    request = {**json.loads(EXAMPLE.read_text(encoding="utf-8")), "degradation": FLOORS}
    result = run("assemble", "-", "--engine", "native", "--budget", "700", "--reserve", "20", "--format", "html", stdin=dumped(request))
    page = result.out.decode()
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert "Given up" in page
    assert "keep_turns 0" in page
    assert "<svg" in page
    for phrase in ("Alder", "colleague", "Never promise", "http://", "https://", "<script", "url("):
        assert phrase not in page


def test_explain_tells_what_was_given_up():
    request = {**json.loads(EXAMPLE.read_text(encoding="utf-8")), "degradation": FLOORS}
    result = run("assemble", "-", "--engine", "native", "--budget", "700", "--reserve", "20", "--explain", stdin=dumped(request))
    text = result.out.decode()
    for phrase in ("Given up", "drop turn", "retrieved[forum-7741]", "keep_turns 0", "local state begins at token"):
        assert phrase in text
    assert "Given up" not in run("assemble", EXAMPLE, "--engine", "native", "--explain").out.decode()


@pytest.mark.parametrize(
    ("stdin", "code"),
    [
        (b"", "json_invalid"),
        (b"[]", "invalid_type"),
        (b"{}", "missing_field"),
        (b'{"policy": "Alder", "policy": "Alder"}', "json_duplicate_key"),
        (b'{"policy": "Alder, not closed', "json_invalid"),
        (b'{"policy": ["Alder"]}', "invalid_type"),
        (b'{"policy": "Alder", "user_turn": "", "budget": {"context": 9, "reserve": 9.5}}', "invalid_type"),
    ],
)
def test_assemble_refuses(stdin, code):
    result = run("assemble", "-", "--engine", "native", stdin=stdin)
    assert (result.status, result.out, result.error["code"]) == (3, b"", code)
    assert b"Alder" not in result.err


def test_explain_goes_to_stderr_beside_a_format():
    result = run("assemble", EXAMPLE, "--engine", "native", "--explain", "--format", "ids")
    assert all(word.isdigit() for word in result.out.split())
    assert "Budget" in result.err.decode()


def test_in_a_process_of_its_own():
    result = run_process("assemble", EXAMPLE, "--engine", "native", "--format", "json")
    assert result.status == 0
    assert json.loads(result.out)["budget"]["context"] == 4096
