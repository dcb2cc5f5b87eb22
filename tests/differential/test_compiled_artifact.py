"""The committed artifact is what the compiler makes of the publisher's file; other byte-level tokenizers compile too."""

from __future__ import annotations

import hashlib
import json
import random
from functools import cache
from importlib import resources

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from documents import generated, run
from publisher import tokenizer_json
from slm2.artifact import read
from slm2.compiler import compile_source, compile_sources, source
from slm2.contract import EMBEDDED, embedded
from slm2.engine import select
from slm2.errors import Slm2Error

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {"qwen-2.5": QWEN, "llama-3": QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)}


def quiet(_stage: str, _done: int, _total: int) -> None:
    """No progress bar."""


def test_the_compiler_makes_the_committed_artifact_of_a_snapshot_folder(tmp_path):
    """A Hugging Face snapshot as it lies in the cache: links into a folder of blobs, among files that are not for us."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "c1899de289a04d12100db370d81485cdf75e47ca"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (blobs / "aeb13307").write_text(tokenizer_json(), encoding="utf-8", newline="")
    (snapshot / "tokenizer.json").symlink_to("../../blobs/aeb13307")
    for name in ("config.json", "generation_config.json", "tokenizer_config.json", "model.safetensors"):
        (snapshot / name).write_bytes(b"not read")
    stages: list[str] = []
    made = compile_sources(snapshot, lambda stage, _done, _total: stages.append(stage))
    assert made == embedded()
    assert {"read", "merges", "pre-tokenizer", "proofs"} == set(stages)


def test_the_committed_digest_is_the_artifacts():
    digest, name = resources.files("slm2").joinpath("data", f"{EMBEDDED}.sha256").read_text("ascii").split()
    assert (digest, name) == (hashlib.sha256(embedded()).hexdigest(), EMBEDDED)


def test_the_facts_name_the_entries_that_encoding_splits():
    artifact = read(embedded())
    assert artifact.facts.not_merged == ()
    assert len(artifact.facts.not_encoded) == 1_746
    opened = select("native", embedded())
    split = [token_id for token_id, token in enumerate(artifact.tokens) if opened.encode(token, "contract") != [token_id]]
    assert tuple(split) == artifact.facts.not_encoded


@cache
def trained(name: str, *, nfc: bool = False) -> str:
    """A tokenizer of another family, trained here on generated text: its tokenizer.json."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC() if nfc else None
    split = pre_tokenizers.Split(Regex(PATTERNS[name]), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=2_000, initial_alphabet=alphabet, special_tokens=[], show_progress=False)
    tokenizer.train_from_iterator(generated(3, 3_000), trainer)
    tokenizer.add_special_tokens(["<|begin|>", "<|end|>"])
    return tokenizer.to_str()


def document(name: str = "llama-3", **changes: object) -> dict:
    parsed = json.loads(trained(name))
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = parsed
        for parent in parents:
            place = place[int(parent) if parent.isdigit() else parent]
        place[last] = value
    return parsed


@pytest.mark.parametrize("nfc", [False, True])
@pytest.mark.parametrize("name", PATTERNS)
def test_other_families_compile_and_encode_as_the_publishers_program(name, nfc):
    text = trained(name, nfc=nfc)
    data = compile_source(source.parse(json.loads(text), "0" * 64), quiet)
    oracle = Tokenizer.from_str(text)
    rng = random.Random(11)
    for engine, count in ((select("native", data), 1_000), (select("reference", data), 200)):
        for _ in range(count):
            sample = "".join(run(rng) for _ in range(rng.randint(1, 5)))
            assert engine.encode_trusted(sample.encode("utf-8"), "publisher") == oracle.encode(sample).ids, sample


def test_ignore_merges_is_taken_where_the_proof_shows_that_it_changes_nothing():
    parsed = document(model__ignore_merges=True)
    compile_source(source.parse(parsed, "0" * 64), quiet)
    # Take the last merge away: its token is in the vocabulary still, and only ignore_merges would find it.
    parsed["model"]["merges"].pop()
    with pytest.raises(Slm2Error) as caught:
        compile_source(source.parse(parsed, "0" * 64), quiet)
    assert caught.value.fields == {"construct": "model.ignore_merges", "found": "true, with 1 entries apart"}


@pytest.mark.parametrize(
    ("changes", "construct"),
    [
        ({"model__type": "Unigram"}, "model.type"),
        ({"model__dropout": 0.1}, "model.dropout"),
        ({"model__byte_fallback": True}, "model.byte_fallback"),
        ({"model__unk_token": "<unk>"}, "model.unk_token"),
        ({"model__end_of_word_suffix": "</w>"}, "model.end_of_word_suffix"),
        ({"normalizer": {"type": "Lowercase"}}, "normalizer"),
        ({"decoder": {"type": "Metaspace"}}, "decoder"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}}, "pre_tokenizer"),
        ({"pre_tokenizer__pretokenizers__0__behavior": "Removed"}, "pre_tokenizer.Split"),
        ({"pre_tokenizer__pretokenizers__0__invert": True}, "pre_tokenizer.Split"),
        ({"pre_tokenizer__pretokenizers__1__add_prefix_space": True}, "pre_tokenizer.ByteLevel.add_prefix_space"),
        ({"added_tokens": [{"id": 5, "content": "<x>"}]}, "model.vocab with a gap at id"),
        ({"added_tokens": [{"id": 5000, "content": "<x>", "lstrip": True}]}, "an added token with lstrip"),
        ({"model__merges": [["a", "\u2603"]]}, "a merge whose part or result is no vocabulary entry"),
        ({"model": None}, "model"),
        ({"model__vocab__a": "x"}, "model.vocab with an id that is no integer"),
        ({"model__vocab__a": 0.0}, "model.vocab with an id that is no integer"),
        ({"model__merges": ["a b c"]}, "a merge that is no pair"),
        ({"model__merges": [5]}, "a merge that is no pair"),
        ({"decoder": "ByteLevel"}, "decoder"),
        ({"added_tokens": [5]}, "an added token without id and content"),
        ({"added_tokens": {"id": 5}}, "added_tokens"),
        ({"pre_tokenizer": []}, "pre_tokenizer"),
        ({"pre_tokenizer__pretokenizers": [5, 6]}, "pre_tokenizer"),
        ({"pre_tokenizer__pretokenizers__0__pattern": "x"}, "pre_tokenizer.Split"),
    ],
)
def test_what_an_artifact_cannot_say_is_refused_by_its_name(changes, construct):
    with pytest.raises(Slm2Error) as caught:
        source.parse(document(**changes), "0" * 64)
    assert (caught.value.code, caught.value.fields["construct"]) == ("source_unsupported", construct)


def test_a_folder_without_the_file_and_a_file_that_is_no_json_are_refused(tmp_path):
    with pytest.raises(Slm2Error) as caught:
        compile_sources(tmp_path, quiet)
    assert caught.value.code == "source_missing"
    for content, construct in ((b"{", "JSON"), (b"[" * 200_000, "JSON"), (b"[]", "no object at the top"), (b"5", "no object at the top")):
        (tmp_path / "tokenizer.json").write_bytes(content)
        with pytest.raises(Slm2Error) as caught:
            compile_sources(tmp_path, quiet)
        assert (caught.value.code, caught.value.fields["construct"]) == ("source_unsupported", construct)
