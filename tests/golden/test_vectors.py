"""The vectors: their form, and both engines against them (contract/conformance.md)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from publisher import TOKENIZER_JSON, missing, special_texts, tokenizer_json
from slm2.conformance import suite, tier2
from slm2.conformance.in_process import InProcess, input_text
from slm2.contract import embedded
from slm2.engine import MAX_PRETOKEN, Engine, EngineChoice, select
from slm2.error_table import ERRORS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "contract"
FIRST_SPECIAL = 151_643
FILES = suite.files()
DIGEST_FILES = ["vocabulary.json", "encoded-tokens.json", "scalars.json"]

# Clauses without a vector, and why; where they are shown instead.
_PROOFS = "a rule for programs of templates, which the compiler proves: tests/unit/test_program.py, and refusals of artifacts (A-10)"
_MACHINE = "what the machine is made of; what it does is in the vectors of M-40 to M-63"
_PROTOCOL = "how hosts are asked: tests/unit/test_testee_protocol.py"
_THREAT = "a threat, with the tests that stand against it in its row of the page"
WITHOUT_VECTORS = {
    "D-8": "shown by the vectors of S-81",
    "M-1": "says which file the template is; the generator compares its digest",
    "M-3": "a definition; shown by the vectors of M-62 and M-63",
    "M-38": "values of a host that JSON does not have: no request that crosses can hold them; tests/unit/test_json_text.py",
    "M-66": "needs an artifact without structural tokens; tests/unit/test_template.py",
    "M-72": "where findings are told; shown by the vectors of M-70 and P-20",
    "M-97": "the message of a reply; shown by the sessions of M-101, whose next prompts and checkpoints hold it",
    "M-107": "what a session computes, which no answer shows; counted in tests",
    **{f"M-{number}": _MACHINE for number in range(75, 82)},
    **{f"M-{number}": _PROOFS for number in range(82, 87)},
    "P-1": "the way through the parts; shown by every vector of `assemble`",
    "P-2": "a definition; shown by the vectors of P-62 to P-73",
    "P-30": "what a host must not show: tests/unit/test_sealed_policy.py",
    "P-31": "a warning to callers",
    "P-51": "a duty of callers",
    "S-4": "presets of a host's library: tests/unit/test_sampling_config.py",
    **{f"C-{number}": _PROTOCOL for number in range(1, 8)},
    **{f"X-{number}": _THREAT for number in range(1, 30)},
}

every_file = pytest.mark.parametrize("name", FILES)
every_engine = pytest.mark.parametrize("choice", ["native", "reference"])


@cache
def engine(choice: EngineChoice, limit: int = MAX_PRETOKEN) -> Engine:
    return select(choice, embedded(), limit)


def in_process(choice: EngineChoice) -> InProcess:
    return InProcess(engine(choice), lambda limit: engine(choice, limit))


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
    clauses = {clause for text in texts for clause in re.findall(r"\*\*([A-Z]-\d+)\*\*", text)}
    cited = {vector["clause"] for vector in all_vectors()}
    assert cited <= clauses
    assert clauses - cited == WITHOUT_VECTORS.keys()


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
            text = input_text(vector)
            data = text if isinstance(text, bytes) else repaired(text).encode("utf-8")
            assert engine("native").decode(vector["expect"]["ids"], "refuse") == data, vector["id"]
            checked += 1
    assert checked > 400


def repaired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def test_findings_are_where_they_say() -> None:
    for vector in all_vectors():
        if vector["op"] == "find_special":
            text = input_text(vector)
            data = text if isinstance(text, bytes) else repaired(text).encode("utf-8")
            for finding in vector["expect"]["findings"]:
                assert data[finding["offset"] :].startswith(finding["text"].encode()), vector["id"]
                assert special_texts()[finding["text"]] == finding["id"], vector["id"]


def test_draws_of_the_pipeline_go_on_from_its_prompts() -> None:
    """Each scenario is one way through: the ids that transformers made of the prompt are the history of what it drew."""
    found = [*tier2.scenarios()]
    assert len(found) == 16
    for prompt, draws in found:
        assert draws["history"] == prompt["expect"]["input_ids"], prompt["id"]
    for name in ("temperature", "top_k", "top_p", "min_p", "repetition_penalty"):
        assert len({draws["config"][name] for _, draws in found}) >= 3, name


def test_the_draws_from_one_row_are_distributed_as_it_says() -> None:
    found = tier2.distribution_check()
    assert (found.compared, found.passed) == (3, True), found.first


def test_the_chi_square_test_sees_another_distribution() -> None:
    vector = next(vector for vector in suite.load("draws.json").vectors if "distribution" in vector["flags"])
    ids, probabilities = vector["expect"]["ids"], tier2.exact_distribution(vector)
    assert abs(tier2.chi_square(ids, probabilities)) < tier2.CHI_SQUARE_LIMIT
    assert tier2.chi_square([0 if token == 1 else token for token in ids], probabilities) > tier2.CHI_SQUARE_LIMIT
    assert tier2.chi_square(sorted(range(64), key=lambda token: -probabilities[token]) * 156, probabilities) > tier2.CHI_SQUARE_LIMIT


# ---- the engines ----


@every_file
@every_engine
def test_engines_answer_as_expected(name: str, choice: EngineChoice) -> None:
    if choice == "reference" and name == tier2.DRAWS and not os.environ.get("SLM2_FULL"):
        pytest.skip("the reference draws for ten minutes: slm2 verify --tier 2 asks it (stage hosts), and SLM2_FULL=1")
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
