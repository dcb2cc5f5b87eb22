"""Tier 1: artifact, whole vocabulary both ways, special tokens, scalar values and all vectors (contract/conformance.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from struct import pack

from slm2.artifact import Artifact, Profile, read
from slm2.compiler import proofs, source
from slm2.conformance import suite
from slm2.conformance.asking import Asked, Outcome, Part, Question
from slm2.conformance.bulk import NO_ID, token_digests
from slm2.conformance.protocol import PROTOCOL, Call, call_of
from slm2.conformance.sweeps import scalars_digest
from slm2.conformance.verdict import Check
from slm2.engine import Engine, select

__all__ = ["artifact_checks", "hello_check", "parts", "vector_part"]

TIER = 1
# Of the blocks of scalar values, a slow host is asked each so many: with Latin letters, Hangul and surrogates among them.
_REDUCED = 16


def hello_check(hello: Outcome, artifact: Artifact) -> Check:
    """The host speaks this protocol, and has opened the artifact that it was given and that the vectors are for."""
    expected = {
        "protocol": PROTOCOL,
        "contract_version": artifact.contract_version,
        "file_digest": artifact.file_digest,
        "semantic_digest": suite.read_document(suite.MANIFEST)["semantic_digest"],
    }
    wrong = [f"{name}: expected {value}, got {hello.get(name)}" for name, value in expected.items() if hello.get(name) != value]
    return Check("artifact", TIER, len(expected), len(wrong), wrong[0] if wrong else None)


def parts(data: bytes) -> list[Part]:
    """All parts of the tier."""
    artifact, reference = read(data), select("reference", data)
    vectors = [vector_part(name, TIER) for name in suite.files() if suite.tier_of(name) == TIER]
    return [_vocabulary(artifact, reference), _special_tokens(artifact), _scalars(reference), *vectors]


def vector_part(name: str, tier: int) -> Part:
    """The vectors of one file, in each profile in which they hold; a slow host is not asked runs with the flag `long`."""
    vectors = suite.load(name).vectors
    questions = [question for vector in vectors for question in _questions(vector)]
    shorter = [question for vector in vectors if not _is_long_run(vector) for question in _questions(vector)]
    left_out = len(questions) - len(shorter)
    note = f"{left_out} of {len(questions)} not asked, since it interprets"
    return Part(f"vectors: {name.removesuffix('.json')}", tier, questions, shorter if left_out else None, note, optional=suite.OPTIONAL)


def _is_long_run(vector: suite.Vector) -> bool:
    return vector["op"] == "draw" and "long" in vector["flags"]


def _questions(vector: suite.Vector) -> list[Question]:
    expected = suite.expected(vector)
    return [Question(f"{vector['id']} ({profile})", call_of(vector, profile), expected) for profile in suite.profiles(vector)]


# ---- vocabulary ----


def _vocabulary(artifact: Artifact, reference: Engine) -> Part:
    """Digests for each block of ids; the first difference is then sought id by id."""
    sealed = suite.read_document("vocabulary.json")["digests"]
    encoded = {entry["first"]: entry["sha256"] for entry in suite.read_document("encoded-tokens.json")["digests"]}
    plain = len(artifact.tokens)
    questions = []
    for entry in sorted(sealed, key=lambda entry: int(entry["first"])):
        block = range(entry["first"], entry["last"] + 1)
        if entry["first"] in encoded and len(block) < plain:  # the row over all plain tokens says the same as its blocks
            ids = sha256(pack(f"<{len(block)}I", *(number if number < plain else NO_ID for number in block))).hexdigest()
            expected = {"bytes": entry["sha256"], "decoded": entry["sha256"], "ids": ids, "encoded": encoded[entry["first"]]}
            call = Call("tokens", {"first": entry["first"], "last": entry["last"]})
            questions.append(Question(f"ids {entry['first']} to {entry['last']}", call, {"expect": expected}, len(block)))

    def digests(block: range) -> Outcome:
        def encode(token: bytes) -> list[int]:
            return reference.encode(token, "contract")

        def decode(number: int) -> bytes:
            return reference.decode([number], "bytes")

        return {"expect": token_digests(block, reference.token_bytes, decode, reference.token_id, encode)}

    return Part("vocabulary", TIER, questions, explain=_bisection("tokens", digests))


def _bisection(method: str, truth: Callable[[range], Outcome]) -> Callable[[Asked, Question, Outcome], str]:
    """Halve a block until one number is left whose answer is another than the reference's."""

    def explain(host: Asked, question: Question, outcome: Outcome) -> str:
        if "expect" not in outcome:
            return f"got {outcome}"
        fixed = {name: value for name, value in question.call.params.items() if name not in ("first", "last")}
        block = range(question.call.params["first"], question.call.params["last"] + 1)

        def differs(part: range) -> bool:
            call = Call(method, {**fixed, "first": part.start, "last": part.stop - 1})
            return next(iter(host.outcomes([call]))) != truth(part)

        if not differs(block):
            return "the sealed digest differs where the host and the reference agree"
        while len(block) > 1:
            half = len(block) // 2
            block = block[:half] if differs(block[:half]) else block[half:]
        call = Call(method, {**fixed, "first": block.start, "last": block.start})
        found, wanted = next(iter(host.outcomes([call]))).get("expect", {}), truth(block)["expect"]
        wrong = [name for name in wanted if found.get(name) != wanted[name]]
        return f"{_named(method, block.start)}: {', '.join(wrong)}"

    return explain


def _named(method: str, number: int) -> str:
    return f"U+{number:04X}" if method == "scalars" else f"id {number}"


def _special_tokens(artifact: Artifact) -> Part:
    """What each special token is, and that its text is it by the name ``encode_trusted`` alone."""
    tokens = [(number, text.decode("utf-8")) for number, text in artifact.special]
    listed = {"tokens": [[number, text] for number, text in tokens]}
    questions = [Question("all of them", Call("special_tokens", {}), {"expect": listed})]
    for number, text in tokens:
        asked: dict[str, tuple[Outcome, Outcome]] = {
            "token_bytes": ({"token": number}, {"text": text}),
            "token_id": ({"text": text}, {"token": None}),
            "decode": ({"ids": [number], "special": "bytes"}, {"text": text}),
            "find_special": ({"profile": "contract", "text": text}, {"findings": [{"offset": 0, "id": number, "text": text}]}),
            "encode_trusted": ({"profile": "contract", "text": text}, {"ids": [number]}),
        }
        questions += [
            Question(f"{method} of {number}", Call(method, params), {"expect": result}) for method, (params, result) in asked.items()
        ]
    return Part("special tokens", TIER, questions)


# ---- scalar values ----


def _scalars(reference: Engine) -> Part:
    questions = []
    for entry in suite.read_document("scalars.json")["digests"]:
        params = {name: entry[name] for name in ("profile", "first", "last")}
        label = f"U+{entry['first']:04X} to U+{entry['last']:04X} ({entry['profile']})"
        questions.append(Question(label, Call("scalars", params), {"expect": {"sha256": entry["sha256"]}}))

    def explain(host: Asked, question: Question, outcome: Outcome) -> str:
        profile: Profile = question.call.params["profile"]

        def truth(block: range) -> Outcome:
            return {"expect": {"sha256": scalars_digest(block, lambda text: reference.encode_u32(text.encode(), profile))}}

        return _bisection("scalars", truth)(host, question, outcome)

    reduced = questions[::_REDUCED]
    note = f"{len(reduced)} of {len(questions)} blocks, since it interprets"
    return Part("scalar values", TIER, questions, reduced, note, explain)


# ---- the artifact by itself ----


def artifact_checks(data: bytes, source_dir: Path | None, advance: Callable[[int], None]) -> Iterator[Check]:
    """What is sealed, proved again by the reference, and compared with the publisher's file entry by entry where that is at hand.

    Raises:
        Slm2Error: ``source_missing``, ``source_unsupported``, or a code of contract/artifact.md.
    """
    artifact = read(data)
    same = proofs.prove(artifact, lambda *_: None) == artifact.facts
    advance(1)
    yield Check("sealed facts", TIER, len(artifact.tokens), int(not same), None if same else "the proofs give other facts")
    if source_dir is not None:
        yield _against_source(artifact, source.load(source_dir))
        advance(1)


def _against_source(artifact: Artifact, loaded: source.Source) -> Check:
    expected = [*enumerate(loaded.tokens), *loaded.special]
    there = dict([*enumerate(artifact.tokens), *artifact.special])
    wrong = [f"{number} is another token in the file" for number, token in expected if there.get(number) != token]
    if len(there) != len(expected):
        wrong.append(f"the artifact has {len(there)} entries, the file {len(expected)}")
    return Check("publisher's tokenizer.json", TIER, len(expected), len(wrong), wrong[0] if wrong else None)
