"""The vectors: their form, both engines against them, and the runner against engines that are broken (contract/conformance.md)."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from publisher import TOKENIZER_JSON, missing, special_texts, tokenizer_json
from slm2.conformance import suite
from slm2.contract import embedded
from slm2.engine import Engine, EngineChoice, select
from slm2.error_table import ERRORS
from slm2.errors import Slm2Error

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "contract"
FIRST_SPECIAL = 151_643
FILES = suite.files()
DIGEST_FILES = ["vocabulary.json", "scalars.json"]

# Clauses without a question of their own: definitions, duties of hosts and sessions, other artifacts.
WITHOUT_VECTORS = {"D-8", "M-1", "M-3", "M-38", "M-66", "M-72", "P-1", "P-2", "P-30", "P-31", "P-51", "S-4"}

every_file = pytest.mark.parametrize("name", FILES)
every_engine = pytest.mark.parametrize("choice", ["native", "reference"])


@cache
def engine(choice: EngineChoice) -> Engine:
    return select(choice, embedded())


def all_vectors() -> list[suite.Vector]:
    return [vector for name in FILES for vector in suite.load(name).vectors]


def schema_errors(document: dict) -> list[str]:
    schema = json.loads((PAGES / "schemas" / document["schema"]).read_bytes())
    Draft202012Validator.check_schema(schema)
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(schema).iter_errors(document)]


# ---- the files ----


@pytest.mark.parametrize("name", [*FILES, *DIGEST_FILES, suite.MANIFEST])
def test_files_have_their_form(name: str) -> None:
    content = suite.folder().joinpath(name).read_bytes()
    document = json.loads(content)
    assert schema_errors(document) == []
    assert len(content) < 1_000_000
    assert document["semantic_digest"] == engine("reference").semantic_digest
    assert document["contract_version"] == engine("reference").contract_version
    rows = document.get("vectors") if name in FILES else document.get("digests", document.get("files"))
    lines = content.decode("utf-8").splitlines()
    assert [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"')] == rows, "one row a line"


def test_the_schema_refuses_what_is_no_vector() -> None:
    good = suite.read_document("tokenizer.json")
    for change in ({"extra": 1}, {"op": "guess"}, {"base64": "AA=="}, {"expect": {"ids": [-1]}}, {"error": {"code": "x", "fields": {}}}):
        assert schema_errors({**good, "vectors": [{**good["vectors"][0], **change}]}), change


def test_the_manifest_is_that_of_the_files() -> None:
    manifest = suite.read_document(suite.MANIFEST)
    there = {entry.name for entry in suite.folder().iterdir() if entry.name.endswith(".json")}
    assert {entry["name"] for entry in manifest["files"]} | {suite.MANIFEST} == there
    for entry in manifest["files"]:
        assert hashlib.sha256(suite.folder().joinpath(entry["name"]).read_bytes()).hexdigest() == entry["sha256"], entry["name"]
    assert sum(entry["rows"] for entry in manifest["files"] if entry["name"] in FILES) == manifest["vectors"] == len(all_vectors())
    assert manifest["vectors"] >= 400


def test_ids_are_unique_and_flags_are_explained() -> None:
    identities = [vector["id"] for vector in all_vectors()]
    assert len(set(identities)) == len(identities)
    for name in FILES:
        document = suite.read_document(name)
        used = {flag for vector in document["vectors"] for flag in vector["flags"]}
        assert used == document["notes"].keys(), name


def test_clauses_exist_and_have_vectors() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES.glob("*.md")]
    clauses = {clause for text in texts for clause in re.findall(r"\*\*([TDMPS]-\d+)\*\*", text)}
    cited = {vector["clause"] for vector in all_vectors()}
    assert cited <= clauses
    assert clauses - cited == WITHOUT_VECTORS


def test_refusals_have_the_fields_of_the_table() -> None:
    refusals = [vector["error"] for vector in all_vectors() if "error" in vector]
    calls = [call for vector in all_vectors() if vector["op"] == "stream" for call in vector["expect"]["calls"]]
    refusals += [call["error"] for call in calls if "error" in call]
    for error in refusals:
        names, _ = ERRORS[error["code"]]
        assert tuple(error["fields"]) == tuple(names), error
    shown = {error["code"] for error in refusals}
    assert {"ill_formed_text", "unfinished_text", "stream_closed", "structural_id", "over_budget", "json_duplicate_key"} <= shown


# ---- what the answers must be, whoever gave them ----


def test_no_plain_encoding_is_expected_to_make_a_special_token() -> None:
    checked = 0
    for vector in all_vectors():
        if vector["op"] in ("encode", "encode_spans") and "expect" in vector:
            ids = vector["expect"].get("ids") or [span[0] for span in vector["expect"].get("spans", [])]
            assert all(token_id < FIRST_SPECIAL for token_id in ids), vector["id"]
            checked += 1
    assert checked > 400


def test_encodings_of_profile_contract_decode_to_their_text() -> None:
    checked = 0
    for vector in all_vectors():
        if vector["op"] == "encode" and "expect" in vector and vector.get("profile", "contract") == "contract":
            text = suite.input_text(vector)
            data = text if isinstance(text, bytes) else repaired(text).encode("utf-8")
            assert engine("native").decode(vector["expect"]["ids"], "refuse") == data, vector["id"]
            checked += 1
    assert checked > 400


def repaired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def test_findings_are_where_they_say() -> None:
    for vector in all_vectors():
        if vector["op"] == "find_special":
            text = suite.input_text(vector)
            data = text if isinstance(text, bytes) else repaired(text).encode("utf-8")
            for finding in vector["expect"]["findings"]:
                assert data[finding["offset"] :].startswith(finding["text"].encode()), vector["id"]
                assert special_texts()[finding["text"]] == finding["id"], vector["id"]


# ---- the engines ----


@every_file
@every_engine
def test_engines_answer_as_expected(name: str, choice: EngineChoice) -> None:
    file = suite.load(name)
    differences = suite.run(file, suite.InProcess(engine(choice)))
    assert not differences, f"{[difference.id for difference in differences]}; first: {differences[0]}"
    assert file.vectors


# ---- the runner ----


class Broken:
    """An engine with some answers of its own."""

    def __init__(self, **answers: object) -> None:
        self._answers = answers

    def __getattr__(self, name: str) -> object:
        return self._answers.get(name, getattr(engine("native"), name))


class LateStream:
    """Gives no text before the end of the call after next, as decoders do that wait for a space."""

    def __init__(self, special) -> None:
        self._stream = engine("native").stream_decoder(special)
        self._held = ""

    @property
    def pending(self) -> bytes:
        return self._stream.pending

    def push(self, ids) -> str:
        self._held, given = self._stream.push(ids), self._held
        return given

    def finish(self) -> None:
        self._stream.finish()


def shifted(data, profile):
    ids = engine("native").encode(data, profile)
    return [*ids[:-1], ids[-1] ^ 1] if ids else ids


def shifted_spans(data, profile):
    return [(token_id, start, end + (start > 2)) for token_id, start, end in engine("native").encode_spans(data, profile)]


def other_position(ids, special):
    try:
        return engine("native").decode(ids, special)
    except Slm2Error as error:
        raise Slm2Error(error.code, **{**error.fields, "position": error.fields["position"] + 1}) from None


def broken_down(*_):
    raise RuntimeError("the engine is gone")


FAULTS: dict[str, tuple[dict[str, Callable], set[str]]] = {
    "last id is another": ({"encode": shifted}, {"tokenizer", "normalization", "ill-formed", "special-text"}),
    "no ids": ({"encode": lambda *_: []}, {"tokenizer", "normalization", "ill-formed", "special-text"}),
    "special text becomes special": ({"encode": lambda data, profile: engine("native").encode_trusted(data, profile)}, {"special-text"}),
    "trusted text stays text": ({"encode_trusted": lambda data, profile: engine("native").encode(data, profile)}, {"special-text"}),
    "no findings": ({"find_special": lambda _: []}, {"special-text", "template", "template-text", "prompt", "prompt-refusals"}),
    "never normalises": ({"encode": lambda data, _: engine("native").encode(data, "contract")}, {"normalization", "ill-formed"}),
    "always normalises": ({"encode": lambda data, _: engine("native").encode(data, "publisher")}, {"normalization", "ill-formed"}),
    "ranges too long": ({"encode_spans": shifted_spans}, {"normalization", "origins"}),
    "decodes special tokens always": ({"decode": lambda ids, _: engine("native").decode(ids, "bytes")}, {"decoding"}),
    "refusal with another field": ({"decode": other_position}, {"decoding"}),
    "knows no token": ({"token_id": lambda _: None}, {"decoding"}),
    "text comes late": ({"stream_decoder": LateStream}, {"stream"}),
    "throws": ({"encode": broken_down}, {"tokenizer", "normalization", "ill-formed", "special-text"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_runner_sees_a_broken_engine(fault: str) -> None:
    answers, parts = FAULTS[fault]
    testee = suite.InProcess(Broken(**answers))
    found = {name.removesuffix(".json"): suite.run(suite.load(name), testee) for name in FILES}
    assert parts <= {part for part, differences in found.items() if differences}, fault
    assert all("exception" in difference.actual for part in parts for difference in found[part]) == (fault == "throws")


def test_the_runner_finds_nothing_in_an_engine_that_is_whole() -> None:
    assert not any(suite.run(suite.load(name), suite.InProcess(Broken())) for name in FILES)


def test_answers_are_compared_as_json() -> None:
    vector = {"id": "T-x-001", "op": "token_id", "profile": "contract", "text": "Hello", "expect": {"token": True}}
    file = suite.VectorFile("x", "x", "", [vector])
    assert suite.run(file, suite.InProcess(Broken(token_id=lambda _: 1)))
    assert not suite.run(file, suite.InProcess(Broken(token_id=lambda _: True)))


# ---- the generator ----


def test_the_generator_writes_these_files() -> None:
    tokenizer_json()
    if not TOKENIZER_JSON.with_name("qwen3.jinja").exists():
        missing("the publisher's chat template is not here: run tools/fetch_sources.py")
    command = [sys.executable, str(ROOT / "tools" / "generate_vectors.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
