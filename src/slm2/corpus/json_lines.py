"""The text in a line of JSON. The standard library's scanner for speed, the contract's reader for what that one refuses or lets through."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import NoReturn

from slm2.errors import Slm2Error
from slm2.reference.json_text import MAX_DEPTH, JsonValue, json_type, read_json
from slm2.reference.utf8 import to_utf8

__all__ = ["text_of_line"]

# No number of so few digits without an exponent is too large for a float64.
_PLAIN_DIGITS = 300
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


class _UnlikeTheContract(ValueError):
    """What the contract's reader refuses, and the standard library does not."""


def text_of_line(line: bytes, field: str) -> bytes | Slm2Error:
    """UTF-8 of the member ``field`` of the object that the line is, or why there is none. JSON as the contract has it (M-30 to M-38)."""
    try:
        value = _value(line)
    except Slm2Error as error:
        return error
    if not isinstance(value, dict):
        return Slm2Error("invalid_type", field="the line", expected="object", found=json_type(value))
    if field not in value:
        return Slm2Error("missing_field", field=field)
    text = value[field]
    if not isinstance(text, str):
        return Slm2Error("invalid_type", field=field, expected="string", found=json_type(text))
    return to_utf8(text)


def _value(line: bytes) -> JsonValue:
    try:
        value: JsonValue = _fast.decode(line.decode("utf-8"))
    except (ValueError, RecursionError):  # the standard library's words differ from release to release
        return read_json(line)
    # The depth at which the scanner gives up is the host's; only brackets outside of strings nest.
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH:
        outside = _STRING.sub(b"", line)
        if outside.count(b"{") + outside.count(b"[") > MAX_DEPTH:
            return read_json(line)
    return value


def _object(members: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(members)
    if len(made) != len(members):
        raise _UnlikeTheContract
    return made


def _refuse(word: str) -> NoReturn:
    raise _UnlikeTheContract(word)


def _number(digits: str) -> int:
    """What the number is is of no use; whether it is one that the contract has, its own reader says where that is not plain to see."""
    if len(digits) > _PLAIN_DIGITS or not isfinite(float(digits)):
        raise _UnlikeTheContract
    return 0


_fast = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse, parse_int=_number, parse_float=_number)
