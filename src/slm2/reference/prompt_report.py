"""What an assembly says about itself (contract/prompt.md, P-52 to P-55, P-74 to P-81). No text of the policy is in it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

from slm2.reference.pieces import Item, Piece, Trust
from slm2.reference.policy import POLICY_SOURCE
from slm2.reference.rendering import Finding, Token

PARTS = ("policy", "user_turn", "steps", "local_state", "retrieved", "history", "tools", "program")

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
    """The policy as a report names it: SHA-256 of its UTF-8 text, hex, its length in bytes, its tokens, and special tokens' texts in it."""

    digest: str
    length: int
    tokens: int
    findings: int


@dataclass(frozen=True, slots=True)
class Escape:
    """A ``<`` that became ``&lt;``: the source field, and the byte offset in its UTF-8 as given."""

    source: str
    offset: int


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was given up (P-75).

    Attributes:
        pass_name: ``1`` to ``4``, or ``sweep``.
        action: ``drop_turn``, ``drop_chunk``, ``truncate_history``, ``cut_chunk``, ``cut_tool_response`` or ``drop_fact``.
        source: the item of the request; of turns the first message, of a cut the text.
        messages: how many messages went.
        kept_bytes: of a text that was cut, its bytes, as given, that stayed.
        given_bytes: of the texts that the step concerns, as given.
        before: tokens of the prompt.
        after: tokens of the prompt.
        why: how many tokens over which target, and the floor or limit.
    """

    pass_name: str
    action: str
    source: str
    messages: int
    kept_bytes: int
    given_bytes: int
    before: int
    after: int
    why: str

    def to_dict(self) -> dict[str, object]:
        """As JSON names it: ``pass`` for ``pass_name``."""
        return {"pass" if name == "pass_name" else name: value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class PartCount:
    """Tokens of a part of the request in the whole request and in the prompt, and where it begins there (P-74)."""

    part: str
    before: int
    after: int
    begins: int | None


@dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256, hex: of the request's canonical form, of the artifact's behaviour, of the ids (P-76)."""

    request: str
    artifact: str
    result: str


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns of the history."""

    given: int
    kept: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """How the prompt came about (P-74 to P-77); ``target`` is what passes 1 to 4 aimed at, in tokens."""

    digests: Digests
    target: int
    turns: Turns
    parts: list[PartCount]
    steps: list[Step]

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {**asdict(self), "steps": [step.to_dict() for step in self.steps]}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of tokens of one place (P-79): the position of its first one, the part of the request, and the item."""

    begins: int
    part: str
    source: str


@dataclass(frozen=True, slots=True, repr=False)
class Assembled:
    """A prompt within its budget; see :class:`slm2.engine.EngineAssembly`."""

    input_ids: list[int]
    token_list: list[Token]
    sources: list[SourceCount]
    budget: BudgetUse
    policy: PolicyName
    escapes: list[Escape]
    findings: list[Finding]
    dropped_reasoning: list[str]
    state: str
    ledger: Ledger
    map: list[Stretch]

    def __repr__(self) -> str:
        """No ids: the policy can be read out of them."""
        return f"Assembled({self.budget.prompt_tokens} of {self.budget.context} tokens)"

    def ids(self) -> list[int]:
        """The ids of the prompt."""
        return list(self.input_ids)

    def tokens(self) -> list[tuple[int, str, str, str, int | None, list[tuple[str, int, int]]]]:
        """Each id with its origin."""
        return [(token.id, token.role, token.part, token.trust, token.message, list(token.ranges)) for token in self.token_list]

    def _report(self) -> dict[str, object]:
        return {
            "budget": asdict(self.budget),
            "policy": asdict(self.policy),
            "sources": [asdict(count) for count in self.sources],
            "escapes": [asdict(escape) for escape in self.escapes],
            "findings": [asdict(finding) for finding in self.findings],
            "dropped_reasoning": self.dropped_reasoning,
            "state": self.state,
            "ledger": self.ledger.to_dict(),
            "map": [asdict(stretch) for stretch in self.map],
        }

    def report(self) -> str:
        """The report as JSON, without ids and tokens."""
        return json.dumps(self._report(), ensure_ascii=False)

    def to_json(self) -> str:
        """All of it as JSON (P-78)."""
        tokens = [_token_dict(token) for token in self.token_list]
        return json.dumps({"input_ids": self.input_ids, **self._report(), "tokens": tokens}, ensure_ascii=False)

    def delta(self, cached: Sequence[int]) -> str:
        """What it keeps of a cache that holds these ids, as JSON."""
        return json.dumps(delta(self.input_ids, self.map, cached))


def _token_dict(token: Token) -> dict[str, object]:
    ranges = [{"source": source, "start": start, "end": end} for source, start, end in token.ranges]
    return {"id": token.id, "role": token.role, "part": token.part, "trust": token.trust, "ranges": ranges}


def delta(ids: Sequence[int], stretches: Sequence[Stretch], cached: Sequence[int]) -> dict[str, object]:
    """P-80, P-81: the common prefix with a cache, and which part of the request broke it."""
    keep = 0
    for ours, theirs in zip(ids, cached, strict=False):
        if ours != theirs:
            break
        keep += 1
    lost = len(cached) - keep
    broken = None
    if lost and keep < len(ids):
        place = stretches[bisect_right(stretches, keep, key=lambda stretch: stretch.begins) - 1]
        broken = {"part": place.part, "source": place.source}
    return {"keep": keep, "append": list(ids[keep:]), "lost": lost, "broken": broken}


# ---- what a token counts for ----


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


def count_by_part(tokens: Sequence[Token]) -> dict[str, int]:
    """Tokens of each part."""
    counts = dict.fromkeys(PARTS, 0)
    for token in tokens:
        counts[part_of(owner(token))] += 1
    return counts


def policy_tokens(tokens: Sequence[Token]) -> int:
    """Tokens that the policy alone or with the literals beside it makes."""
    return sum(owner(token) == POLICY_SOURCE for token in tokens)


def parts(before: dict[str, int], tokens: Sequence[Token]) -> list[PartCount]:
    """P-74."""
    after = count_by_part(tokens)
    begins: dict[str, int] = {}
    for position, token in enumerate(tokens):
        begins.setdefault(part_of(owner(token)), position)
    return [PartCount(part, before[part], after[part], begins.get(part)) for part in PARTS]


def stretches_of(speakers: Sequence[Item], paths: Sequence[str]) -> list[Stretch]:
    """P-79: runs of tokens of one place; ``paths`` are the places in the request of the messages."""
    runs: list[Stretch] = []
    for place, run in groupby(enumerate(speakers), key=lambda numbered: _place(numbered[1], paths)):
        runs.append(Stretch(next(run)[0], *place))
    return runs


def _place(speaker: Item, paths: Sequence[str]) -> tuple[str, str]:
    """Part and item: of a literal, those that it stands for or around."""
    if isinstance(speaker, Piece) and (speaker.source != "program" or speaker.item):
        item = speaker.item or item_of(speaker.source)
        return part_of(item), item
    if speaker.part == "tools":
        return "tools", "tools"
    if speaker.message is None:
        return "generation_prompt", "generation_prompt"
    path = paths[speaker.message]
    return part_of(path), path
