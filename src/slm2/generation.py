"""One generation: a sampler and a strict stream decoder, from logits to text, with the reason why it ended (contract/sampling.md, S-80)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from slm2.engine import Engine, OfOneProcess, SpecialPolicy
from slm2.errors import Slm2Error
from slm2.reference.sampling.config import WIDTH, SamplingConfig
from slm2.reference.sampling.stop_strings import StopStrings
from slm2.sampling import Sample, Sampler, Trace
from slm2.stream import StreamDecoder

__all__ = ["Generation", "GenerationResult", "Limit", "Reason", "Step"]

Limit = Literal["StopToken", "MaxTokens", "StopString"]
Reason = Literal["StopToken", "MaxTokens", "StopString", "FatalError"]


class Step(NamedTuple):
    """One step of a generation.

    Attributes:
        sample: the draw.
        text: what became complete with it; may be empty.
        reason: why the generation ended with it; None where it goes on.
    """

    sample: Sample
    text: str
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """A generation so far, or as it ended.

    Attributes:
        ids: all that were drawn, one that stopped it included.
        text: all that was delivered.
        reason: why it ended; None where it goes on.
        stopped_by: the limit that was met, also where the reason is ``FatalError``; None where none was.
        stop_string: which string ended it; None where none did.
        pending: bytes that came and are no text: an open scalar value, or what made the stream fail.
        profile: with the torch release where the stream is the publisher's.
    """

    ids: tuple[int, ...]
    text: str
    reason: Reason | None
    stopped_by: Limit | None
    stop_string: str | None
    pending: bytes
    profile: str


class Generation(OfOneProcess):
    """Draws ids until something ends it; their text comes as soon as it is complete.

    An id of ``stop_ids`` ends it and has no text. ``FatalError`` (the bytes are no UTF-8, or stop inside a scalar value) wins over every
    limit; a stop id wins over ``max_tokens``.
    """

    def __init__(  # noqa: PLR0913  (each has a meaning of its own)
        self,
        engine: Engine,
        config: SamplingConfig,
        prompt: Iterable[int] = (),
        *,
        special: SpecialPolicy,
        width: int = WIDTH,
        record: bool = False,
    ) -> None:
        """Begin.

        Args:
            engine: computes.
            config: all that decides beside logits and history.
            prompt: ids that the model has seen.
            special: what becomes of ids of special tokens that do not stop: ``refuse``, ``skip`` or ``bytes``.
            width: logits of a row.
            record: keep a trace.

        Raises:
            Slm2Error: ``invalid_value``, ``invalid_type``, ``token_id_out_of_range``.
        """
        self.sampler = Sampler(engine, config, prompt, width=width, record=record)
        self._decoder = StreamDecoder(engine, special)
        self._strings = StopStrings(config.stop_strings)
        self._ids: list[int] = []
        self._text: list[str] = []
        self._reason: Reason | None = None
        self._stopped_by: Limit | None = None
        self._refused: str | None = None

    def step(self, logits: Any, *, allowed: Any = None, top: int = 0) -> Step:  # noqa: ANN401  (as Sampler.sample)
        """Draw an id and deliver its text.

        Raises:
            Slm2Error: as :meth:`Sampler.sample`, after which the step may be tried again; ``generation_ended``; ``structural_id`` and
                ``token_id_out_of_range`` for an id that the stream decoder refuses, which ends the generation without a reason.
        """
        if self._reason is not None or self._refused is not None:
            raise Slm2Error("generation_ended", reason=self._reason or self._refused)
        sample = self.sampler.sample(logits, allowed=allowed, top=top)
        self._ids.append(sample.id)
        text = self._take(sample.id)
        if self._reason is not None and self._stopped_by != "StopString":
            text += self._strings.release()
        self._text.append(text)
        return Step(sample, text, self._reason)

    def _take(self, token: int) -> str:
        config = self.sampler.config
        if token in config.stop_ids:
            self._end("StopToken")
            return ""
        try:
            text, failed = self._decoder.push(token), False
        except Slm2Error as error:
            if error.code != "ill_formed_text":
                self._refused = error.code
                self._text.append(self._strings.release())  # what was held back is part of what was generated (S-84)
                raise
            text, failed = str(error.fields["text"]), True
        text = self._strings.push(text)
        if self._strings.found is not None:
            self._stopped_by = "StopString"
        elif len(self._ids) == config.max_tokens:
            self._stopped_by = "MaxTokens"
        if failed:
            self._reason = "FatalError"
        elif self._stopped_by == "StopString":
            self._reason = "StopString"
        elif self._stopped_by is not None:
            self._end(self._stopped_by)
        return text

    def _end(self, limit: Limit) -> None:
        """Meet a limit; an open scalar value makes it fatal."""
        self._stopped_by = limit
        try:
            self._decoder.finish()
            self._reason = limit
        except Slm2Error:
            self._reason = "FatalError"

    def run(
        self, logits: Callable[[tuple[int, ...]], Any], *, constraint: Callable[[tuple[int, ...]], Any] | None = None
    ) -> Iterator[Step]:
        """Steps until the generation ends.

        Args:
            logits: gives the row for the next id, from the ids drawn so far.
            constraint: gives the mask of allowed ids for it, in the forms of :meth:`Sampler.sample`.
        """
        while self._reason is None:
            drawn = tuple(self._ids)
            yield self.step(logits(drawn), allowed=constraint(drawn) if constraint is not None else None)

    @property
    def result(self) -> GenerationResult:
        """The generation so far."""
        return GenerationResult(
            ids=tuple(self._ids),
            text="".join(self._text),
            reason=self._reason,
            stopped_by=self._stopped_by,
            stop_string=self._strings.found,
            pending=b"" if self._reason == "StopString" else self._decoder.pending,
            profile=self.sampler.config.report_name,
        )

    def trace(self) -> Trace:
        """What was recorded, where ``record=True`` was given."""
        return self.sampler.trace()
