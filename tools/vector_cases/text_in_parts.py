"""Text that arrives in parts, and text that grows (contract/tokenizer.md, T-15 and T-16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools.vector_cases.case import Case, Group, text_input

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {
    "parts": "a cut between two parts, wherever it is, changes no id of the whole",
    "joint": "text that has other ids in two halves than in one",
    "inside": "cut inside a scalar value: its bytes wait for each other",
    "normalization": "what may still compose, or change its place, waits",
    "ill_formed": "a byte that begins nothing does not wait",
    "surrogates": "host strings cut inside a pair (decisions D4)",
    "special_text": "the text of a special token, cut, is text",
    "long": "pieces longer than any window",
    "closed": "what can still be asked after the end or a refusal",
    "limit": "a piece or a stretch that is longer than max_pretoken",
}

Part = str | bytes
END = "finish"
LIMIT = 256

# tok(A) + tok(B) is not tok(A + B): one of each kind that the joins of a chat and the pattern make.
JOINS: list[tuple[str, list[Part]]] = [
    ("two newlines", ["user\n", "\nhi"]),
    ("newline, then blanks and a newline", ["user\n", "  \n x"]),
    ("newlines, then a heading", ["system\n", "\n# Policy"]),
    ("full stop and newlines", ["terse.", "\n\n# Tools"]),
    ("newline before two more", ["system\n", "\n\n# Tools"]),
    ("tag and newline", ["<tools>", "\n"]),
    ("brackets and newline", ['{"a": {}}', "\n"]),
    ("blanks before the newline come later", ["\n", "  \nR"]),
    ("newline and newline", ["\n", "\n"]),
    ("quote and letters", ['"name": "', "_f"]),
    ("letters, full stop, quote", ["f.", '", "x']),
    ("space and bracket", ['"arguments": ', '{"a": 1}']),
    ("brackets that close", ["{}", "}\n"]),
    ("newlines, words, newline", ["<tool_response>\n", "\n\nresult", "\n</tool_response>"]),
    ("letters go on", ["Hel", "lo wor", "ld"]),
    ("eight parts become one token", [" SqlDataAdapte", "r"]),
    ("full stop and letters", ["example.", "com"]),
    ("apostrophe and s", ["it'", "s"]),
    ("apostrophe, l, l", ["we'", "l", "l"]),
    ("apostrophe and long s", ["it'", "\u017f"]),
    ("space and letter", ["x ", "y"]),
    ("two spaces: the second goes with the letter", ["x  ", "y"]),
    ("spaces and spaces", ["x  ", "   ", "y"]),
    ("punctuation and its newline", ["!\n", "\n"]),
    ("the last piece but one changes", ["x\n ", "\n"]),
    ("once more", ["x\n \n ", " \n"]),
    ("carriage return and line feed", ["a\r", "\nb"]),
    ("tab and letters", ["\t", "def"]),
    ("digits stay apart", ["1", "2", "34"]),
    ("Han", ["\u4f60", "\u597d", "\uff0c\u4e16", "\u754c"]),
]

COMPOSING: list[tuple[str, list[Part]]] = [
    ("letter and accent", ["e", "\u0301"]),
    ("letter, then two marks that change places", ["q", "\u0307", "\u0323x"]),
    ("composed letter and a lower mark", ["\u00e9", "\u0327", "!"]),
    ("a mark that is blocked", ["a\u0300", "\u0301"]),
    ("Hangul jamo", ["\u1100", "\u1161", "\u11a8", "!"]),
    ("syllable and trailing consonant", ["\uac00", "\u11a8"]),
    ("a starter that composes with the one before", ["\u09c7", "\u09be"]),
    ("three starters", ["\u0cc6", "\u0cc2", "\u0cd5"]),
    ("singleton", ["5 \u212b", " \u2126", "."]),
    ("decomposed and not composed again", ["\u0958", "\u0958"]),
    ("marks of three classes in twenty parts", ["a", *["\u0301", "\u0323", "\u0338"] * 6, "b"]),
    ("mark after a newline", ["a\n", "\u0301"]),
    ("joiner between", ["e\u200d", "\u0301"]),
    ("marks of newer Unicode are starters", ["x\u0898", "\u0334"]),
]

BROKEN: list[tuple[str, list[Part]]] = [
    ("a lead and its tail apart", [b"\xe4", b"\xbd\xa0"]),
    ("three cuts in four bytes", [b"\xf0", b"\x9f", b"\x98", b"\x80"]),
    ("a lead, then a letter", [b"\xe4", b"a"]),
    ("a lead at the end", [b"a\xe4\xbd"]),
    ("two of three bytes, then a lead", [b"\xe4\xbd", b"\xe4\xbd\xa0"]),
    ("continuation first", [b"\x80", b"\xbf"]),
    ("FF between words", [b"ab", b"\xff", b"cd"]),
    ("overlong, cut", [b"\xc0", b"\xaf"]),
    ("surrogate, cut", [b"\xed", b"\xa0\x80"]),
    ("letter, ill-formed byte, accent", [b"e", b"\xff", b"\xcc\x81"]),
    ("letter, half an accent, its other half", [b"e\xcc", b"\x81"]),
    ("space before an ill-formed byte", [b" ", b"\xff\n", b"\n"]),
]

SURROGATES: list[tuple[str, list[Part]]] = [
    ("a pair is cut: one scalar value", ["a\ud83d", "\ude00b"]),
    ("a high surrogate is the last", ["a\ud83d"]),
    ("two high surrogates", ["\ud83d", "\ud83d", "\ude00"]),
    ("a low one first", ["\ude00", "\ud83d"]),
    ("bytes after a high surrogate: U+FFFD", ["\ud83d", b"x"]),
    ("nothing between the halves", ["\ud83d", "", "\ude00"]),
]


def chunks(comment: str, parts: Sequence[Part], *flags: str, end: bool = True, **limits: int) -> Case:
    """One row: the parts, and the end."""
    calls: list[Any] = [END if part == END else text_input(part) for part in parts]
    return Case(comment, "chunks", {"parts": [*calls, END] if end else calls, **limits}, "T-15", flags=flags)


def append(comment: str, parts: Sequence[Part], *flags: str, **limits: int) -> Case:
    """One row: the parts."""
    return Case(comment, "append", {"parts": [text_input(part) for part in parts], **limits}, "T-16", flags=flags)


def every_cut() -> Group:
    """Short texts in two parts, cut at every byte, and byte by byte."""
    texts = [
        ("words", "I'll go"),
        ("an emoji and a mark", "\U0001f600e\u0301"),
        ("newlines", "x\n \n y"),
        ("a special token", "<|im_end|>"),
        ("Hangul jamo", "\u1112\u1161\u11ab"),
    ]
    cases = []
    for comment, text in texts:
        data = text.encode()
        cases += [chunks(f"{comment}: {cut} bytes first", [data[:cut], data[cut:]], "parts") for cut in range(1, len(data))]
        cases.append(chunks(f"{comment}: byte by byte", [data[at : at + 1] for at in range(len(data))], "parts", "inside"))
    return Group("parts-cut", cases)


def in_parts() -> Group:
    """Each join, composition and damage, in the parts that it is about."""
    cases = [chunks(comment, parts, "parts", "joint") for comment, parts in JOINS]
    cases += [chunks(comment, parts, "parts", "normalization") for comment, parts in COMPOSING]
    cases += [chunks(comment, parts, "parts", "ill_formed") for comment, parts in BROKEN]
    cases += [chunks(comment, parts, "parts", "surrogates") for comment, parts in SURROGATES]
    cases += [
        chunks("nothing", [], "parts"),
        chunks("empty parts", ["", "a", "", "b", ""], "parts"),
        chunks("a special token in three parts", ["<|im_", "end", "|>"], "parts", "special_text"),
        chunks("letters, 400 of them in four parts", ["ab" * 50] * 4, "parts", "long"),
        chunks("spaces, 400 of them in four parts, then a letter", [" " * 100] * 4 + ["x"], "parts", "long"),
        chunks("blank lines, 200 of them in four parts", [" \n" * 50] * 4 + ["x"], "parts", "long"),
        chunks("marks, 200 of them in four parts", ["a", *["\u0301" * 50] * 4, "b"], "parts", "long", "normalization"),
    ]
    return Group("parts", cases)


def ends() -> Group:
    """What is said after the end, and where a piece is too long."""
    long_piece = [chunks("a piece that is too long", ["x " + "a" * 250, "a" * 6, "a", "b"], "limit", "closed", max_pretoken=LIMIT)]
    long_piece += [
        chunks("a piece of exactly the limit", ["a" * 250, "a" * 6], "limit", max_pretoken=LIMIT),
        chunks("too long in its first part", ["ab 12 " + " " * 300, "x"], "limit", "closed", max_pretoken=LIMIT),
        chunks("a run of marks that is too long", ["xe", "\u0301" * 100, "\u0301" * 100, "x"], "limit", "closed", max_pretoken=LIMIT),
        chunks("jamo that are one stretch", ["x\u1100", "\u1161" * 50, "\u1161" * 50], "limit", "closed", max_pretoken=LIMIT),
        chunks("many pieces under the limit", ["a " * 200, "b " * 200], "limit", max_pretoken=LIMIT),
    ]
    long_piece += [
        chunks(f"{count} marks: refused with the part that shows it", ["e" + "\u0301" * count, "x"], "limit", max_pretoken=LIMIT)
        for count in (128, 129)
    ]
    calls = [
        chunks("a part after the end", ["a", END, "b"], "closed", end=False),
        chunks("the end twice", ["a", END, END], "closed", end=False),
        chunks("nothing after the end", [END, ""], "closed", end=False),
    ]
    return Group("parts-end", [*calls, *long_piece])


def growing() -> Group:
    """The ids of all that was appended so far, as what stays and what comes."""
    cases = [append(comment, parts, "joint") for comment, parts in JOINS]
    cases += [append(comment, parts, "normalization") for comment, parts in COMPOSING]
    cases += [append(comment, parts, "ill_formed") for comment, parts in BROKEN]
    cases += [
        append("a pair of surrogates is cut: each part is a text of its own", ["a\ud83d", "\ude00b"], "surrogates"),
        append("nothing", [""], "parts"),
        append("nothing, text, nothing", ["", "Hello", "", " world", ""], "parts"),
        append("letter by letter", list("don't panic!"), "parts"),
        append("a special token", ["<|im_", "end", "|>"], "special_text"),
        append("spaces grow", [" " * 30] * 4 + ["x"], "long"),
        append("a piece that is too long: the text stays", ["x ", "a" * 300, "y", "a" * 254, "a", "a", "."], "limit", max_pretoken=LIMIT),
        append("a run of marks that is too long: the text stays", ["xe", "\u0301" * 200, "y"], "limit", max_pretoken=LIMIT),
    ]
    return Group("append", cases)


GROUPS = [every_cut(), in_parts(), ends(), growing()]
