"""Text in parts, growing text, limits and units: reference = engine, and both = the whole (contract/tokenizer.md, T-13 to T-17)."""

from __future__ import annotations

import random
from functools import cache
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents import FRAGMENTS, generated
from slm2.artifact import PROFILES
from slm2.contract import embedded
from slm2.engine import Engine, select
from slm2.errors import Slm2Error
from slm2.incremental import ChunkEncoder, EncodedText

LIMIT = 256
MORE = [b"\xe4", b"\xbd\xa0", b"\xff", b"\xf0\x9f", b"\x98\x80", b"\xed\xa0", b"\xc0", b"\x81", "\u0323".encode(), "\u1161".encode()]
LONG = [b"a" * 200, b" " * 150, b"\n" * 99, "\u0301".encode() * 70, "\u1161".encode() * 60, "\u4e2d".encode() * 85, b"=" * 257]
texts = st.lists(st.sampled_from([*(fragment.encode() for fragment in FRAGMENTS), *MORE]), max_size=12).map(b"".join)
parts_of_text = st.lists(st.one_of(texts, st.binary(max_size=6)), max_size=8)
long_parts = st.lists(st.one_of(texts, st.sampled_from(LONG)), max_size=8)
every_profile = pytest.mark.parametrize("profile", PROFILES)


@cache
def engine(name: str, limit: int = 2**20) -> Engine:
    return select(name, embedded(), limit)


def outcome(call, *arguments):
    """The result, or the refusal."""
    try:
        return call(*arguments)
    except Slm2Error as error:
        return error.code, error.fields


def chunked(opened: Engine, parts: list[bytes], profile: str) -> list[object]:
    """What every call says, and what waits after it where it went well."""
    chunks = ChunkEncoder(opened, profile)
    told = []
    for part in parts:
        ids = outcome(chunks.push, part)
        told.append((ids, chunks.pending if isinstance(ids, list) else None))
    return [*told, outcome(chunks.finish), outcome(chunks.finish)]


def grown(opened: Engine, parts: list[bytes], profile: str) -> list[object]:
    """What every call says, and the ids after it."""
    text = EncodedText(opened, profile)
    return [(outcome(text.append, part), text.ids) for part in parts]


@every_profile
@given(parts=parts_of_text)
@settings(max_examples=150, deadline=None)
def test_parts_are_the_whole_on_both_engines(profile, parts):
    native, reference = engine("native"), engine("reference")
    told = chunked(native, parts, profile)
    assert told == chunked(reference, parts, profile)
    *pushed, finished, again = told
    ids = [token_id for ids, _ in pushed for token_id in ids] + finished
    assert ids == reference.encode(b"".join(parts), profile)
    assert again == ("text_closed", {})


@every_profile
@given(parts=parts_of_text)
@settings(max_examples=150, deadline=None)
def test_a_growing_text_is_the_whole_at_every_time_on_both_engines(profile, parts):
    told = grown(engine("native"), parts, profile)
    assert told == grown(engine("reference"), parts, profile)
    wholes = [engine("reference").encode(text, profile) for text in accumulate(parts, initial=b"")]
    for (before, ids), (delta, found) in zip(pairwise(wholes), told, strict=True):
        assert found == ids
        assert before[: delta.keep] + delta.append == ids
        assert delta.keep == len(ids) or before[delta.keep : delta.keep + 1] != delta.append[:1], "more could have stayed"


@every_profile
@given(parts=long_parts)
@settings(max_examples=80, deadline=None)
def test_limits_are_those_of_the_whole_on_both_engines(profile, parts):
    native, reference = engine("native", LIMIT), engine("reference", LIMIT)
    text = b"".join(parts)
    told = outcome(reference.encode, text, profile)
    assert outcome(native.encode, text, profile) == told
    assert outcome(native.count, text, profile) == (len(told) if isinstance(told, list) else told)
    spans = outcome(native.encode_spans, text, profile, "utf16")
    assert spans == outcome(reference.encode_spans, text, profile, "utf16")
    assert outcome(native.encode_trusted, text, profile) == outcome(reference.encode_trusted, text, profile)
    in_parts = chunked(native, parts, profile)
    assert in_parts == chunked(reference, parts, profile)
    assert grown(native, parts, profile) == grown(reference, parts, profile)
    refusals = [ids for ids, _ in in_parts[:-2] if not isinstance(ids, list)] + [
        ids for ids in in_parts[-2:-1] if not isinstance(ids, list)
    ]
    assert (refusals[0] if refusals else None) == (None if isinstance(told, list) else told)


@every_profile
@pytest.mark.parametrize("unit", ["bytes", "code_points", "utf16"])
@given(text=st.one_of(texts, st.binary(max_size=40)))
@settings(max_examples=120, deadline=None)
def test_units_on_both_engines_and_as_the_host_counts(profile, unit, text):
    native = engine("native")
    spans = native.encode_spans(text, profile, unit)
    assert spans == engine("reference").encode_spans(text, profile, unit)
    if unit == "bytes":
        return
    shown = text.decode("utf-8", "replace")  # U+FFFD for each maximal subpart, as the contract counts them
    codec, size = ("utf-32-le", 4) if unit == "code_points" else ("utf-16-le", 2)
    assert max((end for _, _, end in spans), default=0) == len(shown.encode(codec)) // size
    for (_, start, end), (_, first, last) in zip(spans, native.encode_spans(text, profile, "bytes"), strict=True):
        assert shown.encode(codec)[start * size : end * size].decode(codec) in shown
        if is_well_formed(text) and is_well_formed(text[first:last]):
            assert shown.encode(codec)[start * size : end * size].decode(codec).encode() == text[first:last]


def is_well_formed(data: bytes) -> bool:
    return data.decode("utf-8", "ignore").encode() == data


@every_profile
@given(text=texts, limit=st.integers(0, 40))
@settings(max_examples=200, deadline=None)
def test_counts_are_those_of_the_ids(profile, text, limit):
    for name in ("native", "reference"):
        count = len(engine(name).encode(text, profile))
        assert engine(name).count(text, profile) == count
        assert engine(name).count_until(text, profile, limit) == (count if count <= limit else None)


@every_profile
def test_random_splits_of_long_texts(profile):
    """2,000 texts of up to 2 kB, each in random parts, to both kinds of caller."""
    seed = 20_261_130
    rng = random.Random(seed)
    native = engine("native")
    for text in generated(seed, 2_000):
        data = text.encode()
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice([1, 2, 5, 40])))
        parts = [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]
        want = native.encode(data, profile)
        grower, chunks = EncodedText(native, profile), ChunkEncoder(native, profile)
        ids = []
        for part in parts:
            grower.append(part)
            ids += chunks.push(part)
        assert grower.ids == want, (seed, parts)
        assert ids + chunks.finish() == want, (seed, parts)
