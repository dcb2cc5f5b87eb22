"""``slm2 decode``: ids to bytes."""

from __future__ import annotations

import re

import click

from slm2.cli.common import contract_options, file_argument, open_contract, read_bytes, write_bytes
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.reference.json_text import json_type, read_json, shown

# More digits than any id has; longer ones are refused before they are read as numbers.
_ID = re.compile(r"[0-9]{1,10}", re.ASCII)


@click.command("decode")
@file_argument
@contract_options
def command(file: str, artifact: str | None, engine: EngineChoice) -> None:
    """Turn token ids back into bytes.

    FILE (or stdin) holds ids separated by white space, or one JSON array. The bytes come out raw, with the text of special tokens in
    its place; nothing is added at the end.
    """
    contract = open_contract(artifact, engine)
    write_bytes(contract.tokenizer.decode(_ids(read_bytes(file)), special="bytes"))


def _ids(data: bytes) -> list[int]:
    if data.lstrip().startswith(b"["):
        value = read_json(data)
        assert isinstance(value, list)  # it begins with a bracket
        return [_json_id(element, position) for position, element in enumerate(value)]
    return [_word_id(word, position) for position, word in enumerate(data.split())]


def _json_id(value: object, position: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Slm2Error("invalid_type", field=f"ids[{position}]", expected="integer", found=json_type(value))
    if value < 0 or value.bit_length() > 32:
        raise _no_id(position, "another number")
    return value


def _word_id(word: bytes, position: int) -> int:
    text = word.decode("utf-8", "backslashreplace")
    if _ID.fullmatch(text) is None:
        raise _no_id(position, shown(text))
    return int(text)


def _no_id(position: int, found: str) -> Slm2Error:
    return Slm2Error("invalid_value", field=f"ids[{position}]", expected="a token id in decimal digits", found=found)
