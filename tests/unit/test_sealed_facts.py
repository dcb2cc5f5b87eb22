"""A sealed fact is a rule of encoding: it holds where the merges say otherwise (contract/tokenizer.md, T-6)."""

from __future__ import annotations

import runpy

import pytest

from machine import ROOT
from slm2.artifact import Facts, Parts, read, seal
from slm2.compiler import double_array
from slm2.engine import select

SMALL = runpy.run_path(str(ROOT / "tools" / "small_artifact.py"))
ABC = 257
TEXTS = [
    *(b"abc", b"abcabc", b" abc", b"ab", b"abc abc\nabc", b"xabc", b"abc\n\nabc", b"\xcc\x81"),
    # An entry as a piece, and as a part of one between seams, of which the fact says nothing.
    b"\xcc\x81\n\xcc\x81\xe6\xbc\xa2\n\xcc\x81\n\xe6\xbc\xa2\xcc\x81",
]


def sealed(facts: Facts | None, left_out: tuple[bytes, bytes] | None) -> bytes:
    """The small artifact with other facts, and without one of its merges."""
    small = read(SMALL["build"]())
    ids = {token: token_id for token_id, token in enumerate(small.tokens)}
    merges = [(ids[left], ids[right], ids[left + right]) for left, right in SMALL["MERGES"] if (left, right) != left_out]
    built = double_array.build(merges, lambda _done, _total: None)
    return seal(Parts(small.tokens, small.special, small.dfa, built, small.normalization, facts, small.provenance, None))


@pytest.mark.parametrize("name", ["native", "reference"])
def test_a_false_fact_decides(name):
    engine = select(name, sealed(Facts((), ()), (b"ab", b"c")))
    assert [engine.encode(text, "contract") for text in (b"abc", b"xabc", b"abc\nabc")] == [
        [ABC],
        [ord("x"), 256, ord("c")],
        [ABC, ord("\n"), ABC],
    ]


@pytest.mark.parametrize("name", ["native", "reference"])
@pytest.mark.parametrize("facts", [None, Facts((ABC,), (ABC,))], ids=["none", "true"])
def test_without_the_fact_the_piece_is_merged(name, facts):
    engine = select(name, sealed(facts, (b"ab", b"c")))
    assert engine.encode(b"abc", "contract") == [256, ord("c")]


@pytest.mark.parametrize("left_out", [None, (b"ab", b"c"), (b"a", b"b"), (b"\xcc", b"\x81")])
@pytest.mark.parametrize("facts", [None, Facts((), ()), Facts((ABC,), ()), Facts((256, 259), (3,))])
def test_both_engines_do_the_same_on_every_route(facts, left_out):
    if left_out == (b"a", b"b"):
        facts = facts or Facts((256,), ())
    data = sealed(facts, left_out)
    native, reference = select("native", data), select("reference", data)
    for profile in ("contract", "publisher"):
        for text in TEXTS:
            ids = reference.encode(text, profile)
            assert native.encode(text, profile) == ids, text
            assert native.encode(text, profile) == ids, "the second time, from what the first left"
            assert native.count(text, profile) == len(ids)
            assert native.encode_spans(text, profile, "bytes") == reference.encode_spans(text, profile, "bytes")
            for cut in range(len(text) + 1):
                chunks = native.chunks(profile)
                assert chunks.push(text[:cut]) + chunks.push(text[cut:]) + chunks.finish() == ids, (text, cut)


def test_facts_take_part_in_the_semantic_digest():
    digests = {read(sealed(facts, None)).semantic_digest for facts in (None, Facts((), ()), Facts((ABC,), ()), Facts((), (ABC,)))}
    assert len(digests) == 4
