"""The runner of the vectors against engines that are broken, each in one way (contract/conformance.md)."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cache

import pytest

from slm2.conformance import suite
from slm2.conformance.in_process import InProcess
from slm2.contract import embedded
from slm2.engine import MAX_PRETOKEN, Engine, select
from slm2.errors import Slm2Error

FILES = suite.files()


@cache
def native(limit: int = MAX_PRETOKEN) -> Engine:
    return select("native", embedded(), limit)


class Broken:
    """An engine with some answers of its own."""

    def __init__(self, answers: dict[str, object], limit: int = MAX_PRETOKEN) -> None:
        self._answers, self._limit = answers, limit

    def decode_u32(self, ids, special) -> bytes:
        return self.decode(list(memoryview(ids).cast("I")), special)

    def __getattr__(self, name: str) -> object:
        return self._answers.get(name, getattr(native(self._limit), name))


def broken(**answers: object) -> InProcess:
    return InProcess(Broken(answers), lambda limit: Broken(answers, limit))


class LateStream:
    """Gives no text before the end of the call after next, as decoders do that wait for a space."""

    def __init__(self, special) -> None:
        self._stream = native().stream_decoder(special)
        self._held = ""

    @property
    def pending(self) -> bytes:
        return self._stream.pending

    def push(self, ids) -> str:
        self._held, given = self._stream.push(ids), self._held
        return given

    def finish(self) -> None:
        self._stream.finish()


class CutAtParts:
    """Encodes each part by itself."""

    pending = 0

    def __init__(self, profile) -> None:
        self._profile = profile

    def push(self, data) -> list[int]:
        return native().encode(data, self._profile)

    def finish(self) -> list[int]:
        return []


class WithoutLookBack:
    """Appends the ids of each part to those before."""

    def __init__(self, profile) -> None:
        self._profile, self._count = profile, 0

    def append(self, data) -> tuple[int, list[int]]:
        ids, keep = native().encode(data, self._profile), self._count
        self._count += len(ids)
        return keep, ids


def in_code_points(data, profile, unit):
    return native().encode_spans(data, profile, "code_points" if unit == "utf16" else unit)


def inside_characters(data, profile, unit):
    """A token that ends inside a character does not have it."""
    spans = native().encode_spans(data, profile, "bytes")
    codec, width = {"bytes": ("utf-8", 1), "code_points": ("utf-32-le", 4), "utf16": ("utf-16-le", 2)}[unit]
    before = [0, *(len(data[:end].decode("utf-8", "ignore").encode(codec)) // width for _, _, end in spans)]
    return [(token_id, before[at], before[at + 1]) for at, (token_id, _, _) in enumerate(spans)]


def shifted(data, profile):
    ids = native().encode(data, profile)
    return [*ids[:-1], ids[-1] ^ 1] if ids else ids


def shifted_spans(data, profile, unit):
    return [(token_id, start, end + (start > 2)) for token_id, start, end in native().encode_spans(data, profile, unit)]


def writes_what_fits(data, profile, out):
    ids = native().encode(data, profile)[: len(out)]
    out[: len(ids)] = memoryview(array("I", ids))
    return len(ids)


def or_the_limit(data, profile, limit):
    return min(native().count(data, profile), limit)


def other_position(ids, special):
    try:
        return native().decode(ids, special)
    except Slm2Error as error:
        raise Slm2Error(error.code, **{**error.fields, "position": error.fields["position"] + 1}) from None


def broken_down(*_):
    raise RuntimeError("the engine is gone")


FAULTS: dict[str, tuple[dict[str, Callable], set[str]]] = {
    "last id is another": ({"encode": shifted}, {"tokenizer", "normalization", "ill-formed", "special-text"}),
    "no ids": ({"encode": lambda *_: []}, {"tokenizer", "normalization", "ill-formed", "special-text"}),
    "special text becomes special": ({"encode": lambda data, profile: native().encode_trusted(data, profile)}, {"special-text"}),
    "trusted text stays text": ({"encode_trusted": lambda data, profile: native().encode(data, profile)}, {"special-text"}),
    # What an engine finds in a prompt, and where, is its own affair: the mutants break that in the assembler.
    "no findings": ({"find_special": lambda _: []}, {"special-text"}),
    "never normalises": ({"encode": lambda data, _: native().encode(data, "contract")}, {"normalization", "ill-formed"}),
    "always normalises": ({"encode": lambda data, _: native().encode(data, "publisher")}, {"normalization", "ill-formed"}),
    "ranges too long": ({"encode_spans": shifted_spans}, {"normalization", "counts"}),
    "decodes special tokens always": ({"decode": lambda ids, _: native().decode(ids, "bytes")}, {"decoding"}),
    "refusal with another field": ({"decode": other_position}, {"decoding"}),
    "knows no token": ({"token_id": lambda _: None}, {"decoding"}),
    "text comes late": ({"stream_decoder": LateStream}, {"stream"}),
    "counts bytes": ({"count": lambda data, _: len(data)}, {"counts"}),
    "counts to the limit": ({"count_until": or_the_limit}, {"counts"}),
    "writes what there is room for": ({"encode_into": writes_what_fits}, {"counts"}),
    "one unit for each pair of surrogates": ({"encode_spans": in_code_points}, {"counts"}),
    "a cut character is in one token alone": ({"encode_spans": inside_characters}, {"counts", "normalization"}),
    "no limit": ({"encode": lambda data, profile: native().encode(data, profile)}, {"counts"}),
    "cuts at the end of each part": ({"chunks": CutAtParts}, {"text-in-parts"}),
    "appends without looking back": ({"growing_text": WithoutLookBack}, {"text-in-parts"}),
    "throws": ({"encode": broken_down}, {"tokenizer", "normalization", "ill-formed", "special-text"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_runner_sees_a_broken_engine(fault: str) -> None:
    answers, parts = FAULTS[fault]
    testee = broken(**answers)
    found = {name.removesuffix(".json"): suite.run(suite.load(name), testee) for name in FILES}
    assert parts <= {part for part, differences in found.items() if differences}, fault
    assert all("exception" in difference.actual for part in parts for difference in found[part]) == (fault == "throws")


def test_the_runner_finds_nothing_in_an_engine_that_is_whole() -> None:
    assert not any(suite.run(suite.load(name), broken()) for name in FILES)


def test_answers_are_compared_as_json() -> None:
    vector = {"id": "T-x-001", "op": "token_id", "profile": "contract", "text": "Hello", "expect": {"token": True}}
    file = suite.VectorFile("x", "x", "", [vector])
    assert suite.run(file, broken(token_id=lambda _: 1))
    assert not suite.run(file, broken(token_id=lambda _: True))
