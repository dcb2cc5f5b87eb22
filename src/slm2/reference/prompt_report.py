"""What an assembly says about itself: ids, the origin of each, counts by source, the budget. No text of the policy is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from slm2.reference.pieces import Trust
from slm2.reference.policy import POLICY_SOURCE
from slm2.reference.rendering import Finding, Token

_TRUST_OF_PART: dict[str, Trust] = {"program": "program", "policy": "policy", "local_state": "application", "tools": "application"}


@dataclass(frozen=True, slots=True)
class SourceCount:
    """Tokens of one item of the request; ``source`` is ``program`` for the literals of template and assembler."""

    source: str
    trust: Trust
    tokens: int


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """Tokens: ``context`` = ``prompt_tokens`` + ``reserve`` + ``left``."""

    context: int
    reserve: int
    prompt_tokens: int
    left: int


@dataclass(frozen=True, slots=True)
class PolicyName:
    """The policy as a report names it: SHA-256 of its UTF-8 text, hex, and its length in bytes."""

    digest: str
    length: int


@dataclass(frozen=True, slots=True)
class Escape:
    """A ``<`` that became ``&lt;``: the source field, and the byte offset in its UTF-8 as given."""

    source: str
    offset: int


@dataclass(frozen=True, slots=True, repr=False)
class Assembly:
    """A prompt within its budget.

    Attributes:
        input_ids: what the model reads; the policy is in them.
        tokens: for each id its role, part, trust class, and byte ranges in the request's texts as given.
        sources: tokens of each item of the request, in the order in which the prompt has them; each token counts once.
        budget: of the window, in tokens.
        policy: digest and length.
        escapes: in chunk text and local state.
        findings: text of special tokens outside the policy; it is plain text in the prompt.
        policy_findings: how many there are in the policy.
        dropped_reasoning: messages whose reasoning the template leaves out of the prompt.
    """

    input_ids: list[int]
    tokens: list[Token]
    sources: list[SourceCount]
    budget: BudgetUse
    policy: PolicyName
    escapes: list[Escape]
    findings: list[Finding]
    policy_findings: int
    dropped_reasoning: list[str]

    def __repr__(self) -> str:
        """No ids: the policy can be read out of them."""
        return f"Assembly({self.budget.prompt_tokens} of {self.budget.context} tokens, policy {self.policy.digest[:12]})"

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON, the same for equal requests. Only ``input_ids`` and the ids of ``tokens`` hold the policy."""
        return {
            "input_ids": self.input_ids,
            "budget": asdict(self.budget),
            "policy": {**asdict(self.policy), "tokens": self.policy_tokens, "findings": self.policy_findings},
            "sources": [asdict(count) for count in self.sources],
            "escapes": [asdict(escape) for escape in self.escapes],
            "findings": [asdict(finding) for finding in self.findings],
            "dropped_reasoning": self.dropped_reasoning,
            "tokens": [_token_dict(token) for token in self.tokens],
        }

    @property
    def policy_tokens(self) -> int:
        """Tokens that the policy alone or with the literals beside it makes."""
        return sum(count.tokens for count in self.sources if count.source == POLICY_SOURCE)


def _token_dict(token: Token) -> dict[str, object]:
    ranges = [{"source": source, "start": start, "end": end} for source, start, end in token.ranges]
    return {"id": token.id, "role": token.role, "part": token.part, "trust": token.trust, "ranges": ranges}


def item_of(source: str) -> str:
    """The item of the request that a source is a field of: ``retrieved[kb-7]`` of ``retrieved[kb-7].text``."""
    return source[: source.index("]") + 1] if "]" in source else source


def part_of(source: str) -> str:
    """The field of the request that a source lies in: ``retrieved`` of ``retrieved[kb-7].text``."""
    return source.partition("[")[0]


def owner(token: Token) -> str:
    """The item that a token counts for: the first that it touches among those of its trust class (P-53)."""
    for source, _, _ in token.ranges:
        if _TRUST_OF_PART.get(part_of(source), "untrusted") == token.trust:
            return item_of(source)
    return "program"


def count_by_source(tokens: Sequence[Token]) -> list[SourceCount]:
    """Tokens of each item, in the order of the first token."""
    counts: dict[tuple[str, Trust], int] = {}
    for token in tokens:
        key = (owner(token), token.trust)
        counts[key] = counts.get(key, 0) + 1
    return [SourceCount(source, trust, count) for (source, trust), count in counts.items()]
