"""Tier 1 of the verification: the whole vocabulary, every scalar value, the sealed facts and all vectors (contract/conformance.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from slm2.artifact import PROFILES, Profile, read
from slm2.compiler import proofs, source
from slm2.conformance import suite
from slm2.conformance.sweeps import SCALAR_LIMIT, blocks, scalars_digest, vocabulary_digest
from slm2.engine import Engine, select
from slm2.errors import Slm2Error

__all__ = ["Check", "Progress", "verify"]

# progress(check, done, total), counted in the things that the check counts.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found.

    Attributes:
        name: of the check.
        checked: how many things were compared.
        differences: how many of them were not as they must be; a check passes with 0 of at least 1.
        first: the first difference; None where there is none.
    """

    name: str
    checked: int
    differences: int
    first: str | None

    @property
    def passed(self) -> bool:
        """Whether something was compared and nothing differed."""
        return self.checked > 0 and self.differences == 0


def verify(engine: Engine, artifact: bytes, source_dir: Path | None, progress: Progress) -> list[Check]:
    """Verify an engine that opened ``artifact``.

    Args:
        engine: what is verified.
        artifact: what it opened; the facts in it are proved again by the reference, and for some vectors it is opened anew.
        source_dir: a folder with the publisher's tokenizer.json, to compare entry by entry; None where it is not at hand.
        progress: is called as the checks go on.

    Raises:
        Slm2Error: ``source_missing``, ``source_unsupported``, or a code of contract/artifact.md.
    """
    checks = {
        "semantic digest": _semantic_digest(engine),
        "vocabulary digests": _vocabulary(engine),
        "vocabulary both ways": _both_ways(engine),
        "special tokens": _special_tokens(engine),
        "sealed facts": _facts(engine, artifact, progress),
        "scalar values": _scalars(engine),
    }
    if source_dir is not None:
        checks["publisher's tokenizer.json"] = _against_source(engine, source.load(source_dir))
    results = [_count(name, total, findings, progress) for name, (total, findings) in checks.items()]
    testee = suite.InProcess(engine, lambda limit: select(engine.name, artifact, limit))
    return results + [_vectors(testee, name, progress) for name in suite.files()]


# How many things a check compares, and for each of them None or what is wrong.
_Findings = tuple[int, Iterator[str | None]]


def _count(name: str, total: int, findings: Iterator[str | None], progress: Progress) -> Check:
    step = max(total // 100, 1)
    checked, wrong, first, reason = 0, 0, None, ""
    try:
        for difference in findings:
            checked += 1
            if difference is not None:
                wrong, first = wrong + 1, first or difference
            if checked % step == 0 or checked == total:
                progress(name, checked, total)
    except Slm2Error as error:  # an id that this artifact does not have, say
        reason = f": {error}"
    if checked != total:
        wrong, first = wrong + 1, first or f"only {checked} of {total} were compared{reason}"
    return Check(name, checked, wrong, first)


def _semantic_digest(engine: Engine) -> _Findings:
    """The vectors hold for one behaviour; with another artifact all that follows is about another contract."""
    expected = suite.read_document(suite.MANIFEST)["semantic_digest"]
    return 1, iter([None if engine.semantic_digest == expected else f"{engine.semantic_digest}; the vectors are for {expected}"])


def _vocabulary(engine: Engine) -> _Findings:
    digests = suite.read_document("vocabulary.json")["digests"]

    def findings() -> Iterator[str | None]:
        for entry in digests:
            found = vocabulary_digest(range(entry["first"], entry["last"] + 1), engine.token_bytes)
            yield None if found == entry["sha256"] else f"{entry['id']}: ids {entry['first']} to {entry['last']} have other bytes"

    return len(digests), findings()


def _both_ways(engine: Engine) -> _Findings:
    """Bytes of each id, and the id of these bytes; not through encode, which cuts some entries (T-6)."""

    def findings() -> Iterator[str | None]:
        for token_id in range(engine.vocabulary_size):
            token = engine.token_bytes(token_id)
            if engine.token_id(token) != token_id:
                yield f"token_id of the bytes of {token_id} is {engine.token_id(token)}"
            else:
                yield None if engine.decode([token_id], "refuse") == token else f"{token_id} decodes to other bytes"

    return engine.vocabulary_size, findings()


def _special_tokens(engine: Engine) -> _Findings:
    """What each special token is, and that its text is it by the name ``encode_trusted`` alone."""

    def fault(token_id: int, text: bytes) -> str | None:
        expected: dict[str, tuple[object, object]] = {
            "token_bytes": (engine.token_bytes(token_id), text),
            "token_id": (engine.token_id(text), None),
            "decode": (engine.decode([token_id], "bytes"), text),
            "find_special": (engine.find_special(text), [(0, len(text), token_id)]),
            "encode_trusted": (engine.encode_trusted(text, "contract"), [token_id]),
        }
        for name, (found, wanted) in expected.items():
            if found != wanted:
                return f"{name} of {token_id} is {found!r}"
        plain = [max(engine.encode(text, profile)) < engine.vocabulary_size for profile in PROFILES]
        return None if all(plain) else f"encode makes a special token of the text of {token_id}"

    return len(engine.special_tokens), (fault(token_id, text) for token_id, text in engine.special_tokens)


def _facts(engine: Engine, artifact: bytes, progress: Progress) -> _Findings:
    """T-6: proved again by the reference from the artifact's bytes, then asked of the engine."""
    opened = read(artifact)
    sealed = opened.facts

    def findings() -> Iterator[str | None]:
        if sealed is None:
            yield "the artifact has no facts"
            return
        proved = proofs.prove(opened, lambda done, total: progress("sealed facts", done, total))
        cut = set(sealed.not_encoded)
        yield None if proved == sealed else "the proofs give other facts"
        for token_id, token in enumerate(opened.tokens):
            same = (engine.encode(token, "contract") == [token_id]) == (token_id not in cut)
            yield None if same else f"encode of the bytes of {token_id}"

    return len(opened.tokens) + 1, findings()


def _scalars(engine: Engine) -> _Findings:
    document = suite.read_document("scalars.json")

    def findings() -> Iterator[str | None]:
        for entry in document["digests"]:
            encode_u32 = partial(_encode_u32, engine, entry["profile"])
            found = scalars_digest(range(entry["first"], entry["last"] + 1), encode_u32)
            yield None if found == entry["sha256"] else f"{entry['id']}: U+{entry['first']:04X} to U+{entry['last']:04X} have other ids"

    return len(list(blocks(SCALAR_LIMIT))) * len(PROFILES), findings()


def _encode_u32(engine: Engine, profile: Profile, text: str) -> bytes:
    return engine.encode_u32(text.encode("utf-8"), profile)


def _against_source(engine: Engine, loaded: source.Source) -> _Findings:
    expected = [*enumerate(loaded.tokens), *loaded.special]
    known = {*range(engine.vocabulary_size), *(token_id for token_id, _ in engine.special_tokens)}

    def findings() -> Iterator[str | None]:
        yield None if known == {token_id for token_id, _ in expected} else "the file has other ids"
        for token_id, token in expected:
            same = token_id in known and engine.token_bytes(token_id) == token
            yield None if same else f"{token_id} is another token in the file"

    return len(expected) + 1, findings()


def _vectors(testee: suite.Testee, name: str, progress: Progress) -> Check:
    file, label = suite.load(name), f"vectors: {name}"
    differences = suite.run(file, testee)
    asked = sum(len(suite.profiles(vector)) for vector in file.vectors)
    progress(label, asked, asked)
    return Check(label, asked, len(differences), str(differences[0]) if differences else None)
