"""Truncation as ``tokenizers`` 0.23 does it: which tokens of a text and its pair stay, and what the parts are that are cut off."""

from __future__ import annotations

from typing import NamedTuple

from slm2.adapters.transformers.encoding import Encoding, Stretch, TokenSequence
from slm2.engine import integer_id, shown_integer
from slm2.errors import Slm2Error

__all__ = ["Truncation", "encoded"]


class Truncation(NamedTuple):
    """Where to cut, under the names that ``tokenizers`` gives them."""

    max_length: int
    stride: int
    strategy: str
    direction: str

    def check(self) -> None:
        """Refuse what no text could be cut by.

        Raises:
            Slm2Error: ``invalid_value``, ``invalid_type``.
        """
        if integer_id("max_length", self.max_length) < 0:
            raise Slm2Error("invalid_value", field="max_length", expected="0 or more", found=shown_integer(self.max_length))
        if not 0 <= integer_id("stride", self.stride) <= self.max_length:
            expected = f"from 0 to max_length, {shown_integer(self.max_length)}"
            raise Slm2Error("invalid_value", field="stride", expected=expected, found=shown_integer(self.stride))
        if self.direction not in ("left", "right"):
            raise Slm2Error("invalid_value", field="truncation_side", expected="left or right", found=repr(self.direction))


def encoded(first: TokenSequence, second: TokenSequence | None, truncation: Truncation | None) -> Encoding:
    """A text and its pair as one encoding, cut where it has to be.

    Raises:
        Slm2Error: ``invalid_value`` where the strategy cannot make it short enough, or the stride leaves nothing to go on by.
    """
    texts = [first] if second is None else [first, second]
    lengths = [len(text.ids) for text in texts]
    kept = lengths if truncation is None else _kept(lengths, truncation)
    parts = [_cut(text, number, kept[number], truncation) for number, text in enumerate(texts)]
    return parts[0] if len(parts) == 1 else parts[0].joined(parts[1])


def _kept(lengths: list[int], truncation: Truncation) -> list[int]:
    """How many tokens of each text stay."""
    most, strategy = truncation.max_length, truncation.strategy
    excess = sum(lengths) - most
    if most == 0:
        return [0] * len(lengths)
    if excess <= 0:
        return lengths
    if strategy == "longest_first":
        return [most] if len(lengths) == 1 else _longest_first(lengths, most)
    chosen = 0 if strategy == "only_first" else 1
    if chosen >= len(lengths):
        raise Slm2Error(
            "invalid_value", field="truncation", expected="a strategy that this text can be cut by", found=f"{strategy}, no pair"
        )
    if lengths[chosen] <= excess:
        found = f"{strategy}, of {lengths[chosen]} tokens where {excess} have to go"
        raise Slm2Error("invalid_value", field="truncation", expected="a strategy that leaves a token", found=found)
    return [length - excess if number == chosen else length for number, length in enumerate(lengths)]


def _longest_first(lengths: list[int], most: int) -> list[int]:
    """The longer text gives way first; where both are longer than half, the first has the smaller half if it is not the longer one."""
    shorter, longer = sorted(lengths)
    longer = shorter if shorter > most else max(shorter, most - shorter)
    if shorter + longer > most:
        shorter = most // 2
        longer = shorter + most % 2
    return [longer, shorter] if lengths[0] > lengths[1] else [shorter, longer]


def _cut(text: TokenSequence, number: int, most: int, truncation: Truncation | None) -> Encoding:
    length = len(text.ids)
    whole = Encoding([Stretch(text, 0, length, number)])
    if truncation is None or most >= length:
        return whole
    if most == 0:
        return Encoding([Stretch(text, 0, 0, number)], [whole])
    if truncation.stride >= most:
        expected = f"less than the {most} tokens that stay of a text"
        raise Slm2Error("invalid_value", field="stride", expected=expected, found=str(truncation.stride))
    parts = _parts(length, most, truncation)
    first, *others = [Encoding([Stretch(text, start, end, number)]) for start, end in parts]
    return Encoding(first.stretches, others)


def _parts(length: int, most: int, truncation: Truncation) -> list[tuple[int, int]]:
    """Ranges of ``most`` tokens that share ``stride`` with their neighbour, from the side that stays to the other."""
    step = most - truncation.stride
    parts: list[tuple[int, int]] = []
    at = 0
    while not parts or parts[-1][1] < length:
        parts.append((at, min(at + most, length)))
        at += step
    return parts if truncation.direction == "right" else [(length - end, length - start) for start, end in parts]
