"""Write the vectors of the contract: contract/vectors/*.json (their form: contract/conformance.md).

    python tools/generate_vectors.py           write the files
    python tools/generate_vectors.py --check   exit 1 where a committed file differs from what would be written

What is asked stands in tools/vector_cases/, and who answers in answers.py there. Every answer, whoever gave it, must be the
reference's too: where it is not, nothing is written. Needs what tools/fetch_sources.py fetches.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unicodedata2
from tokenizers import normalizers

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tools/ is imported by that name, also where this runs as a script

from tools.vector_cases import (  # noqa: E402
    artifacts,
    counts,
    decoding,
    draws,
    ill_formed,
    json_refusals,
    normalization,
    origins,
    pipeline,
    prompt_passes,
    prompt_refusals,
    prompts,
    replies,
    sampling,
    sessions,
    sharp,
    special_text,
    streaming,
    template,
    template_refusals,
    template_text,
    template_values,
    text,
    text_in_parts,
    turns,
)
from tools.vector_cases.answers import Answers  # noqa: E402
from tools.vector_cases.case import Case, Group  # noqa: E402
from tools.vector_cases.oracle import DIGESTS, Oracle  # noqa: E402

from slm2.artifact import PROFILES, Profile  # noqa: E402
from slm2.conformance.in_process import InProcess  # noqa: E402
from slm2.conformance.suite import Difference, Vector, VectorFile, run  # noqa: E402
from slm2.conformance.sweeps import SCALAR_LIMIT, blocks, scalars_digest, vocabulary_digest  # noqa: E402
from slm2.contract import embedded  # noqa: E402
from slm2.engine import Engine, select  # noqa: E402

TARGET = ROOT / "contract" / "vectors"
SOURCES = ROOT / ".cache" / "publisher"
MANIFEST = "manifest.json"
SIZE_LIMIT = 1_000_000

Json = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One vector file; its notes say what its flags mean."""

    name: str
    groups: list[Group]
    notes: dict[str, str]


def parts(oracle: Oracle) -> list[Part]:
    """All vector files."""

    def encode(given: str | bytes) -> list[int]:
        return oracle.ids(given, "contract")

    return [
        Part("tokenizer", text.GROUPS, text.FLAGS),
        Part("normalization", normalization.GROUPS, normalization.FLAGS),
        Part("ill-formed", ill_formed.GROUPS, ill_formed.FLAGS),
        Part("special-text", special_text.groups(oracle.special), special_text.FLAGS),
        Part("decoding", decoding.groups(oracle.special, encode), decoding.FLAGS),
        Part("stream", streaming.groups(encode), streaming.FLAGS),
        Part("template", template.groups(), template.FLAGS),
        Part("template-text", template_text.groups(), template_text.FLAGS),
        Part("template-values", template_values.GROUPS, template_values.FLAGS),
        Part("template-refusals", template_refusals.groups(), template_refusals.FLAGS),
        Part("json-refusals", json_refusals.GROUPS, json_refusals.FLAGS),
        Part("prompt", prompts.groups(), prompts.FLAGS),
        Part("prompt-refusals", prompt_refusals.groups(), prompt_refusals.FLAGS),
        Part("prompt-passes", prompt_passes.groups(), prompt_passes.FLAGS),
        Part("origins", origins.groups(), origins.FLAGS),
        Part("counts", counts.GROUPS, counts.FLAGS),
        Part("text-in-parts", text_in_parts.GROUPS, text_in_parts.FLAGS),
        Part("replies", replies.groups(lambda text: oracle.trusted_ids(text, "contract")), replies.FLAGS),
        Part("sessions", sessions.groups(lambda text: oracle.trusted_ids(text, "contract")), sessions.FLAGS),
        Part("sampling", sampling.groups(), sampling.FLAGS),
        Part("sampling-torch", sampling.trace_groups(), sampling.TRACE_FLAGS),
        Part("sharp", sharp.GROUPS, sharp.FLAGS),
        Part("artifacts", artifacts.groups(), artifacts.FLAGS),
        Part("draws", draws.groups(), draws.FLAGS),
        Part("pipeline", pipeline.groups(), pipeline.FLAGS),
        Part("turns", turns.groups(lambda text: oracle.trusted_ids(text, "contract")), turns.FLAGS),
    ]


class Remembering:
    """The reference, which does not draw again what it has drawn: runs of 10,000 steps take it minutes, and tier 2 asks it for them."""

    def __init__(self, reference: InProcess, known: Iterable[Vector]) -> None:
        self._reference = reference
        self._known = {_question(vector): {"expect": vector["expect"]} for vector in known if vector["op"] == "draw"}

    def answer(self, vector: Vector, profile: Profile) -> Json:
        """As :class:`slm2.conformance.suite.Testee`."""
        if vector["op"] != "draw":
            return self._reference.answer(vector, profile)
        if (question := _question(vector)) not in self._known:
            self._known[question] = self._reference.answer(vector, profile)
        return self._known[question]


def _question(vector: Vector) -> str:
    names = ("op", "config", "width", "history", "recipe", "cycle", "steps", "every")
    return json.dumps([vector.get(name) for name in names], sort_keys=True)


def committed_draws() -> list[Vector]:
    """What an earlier run wrote."""
    path = TARGET / "draws.json"
    return json.loads(path.read_bytes())["vectors"] if path.exists() else []


def vectors(part: Part, answers: Answers) -> Iterator[Json]:
    """The vectors of a part; a case whose answer depends on the profile makes two, the second with a ``p`` after its id."""
    for group in part.groups:
        for number, case in enumerate(group.cases, start=1):
            identity = f"{case.clause[0]}-{group.name}-{number:03}"
            told = {profile: answers.of(case, profile) for profile in PROFILES if case.profile in (None, profile)}
            if len({json.dumps(answer) for answer in told.values()}) == 1 and case.profile is None:
                yield vector(identity, case, None, *told["contract"])
                continue
            for profile, answer in told.items():
                yield vector(identity + ("p" if profile == "publisher" else ""), case, profile, *answer)


def vector(identity: str, case: Case, profile: str | None, oracle: str, answer: Json) -> Json:
    """One vector, its keys in the order of contract/conformance.md."""
    named: Json = {"id": identity, "clause": case.clause, "op": case.op}
    if profile is not None:
        named["profile"] = profile
    return {**named, "flags": sorted(case.flags), "comment": case.comment, "oracle": oracle, **case.inputs, **answer}


# ---- files ----


def plain(char: str) -> bool:
    """Whether a reader sees a character in a diff as what it is: no control, no mark, nothing that runs to the left or decomposes."""
    shown = unicodedata2.category(char)[0] in "LNPS" and unicodedata2.bidirectional(char) not in ("R", "AL", "AN")
    return char == " " or (shown and not unicodedata2.decomposition(char))


def line(value: Json) -> str:
    """JSON on one line, in which all that is not plain is escaped."""
    written = json.dumps(value, ensure_ascii=False)
    return "".join(char if plain(char) else json.dumps(char)[1:-1] for char in written)


def document(head: Json, name: str, rows: list[Json]) -> str:
    """A file: one key of the head a line, then one row a line."""
    keys = [f"{json.dumps(key)}: {line(value) if isinstance(value, dict) else json.dumps(value)},\n" for key, value in head.items()]
    body = ",\n".join(line(row) for row in rows)
    return "{\n" + "".join(keys) + f'"{name}": [\n{body}\n]\n}}\n'


def head(part: str, schema: str, engine: Engine) -> Json:
    """What every file begins with."""
    return {
        "schema": f"{schema}.schema.json",
        "contract_version": engine.contract_version,
        "semantic_digest": engine.semantic_digest,
        "part": part,
    }


def vector_files(oracle: Oracle, engine: Engine, *, fresh: bool) -> dict[str, str]:
    """All vector files, after the reference gave the same answers."""
    in_process = InProcess(engine, lambda limit: select("reference", embedded(), limit))
    reference = Remembering(in_process, [] if fresh else committed_draws())
    answers = Answers(oracle, reference)
    files: dict[str, str] = {}
    seen: set[str] = set()
    differences: list[Difference] = []
    for part in parts(oracle):
        rows = list(vectors(part, answers))
        identities = {row["id"] for row in rows}
        assert len(identities - seen) == len(rows), f"{part.name}: an id occurs twice"
        assert {flag for row in rows for flag in row["flags"]} == set(part.notes), f"{part.name}: flags and notes differ"
        seen |= identities
        differences += run(VectorFile(part.name, part.name, engine.semantic_digest, rows), reference)
        files[f"{part.name}.json"] = document({**head(part.name, "vectors", engine), "notes": part.notes}, "vectors", rows)
    if differences:
        raise SystemExit("\n".join(["the reference answers otherwise:", *map(str, differences)]))
    return files


def vocabulary_file(oracle: Oracle, engine: Engine) -> str:
    """Digests of all plain and special tokens of the publisher's file."""
    size = len(oracle.vocabulary)
    whole = {"V-plain": range(size), "V-special": range(size, size + len(oracle.special))}
    whole |= {f"V-block-{number:03}": block for number, block in enumerate(blocks(size))}
    rows = [
        {"id": name, "first": block.start, "last": block.stop - 1, "sha256": vocabulary_digest(block, oracle.token_bytes)}
        for name, block in whole.items()
    ]
    return document(head("vocabulary", "digests", engine), "digests", rows)


def encoded_tokens_file(oracle: Oracle, engine: Engine) -> str:
    """Digests of the ids that the bytes of each token have as a text of their own, from the publisher's program."""
    size = len(oracle.vocabulary)
    rows = []
    for number, block in enumerate([*blocks(size), range(size, size + len(oracle.special))]):
        stream = bytearray()
        for token_id in block:
            ids = _u32(oracle.ids(oracle.token_bytes(token_id), "contract"))
            stream += struct.pack("<I", len(ids) // 4) + ids
        digest = hashlib.sha256(stream).hexdigest()
        rows.append({"id": f"E-block-{number:03}", "first": block.start, "last": block.stop - 1, "sha256": digest})
    return document(head("encoded-tokens", "digests", engine), "digests", rows)


def scalars_file(oracle: Oracle, engine: Engine) -> str:
    """Digests of the ids of every scalar value, from the publisher's program."""
    encode = oracle.tokenizer("contract", False).encode
    nfc = normalizers.NFC().normalize_str
    known: dict[str, bytes] = {}

    def contract(given: str) -> bytes:
        known[given] = _u32(encode(given, add_special_tokens=False).ids)
        return known[given]

    def publisher(given: str) -> bytes:
        # The same program behind its normalizer: where that changes nothing there is nothing to ask again.
        normal = nfc(given)
        return known[normal] if normal in known else _u32(encode(normal, add_special_tokens=False).ids)

    rows: dict[str, list[Json]] = {"contract": [], "publisher": []}
    for number, block in enumerate(blocks(SCALAR_LIMIT)):
        known.clear()
        for profile, encode_u32 in (("contract", contract), ("publisher", publisher)):
            row = {"id": f"S-{profile}-{number:03}", "profile": profile, "first": block.start, "last": block.stop - 1}
            rows[profile].append({**row, "sha256": scalars_digest(block, encode_u32)})
    return document(head("scalars", "digests", engine), "digests", [*rows["contract"], *rows["publisher"]])


def _u32(ids: list[int]) -> bytes:
    return struct.pack(f"<{len(ids)}I", *ids)


def manifest(files: dict[str, str], engine: Engine) -> str:
    """What there is, and where it comes from."""
    entries = []
    for name, content in files.items():
        parsed = json.loads(content)
        rows = parsed.get("vectors", parsed.get("digests"))
        digest = hashlib.sha256(content.encode()).hexdigest()
        entries.append({"name": name, "schema": parsed["schema"], "rows": len(rows), "sha256": digest})
    vector_count = sum(entry["rows"] for entry in entries if entry["schema"] == "vectors.schema.json")
    described = {
        "schema": "manifest.schema.json",
        "contract_version": engine.contract_version,
        "semantic_digest": engine.semantic_digest,
        "generator": "tools/generate_vectors.py",
        "oracle": {**Oracle.versions(), **pipeline.recorded_by(), **{name: f"sha256:{digest}" for name, digest in DIGESTS.items()}},
        "vectors": vector_count,
    }
    return document(described, "files", entries)


def generate(folder: Path, *, fresh: bool) -> dict[str, str]:
    """Name and content of every file."""
    oracle, engine = Oracle(folder), select("reference", embedded())
    files = vector_files(oracle, engine, fresh=fresh)
    files["vocabulary.json"] = vocabulary_file(oracle, engine)
    files["encoded-tokens.json"] = encoded_tokens_file(oracle, engine)
    files["scalars.json"] = scalars_file(oracle, engine)
    for name, content in files.items():
        assert len(content.encode()) < SIZE_LIMIT, f"{name} is larger than {SIZE_LIMIT} bytes"
    return {**files, MANIFEST: manifest(files, engine)}


def differing(files: dict[str, str]) -> list[str]:
    """Names of files that are missing, other, or left over."""
    there = {path.name: path.read_text(encoding="utf-8") for path in TARGET.glob("*.json")}
    return sorted(name for name in there.keys() | files.keys() if there.get(name) != files.get(name))


def main() -> int:
    """Write or compare; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--fresh", action="store_true", help="draw the long runs again, which takes the reference ten minutes")
    parser.add_argument("--source", type=Path, default=SOURCES, help="folder with tokenizer.json and qwen3.jinja")
    arguments = parser.parse_args()
    files = generate(arguments.source, fresh=arguments.fresh)
    changed = differing(files)
    if arguments.check:
        print("\n".join(f"{name} is not what the generator writes" for name in changed) or "all vectors are what the generator writes")
        return 1 if changed else 0
    for name in changed:
        path = TARGET / name
        if name in files:
            path.write_text(files[name], encoding="utf-8")
        else:
            path.unlink()
    print(f"{json.loads(files[MANIFEST])['vectors']} vectors in {len(files) - 1} files; changed: {', '.join(changed) or 'nothing'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
