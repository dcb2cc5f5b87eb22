"""Questions to a host, and what becomes of the answers (contract/conformance.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

from slm2.conformance.process import BrokenTestee, Process
from slm2.conformance.protocol import Call
from slm2.conformance.verdict import Check, canonical, first_difference

__all__ = ["Asked", "Part", "Question", "Running", "check"]

Outcome = dict[str, Any]

# A program that crashed so often is not started again.
_MOST_CRASHES = 3


@dataclass(frozen=True, slots=True)
class Question:
    """A call and the outcome that it must have.

    Attributes:
        label: names it in reports.
        call: what is asked.
        expected: ``{"expect": …}`` or ``{"error": …}``.
        weight: for how many things it stands.
    """

    label: str
    call: Call
    expected: Outcome
    weight: int = 1


class Asked(Protocol):
    """A host that answers."""

    @property
    def methods(self) -> frozenset[str]:
        """Names of what it answers."""

    def outcomes(self, calls: Iterable[Call]) -> Iterator[Outcome]:
        """The outcomes of calls in their order; ``{"exception": …}`` where there is none."""


# Says more of the first difference: the host, the question, its outcome.
Explain = Callable[[Asked, Question, Outcome], str]


@dataclass(frozen=True, slots=True)
class Part:
    """Questions that belong together, the same for every host.

    Attributes:
        name: for tables.
        tier: from which on they are asked.
        questions: all of them.
        reduced: those that a slow host is asked in their place; None: all.
        note: what the reduced ones leave out.
        explain: says more of the first difference.
        optional: a host may lack the methods.
    """

    name: str
    tier: int
    questions: Sequence[Question]
    reduced: Sequence[Question] | None = None
    note: str = ""
    explain: Explain | None = None
    optional: frozenset[str] = frozenset()


class Running:
    """A program that is started again where it crashed, so that one crash costs one answer."""

    def __init__(self, start: Callable[[], Process]) -> None:
        """Start it.

        Raises:
            BrokenTestee: it cannot be started.
        """
        self._start = start
        self._process: Process | None = start()
        self._crashes = 0
        self.hello = self._process.hello
        self.methods = self._process.methods

    def outcomes(self, calls: Iterable[Call]) -> Iterator[Outcome]:
        """The outcomes of calls in their order; see :class:`Asked`."""
        todo = list(calls)
        while todo:
            if self._process is None:
                yield from ({"exception": f"not asked: it crashed {_MOST_CRASHES} times"} for _ in todo)
                return
            done = 0
            try:
                for outcome in self._process.calls(todo):
                    done += 1
                    yield outcome
            except BrokenTestee as error:
                done += 1
                yield {"exception": str(error)}
                self._restart()
            todo = todo[done:]

    def _restart(self) -> None:
        self._crashes += 1
        self._process = None
        if self._crashes < _MOST_CRASHES:
            try:
                self._process = self._start()
            except BrokenTestee:
                self._crashes = _MOST_CRASHES

    def close(self) -> str | None:
        """End it; what went wrong at that, if anything did."""
        if self._process is None:
            return None
        try:
            self._process.close()
        except BrokenTestee as error:
            return str(error)
        return None

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()


def check(host: Asked, part: Part, *, slow: bool, advance: Callable[[int], None]) -> Check:
    """Ask a host all questions of a part.

    Args:
        host: what answers.
        part: what is asked.
        slow: whether the reduced questions are asked where there are some.
        advance: is called with the weight of each question that was answered.
    """
    reduced = slow and part.reduced is not None
    chosen = part.reduced if reduced and part.reduced is not None else part.questions
    questions = [question for question in chosen if question.call.method in host.methods or question.call.method not in part.optional]
    digest = sha256()
    compared, wrong = 0, 0
    first: tuple[Question, Outcome] | None = None
    for question, outcome in zip(questions, host.outcomes(question.call for question in questions), strict=True):
        text = canonical(outcome)
        digest.update(text.encode() + b"\n")
        compared += question.weight
        if text != canonical(question.expected):
            wrong += 1
            first = first or (question, outcome)
        advance(question.weight)
    notes = [part.note] if reduced else []
    if len(questions) < len(chosen):
        lacking = sorted({question.call.method for question in chosen} & part.optional - host.methods)
        notes.append(f"{len(chosen) - len(questions)} of the optional {', '.join(lacking)} not asked")
        advance(sum(question.weight for question in chosen) - compared)
    return Check(part.name, part.tier, compared, wrong, _explained(host, part, first), digest.hexdigest(), "; ".join(notes))


def _explained(host: Asked, part: Part, first: tuple[Question, Outcome] | None) -> str | None:
    if first is None:
        return None
    question, outcome = first
    if part.explain is not None and "exception" not in outcome:
        return f"{question.label}: {part.explain(host, question, outcome)}"
    return f"{question.label}: {first_difference(question.expected, outcome)}"
