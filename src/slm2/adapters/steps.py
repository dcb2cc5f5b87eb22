"""What every source checks before it touches its cache: see :class:`slm2.logits_source.LogitsSource`."""

from __future__ import annotations

from collections.abc import Sequence

from slm2.engine import integer_id, integer_ids, shown_integer
from slm2.errors import Slm2Error
from slm2.logits_source import ModelFacts

__all__ = ["check_step"]


def check_step(facts: ModelFacts, *, held: int, keep: int, append: Sequence[int]) -> tuple[int, list[int]]:
    """Refuse a step that the model cannot do; libraries answer some of them with a crash or with another model's logits.

    Args:
        facts: of the model.
        held: ids in its cache.
        keep: as the caller gave it.
        append: as the caller gave it.

    Returns:
        ``keep`` and ``append``, of ints.

    Raises:
        Slm2Error: ``invalid_value``; ``invalid_type`` where one of them is no integer, as 1.0 and True are none.
    """
    ids = integer_ids("append", append)
    _check_no_bool("keep", [keep])
    _check_no_bool("append", append)
    if not 0 <= integer_id("keep", keep) <= held:
        raise Slm2Error("invalid_value", field="keep", expected=f"from 0 to {held}, the ids in the cache", found=shown_integer(keep))
    if not ids:
        raise Slm2Error("invalid_value", field="append", expected="at least one id: the row is of the last of them", found="none")
    if facts.context is not None and keep + len(ids) > facts.context:
        expected = f"at most {facts.context - keep} ids after {keep} kept ones: the model holds {facts.context}"
        raise Slm2Error("invalid_value", field="append", expected=expected, found=len(ids))
    if facts.width is not None and not 0 <= min(ids) <= max(ids) < facts.width:
        wrong = next(token for token in ids if not 0 <= token < facts.width)
        raise Slm2Error("invalid_value", field="append", expected=f"ids from 0 to {facts.width - 1}", found=shown_integer(wrong))
    return int(keep), ids


def _check_no_bool(field: str, given: Sequence[int]) -> None:
    """True is the integer 1 for Python; here it is what a comparison left where an id was meant."""
    if bool in set(map(type, given)):
        raise Slm2Error("invalid_type", field=field, expected="integers", found="bool")
