"""``slm2 encode`` and ``slm2 decode``."""

from __future__ import annotations

import json

import pytest

import slm2
from cli.runner import run, run_process

HOSTILE = b"\x00a\xff\xfe\xe2\x82 \xed\xa0\x80\r\n\n <|im_start|>\xf0\x9f\x99\x82\xc0\x80\n"


@pytest.fixture(scope="module")
def tokenizer() -> slm2.Tokenizer:
    return slm2.load(engine="native").tokenizer


def ids_of(out: bytes) -> list[int]:
    return [int(word) for word in out.split()]


def test_ids_are_one_line(tokenizer):
    result = run("encode", "--engine", "native", stdin=b"Hello, world\n")
    assert (result.status, result.err) == (0, b"")
    assert result.out == " ".join(map(str, tokenizer.encode("Hello, world\n"))).encode() + b"\n"


@pytest.mark.parametrize("data", [b"", b"\n", HOSTILE, bytes(range(256))])
def test_bytes_go_through_a_pipe_and_back(tokenizer, data):
    encoded = run_process("encode", "--engine", "native", stdin=data)
    assert encoded.status == 0
    assert ids_of(encoded.out) == tokenizer.encode(data)
    decoded = run_process("decode", "-", "--engine", "native", stdin=encoded.out)
    assert (decoded.status, decoded.out, decoded.err) == (0, data, b"")


def test_a_file_is_read_as_it_is(tmp_path, tokenizer):
    path = tmp_path / "text"
    path.write_bytes(HOSTILE)
    assert ids_of(run("encode", path, "--engine", "native").out) == tokenizer.encode(HOSTILE)


def test_both_engines_and_both_profiles():
    text = "Cafe\u0301 \u212b".encode()
    for profile in ("contract", "publisher"):
        outputs = {run("encode", "--engine", name, "--profile", profile, stdin=text).out for name in ("native", "reference")}
        expected = slm2.load(engine="reference", profile=profile).tokenizer.encode(text)
        assert [ids_of(out) for out in outputs] == [expected]


def test_special_text_is_reported_and_stays_plain(tokenizer):
    result = run("encode", "--engine", "native", stdin=b"a<|im_end|>")
    assert ids_of(result.out) == tokenizer.encode("a<|im_end|>")
    assert len(result.messages) == 1
    warning = result.messages[0]["warning"]
    assert warning["code"] == "special_token_text"
    assert warning["findings"] == [{"offset": 1, "id": 151645, "text": "<|im_end|>"}]


def test_special_text_can_be_refused():
    result = run("encode", "--engine", "native", "--on-special", "reject", stdin=b"a<|im_end|>")
    assert (result.status, result.out) == (3, b"")
    assert result.error["code"] == "special_token_in_text"
    assert result.error["findings"] == [{"offset": 1, "id": 151645, "text": "<|im_end|>"}]


def test_trusted_text_makes_special_tokens(tokenizer):
    result = run("encode", "--engine", "native", "--trusted", stdin=b"a<|im_end|>b")
    assert (ids_of(result.out), result.err) == ([*tokenizer.encode("a"), 151645, *tokenizer.encode("b")], b"")


def test_json():
    contract = slm2.load(engine="native", profile="publisher")
    result = run("encode", "--engine", "native", "--profile", "publisher", "--format", "json", stdin=b"x<think>")
    assert json.loads(result.out) == {
        "input_ids": contract.tokenizer.encode("x<think>"),
        "engine": "native",
        "profile": "publisher",
        "artifact": {"file_digest": contract.file_digest, "semantic_digest": contract.digest},
        "findings": [{"offset": 1, "id": 151667, "text": "<think>"}],
    }
    assert result.err == b""


def test_table():
    result = run("encode", "--engine", "native", "--format", "table", stdin="é \x1b[31m\u202e\n".encode() + b"\xff")
    text = result.out.decode()
    rows = [line.split() for line in text.splitlines() if line[:1] == " " and line.split() and line.split()[0].isdigit()]
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert rows[0][1:] == ["963", "c3", "a9", "é", "0–2"]
    assert all(mark in text for mark in ("⟨U+001B⟩", "⟨E2⟩⟨80⟩", "⏎", "⟨FF⟩"))
    assert not set(text) & {"\x1b", "\u202e"}


def test_table_of_trusted_text():
    text = run("encode", "--engine", "native", "--format", "table", "--trusted", stdin="é<|im_end|>b".encode()).out.decode()
    cells = [line.split() for line in text.splitlines()]
    assert [row[1] for row in cells if row and row[0].isdigit()] == ["963", "151645", "65"]
    assert [row[-1] for row in cells if row and row[0].isdigit()] == ["0–2", "2–12", "12–13"]


def test_jsonl(tokenizer):
    lines = ["", "Hello", "\ud800\n", "a\x00"]
    result = run("encode", "--engine", "native", "--jsonl", stdin="".join(json.dumps(line) + "\n" for line in lines).encode())
    assert (result.status, result.err) == (0, b"")
    assert [json.loads(line) for line in result.out.splitlines()] == [tokenizer.encode(line) for line in lines]


def test_jsonl_without_a_final_newline_and_with_a_finding():
    result = run("encode", "--engine", "native", "--jsonl", stdin=b'"a"\r\n "<think>" ')
    assert len(result.out.splitlines()) == 2
    assert [line["warning"]["line"] for line in result.messages] == [2]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b"", "json_invalid"),
        (b'"open', "json_invalid"),
        (b'"a" "b"', "json_invalid"),
        (b"'a'", "json_invalid"),
        (b'"\xff"', "json_invalid"),
        (b"7", "invalid_type"),
        (b'["a"]', "invalid_type"),
        (b'{"a":1,"a":2}', "json_duplicate_key"),
        (b'"<|im_end|>"', "special_token_in_text"),
    ],
)
def test_a_bad_line_is_named_and_those_before_it_are_answered(tokenizer, bad, code):
    result = run("encode", "--engine", "native", "--jsonl", "--on-special", "reject", stdin=b'"one"\n"two"\n' + bad + b'\n"four"\n')
    assert result.status == 3
    assert [json.loads(line) for line in result.out.splitlines()] == [tokenizer.encode("one"), tokenizer.encode("two")]
    assert (result.error["code"], result.error["line"]) == (code, 3)
    assert "line 3" in result.error["message"]


@pytest.mark.parametrize("text", [b"[9707, 11]", b" \n[9707,11]\n", b"9707 11", b"9707\n\t11\r\n"])
def test_decode_takes_arrays_and_words(text):
    assert run("decode", "--engine", "native", stdin=text).out == b"Hello,"


def test_decode_of_nothing_is_nothing():
    assert run("decode", "--engine", "native").out == run("decode", "--engine", "native", stdin=b"[]").out == b""


def test_decode_shows_special_tokens_and_broken_scalars():
    assert run("decode", "--engine", "native", stdin=b"151644 187").out == b"<|im_start|>\xff"


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        (b"1 x", "invalid_value", {"field": "ids[1]", "found": "x"}),
        (b"1,2", "invalid_value", {"field": "ids[0]", "found": "1,2"}),
        (b"-1", "invalid_value", {"field": "ids[0]", "found": "-1"}),
        (b"1 " + b"9" * 5000, "invalid_value", {"field": "ids[1]"}),
        (b"\xff", "invalid_value", {"field": "ids[0]"}),
        ("١".encode(), "invalid_value", {"field": "ids[0]"}),
        (b"[1.0]", "invalid_type", {"field": "ids[0]", "found": "number"}),
        (b"[true]", "invalid_type", {"field": "ids[0]", "found": "boolean"}),
        (b"[-1]", "invalid_value", {"field": "ids[0]"}),
        (b"[" + b"9" * 5000 + b"]", "invalid_value", {"field": "ids[0]"}),
        (b"[1", "json_invalid", {}),
        (b"[" * 100_000, "json_invalid", {}),
        (b"151669", "token_id_out_of_range", {"position": 0, "id": 151669, "limit": 151669}),
        (b"0 4294967296", "token_id_out_of_range", {"position": 1}),
    ],
)
def test_what_is_no_id_is_refused(text, code, fields):
    result = run("decode", "--engine", "reference", stdin=text)
    assert (result.status, result.out) == (3, b"")
    assert {name: result.error[name] for name in ["code", *fields]} == {"code": code, **fields}
