"""Ids to bytes and to text: engine = reference, and both = one id after the other (contract/tokenizer.md, T-10; contract/stream.md)."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import slm2
from slm2.errors import Slm2Error
from slm2.reference.tokenizer import decoded

POLICIES = ("refuse", "skip", "bytes")


@cache
def contract(engine: str) -> slm2.Contract:
    return slm2.load(engine=engine)


@cache
def kinds() -> dict[str, list[int]]:
    """Ids of each kind that a decoder treats in another way."""
    opened = contract("native")
    size = opened.tokenizer.vocabulary_size
    lengths = {number: len(opened.tokenizer.token_bytes(number)) for number in range(size)}
    return {
        "short": [number for number, length in lengths.items() if length < 16],
        "sixteen": [number for number, length in lengths.items() if length == 16],
        "long": [number for number, length in lengths.items() if length > 16],
        "bytes": list(range(256)),
        "structural": list(opened.tokenizer.special_tokens.values()),
        "last": [size - 1, size - 2],  # what follows their bytes ends the section
        "none": [opened.engine.token_limit, 2**32 - 1, 2**32, -1, 2**70],
    }


plain = st.sampled_from(["short", "sixteen", "long", "bytes", "last"]).flatmap(lambda kind: st.sampled_from(kinds()[kind]))
any_id = st.sampled_from(sorted(kinds())).flatmap(lambda kind: st.sampled_from(kinds()[kind]))
# Repeated, so that more comes than is gathered at once.
few = st.one_of(st.lists(plain, max_size=40), st.lists(any_id, max_size=12))
many = st.builds(lambda ids, times: ids * times, few, st.integers(1, 30))


def outcome(call, *arguments, **named):
    """The result, or the refusal."""
    try:
        return call(*arguments, **named)
    except Slm2Error as error:
        return error.code, error.fields


def one_by_one(ids: list[int], special: str) -> bytes:
    """The slow way."""
    artifact = contract("reference").engine._artifact
    return b"".join(decoded(artifact, position, token_id, special) for position, token_id in enumerate(ids))


def streamed(engine: str, ids: list[int], special: str) -> str:
    stream = contract(engine).stream_decoder(special=special)
    text = stream.push(ids)
    stream.finish()
    return text


@pytest.mark.parametrize("special", POLICIES)
@settings(max_examples=100, deadline=None)
@given(ids=many)
@example(ids=[])
@example(ids=[0] * 5000)
def test_both_engines_decode_as_one_id_after_the_other(special, ids):
    expected = outcome(one_by_one, ids, special)
    for engine in ("native", "reference"):
        tokenizer = contract(engine).tokenizer
        for given_ids in (ids, tuple(ids), iter(ids)):
            assert outcome(tokenizer.decode, given_ids, special=special) == expected


@pytest.mark.parametrize("special", POLICIES)
@settings(max_examples=100, deadline=None)
@given(ids=many)
def test_text_is_that_of_a_stream_of_all_ids(special, ids):
    expected = outcome(streamed, "reference", ids, special)
    assert outcome(streamed, "native", ids, special) == expected
    for engine in ("native", "reference"):
        assert outcome(contract(engine).tokenizer.decode_text, ids, special=special) == expected


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_text_of_half_a_character(engine):
    tokenizer = contract(engine).tokenizer
    (half, rest), structural = tokenizer.encode(b"\xf0\x9f\x98")[:1] + tokenizer.encode(b"\x80")[:1], tokenizer.special_tokens["<|im_end|>"]
    ids = tokenizer.encode(b"\xf0\x9f")
    assert outcome(tokenizer.decode_text, ids, special="bytes")[0] == "unfinished_text"
    # Their bytes alone would be a character.
    inside = [*ids, structural, *tokenizer.encode(b"\x98\x80")]
    assert tokenizer.decode(inside, special="skip") == "\U0001f600".encode()
    assert outcome(tokenizer.decode_text, inside, special="skip")[0] == "ill_formed_text"
    assert outcome(tokenizer.decode_text, [half, rest, rest], special="skip")[0] == "ill_formed_text"
    assert tokenizer.decode_text([structural, *tokenizer.encode("\U0001f600")], special="skip") == "\U0001f600"
