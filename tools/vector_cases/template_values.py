"""JSON values in prompts (contract/template.md, M-31 to M-37, M-54). The requests are JSON text, so that values stay as written."""

from __future__ import annotations

from tools.vector_cases.case import Case, Group, as_json

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {
    "json": "values written as the publisher writes them, text left as it is",
    "surrogates": "unpaired escapes (decisions D4)",
    "normalization": "the profiles differ",
}


def called(comment: str, arguments: str, clause: str, *flags: str) -> Case:
    """A call whose arguments are written into the request as they are."""
    request = '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "tool_calls": '
    inputs = {"request": f'{request}[{{"name": "f", "arguments": {arguments}}}]}}]}}'}
    return Case(comment, "render", inputs, clause, expect={}, flags=("json", *flags))


def numbers() -> Group:
    """M-32 and M-33: read as Python reads them, written as Python's repr."""
    integers = [
        ("integers", "[0, -1, 7, 4294967296]"),
        ("minus zero is zero", "[-0, 0]"),
        ("past 2^53", "[9007199254740992, 9007199254740993, -9007199254740993]"),
        ("past 2^64", "[18446744073709551616, 1180591620717411303424]"),
        ("700 digits", "[" + "1234567" * 100 + "]"),
    ]
    floats = [
        ("with a point", "[1.0, -0.0, 0.1, 3.14159265358979]"),
        ("exponents", "[1e5, 1E5, 1e+5, 10e-1, 1.5e300]"),
        ("where the exponent begins", "[1e15, 1e16, 123456789012345678.0, 1e21, 1e22]"),
        ("where the exponent begins, below 1", "[0.001, 0.0001, 0.00001, 1e-7]"),
        ("least ones", "[5e-324, 2.2250738585072014e-308, 2.4703282292062328e-324, 1e-400]"),
        ("greatest one", "[1.7976931348623157e308, 1.7976931348623158e308]"),
        ("digits beyond a float64", "[0.1000000000000000055511151231257827, 9007199254740993.0]"),
        ("halfway: ties to even", "[9007199254740993e0, 9007199254740995e0, 1.00000000000000011102230246251565]"),
        ("shortest repr", "[0.30000000000000004, 2.675, 1e23, 9.5367431640625e-7]"),
    ]
    cases = [called(f"integers: {comment}", f'{{"a": {text}}}', "M-32") for comment, text in integers]
    return Group("numbers", [*cases, *(called(f"floats: {comment}", f'{{"a": {text}}}', "M-33") for comment, text in floats)])


def texts() -> Group:
    """M-36 and M-37: escapes, order of keys, nesting."""
    deep = 123  # with the five levels of the request around it 128
    rows = [
        ("booleans and null", '{"a": true, "b": false, "c": null}', ()),
        ("empty containers", '{"a": {}, "b": [], "c": ""}', ()),
        ("nesting", '{"a": {"b": [{"c": [1, [2, [3]]]}]}}', ()),
        ("short escapes", '{"a": "\\b\\f\\n\\r\\t\\"\\\\\\/"}', ()),
        ("other controls, and DEL", '{"a": "\\u0000\\u001f\\u007f"}', ()),
        ("no escape for what Python writes plainly", '{"a": "\\u00e9\\u2028\\u2029\\ud83d\\ude00<>&\'"}', ()),
        ("keys in their order, integer-like ones too", '{"10": 1, "2": 2, "b": 3, "a": 4, "": 5}', ()),
        ("keys with escapes", '{"k\\n\\"": 1, "\\u00e9": 2}', ()),
        ("keys that some hosts treat otherwise", '{"__proto__": 1, "constructor": 2}', ()),
        ("white space of the request is not in the prompt", '{ "a"  :\n [ 1 ,\t2 ] }', ()),
        ("decomposed text", '{"e\\u0301": "e\\u0301"}', ("normalization",)),
    ]
    surrogates = [
        ("a pair of escapes is one scalar value", '{"a": "\\ud83d\\ude00"}'),
        ("unpaired escapes", '{"a": "\\ud83d x \\ude00"}'),
        ("low before high", '{"a": "\\ude00\\ud83d"}'),
        ("high, then a pair", '{"a": "\\ud83d\\ud83d\\ude00"}'),
        ("in a key", '{"\\ud83d": 1}'),
    ]
    cases = [called(comment, text, "M-37", *flags) for comment, text, flags in rows]
    cases.append(called("128 levels in all", '{"a":' * deep + "1" + "}" * deep, "M-31"))
    return Group("values", [*cases, *(called(comment, text, "M-36", "surrogates") for comment, text in surrogates)])


def verbatim() -> Group:
    """M-54: arguments that are text go in byte for byte."""
    rows = [
        ("no blanks", '{"a":1}'),
        ("blanks around", ' {"a" : 1} \n'),
        ("its own number text", '{"a": 1.50, "b": 1E5, "c": -0}'),
        ("its own escapes", '{"a": "\\u00e9\\/"}'),
        ("indented", '{\n  "a": [\n    1\n  ]\n}'),
        ("empty object", "{}"),
        ("CR LF around", '\r\n{"a": 1}\r\n'),
        ("an unpaired escape stays an escape", '{"a": "\\ud83d"}'),
    ]
    return Group("verbatim", [called(comment, as_json(text), "M-54") for comment, text in rows])


GROUPS = [numbers(), texts(), verbatim()]
