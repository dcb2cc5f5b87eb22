"""The parts of tier 1, on a whole engine and on one in which everything is a little wrong (contract/conformance.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from publisher import TOKENIZER_JSON, tokenizer_json
from slm2.artifact import read
from slm2.conformance import suite, tier1
from slm2.conformance.asking import Part, check
from slm2.conformance.protocol import Call, line, outcome_of
from slm2.conformance.testee import Responder
from slm2.conformance.verdict import Check
from slm2.contract import embedded
from slm2.engine import MAX_PRETOKEN, Engine, select
from slm2.errors import Slm2Error


@cache
def native(limit: int = MAX_PRETOKEN) -> Engine:
    return select("native", embedded(), limit)


@cache
def parts() -> dict[str, Part]:
    return {part.name: part for part in tier1.parts(embedded())}


class Local:
    """A testee of this process, whose requests and answers are lines all the same."""

    def __init__(self, engine: Engine) -> None:
        self._responder = Responder(engine, lambda _: engine)
        self.methods = frozenset(self._ask(Call("hello", {}))["expect"]["methods"])

    def outcomes(self, calls: Iterable[Call]) -> Iterator[dict]:
        return map(self._ask, calls)

    def _ask(self, call: Call) -> dict:
        request = json.loads(line({"id": 1, "method": call.method, "params": call.params}))
        return outcome_of(json.loads(line(self._responder.answer(request))), 1)


class Wrong:
    """An engine that mistakes one token, one scalar value and one special token."""

    def __getattr__(self, name: str) -> object:
        return getattr(native(), name)

    def token_bytes(self, token_id):
        return native().token_bytes({9707: 9708, 151_650: 151_651}.get(token_id, token_id))

    def encode(self, data, profile):
        given = data.encode() if isinstance(data, str) else data
        return [*native().encode(data, profile), 0] if "\u4dff".encode() in given else native().encode(data, profile)

    def encode_u32(self, data, profile):
        return b"".join(token_id.to_bytes(4, "little") for token_id in self.encode(data, profile))


def asked(engine: Engine, name: str) -> Check:
    return check(Local(engine), parts()[name], slow=False, advance=lambda _: None)


@pytest.mark.parametrize(("name", "compared"), [("vocabulary", 151_669), ("special tokens", 131)])
def test_the_native_engine_passes(name: str, compared: int) -> None:
    found = asked(native(), name)
    assert (found.passed, found.compared, found.first) == (True, compared, None)


def test_all_entries_and_all_scalar_values_are_asked() -> None:
    blocks = [(question.call.params["first"], question.call.params["last"]) for question in parts()["vocabulary"].questions]
    assert [number for first, last in blocks for number in range(first, last + 1)] == [*range(151_669)]
    scalars = {(question.call.params["profile"], question.call.params["first"]) for question in parts()["scalar values"].questions}
    assert scalars == {(profile, first) for profile in ("contract", "publisher") for first in range(0, 0x110000, 4096)}
    assert {f"vectors: {name.removesuffix('.json')}" for name in suite.files() if suite.tier_of(name) == 1} <= parts().keys()


def test_the_first_difference_is_found_to_the_entry() -> None:
    found = asked(Wrong(), "vocabulary")
    assert not found.passed
    assert found.differences == 2
    assert found.first == "ids 8192 to 12287: id 9707: bytes, ids, encoded"
    assert asked(Wrong(), "special tokens").first == 'token_bytes of 151650: expect.text: expected "<|quad_start|>", got "<|quad_end|>"'


def test_the_first_difference_is_found_to_the_scalar_value() -> None:
    part = parts()["scalar values"]
    block = [question for question in part.questions if question.call.params["first"] == 0x4000]
    found = check(Local(Wrong()), only(part, block), slow=False, advance=lambda _: None)
    assert (found.compared, found.differences) == (2, 2)
    assert found.first == "U+4000 to U+4FFF (contract): U+4DFF: sha256"


def only(part: Part, questions: list) -> Part:
    return Part(part.name, part.tier, questions, explain=part.explain)


def test_a_slow_host_is_asked_in_part_and_it_is_said() -> None:
    part = only(parts()["special tokens"], list(parts()["special tokens"].questions))
    fewer = Part(part.name, part.tier, part.questions, part.questions[:5], "5 of 131")
    found = check(Local(native()), fewer, slow=True, advance=lambda _: None)
    assert (found.compared, found.note, found.passed) == (5, "5 of 131", True)


def test_the_greeting_is_compared() -> None:
    artifact = read(embedded())
    hello = Responder(native(), native).answer({"id": 0, "method": "hello", "params": {}})["result"]
    assert tier1.hello_check(hello, artifact).passed
    for change in ({"protocol": 2}, {"file_digest": "0" * 64}, {"semantic_digest": "0" * 64}, {"contract_version": 0}):
        assert not tier1.hello_check({**hello, **change}, artifact).passed


def test_the_artifact_is_the_publishers_entry_by_entry() -> None:
    tokenizer_json()
    checks = [*tier1.artifact_checks(embedded(), TOKENIZER_JSON.parent, lambda _: None)]
    assert {found.part: (found.compared, found.passed) for found in checks} == {
        "sealed facts": (151_643, True),
        "publisher's tokenizer.json": (151_669, True),
    }


def test_a_folder_without_the_publishers_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Slm2Error, match=r"tokenizer\.json"):
        [*tier1.artifact_checks(embedded(), tmp_path, lambda _: None)]


def test_nothing_compared_is_a_failure() -> None:
    assert not Check("empty", 1, 0, 0, None).passed


@pytest.mark.parametrize("differences", [0, 1])
def test_a_check_passes_without_differences(differences: int) -> None:
    assert Check("one", 1, 1, differences, None).passed == (differences == 0)
