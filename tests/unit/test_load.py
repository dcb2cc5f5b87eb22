"""What ``slm2.load`` opens, with which engine, and that what it gives stays in its process."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import slm2
from machine import ROOT
from slm2 import engine
from slm2.errors import Slm2Error

SMALL = ROOT / "tests" / "data" / "small-v1.slm2"
DATA = SMALL.read_bytes()


class Bytes(os.PathLike):
    """A path that is bytes."""

    def __fspath__(self) -> bytes:
        return os.fsencode(SMALL)


def refusal(*arguments, **options) -> dict:
    with pytest.raises(Slm2Error) as caught:
        slm2.load(*arguments, **options)
    return {"code": caught.value.code, **caught.value.fields}


@pytest.mark.parametrize(
    "artifact",
    [
        SMALL,
        str(SMALL),
        Bytes(),
        DATA,
        bytearray(DATA),
        memoryview(DATA),
        memoryview(bytearray(DATA)),
        memoryview(DATA + DATA)[: len(DATA)],
    ],
    ids=["path", "str", "path of bytes", "bytes", "bytearray", "memoryview", "writable memoryview", "part"],
)
@pytest.mark.parametrize("name", ["native", "reference"])
def test_a_path_or_the_artifact_itself(artifact, name) -> None:
    contract = slm2.load(artifact, engine=name)
    assert contract.file_digest == DATA[-32:].hex()
    assert contract.tokenizer.decode(contract.tokenizer.encode("ab"), special="refuse") == b"ab"


@pytest.mark.parametrize("artifact", [5, 1.5, True, ["x"], object(), Slm2Error], ids=lambda value: type(value).__name__)
def test_neither_a_path_nor_bytes(artifact) -> None:
    expected = {"code": "invalid_type", "field": "artifact", "expected": "a path or bytes", "found": type(artifact).__name__}
    assert refusal(artifact, engine="reference") == expected


@pytest.mark.parametrize("path", ["", "a\0b", "\0", "\ud800", "a/\udfff\ud800", "no/such/file", str(ROOT)])
@pytest.mark.parametrize("kind", [str, Path])
def test_paths_that_cannot_be_read(path, kind) -> None:
    found = refusal(kind(path), engine="reference")
    assert (found["code"], found["path"]) == ("file_unreadable", str(kind(path)))
    assert found["reason"]
    assert refusal(kind(path), engine="native") == found


@pytest.mark.parametrize("name", ["native", "reference"])
def test_no_path_is_no_folder(name) -> None:
    assert refusal("", engine=name) == {"code": "file_unreadable", "path": "", "reason": os.strerror(errno.ENOENT)}


@pytest.mark.parametrize("damaged", [b"", DATA[:50], DATA[:-1], DATA + b"x", DATA[:99] + b"\xff" + DATA[100:], b"SLM2" * 999])
def test_a_file_is_refused_as_its_bytes_are(damaged, tmp_path) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(damaged)
    for name in ("native", "reference"):
        assert refusal(path, engine=name) == refusal(damaged, engine="reference")


def test_an_opened_file_may_change(tmp_path) -> None:
    path = tmp_path / "artifact"
    path.write_bytes(DATA)
    contract = slm2.load(path, engine="native")
    path.write_bytes(b"")  # cut short in place, as a map would notice
    assert contract.tokenizer.encode("ab") == slm2.load(SMALL).tokenizer.encode("ab")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_says_no_length(tmp_path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(path.write_bytes, DATA)
        assert slm2.load(path, engine="native").file_digest == DATA[-32:].hex()
        written.result()


@pytest.mark.parametrize("name", ["native", "reference"])
def test_an_engine_asked_for_by_name_is_that_engine_and_no_event(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert slm2.load(SMALL, engine=name).engine.name == name
        assert slm2.load(SMALL).engine.name == "native"


def test_auto_without_the_native_engine_says_so_once_and_what_it_costs(monkeypatch) -> None:
    monkeypatch.setattr(engine, "native_reason", lambda: "no toolchain")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        contract = slm2.load(SMALL)
        contract.tokenizer.encode("ab")
    (warning,) = caught
    assert contract.engine.name == "reference"
    assert (warning.category, warning.filename) == (RuntimeWarning, __file__)
    for word in ("reference", "hundreds of times slower", "no toolchain"):
        assert word in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert slm2.load(SMALL, engine="reference").engine.name == "reference"


def test_the_native_engine_by_name_where_it_is_not(monkeypatch) -> None:
    monkeypatch.setattr(engine, "native_reason", lambda: "no toolchain")
    assert refusal(SMALL, engine="native") == {"code": "engine_unavailable", "engine": "native", "reason": "no toolchain"}


def test_choices_that_do_not_exist() -> None:
    found = refusal(SMALL, engine="rust")
    assert found == {"code": "invalid_value", "field": "engine", "expected": "auto, native or reference", "found": "'rust'"}
    found = refusal(SMALL, engine="reference", profile="nfc")
    assert found == {"code": "invalid_value", "field": "profile", "expected": "contract or publisher", "found": "'nfc'"}


@pytest.mark.parametrize("part", ["contract", "tokenizer", "template", "prompt", "stream_decoder"])
@pytest.mark.parametrize("name", ["native", "reference"])
def test_what_is_loaded_is_of_its_process(name, part) -> None:
    contract = slm2.load(SMALL, engine=name)
    parts = {"contract": contract, "stream_decoder": contract.stream_decoder(special="refuse")}
    value = parts[part] if part in parts else getattr(contract, part)
    expected = rf"^a {type(value).__name__} is neither pickled nor copied; call slm2\.load\(\) in each process$"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match=expected):
            pickle.dumps(value, protocol)
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=expected):
            copied(value)
