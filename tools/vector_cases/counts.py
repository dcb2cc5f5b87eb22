"""Counting, memory of the caller, units of offsets, and the limit on a piece (contract/tokenizer.md, T-13, T-14 and T-17)."""

from __future__ import annotations

from tools.vector_cases.case import Case, Group, text_input

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {
    "count": "the number of ids without the ids",
    "memory": "ids in memory of the caller, and no more is written than there is room for",
    "units": "ranges in characters of a Python str and in units of a JavaScript or .NET string",
    "limit": "pieces of the limit and one byte more",
    "normalization": "what normalisation does to a count, a range or a limit",
    "ill_formed": "bytes that are not UTF-8",
    "surrogates": "host strings that are not well formed (decisions D4)",
}

Text = str | bytes
LIMIT = 256
ACUTE = "\u0301"

TEXTS: list[tuple[str, Text, tuple[str, ...]]] = [
    ("nothing", "", ()),
    ("one word", "Hello", ()),
    ("words", "Hello, world! It's 12:30.", ()),
    ("a scalar value of several tokens", "\U0001fae1", ()),
    ("text of a special token", "<|im_end|>", ()),
    ("a letter and an accent", "e\u0301", ("normalization",)),
    ("jamo that become a syllable", "\u1112\u1161\u11ab", ("normalization",)),
    ("one byte becomes several: decomposed and not composed again", "\u0958\u0958", ("normalization",)),
    ("ill-formed bytes", b"a\xff\xe4\xbd", ("ill_formed",)),
    ("surrogate", "\ud83d!", ("surrogates",)),
    ("a long piece", "ab" * 400, ()),
    ("many pieces", "a 1 \n" * 200, ()),
]


def counted() -> Group:
    """``count``."""
    return Group("count", [Case(comment, "count", text_input(text), "T-17", flags=("count", *flags)) for comment, text, flags in TEXTS])


def counted_until() -> Group:
    """``count_until``: null above the limit."""
    rows: list[tuple[str, Text, int]] = [
        ("nothing, and none allowed", "", 0),
        ("one, and none allowed", "a", 0),
        ("as many as allowed", "Hello, world", 3),
        ("one more", "Hello, world", 2),
        ("fewer", "Hello, world", 4),
        ("no limit that counts", "Hello, world", 2**53 - 1),
        ("the last piece passes it", "a b c 123", 7),
        ("a long piece passes it", "x " + "ab" * 2000, 100),
        ("far above it", "a 1 \n" * 2000, 10),
        ("just at it, over many blocks", "word " * 2000, 2001),
        ("ill-formed bytes", b"\xff\xfe\xfd", 3),
    ]
    cases = [Case(comment, "count_until", {**text_input(text), "limit": limit}, "T-17", flags=("count",)) for comment, text, limit in rows]
    composed = {"text": "e\u0301", "limit": 1}
    return Group("count-until", [*cases, Case("composed it is one", "count_until", composed, "T-17", flags=("count", "normalization"))])


def into_memory() -> Group:
    """``encode_into``: null where nothing was written."""
    rows: list[tuple[str, Text, int]] = [
        ("more room than ids", "Hello, world", 5),
        ("exactly enough", "Hello, world", 3),
        ("nothing in no room", "", 0),
        ("nothing, and room", "", 2),
        ("composition", "e\u0301e\u0301", 4),
    ]
    cases = [Case(comment, "encode_into", {**text_input(text), "room": room}, "T-17", flags=("memory",)) for comment, text, room in rows]
    for comment, text, room, needed in (("one too few", "Hello, world", 2, 3), ("no room", "a b c 123", 0, 7)):
        error = ("output_too_small", {"needed": needed, "found": room})
        cases.append(Case(comment, "encode_into", {"text": text, "room": room}, "T-17", error=error, flags=("memory",)))
    return Group("into", cases)


def in_units() -> Group:
    """``encode_spans`` in each unit."""
    rows: list[tuple[str, Text, tuple[str, ...]]] = [
        ("ASCII: all units are alike", "Hello, world", ()),
        ("two and three bytes", "na\u00efve \u4f60\u597d", ()),
        ("four bytes are two units of UTF-16", "\U0001f600 \U0001f600x", ()),
        ("a scalar value of several tokens: each has all of it", "a\U0001fae1b", ()),
        ("a token ends inside a scalar value", "\ubdc1\uc3d8", ()),
        ("letters of plane 2", "\U0002a6df\u4e2d\U00020000", ()),
        ("an emoji of seven scalar values", "x\U0001f468\u200d\U0001f469\u200d\U0001f467y", ()),
        ("NUL and marks of direction", "\x00\u200e\ufeff!", ()),
        ("composition", "xe\u0301y", ("normalization",)),
        ("marks that change places", "q\u0307\u0323\U0001f600", ("normalization",)),
        ("decomposed and not composed again", "\U0001d15ex\u0958", ("normalization",)),
        ("surrogate: U+FFFD is one unit", "a\ud83db", ("surrogates",)),
        ("ill-formed bytes: a character each", b"a\xff\xfeb", ("ill_formed",)),
        ("half a scalar value is one character", b"a\xe4\xbdb\xf0\x9f\x98", ("ill_formed",)),
        ("overlong forms and surrogates: a character for each byte", b"\xc0\xaf\xed\xa0\x80", ("ill_formed",)),
        ("nothing", "", ()),
    ]
    cases = []
    for unit in ("code_points", "utf16"):
        for comment, text, flags in rows:
            inputs = {**text_input(text), "unit": unit}
            cases.append(Case(f"{unit}: {comment}", "encode_spans", inputs, "T-14", flags=("units", *flags)))
    whole = Case("bytes by name", "encode_spans", {"text": "\u4f60 \U0001fae1", "unit": "bytes"}, "T-14", flags=("units",))
    return Group("units", [*cases, whole])


def limits() -> Group:
    """Each kind of piece at the limit and above; where the first begins that is above."""
    rows: list[tuple[str, str, int | None]] = [
        ("letters", "a" * LIMIT, None),
        ("one letter more", "a" * (LIMIT + 1), 0),
        ("letters, then a space: the byte that ends a piece does not count", "a" * LIMIT + " b", None),
        ("not the first piece", "ab 1 " + "c" * 300, 4),
        ("the first of two", "x" * 300 + " " + "y" * 400, 0),
        ("spaces: those of the look-ahead count", " " * 300 + "x", 0),
        ("spaces of the limit before a letter", " " * LIMIT + "x", None),
        ("newlines", "\n" * 300, 0),
        ("a short piece for whose end too much has to be looked at", "x\n" + " " * 300, 1),
        ("punctuation", "a" + "=" * 300, 1),
        ("letters of three bytes", "\u4e2d" * 85, None),
        ("one more of them", "\u4e2d" * 86, 0),
        ("digits are pieces of their own", "1" * 1000, None),
        ("many pieces", "word " * 200, None),
    ]
    cases = []
    for comment, text, start in rows:
        error = ("pretoken_too_long", {"start": start, "limit": LIMIT}) if start is not None else None
        cases.append(Case(comment, "encode", {"text": text, "max_pretoken": LIMIT}, "T-13", error=error, flags=("limit",)))
    return Group("limit", [*cases, *limits_of_stretches(), *limits_of_other_calls()])


def limits_of_stretches() -> list[Case]:
    """What counts in profile ``publisher``, before and after normalisation."""
    rows: list[tuple[str, str, str, int | None]] = [
        ("publisher", "a stretch whose last mark begins at the limit", "xa" + ACUTE * 128, None),
        ("publisher", "one mark more", "xa" + ACUTE * 129, 1),
        ("contract", "the same: the marks are the piece", "xa" + ACUTE * 128, None),
        ("contract", "one mark more", "xa" + ACUTE * 129, 2),
        ("publisher", "start counts bytes after normalisation", "e" + ACUTE + " " + "b" * 300, 2),
        ("contract", "start counts bytes of the text", "e" + ACUTE + " " + "b" * 300, 3),
        ("publisher", "a piece that composition makes short enough", ("e" + ACUTE) * 128, None),
        ("publisher", "a piece before a stretch", "c" * 300 + " a" + ACUTE * 200, 0),
        ("publisher", "a stretch before a piece", "a" + ACUTE * 200 + " " + "c" * 300, 0),
        ("publisher", "jamo that never part", "\u1100" + "\u1161" * 100, 0),
    ]
    cases = []
    for profile, comment, text, start in rows:
        error = ("pretoken_too_long", {"start": start, "limit": LIMIT}) if start is not None else None
        inputs = {"text": text, "max_pretoken": LIMIT}
        cases.append(Case(comment, "encode", inputs, "T-13", error=error, profile=profile, flags=("limit", "normalization")))
    return cases


def limits_of_other_calls() -> list[Case]:
    """The same refusal in other calls, and limits that are none."""
    text = "ab " + "c" * 300
    error = ("pretoken_too_long", {"start": 2, "limit": LIMIT})
    cases = [
        Case("count", "count", {"text": text, "max_pretoken": LIMIT}, "T-13", error=error, flags=("limit",)),
        Case("count_until", "count_until", {"text": text, "limit": 5, "max_pretoken": LIMIT}, "T-13", error=error, flags=("limit",)),
        Case("encode_spans", "encode_spans", {"text": text, "max_pretoken": LIMIT}, "T-13", error=error, flags=("limit",)),
        Case("encode_into", "encode_into", {"text": text, "room": 0, "max_pretoken": LIMIT}, "T-13", error=error, flags=("limit",)),
    ]
    for found in (255, 0, 2**31):
        refused = ("limit_out_of_range", {"found": found, "minimum": 256, "maximum": 2**31 - 1})
        inputs = {"text": "a", "max_pretoken": found}
        cases.append(Case(f"max_pretoken {found}", "encode", inputs, "T-13", error=refused, flags=("limit",)))
    late = {"text": "a 1 2 3 " + "c" * 300, "limit": 2, "max_pretoken": LIMIT}
    passed = {"count": None}
    cases.append(Case("passed before the piece that is too long", "count_until", late, "T-17", passed, flags=("count", "limit")))
    cases.append(
        Case("marks after it", "count_until", {**late, "text": "a 1 2 3 e" + ACUTE * 300}, "T-17", passed, flags=("count", "limit"))
    )
    error = ("pretoken_too_long", {"start": 7, "limit": LIMIT})
    cases.append(Case("not passed before it", "count_until", {**late, "limit": 7}, "T-17", error=error, flags=("count", "limit")))
    return cases


GROUPS = [counted(), counted_until(), into_memory(), in_units(), limits()]
