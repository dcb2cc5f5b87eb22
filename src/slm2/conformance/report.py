"""The report of a verification as data: the same for the same verdicts, wherever and whenever it was made (contract/conformance.md)."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

from slm2 import __version__
from slm2.artifact import Artifact
from slm2.conformance import suite
from slm2.conformance.verdict import Check, HostVerdict

__all__ = ["machine", "report", "rows"]


def report(artifact: Artifact, tier: int, verdicts: Sequence[HostVerdict], asked: frozenset[str]) -> dict[str, Any]:
    """All of it, as JSON.

    Args:
        artifact: that was verified.
        tier: up to which.
        verdicts: of the artifact and the hosts.
        asked: the hosts whose absence is a failure.
    """
    manifest = suite.read_document(suite.MANIFEST)
    return {
        "report": 1,
        "passed": all(verdict.passed for verdict in verdicts if verdict.missing is None or verdict.name in asked),
        "tier": tier,
        "slm2": __version__,
        "artifact": {"file_digest": artifact.file_digest, "semantic_digest": artifact.semantic_digest},
        "vectors": {"count": manifest["vectors"], "digests": {entry["name"]: entry["sha256"] for entry in manifest["files"]}},
        "oracle": manifest["oracle"],
        "hosts": [_host(verdict) for verdict in verdicts],
        "machine": machine(),
    }


def _host(verdict: HostVerdict) -> dict[str, Any]:
    described: dict[str, Any] = {"name": verdict.name, "title": verdict.title, "passed": verdict.passed}
    if verdict.missing is not None:
        return {**described, "missing": verdict.missing}
    return {**described, "facts": dict(verdict.facts), "checks": [_check(check) for check in verdict.checks]}


def _check(check: Check) -> dict[str, Any]:
    told: dict[str, Any] = {"part": check.part, "tier": check.tier, "passed": check.passed, "compared": check.compared}
    told |= {"differences": check.differences, "first": check.first, "sha256": check.digest or None}
    return {**told, "note": check.note} if check.note else told


def machine() -> dict[str, Any]:
    """Facts of this machine that say what was shown where: kinds and versions, no names."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "byte_order": sys.byteorder,
    }


def rows(verdicts: Sequence[HostVerdict]) -> list[tuple[int, str, list[Check | None]]]:
    """``(tier, part, check of each host)``: the table host x part, parts in the order in which they were asked."""
    names: dict[tuple[int, str], None] = {}
    for tier in (1, 2, 3):
        for verdict in verdicts:
            names |= {(check.tier, check.part): None for check in verdict.checks if check.tier == tier}
    found = [{(check.tier, check.part): check for check in verdict.checks} for verdict in verdicts]
    return [(tier, part, [checks.get((tier, part)) for checks in found]) for tier, part in names]
