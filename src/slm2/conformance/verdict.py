"""What a verification found: checks of hosts, and the first place at which an answer is another (contract/conformance.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Check", "HostVerdict", "canonical", "first_difference"]

_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Check:
    """What one part of a verification found in one host.

    Attributes:
        part: its name.
        tier: to which it belongs.
        compared: how many things were compared.
        differences: how many of them were not as they must be; a check passes with 0 of at least 1.
        first: the first difference; None where there is none.
        digest: SHA-256 over all answers in their order, hex: two hosts that answered the same have the same.
        note: what was left out, and why; empty where nothing was.
    """

    part: str
    tier: int
    compared: int
    differences: int
    first: str | None
    digest: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether something was compared and nothing differed."""
        return self.compared > 0 and self.differences == 0


@dataclass(frozen=True, slots=True)
class HostVerdict:
    """All that was found in one host.

    Attributes:
        name: of the host.
        title: for tables.
        facts: what it said about itself.
        checks: in the order of the parts; empty where it could not be asked.
        missing: why it could not be asked; None where it was.
    """

    name: str
    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    missing: str | None = None

    @property
    def passed(self) -> bool:
        """Whether it was asked, and every check passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)


def canonical(outcome: object) -> str:
    """One text for one JSON value; 1, 1.0 and true are three values."""
    return json.dumps(outcome, sort_keys=True)


def first_difference(expected: object, actual: object) -> str:
    """Where two JSON values part, and what stands there: ``expect.ids[3]: expected 13, got 25``."""
    if isinstance(actual, dict) and "exception" in actual:
        return f"the testee failed: {actual['exception']}"
    path, wanted, found = next(_differences(expected, actual, ""), ("", expected, actual))
    return f"{path or 'the answer'}: expected {_shown(wanted)}, got {_shown(found)}"


_ABSENT = "nothing"


def _differences(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, object, object]]:  # noqa: ANN401  (JSON)
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            yield from _differences(expected.get(key, _ABSENT), actual.get(key, _ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and isinstance(actual, list):
        for place in range(max(len(expected), len(actual))):
            wanted, found = (values[place] if place < len(values) else _ABSENT for values in (expected, actual))
            yield from _differences(wanted, found, f"{path}[{place}]")
    elif canonical(expected) != canonical(actual):
        yield path, expected, actual


def _shown(value: object) -> str:
    text = value if value is _ABSENT else json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
