"""The pattern compiler: what it compiles equals the publisher's regex engine, and what it does not it names."""

from __future__ import annotations

import random
from functools import cache

import pytest
from tokenizers import Regex, pre_tokenizers

from documents import FRAGMENTS, run
from slm2.artifact.pretokenizer import Dfa, pieces
from slm2.compiler import compile_pattern, unicode
from slm2.errors import Slm2Error

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA_3 = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)
GPT_4O = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PRIORITY = r"ab|abc|[a-c]|[^a-c]{2}|[^a-c]"
PATTERNS = {"qwen": QWEN, "llama-3": LLAMA_3, "gpt-4o": GPT_4O, "gpt-2": GPT_2, "priority": PRIORITY}


@cache
def compiled(name: str) -> Dfa:
    return compile_pattern(PATTERNS[name])


def publisher_pieces(pattern: str, text: str) -> list[str]:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return [piece for piece, _ in split.pre_tokenize_str(text)] if text else []


def our_pieces(dfa: Dfa, text: str) -> list[str]:
    data = text.encode("utf-8")
    return [data[start:end].decode("utf-8") for start, end in pieces(dfa, data)]


@pytest.mark.parametrize("name", PATTERNS)
def test_pieces_equal_the_publishers_engine(name):
    rng = random.Random(f"pieces {name}")
    for _ in range(1500):
        text = "".join(run(rng) for _ in range(rng.randint(1, 8)))
        assert our_pieces(compiled(name), text) == publisher_pieces(PATTERNS[name], text), repr(text)


@pytest.mark.parametrize("name", ["qwen", "gpt-4o"])
def test_every_scalar_value_has_the_publishers_class(name):
    """Between letters, so that letters, marks, numbers, spaces and the rest all show."""
    scalars = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    for first in range(0, len(scalars), 4096):
        text = "".join(f"Aa{scalar}a1" for scalar in scalars[first : first + 4096])
        assert our_pieces(compiled(name), text) == publisher_pieces(PATTERNS[name], text), hex(first)


def test_priority_goes_before_length():
    assert our_pieces(compiled("priority"), "abc") == ["ab", "c"]
    assert our_pieces(compiled("qwen"), "'stuff") == ["'s", "tuff"]


def test_pieces_cover_every_byte_string():
    rng = random.Random(20261130)
    alphabet = [bytes([byte]) for byte in b"a \n's1\xe2\x82\xac\xf0\x9f\xc3\xa9\xff\xed\xa0"]
    for _ in range(20_000):
        data = b"".join(rng.choices(alphabet, k=rng.randint(1, 12)))
        spans = list(pieces(compiled("qwen"), data))
        assert [start for start, _ in spans] + [len(data)] == [0] + [end for _, end in spans]
        assert all(start < end for start, end in spans)


def ill_formed_as_symbol(data: bytes) -> str:
    """Text in which each ill-formed byte is a private-use character: no letter, no number, no white space."""
    return "".join(chr(0xE000 + ord(c) - 0xDC80) if "\udc80" <= c <= "\udcff" else c for c in data.decode("utf-8", "surrogateescape"))


def test_an_ill_formed_byte_counts_as_one_symbol():
    """Against the publisher's engine, with a private-use character in place of each ill-formed byte (decisions D2)."""
    rng = random.Random(7)
    bytes_of = [b"\x80", b"\xbf", b"\xc0", b"\xc3", b"\xe2", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xf4\x90", b"\xff"]
    for _ in range(4000):
        data = b"".join(rng.choice([*bytes_of, *(f.encode() for f in FRAGMENTS[:60])]) for _ in range(rng.randint(1, 9)))
        text = ill_formed_as_symbol(data)
        want = [len(piece) for piece in publisher_pieces(QWEN, text)]
        got = [len(ill_formed_as_symbol(data[start:end])) for start, end in pieces(compiled("qwen"), data)]
        # A piece never cuts a well-formed scalar value, so that both count the same characters.
        assert got == want, data


@pytest.mark.parametrize(
    ("pattern", "construct", "position"),
    [
        (r"\p{L}+?|.", "a lazy, possessive or double repeat", 6),
        (r"\p{L}++|\s", "a lazy, possessive or double repeat", 6),
        (r"(a)|b", "the group (a)", 0),
        (r"(?<=a)b", "the group (?<", 0),
        (r"(?=a)b", "the group (?=", 0),
        (r"^a", "the operator ^", 0),
        (r".", "the operator .", 0),
        (r"\w", r"the escape \w", 0),
        (r"\bx", r"the escape \b", 0),
        (r"\1", r"the escape \1", 0),
        (r"\p{Han}", "the property Han", 0),
        (r"\pL", "a property without braces", 0),
        (r"[a[b]]", "a nested class, an intersection or an empty class", 2),
        (r"[a&&b]", "a nested class, an intersection or an empty class", 2),
        (r"(?i:é)", "a case-insensitive character beyond ASCII", 4),
        (r"(?i:\p{L})", "a case-insensitive property", 4),
        (r"(?i:'ss)", "case-insensitive ss, which some scalar values fold to together", 4),
        (r"\s+(?!\S\S)", "a look-ahead over more than one scalar value", 3),
        (r"\s+(?!\S)a", "a look-ahead that does not end its alternative", 3),
        (r"a*|b", "an alternative that can match nothing", 0),
        (r"a{1000}", "the repeat {1000}", 1),
        (r"(?:a", "an unfinished construct", 4),
        (r"a)", "an unmatched )", 1),
        (r"[a", "an unfinished construct", 2),
        ("a\\", "an unfinished construct", 2),
        (r"a**", "a lazy, possessive or double repeat", 2),
    ],
)
def test_what_lies_outside_is_named(pattern, construct, position):
    with pytest.raises(Slm2Error) as caught:
        compile_pattern(pattern)
    assert caught.value.code == "pattern_unsupported"
    assert caught.value.fields == {"construct": construct, "position": position}


@pytest.mark.parametrize(("pattern", "example"), [("a", "00"), (r"\p{L}+|\s", "00"), ("[^a]|ab", "61")])
def test_a_pattern_must_match_everywhere(pattern, example):
    with pytest.raises(Slm2Error) as caught:
        compile_pattern(pattern)
    assert (caught.value.code, caught.value.fields) == ("pattern_not_total", {"example": example})


def test_the_tables_are_unicode_16():
    assert unicode.unicode_version() == "16.0.0"
    assert unicode.category("L").bit_count() == 141_028
    assert unicode.category("N").bit_count() == 1_911
    assert unicode.white_space().bit_count() == 25


def test_folding_to_ascii_is_unicodes():
    """Simple foldings to ASCII letters never change (Unicode's stability policy), so that the host's table is an oracle here."""
    for letter in "abcdefghijklmnopqrstuvwxyz":
        members = {chr(code) for first, last in unicode.runs(unicode.folded(letter)) for code in range(first, last + 1)}
        assert members == {chr(code) for code in range(0x110000) if chr(code).casefold() == letter}
