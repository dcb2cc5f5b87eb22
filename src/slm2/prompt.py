"""Prompt2: what the model may see, in the order of authority and within the budget (contract/prompt.md).

The face: it asks an engine, and computes nothing itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from slm2.artifact import Profile
from slm2.engine import Engine, EngineAssembly, OfOneProcess, integer_ids
from slm2.errors import Slm2Error
from slm2.reference.json_text import shown
from slm2.reference.pieces import Part, Trust
from slm2.reference.policy import SealedPolicy
from slm2.reference.prompt_report import (
    BudgetUse,
    Digests,
    Escape,
    Ledger,
    PartCount,
    PolicyName,
    SourceCount,
    Step,
    Stretch,
    Turns,
    owner,
    part_of,
)
from slm2.reference.prompt_report import delta as delta_of
from slm2.template import Finding, OnSpecial, Token
from slm2.tool_schemas import as_schemas

if TYPE_CHECKING:
    from slm2.prompt_request import PromptRequest

__all__ = [
    "Assembly",
    "Break",
    "BudgetUse",
    "Delta",
    "Digests",
    "Escape",
    "Ledger",
    "PartCount",
    "PolicyName",
    "Prompt",
    "SealedPolicy",
    "SourceCount",
    "Step",
    "Stretch",
    "Turns",
    "owner",
    "part_of",
]


@dataclass(frozen=True, slots=True)
class Break:
    """Where a prompt is another than a cache: a part of the request or ``generation_prompt``, and the item in it."""

    part: str
    source: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What to do with a cache (P-80).

    Attributes:
        keep: how many ids of the cache stay: cut it there.
        append: the ids that follow.
        lost: how many ids of the cache are lost.
        broken: where the prompt is another than the cache; None where nothing is lost, or where the prompt ends before the cache does.
    """

    keep: int
    append: list[int]
    lost: int
    broken: Break | None


class Assembly:
    """A prompt within its budget. What nobody asks for is not computed: each attribute is made when it is first read.

    Attributes:
        input_ids: what the model reads; the policy is in them.
        tokens: for each id its role, part, trust class, and byte ranges in the request's texts as given.
        sources: tokens of each item of the request, in the order in which the prompt has them; each token counts once.
        budget: of the window, in tokens.
        policy: digest, length, tokens, and how many texts of special tokens are in it.
        escapes: in chunk text and local state.
        findings: text of special tokens outside the policy; it is plain text in the prompt.
        dropped_reasoning: messages whose reasoning the template leaves out of the prompt.
        state: of the template's machine, by name; a reply goes on from there.
        ledger: how the prompt came about: digests, counts of each part before and after, and each step that was taken.
        map: the tokens in runs of one place in the request.
    """

    def __init__(self, assembled: EngineAssembly, token_bytes: Callable[[int], bytes] | None) -> None:
        self._assembled = assembled
        self._token_bytes = token_bytes

    def __repr__(self) -> str:
        """No ids: the policy can be read out of them."""
        return f"Assembly({self.budget.prompt_tokens} of {self.budget.context} tokens, policy {self.policy.digest[:12]})"

    def __eq__(self, other: object) -> bool:
        """Whether the other one is the same prompt, with the same account."""
        return self.to_json() == other.to_json() if isinstance(other, Assembly) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by value

    def __reduce__(self) -> tuple[object, ...]:
        """Ids, origins and report; the artifact stays behind, so that :meth:`explain` and :meth:`to_html` are refused."""
        rows = [(token.id, token.role, token.part, token.trust, token.message, list(token.ranges)) for token in self.tokens]
        return _restored, (self._assembled.report(), self.input_ids, rows, self.to_json())

    @cached_property
    def input_ids(self) -> list[int]:
        """See above."""
        return self._assembled.ids()

    @cached_property
    def tokens(self) -> list[Token]:
        """See above."""
        return [
            Token(token_id, role, cast("Part", part), cast("Trust", trust), message, tuple(ranges))
            for token_id, role, part, trust, message, ranges in self._assembled.tokens()
        ]

    @cached_property
    def _report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self._assembled.report())
        return report

    @cached_property
    def budget(self) -> BudgetUse:
        """See above."""
        return BudgetUse(**self._report["budget"])

    @cached_property
    def policy(self) -> PolicyName:
        """See above."""
        return PolicyName(**self._report["policy"])

    @cached_property
    def sources(self) -> list[SourceCount]:
        """See above."""
        return [SourceCount(**count) for count in self._report["sources"]]

    @cached_property
    def escapes(self) -> list[Escape]:
        """See above."""
        return [Escape(**escape) for escape in self._report["escapes"]]

    @cached_property
    def findings(self) -> list[Finding]:
        """See above."""
        return [Finding(**finding) for finding in self._report["findings"]]

    @property
    def dropped_reasoning(self) -> list[str]:
        """See above."""
        return list(self._report["dropped_reasoning"])

    @property
    def state(self) -> str:
        """See above."""
        return str(self._report["state"])

    @cached_property
    def ledger(self) -> Ledger:
        """See above."""
        told = self._report["ledger"]
        steps = [Step(**{"pass_name" if name == "pass" else name: value for name, value in step.items()}) for step in told["steps"]]
        parts = [PartCount(**count) for count in told["parts"]]
        return Ledger(Digests(**told["digests"]), told["target"], Turns(**told["turns"]), parts, steps)

    @cached_property
    def map(self) -> list[Stretch]:
        """See above."""
        return [Stretch(**stretch) for stretch in self._report["map"]]

    @property
    def policy_tokens(self) -> int:
        """Tokens that the policy alone or with the literals beside it makes."""
        return self.policy.tokens

    @property
    def policy_findings(self) -> int:
        """How many texts of special tokens the policy holds."""
        return self.policy.findings

    def delta(self, cached: Iterable[int]) -> Delta:
        """Compare with what a cache holds.

        Args:
            cached: the ids of an earlier prompt and, where there was one, of the reply after it.

        Raises:
            Slm2Error: ``invalid_type`` where they are no integers.
        """
        told = json.loads(self._assembled.delta(integer_ids("cached", cached)))
        broken = told["broken"]
        return Delta(told["keep"], told["append"], told["lost"], Break(**broken) if broken else None)

    def to_json(self) -> str:
        """All of it (P-78): the same text for equal assemblies, on every host.

        Only ``input_ids`` and the ids of ``tokens`` hold the policy.
        """
        return self._assembled.to_json()

    def to_dict(self) -> dict[str, object]:
        """The same as plain data."""
        document: dict[str, object] = json.loads(self.to_json())
        return document

    def explain(self) -> None:
        """Print the prompt in the colours of its sources, what was given up, and the window as a bar. The policy is not shown."""
        from slm2.prompt_picture import print_picture  # noqa: PLC0415  (rich is slow to import)

        print_picture(self, self._bytes_of_tokens())

    def to_html(self) -> str:
        """A page: the prompt coloured by authority, the budget as a picture, and the ledger. The policy is not in it."""
        from slm2.prompt_html import page  # noqa: PLC0415  (few ask for it)

        return page(self, self._bytes_of_tokens())

    def _bytes_of_tokens(self) -> Callable[[int], bytes]:
        if self._token_bytes is None:
            raise TypeError("an Assembly that was pickled has no artifact to show text with; assemble the request again")
        return self._token_bytes


@dataclass(frozen=True, repr=False)
class _Restored:
    """An assembly that was pickled, behind the protocol of :class:`slm2.engine.EngineAssembly`."""

    told: str
    input_ids: list[int]
    rows: list[Any]
    document: str

    def ids(self) -> list[int]:
        return self.input_ids

    def tokens(self) -> list[Any]:
        return self.rows

    def report(self) -> str:
        return self.told

    def to_json(self) -> str:
        return self.document

    def delta(self, cached: Any) -> str:  # noqa: ANN401  (integers)
        stretches = [Stretch(**stretch) for stretch in json.loads(self.told)["map"]]
        return json.dumps(delta_of(self.input_ids, stretches, cached))


def _restored(told: str, input_ids: list[int], rows: list[Any], document: str) -> Assembly:
    return Assembly(_Restored(told, input_ids, rows, document), None)


class Prompt(OfOneProcess):
    """The assembler, over one engine and one profile."""

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._engine = engine
        self._profile: Profile = profile

    def assemble(self, request: Mapping[str, object] | PromptRequest, *, on_special: OnSpecial = "literal") -> Assembly:
        """Assemble a request.

        Args:
            request: as contract/prompt.md has it, a mapping or a :class:`slm2.prompt_request.PromptRequest`; ``policy`` is text or a
                :class:`SealedPolicy`, ``tools`` is what :meth:`slm2.template.Template.render` takes.
            on_special: what to do with the text of special tokens outside the policy: ``literal`` encodes it as plain text and
                reports it, ``reject`` refuses it.

        Raises:
            Slm2Error: a code of contract/prompt.md. No error holds text of the policy.
        """
        if on_special not in ("literal", "reject"):
            raise Slm2Error("invalid_value", field="on_special", expected="literal or reject", found=shown(on_special))
        given: object = request if isinstance(request, Mapping) else _mapping(request)
        if isinstance(given, Mapping):
            given = _unsealed(given)
        return Assembly(self._engine.assemble(given, self._profile, on_special), self._engine.token_bytes)


def _mapping(request: object) -> object:
    """A model of pydantic as the mapping that it was made from; anything else as it is, for the engine to refuse."""
    as_mapping = getattr(request, "as_mapping", None)
    return request if as_mapping is None else as_mapping()


def _unsealed(request: Mapping[str, object]) -> dict[str, object]:
    """The request for the engine alone, which must not be kept, printed or logged."""
    given = dict(request)
    policy = given.get("policy")
    if isinstance(policy, SealedPolicy):
        given["policy"] = policy.fragment().text
    if given.get("tools"):
        given["tools"] = as_schemas(given["tools"])
    return given
