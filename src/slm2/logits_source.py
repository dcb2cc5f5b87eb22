"""What a model must be for this package: ids in, logits out; or, where a server draws by itself, ids in, ids out.

The adapters (:mod:`slm2.adapters`) and anybody's own class stand behind these two protocols; :mod:`slm2.chat` calls nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from slm2.contract import Contract
from slm2.errors import Slm2Error
from slm2.reference.sampling.config import WIDTH, SamplingConfig

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

__all__ = ["Finish", "LogitsSource", "ModelFacts", "SampledBy", "Served", "TokenServer", "check_model"]

SampledBy = Literal["sampling2", "server"]
Finish = Literal["stop", "length"]


@dataclass(frozen=True)
class ModelFacts:
    """What the weights say of themselves, each item None or empty where they do not say it.

    Attributes:
        name: of the model, for errors and reports: a directory, a file, a URL.
        width: logits of a row.
        special_ids: id of each special token by its text, for those that the weights' own files name.
        end_ids: ids that the weights end a reply with.
        context: the most ids that the model holds at once.
    """

    name: str
    width: int | None
    special_ids: Mapping[str, int] = field(default_factory=dict)
    end_ids: tuple[int, ...] = ()
    context: int | None = None


@runtime_checkable
class LogitsSource(Protocol):
    """A model with a cache of one sequence."""

    @property
    def model(self) -> ModelFacts:
        """What the weights say of themselves; ``width`` is not None."""

    def logits(self, *, keep: int, append: Sequence[int]) -> Row:
        """Cut the cache to its first ``keep`` ids, put ``append`` after them, and compute the row for the id that follows.

        After an exception, whatever it is, the caller takes the cache as empty: its next call has ``keep=0`` and all ids.

        Args:
            keep: from 0 to the number of ids in the cache.
            append: at least one id.

        Returns:
            One-dimensional array of ``model.width`` float32, or float16 or bfloat16 (of ml_dtypes): what
            :meth:`slm2.sampling.Sampler.sample` takes. It need stay as it is only until the next call.
        """


class Served(NamedTuple):
    """Some ids of a server.

    Attributes:
        ids: as they came; the one that ended the reply is the last where the server tells it.
        finish: why the server ended the reply: ``stop`` at an end id, ``length`` at its limit; None where more ids follow.
    """

    ids: Sequence[int]
    finish: Finish | None


@runtime_checkable
class TokenServer(Protocol):
    """A server that has the model and draws by itself. What it draws is its own: a report says ``sampled_by`` = ``server``."""

    @property
    def model(self) -> ModelFacts:
        """What the server says of its model; ``width`` may be None."""

    def serve(self, *, prompt: Sequence[int], config: SamplingConfig) -> Iterator[Served]:
        """The reply to a prompt, both by their ids, as it comes. Closing the iterator ends the request.

        Args:
            prompt: all ids that the model reads.
            config: the settings that are asked of the server. One that it does not have is refused before the request is made.

        Raises:
            Slm2Error: ``invalid_value`` for a setting that the server does not have.
        """


def check_model(contract: Contract, facts: ModelFacts) -> None:
    """Refuse weights that were made for other ids than the contract's.

    Compared is what the weights say: the width of a row with the 151,936 of Sampling2, each special token by its text with the
    artifact's, and that each id which ends a reply is a special token. What they do not say is not compared.

    Raises:
        Slm2Error: ``model_mismatch``.
    """
    if facts.width is not None and facts.width != WIDTH:
        raise _mismatch(facts, "the width of its logits", WIDTH, facts.width)
    sealed = {text.decode(): token_id for token_id, text in contract.engine.special_tokens}
    for text, token_id in facts.special_ids.items():
        if sealed.get(text) != token_id:
            raise _mismatch(facts, f"the id of {text}", sealed.get(text, "no such token"), token_id)
    for token_id in facts.end_ids:
        if token_id not in sealed.values():
            raise _mismatch(facts, "an id that ends its replies", "the id of a special token", token_id)


def _mismatch(facts: ModelFacts, what: str, expected: object, found: object) -> Slm2Error:
    return Slm2Error("model_mismatch", model=facts.name, what=what, expected=expected, found=found)
