"""Text is its characters, bytes are their bytes: a subclass of ``str`` or ``bytes`` decides neither."""

from __future__ import annotations

import json

import pytest

import slm2
from machine import ROOT
from slm2.reference.json_text import read_json, write_json
from slm2.reference.utf8 import to_utf8


class Loud(str):
    """Says something else when asked for its bytes."""

    __slots__ = ()

    def encode(self, *_: str) -> bytes:
        return b"other"


class LoudBytes(bytes):
    """The same of bytes."""

    def __bytes__(self) -> bytes:
        return b"other"


@pytest.mark.parametrize("text", ["ab", "é", "\ud83d\ude00", "a\ud800"])
def test_bytes_of_a_text(text):
    assert to_utf8(Loud(text)) == to_utf8(text)
    assert read_json(Loud(json.dumps(text))) == read_json(json.dumps(text))
    assert write_json(Loud(text), "x") == write_json(text, "x")


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize(
    "text", [Loud("ab"), LoudBytes(b"ab"), bytearray(b"ab"), memoryview(b"a-b-")[::2]], ids=lambda text: type(text).__name__
)
def test_ids_of_a_text(engine, text):
    tokenizer = slm2.load(ROOT / "tests" / "data" / "small-v1.slm2", engine=engine).tokenizer
    assert tokenizer.encode(text) == tokenizer.encode("ab")
    assert tokenizer.find_special(text) == tokenizer.find_special("ab")
