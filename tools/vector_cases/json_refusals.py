"""Requests whose JSON is refused, by hand from contract/template.md (M-30 to M-36)."""

from __future__ import annotations

from tools.vector_cases.case import Case, Group
from tools.vector_cases.template_refusals import Row, refused

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {"json": "JSON that is read in one way only, with the same words of refusal on every host"}

HEAD = '{"messages": [{"role": "user", "content": "q"}], "tools": ['
# 124 objects inside the five levels of a request.
DEEP = (
    '{"messages": [{"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": '
    + '{"a":' * 124
    + "1"
    + "}" * 124
    + "}]}]}"
)


def invalid(comment: str, text: str, reason: str, column: int, line: int = 1) -> Case:
    """A row of ``json_invalid``."""
    row: Row = ("M-31" if "deeper" in reason else "M-30", comment, text, "json_invalid", {"reason": reason, "line": line, "column": column})
    return refused(row, "json")


def twice(comment: str, text: str, key: str) -> Case:
    """A row of ``json_duplicate_key``."""
    return refused(("M-35", comment, text, "json_duplicate_key", {"key": key}), "json")


def no_number(comment: str, text: str, found: str) -> Case:
    """A row of ``json_number``."""
    return refused(("M-34", comment, text, "json_number", {"found": found}), "json")


def grammar() -> Group:
    """What RFC 8259 does not have."""
    return Group(
        "refuse-json",
        [
            invalid("nothing", "", "value expected", 1),
            invalid("not closed", '{"messages": [', "value expected", 15),
            invalid("text after the value", "{} x", "end of the text expected", 4),
            invalid("no key", "{1: 2}", "string expected as key", 2),
            invalid("no colon", '{"a" 1}', "':' expected", 6),
            invalid("no comma in an object", '{"a": 1 "b": 2}', "',' or '}' expected", 9),
            invalid("no comma in an array", "[1 2]", "',' or ']' expected", 4),
            invalid("a comma too many", "[1,]", "value expected", 4),
            invalid("string not closed", '{"a": "x', "string is not closed", 9),
            invalid("unknown escape", '["\\x41"]', "unknown escape in a string", 3),
            invalid("short escape", '["\\u12"]', "unknown escape in a string", 3),
            invalid("tab in a string", '["\t"]', "control character in a string", 3),
            invalid("lines and columns from 1, columns in scalar values", '{\n "\U0001f600\u00e9": x', "value expected", 8, 2),
            invalid("leading zero", "[01]", "',' or ']' expected", 3),
            invalid("plus sign", "[+1]", "value expected", 2),
            invalid("a point without digits", "[1.]", "',' or ']' expected", 3),
            invalid("comment", "[1 /* x */]", "',' or ']' expected", 4),
            invalid("129 levels", "[" * 129 + "]" * 129, "nested deeper than 128 levels", 129),
            invalid("129 levels, five of them around the arguments", DEEP, "nested deeper than 128 levels", DEEP.rindex("{") + 1),
            no_number("NaN", "[NaN]", "NaN"),
            no_number("-Infinity", "[-Infinity]", "-Infinity"),
            no_number("overflow", HEAD + '{"a": 1e309}]}', "1e309"),
            no_number("overflow by rounding", HEAD + '{"a": 1.7976931348623159e308}]}', "1.7976931348623159e308"),
            twice("a key twice in the request", '{"messages": [], "messages": []}', "messages"),
            twice("a key twice in a tool", HEAD + '{"a": 1, "a": 1}]}', "a"),
            twice("a key twice, once by an escape", HEAD + '{"\\u00e9": 1, "\u00e9": 1}]}', "\u00e9"),
            twice("two keys that are one as U+FFFD", HEAD + '{"\\ud800": 1, "\\udfff": 1}]}', "\ufffd"),
        ],
    )


GROUPS = [grammar()]
