"""What a row of the case tables is, and how text stands in a vector."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Case", "Group", "as_json", "output_text", "text_input"]

Json = dict[str, Any]
Text = str | bytes


@dataclass(frozen=True)
class Case:
    """One row: a question, and by hand its answer where no program of the publisher has one.

    Attributes:
        comment: why the row is there.
        op: what is asked.
        inputs: of the operation, as the vector has them.
        clause: of the contract.
        expect: the result; None where the oracle gives it.
        error: code and fields of a refusal.
        profile: where the row is about one profile alone.
        flags: words by which vectors are selected; each has a note in its file.
    """

    comment: str
    op: str
    inputs: Mapping[str, Any]
    clause: str
    expect: Mapping[str, Any] | None = None
    error: tuple[str, Mapping[str, Any]] | None = None
    profile: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Rows about one thing. Ids are the group's name and the row's number: append, never insert, so that ids stay."""

    name: str
    cases: list[Case] = field(default_factory=list)


def text_input(text: Text) -> Json:
    """A text as a vector has it: ``text``; ``utf16`` where it holds surrogates; ``base64`` where bytes are not UTF-8."""
    if isinstance(text, bytes):
        return output_text(text)
    if any("\ud800" <= char <= "\udfff" for char in text):
        data = text.encode("utf-16-le", "surrogatepass")
        return {"utf16": [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]}
    return {"text": text}


def output_text(data: bytes) -> Json:
    """Bytes in a vector: ``text`` where they are UTF-8, else ``base64``."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def as_json(value: object) -> str:
    """A request as JSON text, with numbers and order of keys as Python has them; surrogates are escapes, since files are UTF-8."""
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match.group()):04x}", json.dumps(value, ensure_ascii=False))
