"""JSON as decisions D7 reads and writes it (contract/template.md, M-30 to M-38)."""

from __future__ import annotations

import json
import math
import random
import sys
from collections import OrderedDict
from enum import IntEnum
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slm2.errors import Slm2Error
from slm2.reference.json_text import MAX_DEPTH, read_json, write_json

SCALARS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS, inner, max_size=4),
    max_leaves=20,
)


def refusal(call, *arguments) -> dict:
    with pytest.raises(Slm2Error) as caught:
        call(*arguments)
    return {"code": caught.value.code, **caught.value.fields}


def typed(value):
    """A value with the types of its numbers, and the sign of zero: 1, 1.0 and True are equal in Python."""
    if isinstance(value, list):
        return [typed(element) for element in value]
    if isinstance(value, dict):
        return [(key, typed(member)) for key, member in value.items()]
    return type(value).__name__, value, math.copysign(1, value) if isinstance(value, float) else None


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_reads_what_the_standard_library_reads(value, ascii_only, indent) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert typed(read_json(text)) == typed(json.loads(text))
    assert typed(read_json(text.encode())) == typed(json.loads(text))


@given(VALUES)
def test_m_37_writes_what_the_standard_library_writes(value) -> None:
    assert write_json(value, "x") == json.dumps(value, ensure_ascii=False)
    assert typed(read_json(write_json(value, "x"))) == typed(value)


def strict(text: str):
    """The standard library with its extensions off."""

    def refuse(_: str) -> None:
        raise ValueError

    def unique(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def test_accepts_exactly_what_the_strict_standard_library_accepts() -> None:
    source = random.Random(7)
    tokens = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"a"',
        '"b"',
        '"\\n"',
        '"\\u00e9"',
        '"\\q"',
        '"',
        "1",
        "-",
        "0",
        ".5",
        "e3",
        "true",
        "nul",
        " ",
        "\n",
    ]
    accepted = 0
    for _ in range(40_000):
        text = "".join(source.choices(tokens, k=source.randint(1, 7)))
        try:
            expected = typed(strict(text))
        except ValueError:
            assert refusal(read_json, text)["code"] in ("json_invalid", "json_duplicate_key"), text
            continue
        accepted += 1
        assert typed(read_json(text)) == expected, text
    assert accepted > 1_000, accepted


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("", "value expected", 1, 1),
        ("\n\n  x", "value expected", 3, 3),
        ("[1,]", "value expected", 1, 4),
        ('{"a":1,}', "string expected as key", 1, 8),
        ("{a:1}", "string expected as key", 1, 2),
        ('{"é" 1}', "':' expected", 1, 6),
        ('{"a":1 "b":2}', "',' or '}' expected", 1, 8),
        ("[1 2]", "',' or ']' expected", 1, 4),
        ("01", "end of the text expected", 1, 2),
        ("{}\r\n{}", "end of the text expected", 2, 1),
        ('"a', "string is not closed", 1, 3),
        ('"\\u12g4"', "unknown escape in a string", 1, 2),
        ('"\t"', "control character in a string", 1, 2),
        ("\ufeff{}", "value expected", 1, 1),
        (b'"\xc3\xa9\xff"', "not UTF-8", 1, 3),
        ("[" * 129, "nested deeper than 128 levels", 1, 129),
        ('{"a":' * 100_000, "nested deeper than 128 levels", 1, 641),
    ],
)
def test_m_30_m_31_refuses_with_the_place(text, reason, line, column) -> None:
    assert refusal(read_json, text) == {"code": "json_invalid", "reason": reason, "line": line, "column": column}


def test_m_31_128_levels_are_read_and_written() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert write_json(read_json(text), "x") == text
    endless: list = []
    endless.append(endless)
    assert refusal(write_json, endless, "x")["code"] == "invalid_value"
    assert refusal(write_json, [read_json(text)], "x") == {
        "code": "invalid_value",
        "field": ("x" + "[0]" * 128)[:256] + "…",
        "expected": "JSON nested at most 128 levels",
        "found": "more levels",
    }


@pytest.mark.parametrize("innermost", [[], {1}, {5: 1}], ids=["a level too many", "no JSON", "a key that is no text"])
def test_m_31_m_38_a_path_in_an_error_is_bounded(innermost) -> None:
    value: object = innermost
    for _ in range(MAX_DEPTH - (innermost != [])):
        value = {"k" * 1_000: value}
    assert (
        refusal(write_json, value, "tools[0]")["field"].removeprefix("a key of ")
        == f"tools[0].{'k' * 64}….{'k' * 64}….{'k' * 64}….{'k' * 49}…"
    )


@pytest.mark.parametrize("digits", [1, 599, 600, 601, 4_301, 20_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_m_32_integers_of_any_size_whatever_the_host_is_set_to(digits, sign) -> None:
    text = sign + "".join(random.Random(digits).choices("123456789", k=digits))
    zeros = sign + "1" + "0" * (digits - 1)
    limit = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None
    try:
        if limit is not None:
            sys.set_int_max_str_digits(640)
        assert write_json(read_json(text), "x") == text
        assert write_json(read_json(zeros), "x") == zeros
        assert read_json(zeros) == (-1 if sign else 1) * 10 ** (digits - 1)
    finally:
        if limit is not None:
            sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("1.0", "1.0"),
        ("1e5", "100000.0"),
        ("1E16", "1e+16"),
        ("1e-7", "1e-07"),
        ("0.1e1", "1.0"),
        ("1e-400", "0.0"),
    ],
)
def test_m_32_m_33_numbers_as_python_prints_them(text, written) -> None:
    assert write_json(read_json(text), "x") == written


@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", "-Infinity"])
def test_m_34_numbers_that_are_not_finite(text) -> None:
    assert refusal(read_json, f"[{text}]") == {"code": "json_number", "found": text}
    assert refusal(write_json, [float(text)], "x")["code"] == "json_number"


def test_m_35_keys_that_occur_twice() -> None:
    assert refusal(read_json, '{"a":1,"\\u0061":2}') == {"code": "json_duplicate_key", "key": "a"}
    assert refusal(read_json, '{"\\ud800":1,"\\udfff":2}') == {"code": "json_duplicate_key", "key": "\ufffd"}
    assert refusal(write_json, dict.fromkeys(["\ud800", "\udfff"]), "x") == {"code": "json_duplicate_key", "key": "\ufffd"}
    assert read_json('{"a":{"a":1},"b":{"a":1}}') == {"a": {"a": 1}, "b": {"a": 1}}


def test_m_36_surrogates() -> None:
    assert read_json('"\\ud83d\\ude42"') == "🙂"
    assert read_json('"\ud83d\ude42"') == "🙂"
    assert read_json('"\ud83d\\ude42"') == "\ufffd\ufffd"  # the first half was unpaired before JSON was read
    assert read_json('"\\ud83d x \ude42 \\ude42\\ud83d"') == "\ufffd x \ufffd \ufffd\ufffd"
    assert write_json({"\ud83d": "\ude42"}, "x") == '{"\ufffd": "\ufffd"}'


class Level(IntEnum):
    HIGH = 3


def test_m_37_escapes_and_order() -> None:
    assert write_json("".join(map(chr, range(0x20))) + '"\\/\x7f\u2028é🙂<>&', "x") == (
        '"'
        + "".join({8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}.get(c, f"\\u{c:04x}") for c in range(0x20))
        + '\\"\\\\/\x7f\u2028é🙂<>&"'
    )
    assert write_json({"10": 1, "2": [], "a": {}}, "x") == '{"10": 1, "2": [], "a": {}}'


def test_m_38_values_of_the_host() -> None:
    assert write_json(MappingProxyType({"a": (1, Level.HIGH)}), "x") == '{"a": [1, 3]}'
    assert write_json(OrderedDict(b=1, a=True), "x") == '{"b": 1, "a": true}'
    assert refusal(write_json, {"a": [1, b"x"]}, "tools[0]") == {
        "code": "invalid_type",
        "field": "tools[0].a[1]",
        "expected": "a JSON value",
        "found": "bytes",
    }
    assert refusal(write_json, {1: 2}, "tools[0]") == {
        "code": "invalid_type",
        "field": "a key of tools[0]",
        "expected": "string",
        "found": "number",
    }


def test_text_of_another_type() -> None:
    assert refusal(read_json, 5) == {"code": "invalid_type", "field": "text", "expected": "string", "found": "number"}
