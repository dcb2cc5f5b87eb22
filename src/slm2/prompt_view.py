"""The text of an assembly without the text of its policy, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from slm2.reference.policy import POLICY_SOURCE
from slm2.reference.prompt_report import BudgetUse, Escape, Ledger, PolicyName, SourceCount, owner
from slm2.reference.utf8 import scalars
from slm2.template import Finding, Token

TokenBytes = Callable[[int], bytes]


class Shown(Protocol):
    """What is shown of an assembly; see :class:`slm2.prompt.Assembly`."""

    @property
    def input_ids(self) -> list[int]:
        """See there."""

    @property
    def tokens(self) -> list[Token]:
        """See there."""

    @property
    def sources(self) -> list[SourceCount]:
        """See there."""

    @property
    def budget(self) -> BudgetUse:
        """See there."""

    @property
    def policy(self) -> PolicyName:
        """See there."""

    @property
    def escapes(self) -> list[Escape]:
        """See there."""

    @property
    def findings(self) -> list[Finding]:
        """See there."""

    @property
    def dropped_reasoning(self) -> list[str]:
        """See there."""

    @property
    def ledger(self) -> Ledger:
        """See there."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What the prompt's text is shown by.

    Attributes:
        kind: a scalar value or ill-formed byte, a structural token, or the whole policy.
        data: its bytes; of the policy, what stands for it.
        scalar: the scalar value; None where there is none.
        position: of the token that it begins in.
        item: of the request, for which that token counts.
    """

    kind: Literal["text", "structural", "policy"]
    data: bytes
    scalar: int | None
    position: int
    item: str


def is_policy(token: Token) -> bool:
    """Whether a token holds a byte of the policy."""
    return any(source == POLICY_SOURCE for source, _, _ in token.ranges)


def masked_text(assembly: Shown, token_bytes: TokenBytes) -> bytes:
    """The prompt as text, structural tokens included, with the policy masked."""
    return b"".join(unit.data for unit in units(assembly, token_bytes, digits=64))


def units(assembly: Shown, token_bytes: TokenBytes, *, digits: int) -> Iterator[Unit]:
    """The prompt unit by unit, the policy as one unit that names it by ``digits`` digits of its digest.

    A scalar value may begin in one token and end in the next.
    """
    policy = assembly.policy
    mask = f"[policy: {assembly.policy.tokens} tokens, {policy.length} bytes, sha256 {policy.digest[:digits]}]"
    text: list[tuple[int, bytes]] = []  # position and bytes of the text tokens since the last other unit
    masked = False
    for position, token in enumerate(assembly.tokens):
        data = token_bytes(token.id)
        if not token.ranges:
            yield from _text_units(assembly, text)
            text = []
            yield Unit("structural", data, None, position, "program")
        elif is_policy(token):
            before, after = _beside_policy(token, data)
            text.append((position, before))
            if not masked:
                yield from _text_units(assembly, text)
                text = []
                yield Unit("policy", mask.encode("ascii"), None, position, POLICY_SOURCE)
                masked = True
            text.append((position, after))
        else:
            text.append((position, data))
    yield from _text_units(assembly, text)


def _beside_policy(token: Token, data: bytes) -> tuple[bytes, bytes]:
    """What a token holds of the literals before and after the policy."""
    sources = [source for source, _, _ in token.ranges]
    lengths = [end - start for _, start, end in token.ranges]
    first = sources.index(POLICY_SOURCE)
    last = len(sources) - sources[::-1].index(POLICY_SOURCE)
    return data[: sum(lengths[:first])], data[len(data) - sum(lengths[last:]) :]


def _text_units(assembly: Shown, text: list[tuple[int, bytes]]) -> Iterator[Unit]:
    data = b"".join(part for _, part in text)
    positions = [position for position, part in text for _ in part]
    for start, end, scalar in scalars(data):
        yield Unit("text", data[start:end], scalar, positions[start], owner(assembly.tokens[positions[start]]))
