"""Slm2Tokenizer against the publisher's fast tokenizer: the same calls, field by field (docs/transformers.md)."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapters import publisher_tokenizer, tokenizer_calls
from adapters.tokenizer_calls import SPECIAL
from differential.conversations import Source
from sampling_cases import full
from slm2.adapters.transformers import Slm2Tokenizer
from slm2.artifact import Profile
from slm2.errors import Slm2Error
from slm2.text import to_bytes

SEED = 20261130
PROFILES: tuple[Profile, ...] = ("publisher", "contract")
Parse = pytest.mark.filterwarnings("ignore:special_text='parse':UserWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publisher_tokenizer.write(tmp_path_factory.mktemp("publisher"), template=False)


@pytest.fixture(scope="module")
def oracle(folder: Path) -> Any:
    """Of a profile, made once for each."""
    made: dict[Profile, Any] = {}

    def of(profile: Profile) -> Any:
        if profile not in made:
            made[profile] = publisher_tokenizer.load(folder, profile)
        return made[profile]

    return of


# All 20,000 calls take minutes: SLM2_FULL=1. The panics of the publisher's program, on strides that it cannot do, go to standard error.
@Parse
@pytest.mark.parametrize(
    ("profile", "special_text", "count"),
    [
        ("publisher", "parse", full(800, 8_000)),
        ("contract", "parse", full(400, 4_000)),
        ("publisher", "literal", full(400, 4_000)),
        ("contract", "literal", full(400, 4_000)),
    ],
)
def test_calls(oracle: Any, profile: Profile, special_text: Any, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUST_BACKTRACE", "0")
    ours, theirs = Slm2Tokenizer(special_text=special_text, profile=profile), oracle(profile)
    refused = 0
    for number, call in enumerate(tokenizer_calls.calls(SEED, count, special=special_text == "parse")):
        expected = tokenizer_calls.outcome(theirs, call)
        assert tokenizer_calls.outcome(ours, call) == expected, f"call {number} of seed {SEED}: {call}"
        refused += "refused" in expected
    assert 0 < refused < count / 4


def test_calls_are_what_they_say() -> None:
    """Of the generator: texts with special tokens where they are asked for, none else, and every argument."""
    calls = [*tokenizer_calls.calls(SEED, 2_000, special=True)]
    assert sum(any(token in str(call.arguments) for token in SPECIAL) for call in calls) > 500
    settings = {name for call in calls for name in call.settings}
    assert {"stride", "padding_side", "pad_to_multiple_of", "return_tensors", "is_split_into_words", "split_special_tokens"} <= settings
    assert len({repr(call) for call in calls}) > 1_990
    plain = [*tokenizer_calls.calls(SEED, 2_000, special=False)]
    assert not any(token in text for call in plain for text in _texts(call.arguments) for token in SPECIAL)


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [text for item in value for text in _texts(item)]


@Parse
@pytest.mark.parametrize("profile", PROFILES)
def test_ids_to_text(oracle: Any, profile: Profile) -> None:
    ours, theirs = Slm2Tokenizer(special_text="parse", profile=profile), oracle(profile)
    rng = np.random.default_rng(SEED)
    for _ in range(500):
        ids = rng.integers(0, len(theirs), size=int(rng.integers(0, 12))).tolist()
        for skip in (True, False):
            assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip), ids
        tokens = theirs.convert_ids_to_tokens(ids)
        assert ours.convert_ids_to_tokens(ids) == tokens
        assert ours.convert_ids_to_tokens(ids, skip_special_tokens=True) == theirs.convert_ids_to_tokens(ids, skip_special_tokens=True)
        assert ours.convert_tokens_to_ids(tokens) == ids
        assert ours.convert_tokens_to_string(tokens) == theirs.convert_tokens_to_string(tokens)
    rows = rng.integers(0, len(theirs), size=(4, 7))
    assert ours.batch_decode(rows) == theirs.batch_decode(rows)


def test_vocabulary_and_attributes(folder: Path) -> None:
    ours, theirs = Slm2Tokenizer(special_text="literal", profile="publisher"), publisher_tokenizer.load(folder, "publisher")
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.vocab == theirs.vocab
    assert ours.get_added_vocab() == theirs.get_added_vocab()
    assert {key: str(token) for key, token in ours.added_tokens_decoder.items()} == {
        key: str(token) for key, token in theirs.added_tokens_decoder.items()
    }
    assert [token.special for token in ours.added_tokens_decoder.values()] == [t.special for t in theirs.added_tokens_decoder.values()]
    for name in (
        "vocab_size", "model_max_length", "padding_side", "truncation_side", "special_tokens_map", "all_special_tokens", "all_special_ids",
        "pad_token_id", "eos_token_id", "bos_token", "bos_token_id", "unk_token", "extra_special_tokens", "is_fast", "model_input_names",
        "pad_token_type_id", "max_len_single_sentence", "max_len_sentences_pair",
    ):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name), name
    assert len(ours) == len(theirs)
    assert bool(ours)
    unknown = ["Ġworld", "no such token", "<|im_end|>", "\u4e2d", ""]
    assert ours.convert_tokens_to_ids(unknown) == theirs.convert_tokens_to_ids(unknown)
    assert ours.num_special_tokens_to_add(pair=True) == theirs.num_special_tokens_to_add(pair=True) == 0
    ids = [1, 151_645, 151_657]
    mask = partial(dict, already_has_special_tokens=True)
    assert ours.get_special_tokens_mask(ids, **mask()) == theirs.get_special_tokens_mask(ids, **mask()) == [0, 1, 0]
    padded = [{"input_ids": [1, 2]}, {"input_ids": [3]}]
    assert ours.pad(padded).data == theirs.pad(padded).data


@pytest.mark.parametrize("profile", PROFILES)
def test_conversations(tmp_path: Path, profile: Profile) -> None:
    """apply_chat_template with the publisher's Jinja template against Template2: ids, offsets, words, cut and padded."""
    theirs = publisher_tokenizer.load(publisher_tokenizer.write(tmp_path, template=True), profile)
    ours = Slm2Tokenizer(special_text="literal", profile=profile)
    source, rng = Source(SEED), random.Random(SEED)
    compared = 0
    for _ in range(250):
        # The publisher's program takes no unpaired surrogates (decisions D4 says what ours does with them).
        messages, options = _well_formed(source.conversation())
        wanted = {name: options[name] for name in ("tools", "enable_thinking", "add_generation_prompt") if options.get(name) is not None}
        shape = rng.choice(({}, {"padding": "max_length", "max_length": 400}, {"truncation": True, "max_length": 30}))
        asked = {**wanted, **shape, "tokenizer_kwargs": {"return_offsets_mapping": True, "return_token_type_ids": True}}
        try:
            made = ours.apply_chat_template(messages, **asked)
        except Slm2Error:
            continue  # what Template2 refuses is the subject of tests/differential/test_template_publisher.py
        expected = theirs.apply_chat_template(messages, **asked)
        assert made.data == expected.data
        assert made.word_ids() == expected.word_ids()
        compared += 1
    assert compared > 150


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return to_bytes(value).decode("utf-8")
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    return [_well_formed(item) for item in value] if isinstance(value, list | tuple) else value


def test_conversations_in_a_batch(tmp_path: Path) -> None:
    theirs = publisher_tokenizer.load(publisher_tokenizer.write(tmp_path, template=True), "publisher")
    ours = Slm2Tokenizer(special_text="literal", profile="publisher")
    short = [{"role": "user", "content": "Hi"}]
    long = [*short, {"role": "assistant", "content": "Hello, e\u0301!", "reasoning_content": "hm"}, {"role": "user", "content": "Bye"}]
    for settings in ({"padding": True, "return_tensors": "pt"}, {"return_dict": False}, {}, {"padding": True, "return_tensors": "np"}):
        made, expected = (one.apply_chat_template([short, long], add_generation_prompt=True, **settings) for one in (ours, theirs))
        assert tokenizer_calls.plain(made) == tokenizer_calls.plain(expected)
    prefix = [*short, {"role": "assistant", "content": "Hel"}]
    for choice in (True, "content"):
        assert ours.apply_chat_template(prefix, continue_final_message=choice).data == (
            theirs.apply_chat_template(prefix, continue_final_message=choice).data
        )
