"""Normalisation in profile publisher, and its absence in profile contract (contract/normalization.md)."""

from __future__ import annotations

from tools.vector_cases.case import Case, Group, text_input
from tools.vector_cases.text import FLAGS as TEXT_FLAGS
from tools.vector_cases.text import group

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {name: TEXT_FLAGS[name] for name in ("normalization", "unicode_version")} | {
    "offsets": "ranges count bytes of the caller's text, also where normalisation changed it"
}

# Marks that Unicode 10.0 or later gave a combining class: one of each block that has some.
NEWER_MARKS = [
    0x07FD,
    0x0898,
    0x08D3,
    0x0C3C,
    0x0EBA,
    0x1ABF,
    0x1DF6,
    0xA82C,
    0x10D24,
    0x10EAB,
    0x10F46,
    0x1193D,
    0x11D42,
    0x1E130,
    0x1E2EC,
    0x1E4EC,
]


def composing() -> Group:
    """What composes, decomposes and changes order."""
    rows = [
        ("letter and acute", "e\u0301"),
        ("composed already", "\u00e9"),
        ("two marks in the wrong order", "q\u0307\u0323"),
        ("marks that compose one after the other", "s\u0323\u0307"),
        ("the same in the other order", "s\u0307\u0323"),
        ("composed letter and a lower mark: decomposed and composed anew", "\u00e9\u0327"),
        ("a mark that is blocked by one of its own class", "a\u0300\u0301"),
        ("a mark that passes one of a lower class", "a\u0323\u0300"),
        ("singleton: OHM SIGN", "\u2126"),
        ("singleton: ANGSTROM SIGN", "\u212b"),
        ("singleton: KELVIN SIGN, a letter becomes another", "\u212a"),
        ("KELVIN SIGN where a contraction could be", "I'\u212a\u017f"),
        ("excluded from composition: U+0958", "\u0958"),
        ("excluded from composition: two parts stay two", "\u0915\u093c"),
        ("U+0344 decomposes into two marks", "\u0344"),
        ("Hebrew presentation form", "\ufb1d"),
        ("Hangul of two jamo", "\u1100\u1161"),
        ("Hangul of three jamo", "\u1100\u1161\u11a8"),
        ("syllable and trailing consonant", "\uac00\u11a8"),
        ("syllable with a trailing consonant takes no other", "\uac01\u11a8"),
        ("jamo outside the arithmetic", "\u1113\u1161"),
        ("first and last trailing consonant, and one past them", "\uac00\u11a7 \uac00\u11c2 \uac00\u11c3"),
        ("Bengali vowel of two parts: a starter composes", "\u09c7\u09be"),
        ("Tamil vowel of two parts", "\u0bc6\u0bbe"),
        ("kana and voiced mark", "\u304b\u3099"),
        ("half-width kana does not compose", "\uff76\uff9e"),
        ("ligature is compatibility only", "\ufb01"),
        ("full-width letters are compatibility only", "\uff21\uff22"),
        ("superscript is compatibility only", "x\u00b2"),
        ("CJK compatibility ideograph is a singleton", "\uf900\ufa0e"),
        ("CJK compatibility ideograph of plane 2", "\U0002f800"),
        ("musical symbols decompose and stay so", "\U0001d15e"),
        ("mark before any starter", "\u0301e\u0301"),
        ("mark after a newline composes with nothing", "a\n\u0301"),
        ("mark after a space", "a \u0301"),
        ("joiner between: nothing composes", "e\u200d\u0301"),
        ("combining grapheme joiner keeps the order", "a\u0315\u034f\u0300"),
        ("NUL between", "e\x00\u0301"),
        ("thirty marks of three classes, in the wrong order", "a" + "\u0301\u0323\u0338" * 10),
        ("a long text without anything to do", "The quick brown fox. " * 20),
        ("composition makes another word", "caf" + "e\u0301" + " na" + "i\u0308" + "ve"),
        ("Greek with three marks", "\u03b1\u0313\u0301\u0345"),
        ("Vietnamese, decomposed", "Vie\u0323\u0302t Nam"),
        ("a composite that composes again with a starter mark", "\u0cc6\u0cc2\u0cd5"),
        ("Tibetan vowel: excluded", "\u0f73\u0f75"),
        ("surrogate code units: U+FFFD composes with nothing", "e\ud800\u0301"),
    ]
    return group("nfc", "T-3", rows, "normalization")


def newer_marks() -> Group:
    """The tables are older than the letters: marks added since Unicode 10 are starters here."""
    rows = [("U+11930 does not compose with U+11935", "\U00011935\U00011930"), ("U+11938 does not decompose", "\U00011938")]
    rows += [(f"U+{code:04X} is no mark, so U+0334 does not go before it", f"x{chr(code)}\u0334") for code in NEWER_MARKS]
    rows += [
        (f"U+{code:04X} neither decomposes nor is composed", f"{chr(code)}x")
        for code in (0x105C9, 0x105E4, 0x11383, 0x11385, 0x1138E, 0x11391, 0x113C5, 0x113C7, 0x16121, 0x16128, 0x16D68, 0x16D6A)
    ]
    return group("tables", "T-3", rows, "normalization", "unicode_version")


def by_hand(comment: str, text: str, spans: list[tuple[int, int]], ids: list[int]) -> Case:
    """A row of offsets in profile publisher, written from contract/normalization.md."""
    expect = {"spans": [[token_id, start, end] for token_id, (start, end) in zip(ids, spans, strict=True)]}
    return Case(comment, "encode_spans", text_input(text), "T-9", expect, profile="publisher", flags=("normalization", "offsets"))


def offsets_by_hand() -> Group:
    """Ranges that follow from the rules of the page, one rule a row."""
    cases = [
        by_hand("a composite has the range of all that was drawn in", "e\u0301", [(0, 3)], [963]),
        by_hand("what stands unchanged maps byte by byte", "\u00e9a", [(0, 2), (2, 3)], [963, 64]),
        by_hand("parts of a decomposed scalar value have its range", "\u0958", [(0, 3), (0, 3), (0, 3)], [64704, 5502, 120]),
    ]
    return Group("ranges", cases)


def offsets() -> Group:
    """Ranges in both profiles; where normalisation changes the text they are the reference's."""
    texts: list[tuple[str, str | bytes]] = [
        ("ASCII", "Hello, world"),
        ("tokens of several bytes", "\u4f60\u597d \U0001f600"),
        ("a scalar value of several tokens: each has its own bytes", "\U0001fae1\U0001fae1"),
        ("composition inside a word", "xe\u0301y"),
        ("composed letter and a lower mark", "\u00e9\u0327"),
        ("marks that change places", "q\u0307\u0323x"),
        ("Hangul jamo become one token", "\u1100\u1161\u11a8!"),
        ("decomposed and not composed again", "a\u0958b"),
        ("singleton", "5 \u212b and 3 \u2126"),
        ("white space and newlines", "a \n\n  b"),
        ("NUL and invisible", "\x00\u200d\ufeff"),
        ("special-token text is text", "a<|im_end|>b"),
        ("nothing", ""),
        ("surrogate: the range counts the three bytes of U+FFFD", "a\ud83db"),
        ("surrogate pair", "\ud83d\ude00!"),
        ("thirty marks", "a" + "\u0301\u0323" * 15),
        ("ill-formed bytes", b"a\xff\xfeb \xe4\xbd"),
        ("composition beside an ill-formed byte", b"\xcc\x81\xffe\xcc\x81"),
        ("mark after an ill-formed byte", b"e\x80\xcc\x81"),
    ]
    cases = [Case(comment, "encode_spans", text_input(text), "T-9", flags=("offsets",)) for comment, text in texts]
    return Group("offsets", cases)


GROUPS = [composing(), newer_marks(), offsets_by_hand(), offsets()]
