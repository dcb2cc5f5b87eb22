"""The vectors: their form, and both engines against them (contract/conformance.md)."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from publisher import TOKENIZER_JSON, missing, special_texts, tokenizer_json
from slm2.conformance import suite
from slm2.contract import embedded
from slm2.engine import MAX_PRETOKEN, Engine, EngineChoice, select
from slm2.error_table import ERRORS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "contract"
FIRST_SPECIAL = 151_643
FILES = suite.files()
DIGEST_FILES = ["vocabulary.json", "scalars.json"]

# Clauses without a question of their own: definitions, duties of hosts and sessions, other artifacts.
# What the machine is, and what no sequence of calls can show: tests/unit/test_program.py, tests/unit/test_session.py.
MACHINE = {*(f"M-{number}" for number in range(75, 87)), "M-97", "M-107"}
WITHOUT_VECTORS = {"D-8", "M-1", "M-3", "M-38", "M-66", "M-72", *MACHINE, "P-1", "P-2", "P-30", "P-31", "P-51", "S-4"}

every_file = pytest.mark.parametrize("name", FILES)
every_engine = pytest.mark.parametrize("choice", ["native", "reference"])


@cache
def engine(choice: EngineChoice, limit: int = MAX_PRETOKEN) -> Engine:
    return select(choice, embedded(), limit)


def in_process(choice: EngineChoice) -> suite.InProcess:
    return suite.InProcess(engine(choice), lambda limit: engine(choice, limit))


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
    calls = [call for vector in all_vectors() if "calls" in vector.get("expect", {}) for call in vector["expect"]["calls"]]
    refusals += [call["error"] for call in calls if "error" in call]
    for error in refusals:
        names, _ = ERRORS[error["code"]]
        assert tuple(error["fields"]) == tuple(names), error
    shown = {error["code"] for error in refusals}
    assert {"ill_formed_text", "unfinished_text", "stream_closed", "structural_id", "budget_exceeded", "json_duplicate_key"} <= shown
    assert {"pretoken_too_long", "limit_out_of_range", "output_too_small", "text_closed"} <= shown


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
    differences = suite.run(file, in_process(choice))
    assert not differences, f"{[difference.id for difference in differences]}; first: {differences[0]}"
    assert file.vectors


# ---- the generator ----


def test_the_generator_writes_these_files() -> None:
    tokenizer_json()
    if not TOKENIZER_JSON.with_name("qwen3.jinja").exists():
        missing("the publisher's chat template is not here: run tools/fetch_sources.py")
    command = [sys.executable, str(ROOT / "tools" / "generate_vectors.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
