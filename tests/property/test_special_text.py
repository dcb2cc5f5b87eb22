"""Text of special tokens, whole and broken, never becomes their ids (contract/tokenizer.md, T-1, T-7, T-11)."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slm2
from slm2.artifact import PROFILES
from slm2.contract import embedded
from slm2.engine import select
from slm2.errors import Slm2Error

LOWEST_SPECIAL, LIMIT = 151_643, 151_669
# Strings for each engine; they are in chunks, so that both cores work.
COUNTS = {"reference": 200_000, "native": 1_000_000}
CHUNKS = 10


@cache
def engine(name: str):
    return select(name, embedded())


@cache
def fragments() -> list[bytes]:
    """Special tokens, every way to cut one in two, and what comes between."""
    texts = [text for _, text in engine("native").special_tokens]
    cuts = [part for text in texts for at in range(1, len(text)) for part in (text[:at], text[at:])]
    noise = [b"<", b"|", b">", b"/", b"_", b"\n", b" ", b"a", b"\xe2", b"\x80\x8b", "\u0301".encode(), "ſ".encode(), b"\0"]
    return texts * 6 + cuts + noise * 12


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", COUNTS)
def test_fuzzed_fragments_give_no_special_id_and_come_back(name, chunk):
    rng = random.Random(chunk)
    opened, parts = engine(name), fragments()
    for _ in range(COUNTS[name] // CHUNKS):
        data = b"".join(rng.choices(parts, k=rng.randint(1, 5)))
        ids = opened.encode(data, "contract")
        assert max(ids) < LOWEST_SPECIAL, data
        assert opened.decode(ids, "refuse") == data


@pytest.mark.parametrize("name", COUNTS)
def test_no_special_id_in_the_publishers_profile_either(name):
    rng = random.Random(99)
    for _ in range(5_000):
        data = b"".join(rng.choices(fragments(), k=rng.randint(1, 5)))
        assert max(engine(name).encode(data, "publisher")) < LOWEST_SPECIAL, data


@pytest.mark.parametrize("profile", PROFILES)
@given(data=st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_encode_alike_on_both_engines(profile, data):
    native, reference = engine("native"), engine("reference")
    ids = native.encode(data, profile)
    assert ids == reference.encode(data, profile)
    spans = native.encode_spans(data, profile, "bytes")
    assert spans == reference.encode_spans(data, profile, "bytes")
    assert [token_id for token_id, _, _ in spans] == ids
    if profile == "contract":
        assert native.decode(ids, "refuse") == data
        assert [start for _, start, _ in spans] + [len(data)] == [0] + [end for _, _, end in spans]


@given(text=st.text(alphabet=st.characters(), max_size=60))
@settings(max_examples=300, deadline=None)
def test_host_strings_count_unpaired_surrogates_as_replacement_characters(text):
    tokenizer = slm2.load(engine="native").tokenizer
    through_utf16 = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert tokenizer.encode(text) == tokenizer.encode(through_utf16.encode("utf-8"))


def test_findings_are_leftmost_longest_and_reject_names_them_all():
    tokenizer = slm2.load(engine="native").tokenizer
    text = "é<|im_<|im_end|>end|><think></think"
    found = [(finding.offset, finding.id, finding.text) for finding in tokenizer.find_special(text)]
    assert found == [(7, 151_645, "<|im_end|>"), (22, 151_667, "<think>")]
    with pytest.raises(Slm2Error) as caught:
        tokenizer.encode(text, on_special="reject")
    assert caught.value.code == "special_token_in_text"
    assert [(f["offset"], f["id"], f["text"]) for f in caught.value.fields["findings"]] == found
    assert tokenizer.encode("plain", on_special="reject") == tokenizer.encode("plain")


@pytest.mark.parametrize("name", COUNTS)
def test_both_engines_find_the_same(name):
    rng = random.Random(5)
    for _ in range(3_000):
        data = b"".join(rng.choices(fragments(), k=rng.randint(1, 8)))
        assert engine(name).find_special(data) == brute_force(data), data


def brute_force(data: bytes) -> list[tuple[int, int, int]]:
    """At each place the longest text that stands there, by trying all."""
    found, at = [], 0
    special = sorted(engine("native").special_tokens, key=lambda token: len(token[1]))
    while at < len(data):
        best = [(at, at + len(text), token_id) for token_id, text in special if data[at : at + len(text)] == text]
        found += best[-1:]
        at = best[-1][1] if best else at + 1
    return found


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("token_id", [-1, LIMIT, 151_936, 2**32 - 1, 2**32, 2**70])
def test_ids_without_a_token_are_refused(name, token_id):
    with pytest.raises(Slm2Error) as caught:
        engine(name).decode([1, token_id], "bytes")
    assert (caught.value.code, caught.value.fields) == ("token_id_out_of_range", {"position": 1, "id": token_id, "limit": LIMIT})
