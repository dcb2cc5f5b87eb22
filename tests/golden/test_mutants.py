"""Every mutant of mutants.py is caught by the vector that it names, which the whole reference passes (contract/conformance.md)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from golden.mutants import MUTANTS, Mutant, mutated
from slm2.conformance import suite
from slm2.conformance.in_process import InProcess
from slm2.contract import embedded
from slm2.engine import MAX_PRETOKEN, Engine, select

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mutation-check.md"


@cache
def reference(limit: int = MAX_PRETOKEN) -> Engine:
    return select("reference", embedded(), limit)


@cache
def vectors() -> dict[str, suite.Vector]:
    return {vector["id"]: vector for name in suite.files() for vector in suite.load(name).vectors}


def answers(vector: suite.Vector) -> list[suite.Outcome]:
    testee = InProcess(reference(), reference)
    return [testee.answer(vector, profile) for profile in suite.profiles(vector)]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.fault for mutant in MUTANTS])
def test_the_named_vector_catches_it(mutant: Mutant) -> None:
    vector = vectors()[mutant.caught_by]
    expected = suite.canonical(suite.expected(vector))
    # Before, so that no module is loaded for the first time while the fault is in and keeps it.
    assert all(suite.canonical(answer) == expected for answer in answers(vector))
    with mutated(mutant):
        found = answers(vector)
    # An engine that throws would be caught by anything: the vector must see another answer.
    assert any(suite.canonical(answer) != expected and "exception" not in answer for answer in found)
    assert all(suite.canonical(answer) == expected for answer in answers(vector))


def test_there_are_enough_and_none_twice() -> None:
    assert len(MUTANTS) >= 25
    assert len({mutant.fault for mutant in MUTANTS}) == len(MUTANTS)


def test_the_page_has_the_table() -> None:
    told = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert told == table()


def table() -> list[str]:
    """The rows of the page."""
    known = vectors()
    return [
        f"| {mutant.fault} | `{mutant.where.replace('reference.', '').replace(':', ' ')}` | `{mutant.caught_by}` | "
        f"{known[mutant.caught_by]['clause']} |"
        for mutant in MUTANTS
    ]
