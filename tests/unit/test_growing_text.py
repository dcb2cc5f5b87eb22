"""Appending to an encoded text, where its ids are not those of its parts (contract/tokenizer.md, T-15 and T-16)."""

from __future__ import annotations

import pytest

import slm2
from slm2.contract import Contract, embedded
from slm2.engine import select
from slm2.errors import Slm2Error
from slm2.incremental import Delta

ENGINES = {name: select(name, embedded(), 256) for name in ("native", "reference")}
every_engine = pytest.mark.parametrize("name", ENGINES)

# tok(A) + tok(B) is not tok(A + B): each kind of join that a chat makes, with the ids of the whole as the publisher's program gives them.
JOINS = [
    (["user\n", "\nhi"], [872, 271, 6023]),
    (["user\n", "  \n x"], [872, 13887, 856]),
    (["system\n", "\n\n# Tools"], None),
    (["system\n", "\n# Policy"], [8948, 271, 2, 10974]),
    (["terse.", "\n\n# Tools"], None),
    (["<tools>", "\n"], None),
    (["}}", "\n"], [11248]),
    (["\n", "  \nR"], [13887, 49]),
    (["\n", "\n"], [271]),
    (["Done.", "\n"], None),
    (["Calling.", "\n"], None),
    (['"name": "', "_f"], None),
    (["f.", '", "x'], None),
    (['"arguments": ', '{"a": 1}'], None),
    (['"arguments": ', "{}", "}\n"], [1, 16370, 788, 4687, 532]),
    (["\n", "\n\nresult", "\n"], None),
    (["\n", '{"ok": true}', "\n"], None),
    (["assistant\n", "\nHi"], [77091, 271, 13048]),
    (["\n\n", "\nHi"], [1406, 13048]),
    ([" SqlDataAdapte", "r"], None),
    (["we'", "l", "l"], None),
    (["x\n ", "\n"], None),
    (["x  ", "y"], None),
]


def tokenizer(name: str, profile: str = "contract"):
    return Contract(ENGINES[name], profile).tokenizer


@every_engine
@pytest.mark.parametrize(("parts", "joint"), JOINS, ids=["+".join(map(repr, parts)) for parts, _ in JOINS])
def test_joins(name, parts, joint):
    encoder = tokenizer(name)
    apart = [token_id for part in parts for token_id in encoder.encode(part)]
    whole = encoder.encode("".join(parts))
    assert whole != apart
    assert joint is None or whole == joint
    text, chunks = encoder.encoded_text(parts[0]), encoder.chunks()
    for part in parts[1:]:
        text.append(part)
    assert text.ids == whole
    assert len(text) == len(whole)
    assert [token_id for part in parts for token_id in chunks.push(part)] + chunks.finish() == whole


@every_engine
def test_a_delta_says_what_stays(name):
    text = tokenizer(name).encoded_text("Hello wor")
    assert text.ids == [9707, 4099]
    assert text.append("ld") == Delta(1, [1879])
    assert text.ids == [9707, 1879]
    assert text.append("") == Delta(2, [])


@every_engine
def test_copies_go_their_own_ways(name):
    first = tokenizer(name).encoded_text("user\n")
    second = first.copy()
    first.append("\nhi")
    second.append("hi")
    assert first.ids == [872, 271, 6023]
    assert second.ids == [872, 198, 6023]
    given = first.ids
    given.clear()
    assert len(first) == 3


@every_engine
@pytest.mark.parametrize("profile", ["contract", "publisher"])
def test_a_refused_part_leaves_the_text_as_it_was(name, profile):
    encoder = tokenizer(name, profile)
    text = encoder.encoded_text("ab c")
    for _ in range(2):
        with pytest.raises(Slm2Error) as caught:
            text.append("c" * 300)
        assert (caught.value.code, caught.value.fields) == ("pretoken_too_long", {"start": 2, "limit": 256})
        assert text.ids == encoder.encode("ab c")
    with pytest.raises(Slm2Error, match="text"):
        text.append(5)
    text.append("d e")
    assert text.ids == encoder.encode("ab cd e")


@every_engine
def test_a_refused_part_closes_a_text_in_parts(name):
    chunks = tokenizer(name).chunks()
    assert chunks.push("ab c") == tokenizer(name).encode("ab")
    assert chunks.pending == 2
    with pytest.raises(Slm2Error) as caught:
        chunks.push(b"c" * 300)
    assert (caught.value.code, caught.value.fields) == ("pretoken_too_long", {"start": 2, "limit": 256})
    for call in (chunks.finish, lambda: chunks.push("x"), lambda: chunks.push("")):
        with pytest.raises(Slm2Error) as caught:
            call()
        assert caught.value.code == "text_closed"


@every_engine
def test_host_strings_cut_inside_a_pair(name):
    chunks = tokenizer(name).chunks()
    ids = chunks.push("a\ud83d") + chunks.push("") + chunks.push("\ude00b\ud83d") + chunks.push(b"c\xf0\x9f") + chunks.push(b"\x98\x80")
    assert ids + chunks.finish() == tokenizer(name).encode("a\U0001f600b\ufffdc\U0001f600")
    chunks = tokenizer(name).chunks()
    assert chunks.push("\ud83d") + chunks.finish() == tokenizer(name).encode("\ufffd")


@pytest.mark.parametrize("limit", [-1, 0, 255, 2**31, 2**32 + 256, 2**70])
@every_engine
def test_limits_that_are_none(name, limit):
    with pytest.raises(Slm2Error) as caught:
        slm2.load(engine=name, max_pretoken=limit)
    assert (caught.value.code, caught.value.fields) == ("limit_out_of_range", {"found": limit, "minimum": 256, "maximum": 2**31 - 1})


@every_engine
def test_the_largest_limit_costs_nothing_before_it_is_needed(name):
    assert slm2.load(engine=name, max_pretoken=2**31 - 1).engine.max_pretoken == 2**31 - 1
    with pytest.raises(Slm2Error, match="max_pretoken"):
        slm2.load(engine=name, max_pretoken="256")


@every_engine
def test_limits_of_a_count(name):
    encoder = tokenizer(name)
    assert [encoder.count_until("a b c", limit) for limit in (0, 2, 3, 2**80)] == [None, None, 3, 3]
    for limit, code in ((-1, "invalid_value"), (1.5, "invalid_type"), ("3", "invalid_type")):
        with pytest.raises(Slm2Error) as caught:
            encoder.count_until("a", limit)
        assert caught.value.code == code
    for unit in ("chars", "", None, ["bytes"]):
        with pytest.raises(Slm2Error) as caught:
            encoder.encode_spans("a", unit=unit)
        assert caught.value.code == "invalid_value"
