"""What a run says: medians, who is wrong where, the best exact peer, and how many times better or worse slm2 is."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from slm2.bench.measures import MEASURES, Figure
from slm2.bench.run import ORDINARY_EXCEPT

__all__ = ["Cell", "Ratio", "Summary", "Table"]

Verdict = Literal["right", "wrong", "unknown"]
_OURS = "slm2"  # and a hyphen: others of ours


@dataclass(frozen=True)
class Cell:
    """A figure of one subject.

    Attributes:
        value: the median over the rounds; None where there is none.
        verdict: whether its ids on this input are the oracle's.
        failure: why there is no value.
    """

    value: float | None
    verdict: Verdict
    failure: str | None = None

    @property
    def counts(self) -> bool:
        """Whether others are compared with it."""
        return self.value is not None and self.verdict == "right"


@dataclass(frozen=True)
class Ratio:
    """How many times better slm2 is than the best exact peer: below 1 the peer is ahead."""

    times: float
    peer: str


@dataclass(frozen=True)
class Table:
    """One figure of one measure: a row for each subject, a column for each input."""

    measure: str
    figure: str
    described: Figure
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Cell]]

    @property
    def title(self) -> str:
        """What is measured."""
        return f"{MEASURES[self.measure].title}: {self.described.title}"

    def best_peer(self, column: str) -> str | None:
        """The exact peer with the best median."""
        values = {
            name: cells[column].value
            for name, cells in self.rows.items()
            if not name.startswith(_OURS) and column in cells and cells[column].counts
        }
        if self.described.told:
            return None
        known = {name: value for name, value in values.items() if value is not None}
        if not known:
            return None
        return (max if self.described.more_is_better else min)(known, key=lambda name: known[name])


class Summary:
    """Over the JSON of a run."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self._checks = {(row["subject"], row["group"], row["input"]): row for row in raw["checks"]}
        self._rounds: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
        for row in raw["results"]:
            self._rounds.setdefault((row["subject"], row["measure"], row["input"]), []).append(row)

    @property
    def subjects(self) -> dict[str, Mapping[str, Any]]:
        """Those that were measured."""
        told: Mapping[str, Mapping[str, Any]] = self.raw["subjects"]
        return {name: one for name, one in told.items() if not {"absent", "failure"} & one.keys()}

    @property
    def absent(self) -> dict[str, str]:
        """Those that were not, and why."""
        return {name: one.get("absent") or one["failure"] for name, one in self.raw["subjects"].items() if name not in self.subjects}

    def title(self, subject: str) -> str:
        """What tables call a subject."""
        return str(self.raw["subjects"][subject]["title"])

    @property
    def ours(self) -> str | None:
        """Which of ours is compared with the peers: the native engine, where it is there."""
        return next((name for name in self.subjects if name.startswith(_OURS)), None)

    @property
    def failures(self) -> list[tuple[str, str, str, str]]:
        """Subject, measure, input and reason of what did not end well, each once."""
        found = [
            (row["subject"], row.get("measure", "check"), row["input"], row["failure"])
            for row in (*self.raw["checks"], *self.raw["results"])
            if "failure" in row
        ]
        return list(dict.fromkeys(found))

    def columns(self, group: str) -> tuple[str, ...]:
        """The inputs of a group."""
        return tuple(one["name"] for one in self.raw["inputs"] if one["group"] == group)

    def tables(self) -> Iterator[Table]:
        """One for each figure of each measure that was run."""
        measured = {row["measure"] for row in self.raw["results"]}
        for name, measure in MEASURES.items():
            if name not in measured:
                continue
            columns = self.columns(measure.inputs)
            for figure, described in measure.figures.items():
                rows = {subject: self._row(subject, name, figure, columns) for subject in self.subjects}
                yield Table(name, figure, described, columns, {subject: row for subject, row in rows.items() if row})

    def _row(self, subject: str, measure: str, figure: str, columns: Sequence[str]) -> dict[str, Cell]:
        return {column: self._cell(subject, measure, figure, column) for column in columns if (subject, measure, column) in self._rounds}

    def _cell(self, subject: str, measure: str, figure: str, column: str) -> Cell:
        rounds = self._rounds[subject, measure, column]
        values = [row["figures"][figure] for row in rounds if figure in row.get("figures", ())]
        failure = next((row["failure"] for row in rounds if "failure" in row), None)
        value = statistics.median(values) if values and failure is None else None
        return Cell(value, self._verdict(subject, measure, column), failure)

    def _verdict(self, subject: str, measure: str, column: str) -> Verdict:
        kind = MEASURES[measure].verdict
        if kind == "ordinary":
            return self.ordinary(subject)
        if kind == "batch":
            equal = [row["figures"]["equal"] for row in self._rounds[subject, measure, column] if "figures" in row]
            return _verdict(all(equal)) if equal else "unknown"
        check = self._checks.get((subject, MEASURES[measure].inputs, column))
        if check is None or "failure" in check:
            return "unknown"
        return _verdict({"whole": check["whole"], "decoded": check["decoded"]}.get(kind, check["differing"] == 0))

    def ordinary(self, subject: str) -> Verdict:
        """Whether all its ids are right on the texts that are not made to be strange."""
        found = [row for (name, group, column), row in self._checks.items() if (name, group) == (subject, "texts") and not strange(column)]
        if not found or any("failure" in row for row in found):
            return "unknown"
        return _verdict(all(row["differing"] == 0 for row in found))

    def check(self, subject: str, group: str, column: str) -> Mapping[str, Any] | None:
        """How a subject compared with the oracle."""
        return self._checks.get((subject, group, column))

    def ratio(self, table: Table, column: str) -> Ratio | None:
        """Of ours to the best exact peer: the median over the rounds of the ratio in each round."""
        peer, subject = table.best_peer(column), self.ours
        if peer is None or subject is None or not table.rows.get(subject, {}).get(column, Cell(None, "unknown")).counts:
            return None
        ours, theirs = (self._by_round(name, table, column) for name in (subject, peer))
        ratios = [ours[number] / theirs[number] for number in ours.keys() & theirs.keys()]
        times = statistics.median(ratios)
        return Ratio(times if table.described.more_is_better else 1 / times, peer)

    def _by_round(self, subject: str, table: Table, column: str) -> dict[int, float]:
        rows = self._rounds[subject, table.measure, column]
        return {row["round"]: row["figures"][table.figure] for row in rows if table.figure in row.get("figures", ())}


def strange(column: str) -> bool:
    """Whether a text of this name is made to be strange."""
    return column.startswith(ORDINARY_EXCEPT)


def _verdict(equal: bool) -> Verdict:
    return "right" if equal else "wrong"
