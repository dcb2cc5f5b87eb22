"""Where the ids of a reply come from: Sampling2 over a model's logits, or a server. A step that fails leaves all as it was before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol, cast

from slm2.contract import Contract
from slm2.engine import EngineGeneratedText, integer_ids, shown_integer
from slm2.errors import Slm2Error
from slm2.generation import Limit, Reason
from slm2.logits_source import LogitsSource, SampledBy, Served, TokenServer
from slm2.model_cache import cache_of
from slm2.sampling import SamplingConfig
from slm2.stats import Stats

__all__ = ["Drawing", "Drawn", "End", "Sampled", "ServedIds", "drawing"]

_LARGEST_ID = 2**32 - 1


class Drawn(NamedTuple):
    """One step.

    Attributes:
        id: that came; None where a server said only that the reply has ended.
        reason: why the reply ended with it; None where it goes on.
    """

    id: int | None
    reason: Reason | None


class End(NamedTuple):
    """How a reply ended; as :class:`slm2.generation.GenerationResult` has it."""

    reason: Reason | None
    stopped_by: Limit | None
    pending: bytes


class Drawing(Protocol):
    """The ids of one reply, one after the other."""

    @property
    def sampled_by(self) -> SampledBy:
        """Who draws."""

    @property
    def ids(self) -> list[int]:
        """All that came so far, the one that stopped it included."""

    def draw(self) -> Drawn:
        """The next id.

        Raises:
            Slm2Error: ``model_failed``; ``logits_invalid`` and what else :meth:`slm2.sampling.Sampler.sample` refuses a row with. The step
                may be tried again then. ``token_id_out_of_range`` for an id without a token, after which nothing comes.
        """

    def end(self) -> End:
        """How it ended, or stands."""

    def state(self) -> bytes | None:
        """Of the generator, for the next reply; None where a server draws."""

    def close(self) -> None:
        """Let go of what is still under way."""


class Sampled:
    """Sampling2 over the logits of a source."""

    sampled_by: SampledBy = "sampling2"

    def __init__(  # noqa: PLR0913, PLR0917  (each has a meaning of its own)
        self, contract: Contract, source: LogitsSource, config: SamplingConfig, prompt: list[int], state: bytes | None, stats: Stats
    ) -> None:
        self._cache = cache_of(source)
        self._source = source  # kept: the cache holds it weakly
        self._generation = contract.generation(config, prompt, special="skip")
        if state is not None:
            self._generation.sampler.restore(state)
        self._all = list(prompt)
        self._begin = len(prompt)
        self._stats = stats
        self._within = False  # a draw that an interrupt left half done

    @property
    def ids(self) -> list[int]:
        """See :class:`Drawing`."""
        return self._all[self._begin :]

    def draw(self) -> Drawn:
        """See :class:`Drawing`."""
        if self._within:
            raise Slm2Error("generation_ended", reason="interrupted in the middle of a draw")
        row = self._cache.row(self._all, len(self._all) - self._begin, self._stats)
        self._within = True
        try:
            with self._stats.timed("sampling"):
                step = self._generation.step(row)
        except Slm2Error:
            self._cache.forget()  # a row that no draw can be made of is no sign of a sound cache
            self._within = False
            raise
        self._all.append(step.sample.id)
        self._within = False
        return Drawn(step.sample.id, step.reason)

    def end(self) -> End:
        """See :class:`Drawing`."""
        result = self._generation.result
        return End(result.reason, result.stopped_by, result.pending)

    def state(self) -> bytes | None:
        """See :class:`Drawing`."""
        return self._generation.sampler.state()

    def close(self) -> None:
        """See :class:`Drawing`."""


class ServedIds:
    """What a server draws; after a failure it is asked to go on from the ids that came."""

    sampled_by: SampledBy = "server"

    def __init__(self, contract: Contract, server: TokenServer, config: SamplingConfig, prompt: list[int], stats: Stats) -> None:
        self._server = server
        self._config = config
        self._prompt = prompt
        self._stats = stats
        self._text: EngineGeneratedText = contract.engine.generated_text(config, "skip")
        self._waiting: deque[int] = deque()
        self._answer: Iterator[Served] | None = None
        self._finished: Limit | None = None
        self._broken: str | None = None  # why nothing can follow the ids that came

    @property
    def ids(self) -> list[int]:
        """See :class:`Drawing`."""
        return self._text.ids

    def draw(self) -> Drawn:
        """See :class:`Drawing`. After ids that are no reply nothing comes any more."""
        if self._broken is not None:
            raise Slm2Error("generation_ended", reason=self._broken)
        while not self._waiting and self._finished is None:
            self._ask()
        if not self._waiting:
            return Drawn(None, self.end().reason)
        token = self._waiting.popleft()
        try:
            with self._stats.timed("sampling"):
                self._text.take(token)
        except Slm2Error as error:
            self._broken = error.code
            raise
        if self._text.reason is not None and self._waiting:
            self._broken = "model_failed"
            sent = f"the server sent {len(self._waiting)} ids after the one that ends the reply"
            raise Slm2Error("model_failed", step=len(self._text.ids), reason=sent)
        return Drawn(token, None if self._waiting else self.end().reason)

    def _ask(self) -> None:
        """Wait for more ids of the server."""
        step = len(self._text.ids)
        if self._answer is None:
            prompt = [*self._prompt, *self._text.ids]
            config = replace(self._config, max_tokens=self._config.max_tokens - step)
            self._answer = self._server.serve(prompt=prompt, config=config)
            self._stats.computed_ids += len(prompt)
        answer, self._answer = self._answer, None  # after a failure another request is made
        try:
            with self._stats.timed("model"):
                served = next(answer, None)
        except Exception as error:
            self._stats.failed_calls += 1
            if isinstance(error, Slm2Error):
                raise
            raise Slm2Error("model_failed", step=step, reason=f"{type(error).__name__}: {error}") from error
        if served is None:
            raise Slm2Error("model_failed", step=step, reason="the server's answer ended without saying why")
        if not self._stats.model_calls:
            self._stats.first_seconds = self._stats.model_seconds
        ids = _ids_of(served, step)
        self._answer = answer
        self._stats.model_calls += 1
        self._waiting.extend(ids)
        if served.finish is not None:
            self._finished = "StopToken" if served.finish == "stop" else "MaxTokens"

    def end(self) -> End:
        """See :class:`Drawing`. Where the server ended the reply inside a scalar value, that is fatal (S-81)."""
        reason = cast("Reason | None", self._text.reason)
        stopped_by = cast("Limit | None", self._text.stopped_by)
        if reason is None and self._finished is not None:
            reason, stopped_by = "FatalError" if self._text.pending else self._finished, self._finished
        return End(reason, stopped_by, self._text.pending)

    def state(self) -> bytes | None:
        """See :class:`Drawing`."""
        return None

    def close(self) -> None:
        """See :class:`Drawing`."""
        close = getattr(self._answer, "close", None)  # an iterator need not have one
        self._answer = None
        if close is not None:
            close()


def _ids_of(served: Served, step: int) -> list[int]:
    """What a server gave, read once; whether an id has a token is seen when its turn comes.

    Raises:
        Slm2Error: ``model_failed`` where they are no ids.
    """
    try:
        ids = integer_ids("ids", served.ids)
    except (Slm2Error, AttributeError) as error:
        raise Slm2Error("model_failed", step=step, reason=f"the server gave no Served with ids: {error}") from error
    wrong = next((token for token in ids if not 0 <= token <= _LARGEST_ID), None)
    if wrong is not None:
        raise Slm2Error("model_failed", step=step, reason=f"the server gave {shown_integer(wrong)}, which is no id")
    return ids


def drawing(  # noqa: PLR0913, PLR0917  (each has a meaning of its own)
    contract: Contract, source: LogitsSource | TokenServer, config: SamplingConfig, prompt: list[int], state: bytes | None, stats: Stats
) -> Drawing:
    """What draws the reply to a prompt, from a state of the generator or from its seed."""
    if isinstance(source, LogitsSource):
        return Sampled(contract, source, config, prompt, state, stats)
    return ServedIds(contract, source, config, prompt, stats)
