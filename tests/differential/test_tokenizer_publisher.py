"""Ids against the publisher's program: documents, every scalar value, the whole vocabulary (contract/tokenizer.md)."""

from __future__ import annotations

import json
import lzma
import os
from functools import cache
from pathlib import Path

import pytest

import slm2
from documents import generated, real
from publisher import publisher_tokenizer, tokenizer_json
from slm2.artifact import PROFILES, read
from slm2.artifact.pretokenizer import pieces
from slm2.compiler.source import byte_of_char
from slm2.contract import embedded
from slm2.engine import select

ENGINES = ["native", "reference"]
# With the environment variable SLM2_EXHAUSTIVE set at least 200,000 documents of 100 MB of UTF-8 in each profile, else a quarter of
# that (asserted below); the reference, which is slow, sees a tenth, documents of each kind among them.
CHUNKS = 80 if "SLM2_EXHAUSTIVE" in os.environ else 20
GENERATED, REAL = 1_740, 860
DOCUMENTS, SIZE, OF_THE_REFERENCE = 2_500 * CHUNKS, 1_250_000 * CHUNKS, 10
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "data" / "corpus"
SCALARS = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]


@cache
def engine(name: str):
    return select(name, embedded())


def documents(chunk: int) -> list[str]:
    return [*generated(chunk, GENERATED), *real(chunk, REAL)]


def assert_ids(texts: list[str], profile: str, engines: list[str]) -> None:
    """The first text that differs is the message."""
    want = publisher_tokenizer(profile, added_tokens=False).encode_batch_fast(texts, add_special_tokens=False)
    for text, encoding in zip(texts, want, strict=True):
        data, ids = text.encode("utf-8"), encoding.ids
        for name in engines:
            assert engine(name).encode(data, profile) == ids, (name, text)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_documents(chunk):
    texts = documents(chunk)
    # The chunks are alike.
    assert len(texts) * CHUNKS >= DOCUMENTS
    assert sum(len(text.encode("utf-8")) for text in texts) * CHUNKS >= SIZE
    part = texts[chunk % OF_THE_REFERENCE :: OF_THE_REFERENCE]
    for profile in PROFILES:
        assert_ids(texts, profile, ["native"])
        assert_ids(part, profile, ["reference"])


def test_pieces_are_long_too():
    dfa = read(embedded()).dfa
    longest = max(end - start for text in documents(0) for start, end in pieces(dfa, text.encode("utf-8")))
    assert longest >= 1_900


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("chunk", range(4))
def test_every_scalar_value_alone(chunk, profile):
    assert_ids(SCALARS[chunk::4], profile, ["native"])
    assert_ids(SCALARS[chunk::16], profile, ["reference"])


AROUND = ["a{}b", " {} ", "\n{}\n", "e{}\u0301"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("around", AROUND)
def test_every_scalar_value_between_others(around, profile):
    texts = ["".join(around.format(scalar) for scalar in SCALARS[at : at + 128]) for at in range(0, len(SCALARS), 128)]
    assert_ids(texts, profile, ["native"])
    assert_ids(texts[AROUND.index(around) :: 4 * len(AROUND)], profile, ["reference"])


@pytest.mark.parametrize("engine_name", ENGINES)
def test_tier_1_every_entry_of_the_vocabulary(engine_name):
    """100 % of 151,643 + 26 entries, both ways, through the vocabulary and not through encoding."""
    document = json.loads(tokenizer_json())
    opened, byte_of = engine(engine_name), byte_of_char()
    vocabulary = document["model"]["vocab"]
    assert len(vocabulary) == opened.vocabulary_size == 151_643
    for text, token_id in vocabulary.items():
        data = bytes(byte_of[char] for char in text)
        assert opened.token_bytes(token_id) == data
        assert opened.token_id(data) == token_id
    added = {token["id"]: token["content"].encode("utf-8") for token in document["added_tokens"]}
    assert len(added) == 26
    assert dict(opened.special_tokens) == added
    assert {token_id: opened.token_bytes(token_id) for token_id in added} == added
    assert opened.token_limit == 151_669


@pytest.mark.parametrize("engine_name", ENGINES)
def test_trusted_text_equals_the_publisher_with_its_special_tokens(engine_name):
    for profile in PROFILES:
        want = publisher_tokenizer(profile, added_tokens=True)
        for text in generated(77, 1_500):
            ids = want.encode(text, add_special_tokens=False).ids
            assert engine(engine_name).encode_trusted(text.encode("utf-8"), profile) == ids, text


@pytest.mark.parametrize("profile", PROFILES)
def test_texts_of_each_kind(profile):
    """Larger real texts where the measurement corpus is at hand."""
    if not CORPUS.exists():
        pytest.skip("no ../shared/data/corpus here: the texts for measurements are not part of the project")
    for path in sorted(CORPUS.glob("*.txt.xz")):
        text = lzma.decompress(path.read_bytes()).decode("utf-8")
        texts = [text[at : at + 2000] for at in range(0, min(len(text), 1_000_000), 2000)]
        assert_ids(texts, profile, ["native"])


def test_the_loaded_contract_encodes_as_its_engine():
    contract = slm2.load(engine="native", profile="publisher")
    assert contract.tokenizer.encode("e\u0301") == engine("native").encode("e\u0301".encode(), "publisher") == [963]
