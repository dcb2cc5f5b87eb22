"""Counts and times of one turn: numbers alone, so that they can be logged and sent anywhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Literal

__all__ = ["Stage", "Stats"]

Stage = Literal["prompt", "model", "sampling", "text"]


@dataclass
class Stats:
    """Of one turn, so far. A step that failed and was tried again is counted in ``failed_calls`` and in the seconds.

    Attributes:
        prompt_ids: ids of the prompt.
        reused_ids: of these, how many were in the model's cache when the turn began.
        computed_ids: ids that were given to the model, drawn ones included; of a server, what was sent.
        drawn_ids: ids of the reply, the one that stopped it included.
        model_calls: calls that gave a row, or some ids of a server.
        failed_calls: calls that failed.
        prompt_seconds: composing and encoding the prompt.
        first_seconds: of ``model_seconds``, those until the first row or id.
        model_seconds: in the model, or waiting for the server.
        sampling_seconds: drawing, and the strict decoder that says when a reply ends.
        text_seconds: reading the reply: reasoning, content, calls.
    """

    prompt_ids: int = 0
    reused_ids: int = 0
    computed_ids: int = 0
    drawn_ids: int = 0
    model_calls: int = 0
    failed_calls: int = 0
    prompt_seconds: float = 0.0
    first_seconds: float = 0.0
    model_seconds: float = 0.0
    sampling_seconds: float = 0.0
    text_seconds: float = 0.0

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Add the seconds of what is inside to a stage, also where it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            name = f"{stage}_seconds"
            setattr(self, name, getattr(self, name) + time.perf_counter() - start)

    @property
    def seconds(self) -> float:
        """Of the four stages together."""
        return self.prompt_seconds + self.model_seconds + self.sampling_seconds + self.text_seconds

    @property
    def ids_per_second(self) -> float | None:
        """Ids of the reply after the first, for each second after it; None where there are none."""
        after = self.model_seconds - self.first_seconds + self.sampling_seconds + self.text_seconds
        return (self.drawn_ids - 1) / after if self.drawn_ids > 1 and after > 0 else None

    def to_dict(self) -> dict[str, int | float]:
        """The fields by name."""
        return asdict(self)
