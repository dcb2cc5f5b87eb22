"""The passes and the sweep: what is given up, in which order, and when that stops (contract/prompt.md, P-62 to P-73)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from slm2.errors import Slm2Error
from slm2.reference.messages import text_of
from slm2.reference.prompt_cut import cut_at
from slm2.reference.prompt_report import Step
from slm2.reference.prompt_request import Degradation, PromptRequest
from slm2.reference.prompt_text import CUT, Kept, as_given, escaped, escapes, is_inside_escape, whole
from slm2.reference.rendering import Spans
from slm2.reference.utf8 import to_utf8

Size = Callable[[Kept], int]


def target(size: int, available: int, headroom: int) -> int:
    """P-70: what passes 1 to 4 aim at."""
    over = size - available
    if over <= 0 or headroom == 0:
        return available
    return max(size - headroom * -(-over // headroom), 0)


@dataclass(frozen=True, slots=True)
class _Change:
    """A step before it is counted: what is kept after it, and what the ledger says of it."""

    kept: Kept
    action: str
    source: str
    why: str
    given_bytes: int
    messages: int = 0
    kept_bytes: int = 0


class Passes:
    """A run of the passes over one request.

    Attributes:
        kept: what is left.
        size: tokens of the prompt that it makes.
        steps: what was given up so far.
    """

    def __init__(self, request: PromptRequest, size_of: Size, encode_spans: Spans) -> None:
        self._request = request
        self._size_of = size_of
        self._encode_spans = encode_spans
        self.kept = whole(request)
        self.size = size_of(self.kept)
        self.steps: list[Step] = []

    def run(self, floors: Degradation) -> None:
        """Take every step that is allowed, until the prompt fits."""
        available = self._request.budget.context - self._request.budget.reserve
        aim = target(self.size, available, floors.headroom)
        self._take("1", aim, self._oldest_turn(floors.keep_turns))
        self._take("2", aim, self._lowest_chunk(floors.keep_chunks))
        self._take("3", aim, self._earlier_turns(floors.active_turns))
        self._take("4", aim, self._long_chunks(floors.chunk_limit))
        self._take("4", aim, self._long_responses(floors.tool_limit))
        if floors.sweep == "allow":
            self._take("sweep", available, self._swept())

    def _take(self, name: str, aim: int, changes: Iterator[_Change]) -> None:
        """One step after the other as long as the prompt is too large; the next is only asked for then."""
        while self.size > aim:
            change = next(changes, None)
            if change is None:
                return
            before, self.kept = self.size, change.kept
            self.size = self._size_of(self.kept)
            why = f"{before - aim} over {aim}: {change.why}"
            numbers = (change.messages, change.kept_bytes, change.given_bytes, before, self.size)
            self.steps.append(Step(name, change.action, change.source, *numbers, why))

    # ---- what may be given up next ----

    def _turns(self) -> int:
        return len(self._request.turns) - self.kept.turns_out

    def _without_turns(self, count: int, action: str, why: str, *, marker: bool) -> _Change:
        request, kept = self._request, self.kept
        after = replace(kept, turns_out=kept.turns_out + count, marker=kept.marker or marker)
        first, end = kept.history(request), after.history(request)
        size = sum(len(text_of(message.content)) for message in request.history[first:end])
        return _Change(after, action, f"history[{first}]", why, size, messages=end - first)

    def _without_chunk(self, why: str) -> _Change:
        chunk = self._request.retrieved[self.kept.chunks - 1]
        after = replace(self.kept, chunks=self.kept.chunks - 1)
        return _Change(after, "drop_chunk", f"retrieved[{chunk.id}]", why, len(to_utf8(chunk.text)))

    def _oldest_turn(self, keep: int) -> Iterator[_Change]:
        """P-62."""
        while self._turns() > keep:
            yield self._without_turns(1, "drop_turn", f"{self._turns()} turns, keep_turns {keep}", marker=False)

    def _lowest_chunk(self, keep: int) -> Iterator[_Change]:
        """P-63."""
        while self.kept.chunks > keep:
            yield self._without_chunk(f"{self.kept.chunks} chunks, keep_chunks {keep}")

    def _earlier_turns(self, active: int) -> Iterator[_Change]:
        """P-64."""
        turns = self._turns()
        if turns > active:
            yield self._without_turns(turns - active, "truncate_history", f"{turns} turns, active_turns {active}", marker=True)

    def _long_chunks(self, limit: int) -> Iterator[_Change]:
        """P-66: the longest first, of equal ones that of the higher id."""
        long = []
        for chunk in self._request.retrieved[: self.kept.chunks]:
            data = to_utf8(escaped(chunk.text))
            own = limit if chunk.limit is None else min(limit, chunk.limit)
            tokens = len(self._encode_spans(data))
            if tokens > own:
                long.append((tokens, chunk.id, own, chunk, data))
        for tokens, name, own, chunk, data in sorted(long, key=lambda row: row[:2], reverse=True):
            offsets = escapes(chunk.text)
            place = self._cut_at(data, own, lambda byte, offsets=offsets: is_inside_escape(byte, offsets))  # type: ignore[misc]
            after = replace(self.kept, chunk_cuts={**self.kept.chunk_cuts, name: place})
            sizes = (len(to_utf8(chunk.text)), 0, as_given(place, offsets))
            yield _Change(after, "cut_chunk", f"retrieved[{name}].text", f"{tokens} tokens, limit {own}", *sizes)

    def _long_responses(self, limit: int) -> Iterator[_Change]:
        """P-66: the longest first, of equal ones the earlier."""
        first = self.kept.history(self._request)
        messages = [("history", index, message) for index, message in enumerate(self._request.history) if index >= first]
        messages += [("steps", index, message) for index, message in enumerate(self._request.steps)]
        texts = [(name, index, text_of(message.content)) for name, index, message in messages if message.role == "tool"]
        long = [(len(self._encode_spans(data)), name, index, data) for name, index, data in texts]
        for tokens, name, index, data in sorted(long, key=lambda row: -row[0]):  # the sort keeps the order of equal ones
            if tokens <= limit:
                return
            place = self._cut_at(data, limit, lambda _: False)
            after = replace(self.kept, response_cuts={**self.kept.response_cuts, (name, index): place})
            yield _Change(after, "cut_tool_response", f"{name}[{index}].content", f"{tokens} tokens, limit {limit}", len(data), 0, place)

    def _cut_at(self, data: bytes, limit: int, is_inside: Callable[[int], bool]) -> int:
        mark = len(self._encode_spans(CUT.encode()))
        return cut_at(data, limit - mark, self._encode_spans, is_inside)

    def _swept(self) -> Iterator[_Change]:
        """P-68."""
        while self._turns() > 0:
            yield self._without_turns(1, "drop_turn", "sweep of history", marker=True)
        while self.kept.chunks > 0:
            yield self._without_chunk("sweep of retrieved")
        while self.kept.facts > 0:
            fact = self._request.local_state[self.kept.facts - 1]
            after = replace(self.kept, facts=self.kept.facts - 1)
            yield _Change(after, "drop_fact", f"local_state[{fact.name}]", "sweep of local_state", len(to_utf8(fact.value)))


def exceeded(needed: int, available: int, parts: dict[str, int]) -> Slm2Error:
    """P-72."""
    return Slm2Error("budget_exceeded", needed=needed, available=available, parts=parts)
