"""Prompt2: a request becomes the ids of a prompt within its budget, each of known origin (contract/prompt.md).

The text is decided here, in the order of authority; the template and the encoder are Template2's and Tokenizer2's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from slm2.artifact.layout import integer_bytes
from slm2.artifact.program import Program
from slm2.errors import Slm2Error
from slm2.reference import prompt_report as report
from slm2.reference import rendering, template
from slm2.reference.events import Options
from slm2.reference.json_text import write_json
from slm2.reference.messages import Message, text_of
from slm2.reference.pieces import Item, Structural
from slm2.reference.prompt_passes import Passes, exceeded, target
from slm2.reference.prompt_report import Assembled
from slm2.reference.prompt_request import PromptRequest, located
from slm2.reference.prompt_text import Conversation, Kept, as_given, conversation, escapes, whole
from slm2.reference.rendering import Finding, Spans, Token, segments


@dataclass(frozen=True)
class Parts:
    """What an assembler is made of.

    Attributes:
        program: the template.
        encode_spans: plain encoding, ``(id, start, end)`` for each token of UTF-8.
        find_special: ``(start, end, id)`` of the text of special tokens in UTF-8.
        id_of_special: id of each structural token by its text.
        digest: the semantic digest of the artifact, hex.
    """

    program: Program
    encode_spans: Spans
    find_special: Spans
    id_of_special: Mapping[str, int]
    digest: str


def assemble(request: PromptRequest, parts: Parts, *, reject_special: bool) -> Assembled:
    """The ids of a request's prompt, each with its origin, and the account of the budget.

    Args:
        request: checked.
        parts: of an engine.
        reject_special: whether text of special tokens outside the policy is refused.

    Raises:
        Slm2Error: ``message_refused``, ``special_token_in_text``, ``budget_exceeded``.
    """
    assembler = _Assembler(request, parts)
    kept = whole(request)
    findings, _ = assembler.find_special(assembler.items(kept))
    if findings and reject_special:
        raise Slm2Error("special_token_in_text", findings=[asdict(finding) for finding in findings])
    tokens, _ = assembler.tokens(kept)
    available = request.budget.context - request.budget.reserve
    before = report.count_by_part(tokens)
    steps: list[report.Step] = []
    if len(tokens) > available and request.degradation is not None:
        passes = Passes(request, assembler.size, parts.encode_spans)
        passes.run(request.degradation)
        kept, steps = passes.kept, passes.steps
    left, _ = assembler.tokens(kept)
    if len(left) > available:
        raise exceeded(len(left), available, report.count_by_part(left))
    headroom = request.degradation.headroom if request.degradation else 0
    return assembler.assembled(kept, steps, before, target(len(tokens), available, headroom))


class _Assembler:
    """One request over the parts of an engine."""

    def __init__(self, request: PromptRequest, parts: Parts) -> None:
        self._request = request
        self._parts = parts
        self._sizes: dict[bytes, int] = {}

    def composed(self, kept: Kept) -> tuple[Conversation, template.Composition]:
        """What the template makes of the messages; a refusal names the part of the request."""
        request = self._request
        options = Options(request.options.enable_thinking, add_generation_prompt=True, preserve_thinking=request.options.preserve_thinking)
        messages = conversation(request, kept)
        try:
            return messages, template.compose(self._parts.program, messages.messages, request.tools, options)
        except Slm2Error as error:
            index = error.fields.get("index")
            if not isinstance(index, int):
                raise
            before_steps = len(request.history) + 2
            raise (located(error, "steps", before_steps) if index >= before_steps else located(error, "history", 1)) from None

    def items(self, kept: Kept) -> list[Item]:
        """Pieces of text and structural tokens."""
        return self.composed(kept)[1].items

    def size(self, kept: Kept) -> int:
        """P-73: tokens of the prompt. What lies between two structural tokens is the unit that is encoded, once."""
        tokens = 0
        for segment in segments(self.items(kept)):
            if isinstance(segment, Structural):
                tokens += 1
                continue
            data = b"".join(piece.data for piece in segment)
            if data not in self._sizes:
                self._sizes[data] = len(self._parts.encode_spans(data))
            tokens += self._sizes[data]
        return tokens

    def tokens(self, kept: Kept) -> tuple[list[Token], list[report.Stretch]]:
        """Each token with ranges of the texts as given, and the places of all."""
        messages, composition = self.composed(kept)
        spoken = list(rendering.spoken(composition.items, self._parts.encode_spans, self._parts.id_of_special))
        places = report.stretches_of([speaker for _, speaker in spoken], messages.paths)
        return [_token_as_given(token, self._escapes) for token, _ in spoken], places

    def find_special(self, items: list[Item]) -> tuple[list[Finding], int]:
        """Text of special tokens in what callers wrote, and how many there are in the policy."""
        found, in_policy = rendering.find_special(items, self._parts.find_special)
        return [_finding_as_given(finding, self._escapes) for finding in found], in_policy

    @cached_property
    def _escapes(self) -> dict[str, list[int]]:
        """For each source with escapes, the byte offset of each escaped ``<`` in the text as given, in the order of the prompt."""
        texts = {f"local_state[{fact.name}].value": fact.value for fact in self._request.local_state}
        texts |= {f"retrieved[{chunk.id}].text": chunk.text for chunk in self._request.retrieved}
        found = {source: escapes(text) for source, text in texts.items()}
        return {source: offsets for source, offsets in found.items() if offsets}

    def _escapes_left(self, kept: Kept) -> list[report.Escape]:
        """Those that are in the prompt."""
        left = [(f"local_state[{fact.name}].value", None) for fact in self._request.local_state[: kept.facts]]
        left += [(f"retrieved[{chunk.id}].text", kept.chunk_cuts.get(chunk.id)) for chunk in self._request.retrieved[: kept.chunks]]  # type: ignore[misc]
        told = []
        for source, cut in left:
            offsets = self._escapes.get(source, [])
            told += [report.Escape(source, offset) for offset in offsets if cut is None or offset < as_given(cut, offsets)]
        return told

    def assembled(self, kept: Kept, steps: list[report.Step], before: dict[str, int], aim: int) -> Assembled:
        """The prompt of what is kept, and its account."""
        request, (messages, composition), (tokens, places) = self._request, self.composed(kept), self.tokens(kept)
        findings, in_policy = self.find_special(composition.items)
        ids = [token.id for token in tokens]
        budget = request.budget
        digests = report.Digests(request_digest(request), self._parts.digest, hashlib.sha256(integer_bytes("I", ids)).hexdigest())
        turns = report.Turns(len(request.turns), len(request.turns) - kept.turns_out)
        return Assembled(
            input_ids=ids,
            token_list=tokens,
            sources=report.count_by_source(tokens),
            budget=report.BudgetUse(budget.context, budget.reserve, len(ids), budget.context - budget.reserve - len(ids)),
            policy=report.PolicyName(request.policy.digest, request.policy.length, report.policy_tokens(tokens), in_policy),
            escapes=self._escapes_left(kept),
            findings=findings,
            dropped_reasoning=[messages.paths[index] for index in composition.dropped],
            state=self._parts.program.states[composition.state],
            ledger=report.Ledger(digests, aim, turns, report.parts(before, tokens), steps),
            map=places,
        )


def _token_as_given(token: Token, offsets: Mapping[str, list[int]]) -> Token:
    """The token with ranges that count bytes of the text as given, not as escaped (P-46)."""
    if not any(source in offsets for source, _, _ in token.ranges):
        return token
    ranges = []
    for source, start, end in token.ranges:
        places = offsets.get(source, [])
        ranges.append((source, as_given(start, places), as_given(end, places, inside=1)))
    return replace(token, ranges=tuple(ranges))


def _finding_as_given(finding: Finding, offsets: Mapping[str, list[int]]) -> Finding:
    return replace(finding, offset=as_given(finding.offset, offsets.get(finding.source, [])))


def request_digest(request: PromptRequest) -> str:
    """P-76: SHA-256 of the canonical form, in which the policy's digest stands for its text; hex."""
    schemas = ", ".join(tool.text for tool in request.tools)  # JSON already
    before = {
        "policy": {"sha256": request.policy.digest, "length": request.policy.length},
        "user_turn": request.user_turn,
        "steps": [_message_form(message) for message in request.steps],
        "local_state": [asdict(fact) for fact in request.local_state],
        "retrieved": [{**asdict(chunk), "score": chunk.score + 0.0} for chunk in request.retrieved],
        "history": [_message_form(message) for message in request.history],
    }
    after = {
        "options": asdict(request.options),
        "budget": asdict(request.budget),
        "degradation": None if request.degradation is None else asdict(request.degradation),
    }
    text = f'{write_json(before, "request")[:-1]}, "tools": [{schemas}], {write_json(after, "request")[1:]}'
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _message_form(message: Message) -> dict[str, object]:
    """What the template reads of a message."""
    reasoning = None if message.reasoning is None else text_of(message.reasoning).decode("utf-8")
    calls = [{"name": call.name.text, "arguments": call.arguments.text, "id": call.id} for call in message.tool_calls]
    return {
        "role": message.role,
        "content": text_of(message.content).decode("utf-8"),
        "reasoning_content": reasoning,
        "tool_calls": calls,
        "tool_call_id": message.tool_call_id,
    }
