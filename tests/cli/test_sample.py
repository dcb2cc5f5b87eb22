"""``slm2 sample`` and ``slm2 replay``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.runner import run
from slm2.reference.sampling.recipe import Recipe
from slm2.sampling import WIDTH

CONFIG = {
    "profile": "contract", "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0, "repetition_penalty": 1.1,
    "rng": "pcg32", "seed": 3, "max_tokens": 10, "stop_ids": [151_645],
}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    (tmp_path / "C.json").write_text(json.dumps(CONFIG))
    (tmp_path / "H.json").write_text("[1, 2, 3]")
    np.save(tmp_path / "L.npy", np.stack([Recipe(2, step, 1.0, 9.0).logits(WIDTH) for step in range(3)]))
    return tmp_path


def sample(files, *more, config=None):
    if config is not None:
        (files / "C.json").write_text(json.dumps(config))
    return run("sample", "--config", files / "C.json", "--logits", files / "L.npy", *more)


@pytest.mark.parametrize("choice", ["native", "reference"])
def test_one_object_a_line(files, choice) -> None:
    result = sample(files, "--history", files / "H.json", "--engine", choice)
    assert (result.status, result.err) == (0, b"")
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [list(line) for line in lines] == [["step", "id", "kept", "probability", "words"]] * 3
    assert [line["step"] for line in lines] == [0, 1, 2]
    assert all(line["words"] == 2 and 0 < line["probability"] <= 1 and 1 <= line["kept"] <= 20 for line in lines)
    assert result.out == sample(files, "--history", files / "H.json").out


def test_history_and_profile_count(files) -> None:
    with_history = sample(files, "--history", files / "H.json").out
    publisher = sample(files, config={**CONFIG, "profile": "publisher", "rng": "mt19937-torch"})
    assert json.loads(publisher.out.splitlines()[0])["words"] == 303_872
    assert with_history != publisher.out


def test_a_trace_is_replayed(files) -> None:
    trace = files / "T.jsonl"
    assert sample(files, "--trace", trace).status == 0
    assert run("replay", trace).out == b'{"steps": 3, "logits": false}\n'
    assert run("replay", trace, "--logits", files / "L.npy").out == b'{"steps": 3, "logits": true}\n'
    lines = trace.read_text().splitlines()
    step = json.loads(lines[2])
    trace.write_text("\n".join([*lines[:2], json.dumps({**step, "id": step["id"] + 1}), *lines[3:]]))
    result = run("replay", trace)
    assert (result.status, result.out, result.error["code"], result.error["step"]) == (1, b"", "trace_differs", 1)
    assert (run("replay", files / "L.npy").status, run("replay", files / "none").status) == (3, 3)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("C.json", "[]", "invalid_type"),
        ("C.json", "{", "json_invalid"),
        ("C.json", json.dumps({**CONFIG, "temperature": -1}), "invalid_value"),
        ("C.json", json.dumps({key: value for key, value in CONFIG.items() if key != "seed"}), "missing_field"),
        ("C.json", json.dumps({**CONFIG, "profile": "publisher"}), "sampling_pairing"),
        ("H.json", "{}", "invalid_type"),
        ("H.json", "[1.5]", "invalid_type"),
        ("H.json", "[151936]", "token_id_out_of_range"),
        ("L.npy", "no array", "file_unreadable"),
    ],
)
def test_what_is_refused(files, name, content, code) -> None:
    (files / name).write_text(content)
    result = sample(files, "--history", files / "H.json")
    assert (result.status, result.error["code"]) == (3, code)


def test_arrays_of_another_kind_are_refused(files) -> None:
    for array, code in (
        (np.zeros((1, WIDTH)), "invalid_type"),
        (np.zeros(WIDTH, np.float32), "invalid_type"),
        (np.zeros((1, 5), np.float32), "logits_length"),
        (np.array([{"a": 1}]), "file_unreadable"),
    ):
        np.save(files / "L.npy", array)
        assert sample(files).error["code"] == code


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_step_as_a_picture(files, ending) -> None:
    pytest.importorskip("matplotlib")
    picture = files / f"P.{ending}"
    assert sample(files, "--plot", picture).status == 0
    first = picture.read_bytes()
    assert first.startswith(b"<?xml" if ending == "svg" else b"\x89PNG")
    assert len(first) > 10_000
    assert sample(files, "--plot", picture).status == 0
    assert picture.read_bytes() == first
    assert sample(files, "--plot", files / "P.gif").error["code"] == "invalid_value"
    assert sample(files, "--plot", files / "none" / f"P.{ending}").error["code"] == "file_unwritable"


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin-1")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        _header("((("),
        _header("{1: 2, 'descr': 3}"),
        _header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 151936)}"),
        _header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000000000000, 151936)}"),
    ],
    ids=["empty", "unclosed", "mixed keys", "negative", "huge"],
)
def test_a_damaged_array_is_unreadable(files, content) -> None:
    (files / "L.npy").write_bytes(content)
    result = sample(files)
    assert (result.status, result.error["code"]) == (3, "file_unreadable")


def test_an_id_of_thousands_of_digits_is_refused(files) -> None:
    (files / "H.json").write_text("[" + "9" * 5000 + "]")
    result = sample(files, "--history", str(files / "H.json"))
    assert (result.status, result.error["code"]) == (3, "token_id_out_of_range")
