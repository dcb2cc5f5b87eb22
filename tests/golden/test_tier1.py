"""Tier 1 as ``slm2 verify`` runs it, on a whole engine and on one in which everything is a little wrong (contract/conformance.md)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from publisher import TOKENIZER_JSON, tokenizer_json
from slm2.conformance import suite
from slm2.conformance.tier1 import Check, verify
from slm2.contract import embedded
from slm2.engine import Engine, select
from slm2.errors import Slm2Error

# Each of the 151,643 entries; every scalar value in four contexts and two profiles is in 544 blocks.
COMPARED = {
    "semantic digest": 1,
    "vocabulary digests": 40,
    "vocabulary both ways": 151_643,
    "special tokens": 26,
    "sealed facts": 151_644,
    "scalar values": 544,
    "publisher's tokenizer.json": 151_670,
}


@cache
def native() -> Engine:
    return select("native", embedded())


def source() -> Path:
    tokenizer_json()
    return TOKENIZER_JSON.parent


class Wrong:
    """An engine that mistakes one token, one scalar value and one special token, and knows nothing of another token."""

    semantic_digest = "0" * 64

    def __getattr__(self, name: str) -> object:
        return getattr(native(), name)

    def token_bytes(self, token_id):
        return native().token_bytes({9707: 9708, 151_650: 151_651}.get(token_id, token_id))

    def token_id(self, data):
        if data == native().token_bytes(9800):
            raise Slm2Error("token_id_out_of_range", position=0, id=9800, limit=9800)
        return native().token_id(data)

    def encode(self, data, profile):
        return [*native().encode(data, profile), 0] if "\u4e00".encode() in data else native().encode(data, profile)

    def encode_u32(self, data, profile):
        return b"".join(token_id.to_bytes(4, "little") for token_id in self.encode(data, profile))


def asked(name: str) -> int:
    return sum(1 if "profile" in vector else 2 for vector in suite.load(name).vectors)


def passed(checks: list[Check]) -> dict[str, bool]:
    return {check.name: check.passed for check in checks}


def test_the_native_engine_passes() -> None:
    seen: dict[str, tuple[int, int]] = {}
    checks = verify(native(), embedded(), source(), lambda name, done, total: seen.update({name: (done, total)}))
    assert all(check.passed for check in checks), [check for check in checks if not check.passed]
    compared = {check.name: check.checked for check in checks}
    assert compared == {**COMPARED, **{f"vectors: {name}": asked(name) for name in suite.files()}}
    assert seen == {name: (count, count) for name, count in compared.items()}


def test_every_check_sees_its_fault() -> None:
    checks = verify(Wrong(), embedded(), source(), lambda *_: None)
    found = passed(checks)
    assert {name for name in COMPARED if found[name]} == set()
    assert not found["vectors: tokenizer.json"]
    assert found["vectors: json-refusals.json"]
    by_name = {check.name: check for check in checks}
    # What is not compared is no success: the check ends at the fault, which counts.
    assert (by_name["vocabulary both ways"].checked, by_name["vocabulary both ways"].differences) == (9800, 2)
    first = {check.name: check.first for check in checks}
    assert first["vocabulary both ways"] == "token_id of the bytes of 9707 is 9708"
    assert first["scalar values"].startswith("S-contract-004: U+4000 to U+4FFF")
    assert first["publisher's tokenizer.json"].startswith("9707 ")
    assert by_name["scalar values"].differences == 2


def test_nothing_compared_is_a_failure() -> None:
    assert not Check("empty", 0, 0, None).passed


@pytest.mark.parametrize("differences", [0, 1])
def test_a_check_passes_without_differences(differences: int) -> None:
    assert Check("one", 1, differences, None).passed == (differences == 0)
