"""One turn: a prompt's reply as it comes, and what it was in the end."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slm2.conversation import Asked, Conversation
from slm2.drawing import Drawing, Drawn
from slm2.errors import Slm2Error
from slm2.generation import Limit, Reason
from slm2.logits_source import SampledBy
from slm2.prompt import BudgetUse
from slm2.reply import Reply, ReplyEvent
from slm2.sampling import SamplingConfig
from slm2.stats import Stats

if TYPE_CHECKING:
    from slm2.contract import Contract

__all__ = ["END_OF_TURN", "Turn", "TurnResult", "config_digest"]

_LOG = logging.getLogger("slm2")

END_OF_TURN = b"<|im_end|>"
# A scalar value has at most four bytes: at most three ids hold the beginning of one that is cut off.
_MOST_OPEN = 3


@dataclass(frozen=True)
class TurnResult:
    """A reply that has ended.

    Attributes:
        ids: all that came, the one that stopped it included.
        text: the content: what was said to the user, without reasoning and calls.
        message: all of it as a message for a conversation, ``reasoning_content`` and ``tool_calls`` included.
        events: all that was told, in order.
        reason: why it ended: ``StopToken``, ``MaxTokens`` (it is cut off) or ``FatalError`` (bytes that are no text).
        stopped_by: the limit that was met, also where the reason is ``FatalError``.
        pending: bytes that came and are no text.
        refusal: why the conversation could not take the reply, and is as it was before the turn; None where it took it.
        kept_ids: how many of the ids are in the conversation: not a stop id that is no part of a turn, nor those of a scalar value
            that was cut off.
        sampled_by: ``sampling2``, or ``server`` where a server drew and the configuration is only what it was asked for.
        model: its name.
        config: with which it was drawn.
        budget: of the window, when the turn began.
        stats: counts and times.
        contract: engine, profile and digests.
    """

    ids: tuple[int, ...]
    text: str
    message: Mapping[str, object]
    events: tuple[ReplyEvent, ...]
    reason: Reason | None
    stopped_by: Limit | None
    pending: bytes
    refusal: Slm2Error | None
    kept_ids: int
    sampled_by: SampledBy
    model: str
    config: SamplingConfig
    budget: BudgetUse
    stats: Stats
    contract: Mapping[str, str]

    @property
    def config_digest(self) -> str:
        """SHA-256 of the configuration, hex: see :func:`config_digest`."""
        return config_digest(self.config)

    def to_dict(self) -> dict[str, Any]:
        """A report, ready for JSON: all but the events and the prompt, of which nothing but its length is in it."""
        budget = {name: getattr(self.budget, name) for name in ("context", "reserve", "prompt_tokens", "left")}
        return {
            "ids": list(self.ids),
            "text": self.text,
            "message": dict(self.message),
            "reason": self.reason,
            "stopped_by": self.stopped_by,
            "pending": self.pending.hex(),
            "refusal": None if self.refusal is None else self.refusal.to_dict(),
            "kept_ids": self.kept_ids,
            "sampled_by": self.sampled_by,
            "model": self.model,
            "config": self.config.to_dict(),
            "config_digest": self.config_digest,
            "profile": self.config.report_name,
            "budget": budget,
            "stats": self.stats.to_dict(),
            "contract": dict(self.contract),
        }


def config_digest(config: SamplingConfig) -> str:
    """SHA-256, hex, of ``SamplingConfig.to_dict()`` as JSON with sorted keys, no blanks, and ASCII alone."""
    return hashlib.sha256(json.dumps(config.to_dict(), sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


class Turn:
    """The events of one reply, as an iterator that takes a step of the model whenever it has none left.

    A step that fails raises and leaves the turn as it was before that step: iterate again, and the step is tried again; or call
    :meth:`abandon`, and the conversation and the generator are what they were before the turn. An interrupt in the middle of a draw
    (in a signal handler) leaves a turn that can only be abandoned.
    """

    def __init__(  # noqa: PLR0913  (made by a Chat alone)
        self,
        contract: Contract,
        conversation: Conversation,
        asked: Asked,
        drawing: Drawing,
        *,
        model: str,
        config: SamplingConfig,
        stats: Stats,
    ) -> None:
        self._contract = contract
        self._conversation = conversation
        self._asked = asked
        self._drawing = drawing
        self._reply = Reply(contract.engine, asked.state)
        self._end_of_turn = next(token_id for token_id, text in contract.engine.special_tokens if text == END_OF_TURN)
        self._model, self._config, self._stats = model, config, stats
        self._told: list[ReplyEvent] = []
        self._waiting: deque[ReplyEvent] = deque()
        self._result: TurnResult | None = None
        self._ended: str | None = None  # why it cannot go on
        self._cancelled = False
        self._within = False  # a draw that came and was not read to its end

    def __iter__(self) -> Iterator[ReplyEvent]:
        return self

    def __next__(self) -> ReplyEvent:
        """The next event.

        Raises:
            Slm2Error: ``model_failed`` and what a row of logits is refused with: the step can be tried again. ``cancelled``;
                ``generation_ended`` after that, after :meth:`abandon`, and where another turn was begun.
        """
        while not self._waiting:
            if self._result is not None:
                raise StopIteration
            self._step()
        return self._waiting.popleft()

    @property
    def asked(self) -> Asked:
        """The prompt."""
        return self._asked

    @property
    def conversation(self) -> Conversation:
        """The one that waits for this reply."""
        return self._conversation

    @property
    def outcome(self) -> TurnResult | None:
        """The result where the turn has ended; None where it goes on or was given up."""
        return self._result

    @property
    def generator_state(self) -> bytes | None:
        """Of the generator after the ids so far; None where a server draws."""
        return self._drawing.state()

    @property
    def stats(self) -> Stats:
        """So far."""
        return self._stats

    @property
    def ids(self) -> tuple[int, ...]:
        """So far."""
        return tuple(self._drawing.ids)

    def result(self) -> TurnResult:
        """Take all steps that are left; events that were not read yet can still be read after.

        Raises:
            Slm2Error: as the iteration.
        """
        while self._result is None:
            self._step()
        return self._result

    def cancel(self) -> None:
        """From any thread: the next step raises ``cancelled`` instead, and the turn is abandoned."""
        self._cancelled = True

    def abandon(self, reason: str = "abandoned") -> None:
        """Give the turn up: the conversation is as it was before it. Nothing happens where it has ended."""
        if self._result is None and self._ended is None:
            self._ended = reason
            self._drawing.close()
            _LOG.info("turn given up after %d ids: %s", self._stats.drawn_ids, reason)

    def _step(self) -> None:
        """One id: drawn, read, and where it is the last one, the end."""
        if self._within:
            self.abandon("interrupted in the middle of a step")
        if self._ended is not None:
            raise Slm2Error("generation_ended", reason=self._ended)
        if self._cancelled:
            self.abandon("cancelled")
            raise Slm2Error("cancelled", steps=self._stats.drawn_ids)
        try:
            drawn = self._drawing.draw()
        except Slm2Error as error:
            _LOG.warning("step %d failed: %s", self._stats.drawn_ids, error.code)
            raise
        self._within = True
        with self._stats.timed("text"):
            events = self._read(drawn)
        self._stats.drawn_ids += drawn.id is not None
        self._told += events
        result = None if drawn.reason is None else self._finished()
        self._waiting.extend(events)
        self._result = result  # this alone is the end, also for the chat: an interrupt comes before it or after it
        self._within = False
        if result is not None:
            self._drawing.close()
            _tell_end(result)

    def _read(self, drawn: Drawn) -> list[ReplyEvent]:
        """What an id says. One that stops without being part of a turn (``<|endoftext|>``) is told with the end, and is not read."""
        if drawn.id is None:
            return self._reply.finish()
        if drawn.reason == "StopToken" and drawn.id in self._config.stop_ids and drawn.id != self._end_of_turn:
            events = self._reply.finish()
            return [*events[:-1], replace(events[-1], ids=(*events[-1].ids, drawn.id))]
        events = self._reply.push(drawn.id)
        closed = bool(events) and events[-1].kind in ("end", "ill_formed")
        return events if drawn.reason is None or closed else [*events, *self._reply.finish()]

    def _finished(self) -> TurnResult:
        """Put the reply into the conversation, and say what it was."""
        events = self._told
        end = self._drawing.end()
        message = self._reply.message
        kept, refusal = self._replied(events, message, cut=end.stopped_by == "MaxTokens")
        engine = self._contract.engine
        return TurnResult(
            ids=self.ids,
            text=str(message["content"]),
            message=message,
            events=tuple(events),
            reason=end.reason,
            stopped_by=end.stopped_by,
            pending=end.pending,
            refusal=refusal,
            kept_ids=kept,
            sampled_by=self._drawing.sampled_by,
            model=self._model,
            config=self._config,
            budget=self._asked.budget,
            stats=replace(self._stats),
            contract={"engine": engine.name, "file_digest": engine.file_digest, "semantic_digest": engine.semantic_digest},
        )

    def _replied(self, events: list[ReplyEvent], message: Mapping[str, object], *, cut: bool) -> tuple[int, Slm2Error | None]:
        """Add the reply to the conversation: how many of its ids it took, and why it took none.

        Where a limit cut it off inside a scalar value, it is added without the ids of that one.
        """
        ids = self._reply.ids
        refusal = self._refusal(ids, message, events)
        for short in range(1, _MOST_OPEN + 1):
            if refusal is None or not cut or refusal.code != "ill_formed_text":
                break
            if self._refusal(ids[:-short], message, events) is None:
                return len(ids) - short, None
        return (len(ids), None) if refusal is None else (0, refusal)

    def _refusal(self, ids: list[int], message: Mapping[str, object], events: list[ReplyEvent]) -> Slm2Error | None:
        """Add a reply by these ids, or why it cannot be added."""
        try:
            self._conversation.replied(ids, message, events)
        except Slm2Error as error:
            return error
        return None


def _tell_end(result: TurnResult) -> None:
    """Log that a turn has ended."""
    kept = "kept" if result.refusal is None else f"not kept: {result.refusal.code}"
    seconds = result.stats.seconds
    _LOG.info("turn ended: %s, %d ids, %.3f s, sampled by %s, %s", result.reason, len(result.ids), seconds, result.sampled_by, kept)
