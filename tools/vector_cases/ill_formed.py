"""Bytes that are not UTF-8: every way to break Unicode's table 3-7 (contract/tokenizer.md, T-2 and T-4)."""

from __future__ import annotations

from tools.vector_cases.case import Case, Group, text_input

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {
    "ill_formed": "a byte that is part of no well-formed scalar value is a symbol of its own and keeps its value",
    "normalization": "composition does not reach over an ill-formed byte",
}

# Every row of table 3-7: its name, its least and its greatest scalar value.
ROWS = [
    ("two bytes", "\u0080", "\u07ff"),
    ("three bytes, lead E0", "\u0800", "\u0fff"),
    ("three bytes, leads E1 to EC", "\u1000", "\ucfff"),
    ("three bytes, lead ED", "\ud000", "\ud7ff"),
    ("three bytes, leads EE and EF", "\ue000", "\uffff"),
    ("four bytes, lead F0", "\U00010000", "\U0003ffff"),
    ("four bytes, leads F1 to F3", "\U00040000", "\U000fffff"),
    ("four bytes, lead F4", "\U00100000", "\U0010ffff"),
]


def encode(comment: str, data: bytes, *flags: str) -> Case:
    """One row."""
    return Case(comment, "encode", text_input(data), "T-2", flags=("ill_formed", *flags))


def cut_short() -> Group:
    """Each row of the table, cut after each byte, at the end and before more text."""
    cases = []
    for name, low, high in ROWS:
        for length in range(1, len(low.encode())):
            cases.append(encode(f"{name}: {length} of its bytes, at the end", high.encode()[:length]))
            cases.append(encode(f"{name}: {length} of its bytes, before a letter", b"x" + low.encode()[:length] + b"y"))
    return Group("bytes-cut", cases)


def out_of_range() -> Group:
    """A byte just outside what may follow, for each row, and leads that do not exist."""
    rows = [
        ("E0 80: an overlong form", b"\xe0\x80\x80"),
        ("E0 9F, one below the range", b"\xe0\x9f\xbf"),
        ("ED A0: the first surrogate", b"\xed\xa0\x80"),
        ("ED BF: the last surrogate", b"\xed\xbf\xbf"),
        ("a pair of surrogates as six bytes (CESU-8)", b"\xed\xa0\xbd\xed\xb8\x80"),
        ("F0 80: an overlong form", b"\xf0\x80\x80\x80"),
        ("F0 8F, one below the range", b"\xf0\x8f\xbf\xbf"),
        ("F4 90, above the last scalar value", b"\xf4\x90\x80\x80"),
        ("C0 80: overlong NUL", b"\xc0\x80"),
        ("C1 BF: overlong DEL", b"\xc1\xbf"),
        ("F5", b"\xf5\x80\x80\x80"),
        ("F7", b"\xf7\xbf\xbf\xbf"),
        ("F8: five bytes", b"\xf8\x88\x80\x80\x80"),
        ("FC: six bytes", b"\xfc\x84\x80\x80\x80\x80"),
        ("FE and FF", b"\xfe\xff"),
        ("continuation alone", b"\x80"),
        ("last continuation alone", b"\xbf"),
        ("64 continuations", bytes(range(0x80, 0xC0))),
        ("64 leads", bytes(range(0xC0, 0x100))),
        ("C2, then a byte below the range", b"\xc2\x7f"),
        ("C2, then a lead", b"\xc2\xc2\x80"),
        ("DF, then one above the range", b"\xdf\xc0"),
        ("E1, good, then a letter", b"\xe1\x80a"),
        ("E1, then C0", b"\xe1\xc0\x80"),
        ("EE, then 7F", b"\xee\x7f\x80"),
        ("F1, good, good, then a letter", b"\xf1\x80\x80a"),
        ("F1, good, then a lead", b"\xf1\x80\xe4\xbd\xa0"),
        ("F3, then C0", b"\xf3\xc0\x80\x80"),
        ("all 256 bytes", bytes(range(256))),
        ("all 256 bytes, falling", bytes(range(255, -1, -1))),
    ]
    return Group("bytes-outside", [encode(comment, data) for comment, data in rows])


def in_pieces() -> Group:
    """An ill-formed byte is no letter, no number and no white space."""
    rows = [
        ("goes with the letters after it", b"\xffabc"),
        ("ends a word", b"abc\xffdef"),
        ("takes the space before it", b" \xff"),
        ("takes the newlines after it", b"\xff\n\n\r\nx"),
        ("in a run of punctuation", b"!\xff!\xfe!"),
        ("two are one run", b"\xff\xfe\n"),
        ("the look-ahead sees it: spaces give one back", b"   \xff"),
        ("after a digit", b"1\xff2"),
        ("after an apostrophe: no contraction", b"'\xff's"),
        ("inside a contraction", b"'l\xffl"),
        ("half of U+3000 is no white space", b"a\xe3\x80b"),
        ("half of U+00A0", b"a\xc2 b"),
        ("half of U+017F after an apostrophe", b"'\xc5"),
        ("between the halves of a pair of letters that are one token", "\u4f60".encode() + b"\xff" + "\u597d".encode()),
        ("inside the text of a special token", b"<|im_\xffstart|>"),
        ("around the text of a special token", b"\xff<|im_start|>\xff"),
        ("Latin-1 text", "caf\u00e9 na\u00efve".encode("latin-1")),
        ("Shift JIS text", "\u65e5\u672c".encode("shift_jis")),
        ("UTF-16 text", "hi".encode("utf-16")),
        ("the head of a gzip file", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"),
        ("NUL and ill-formed bytes", b"\x00\x80\x00\xff\x00"),
        ("300 of one", b"\xff" * 300),
    ]
    return Group("bytes-pieces", [encode(comment, data) for comment, data in rows])


def composition() -> Group:
    """NFC runs between ill-formed bytes."""
    rows = [
        ("a mark after an ill-formed byte composes with nothing", b"e\xff\xcc\x81"),
        ("what stands before an ill-formed byte composes", b"e\xcc\x81\xff"),
        ("what stands after it composes", b"\xffe\xcc\x81"),
        ("a mark cut in half", b"e\xcc"),
        ("marks are not sorted past it", b"a\xcc\x81\x80\xcc\xa3"),
        ("Hangul jamo apart", b"\xe1\x84\x80\xff\xe1\x85\xa1"),
        ("a singleton beside it", b"\xe2\x84\xab\xff\xe2\x84\xa6"),
    ]
    return Group("bytes-apart", [encode(comment, data, "normalization") for comment, data in rows])


GROUPS = [cut_short(), out_of_range(), in_pieces(), composition()]
