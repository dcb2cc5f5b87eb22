"""What every source checks before it touches its cache: see :class:`slm2.logits_source.LogitsSource`."""

from __future__ import annotations

from collections.abc import Sequence

from slm2.errors import Slm2Error
from slm2.logits_source import ModelFacts

__all__ = ["check_step"]


def check_step(facts: ModelFacts, *, held: int, keep: int, append: Sequence[int]) -> None:
    """Refuse a step that the model cannot do; libraries answer some of them with a crash or with another model's logits.

    Args:
        facts: of the model.
        held: ids in its cache.
        keep: as the caller gave it.
        append: as the caller gave it.

    Raises:
        Slm2Error: ``invalid_value``.
    """
    if not 0 <= keep <= held:
        raise Slm2Error("invalid_value", field="keep", expected=f"from 0 to {held}, the ids in the cache", found=keep)
    if not append:
        raise Slm2Error("invalid_value", field="append", expected="at least one id: the row is of the last of them", found="none")
    if facts.context is not None and keep + len(append) > facts.context:
        expected = f"at most {facts.context - keep} ids after {keep} kept ones: the model holds {facts.context}"
        raise Slm2Error("invalid_value", field="append", expected=expected, found=len(append))
    if facts.width is not None and not 0 <= min(append) <= max(append) < facts.width:
        wrong = next(token for token in append if not 0 <= token < facts.width)
        raise Slm2Error("invalid_value", field="append", expected=f"ids from 0 to {facts.width - 1}", found=wrong)
