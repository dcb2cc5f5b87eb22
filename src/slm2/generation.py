"""One generation: a sampler and a strict stream decoder, from logits to text, with the reason why it ended (contract/sampling.md, S-80).

The face: it asks an engine, and decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from slm2.engine import Engine, OfOneProcess, SpecialPolicy, check_special
from slm2.reference.generated_text import EndReason as Reason
from slm2.reference.generated_text import Limit
from slm2.reference.sampling.config import WIDTH, SamplingConfig
from slm2.sampling import Sample, Sampler, Trace

__all__ = ["Generation", "GenerationResult", "Limit", "Reason", "Step"]


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
        self._text = engine.generated_text(config, check_special(special))

    def step(self, logits: Any, *, allowed: Any = None, top: int = 0) -> Step:  # noqa: ANN401  (as Sampler.sample)
        """Draw an id and deliver its text.

        Raises:
            Slm2Error: as :meth:`Sampler.sample`, after which the step may be tried again; ``generation_ended``; ``structural_id`` and
                ``token_id_out_of_range`` for an id that the stream decoder refuses, which ends the generation without a reason.
        """
        self._text.check_open()
        sample = self.sampler.sample(logits, allowed=allowed, top=top)
        text = self._text.take(sample.id)
        return Step(sample, text, self._reason)

    @property
    def _reason(self) -> Reason | None:
        return cast("Reason | None", self._text.reason)

    def run(
        self, logits: Callable[[tuple[int, ...]], Any], *, constraint: Callable[[tuple[int, ...]], Any] | None = None
    ) -> Iterator[Step]:
        """Steps until the generation ends.

        Args:
            logits: gives the row for the next id, from the ids drawn so far.
            constraint: gives the mask of allowed ids for it, in the forms of :meth:`Sampler.sample`.
        """
        while self._reason is None:
            drawn = tuple(self._text.ids)
            yield self.step(logits(drawn), allowed=constraint(drawn) if constraint is not None else None)

    @property
    def result(self) -> GenerationResult:
        """The generation so far."""
        text = self._text
        return GenerationResult(
            ids=tuple(text.ids),
            text=text.text,
            reason=self._reason,
            stopped_by=cast("Limit | None", text.stopped_by),
            stop_string=text.stop_string,
            pending=text.pending,
            profile=self.sampler.config.report_name,
        )

    def trace(self) -> Trace:
        """What was recorded, where ``record=True`` was given."""
        return self.sampler.trace()
