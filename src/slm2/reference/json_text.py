"""JSON text, read and written as decisions D7 says (contract/template.md, M-30 to M-38).

Not the standard library's reader: that one lets duplicate keys, NaN and overflow through, refuses long integers by a setting of
its host, words its errors differently from version to version and dies of deep nesting.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeAlias

from slm2.errors import Slm2Error
from slm2.reference.utf8 import to_utf8

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# One bound for every host; serde_json's too. Two frames a level leave room in Python's default stack of 1,000.
MAX_DEPTH = 128

# Below the least limit (640 digits) that CPython lets anybody put on int <-> str, so that no setting decides what is read.
_DIGITS = 600
_BITS = 1_990
_SHOWN = 64
_PATH_SHOWN = 256  # longer than any path that somebody wants to read

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_MEANING = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NOT_FINITE = re.compile(r"NaN|-?Infinity")  # words that Python's writer makes, which the grammar does not have
_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "null": None}

_WRITTEN = {value: f"\\u{value:04x}" for value in range(0x20)}
_WRITTEN |= {ord(meaning): "\\" + letter for letter, meaning in _MEANING.items() if letter != "/"}


def read_json(text: str | bytes) -> JsonValue:
    """The value of one JSON text.

    Args:
        text: JSON; bytes are UTF-8 without a byte-order mark.

    Returns:
        None, bool, int of any size, finite float, str without surrogates, list or dict in the order of the text.

    Raises:
        Slm2Error: ``json_invalid``, ``json_duplicate_key``, ``json_number``, ``invalid_type``.
    """
    if isinstance(text, bytes):
        return _Reader(_decoded(text)).document()
    if not isinstance(text, str):
        raise Slm2Error("invalid_type", field="text", expected="string", found=json_type(text))
    return _Reader(_repaired(text)).document()


def write_json(value: object, path: str, depth: int = 0) -> str:
    """Python's ``json.dumps(value, ensure_ascii=False)``, which is the ``tojson`` of the publisher's template.

    Args:
        value: a JSON value; a tuple is an array, a mapping an object.
        path: where the value stands in the request, for errors.
        depth: arrays and objects in which it will stand, which count (M-31).

    Raises:
        Slm2Error: ``invalid_type``, ``invalid_value`` (nested too deeply), ``json_number``, ``json_duplicate_key``.
    """
    return "".join(_written(value, path, depth))


def json_type(value: object) -> str:
    """What JSON calls the type of a value; the host's name for what JSON does not have."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (list, tuple)):
        return "array"
    return "object" if isinstance(value, Mapping) else type(value).__name__


def shown(value: object) -> str:
    """What came, as an error says it: the beginning of a text, the type of anything else."""
    return _beginning(value, _SHOWN) if isinstance(value, str) else json_type(value)


def shown_key(key: object) -> str:
    """A key as an error says it: the beginning of a text; of another value of the host, of its repr."""
    try:
        return shown(key if isinstance(key, str) else repr(key))
    except ValueError:  # CPython prints no integer of more digits than its settings say
        return json_type(key)


def _beginning(text: str, limit: int) -> str:
    text = _repaired(text)
    return text if len(text) <= limit else text[:limit] + "…"


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise _invalid("not UTF-8", before, len(before)) from None


def _repaired(text: str) -> str:
    """Decisions D4: no surrogate is left."""
    return to_utf8(text).decode("utf-8")


def _invalid(reason: str, text: str, at: int) -> Slm2Error:
    """Line and column count from 1, the column in scalar values."""
    before = text[:at]
    return Slm2Error("json_invalid", reason=reason, line=before.count("\n") + 1, column=len(before) - before.rfind("\n"))


class _Reader:
    """Recursive descent over one text; ``at`` is where the next token begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def document(self) -> JsonValue:
        value = self.value(0)
        if self.skip() != "":
            raise self.refused("end of the text expected")
        return value

    def refused(self, reason: str) -> Slm2Error:
        return _invalid(reason, self.text, self.at)

    def skip(self) -> str:
        """Skip white space; the character there, empty at the end."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None  # it matches nothing, too
        self.at = space.end()
        return self.text[self.at : self.at + 1]

    def take(self, mark: str) -> bool:
        """Go past ``mark`` where it comes next."""
        if self.skip() != mark:
            return False
        self.at += 1
        return True

    def value(self, depth: int) -> JsonValue:
        mark = self.skip()
        if mark in ("{", "["):
            if depth == MAX_DEPTH:
                raise self.refused(f"nested deeper than {MAX_DEPTH} levels")
            self.at += 1
            return self.members(depth + 1) if mark == "{" else self.elements(depth + 1)
        if mark == '"':
            return self.string()
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        return self.number()

    def members(self, depth: int) -> dict[str, JsonValue]:
        members: dict[str, JsonValue] = {}
        if self.take("}"):
            return members
        while True:
            if self.skip() != '"':
                raise self.refused("string expected as key")
            key = self.string()
            if key in members:
                raise Slm2Error("json_duplicate_key", key=shown(key))
            if not self.take(":"):
                raise self.refused("':' expected")
            members[key] = self.value(depth)
            if self.take("}"):
                return members
            if not self.take(","):
                raise self.refused("',' or '}' expected")

    def elements(self, depth: int) -> list[JsonValue]:
        elements: list[JsonValue] = []
        if self.take("]"):
            return elements
        while True:
            elements.append(self.value(depth))
            if self.take("]"):
                return elements
            if not self.take(","):
                raise self.refused("',' or ']' expected")

    def string(self) -> str:
        parts = []
        self.at += 1
        while True:
            plain = _PLAIN.match(self.text, self.at)
            assert plain is not None  # it matches nothing, too
            parts.append(plain.group())
            self.at = plain.end()
            if self.text.startswith('"', self.at):
                self.at += 1
                return _repaired("".join(parts))
            escape = _ESCAPE.match(self.text, self.at)
            if escape is None:
                raise self.refused(self.string_fault())
            letter, digits = escape.groups()
            parts.append(_MEANING[letter] if letter else chr(int(digits, 16)))
            self.at = escape.end()

    def string_fault(self) -> str:
        if self.at == len(self.text):
            return "string is not closed"
        return "unknown escape in a string" if self.text[self.at] == "\\" else "control character in a string"

    def number(self) -> int | float:
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            word = _NOT_FINITE.match(self.text, self.at)
            raise Slm2Error("json_number", found=word.group()) if word else self.refused("value expected")
        self.at = number.end()
        if not number.group(1):
            return _integer(number.group())
        value = float(number.group())
        if math.isinf(value):
            raise Slm2Error("json_number", found=shown(number.group()))
        return value


def _integer(text: str) -> int:
    """An integer of any size; halves keep the work below quadratic."""
    if len(text) <= _DIGITS:
        return int(text)
    if text[0] == "-":
        return -_integer(text[1:])
    low = len(text) // 2
    power: int = 10**low
    return _integer(text[:-low]) * power + _integer(text[-low:])


def _digits(value: int) -> str:
    """Decimal digits of a non-negative integer of any size."""
    if value.bit_length() <= _BITS:
        return int.__repr__(value)
    low = value.bit_length() * 3 // 20  # about half of the digits: log10(2) / 2 is 0.1505
    head, tail = divmod(value, 10**low)
    return _digits(head) + _digits(tail).zfill(low)


def _written(value: object, path: str, depth: int) -> list[str]:
    """The text of ``value`` in parts."""
    if value is None or isinstance(value, bool):
        return [{None: "null", True: "true", False: "false"}[value]]
    if isinstance(value, str):
        return [_quoted(_repaired(value))]
    if isinstance(value, int):
        return ["-" if value < 0 else "", _digits(abs(int(value)))]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Slm2Error("json_number", found=float.__repr__(value))
        return [float.__repr__(value)]
    if not isinstance(value, (Mapping, list, tuple)):
        raise Slm2Error("invalid_type", field=_beginning(path, _PATH_SHOWN), expected="a JSON value", found=json_type(value))
    if depth == MAX_DEPTH:
        expected = f"JSON nested at most {MAX_DEPTH} levels"
        raise Slm2Error("invalid_value", field=_beginning(path, _PATH_SHOWN), expected=expected, found="more levels")
    if isinstance(value, Mapping):
        return _written_object(value, path, depth + 1)
    parts = ["["]
    for index, element in enumerate(value):
        parts += [", "] if index else []
        parts += _written(element, f"{path}[{index}]", depth + 1)
    return [*parts, "]"]


def _written_object(value: Mapping[object, object], path: str, depth: int) -> list[str]:
    parts = ["{"]
    seen: set[str] = set()
    for name, member in value.items():
        if not isinstance(name, str):
            raise Slm2Error("invalid_type", field=f"a key of {_beginning(path, _PATH_SHOWN)}", expected="string", found=json_type(name))
        key = _repaired(name)
        if key in seen:  # two keys that differ in unpaired surrogates alone
            raise Slm2Error("json_duplicate_key", key=shown(key))
        parts += [", "] if seen else []
        parts += [_quoted(key), ": ", *_written(member, f"{path}.{shown(key)}", depth)]
        seen.add(key)
    return [*parts, "}"]


def _quoted(text: str) -> str:
    return '"' + text.translate(_WRITTEN) + '"'
