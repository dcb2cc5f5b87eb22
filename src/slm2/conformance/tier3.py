"""Tier 3: many turns with a cache, a budget that gets smaller, and the memory of all of it (contract/conformance.md)."""

from __future__ import annotations

from slm2.conformance.asking import Asked, Part
from slm2.conformance.protocol import Call
from slm2.conformance.tier1 import vector_part
from slm2.conformance.verdict import Check

__all__ = ["MEMORY_LIMIT", "TIER", "memory_check", "parts"]

TIER = 3
# Contract source, section 12: less than 100 MB for all that is not weights.
MEMORY_LIMIT = 100_000_000


def parts() -> list[Part]:
    """All parts of the tier but memory, which is asked when all is done."""
    return [vector_part("turns.json", TIER)]


def memory_check(host: Asked) -> Check:
    """What the host holds after all that it was asked.

    The bound is that of the environment for the pipeline. A host that can only count all of its process, the runtime of its language
    included, is told, and held to the bound too unless it is an interpreter's.
    """
    outcome = next(iter(host.outcomes([Call("memory", {})])))
    told = outcome.get("expect", {})
    held, measured = told.get("bytes"), told.get("measured")
    if type(held) is not int or measured not in ("environment", "process"):
        return Check("memory", TIER, 1, 1, f"{outcome}")
    note = f"{held:,} bytes, {measured}"
    too_much = measured == "environment" and held >= MEMORY_LIMIT
    return Check("memory", TIER, 1, int(too_much), f"{note}; {MEMORY_LIMIT:,} are the limit" if too_much else None, note=note)
