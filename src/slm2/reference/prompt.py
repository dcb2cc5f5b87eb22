"""Prompt2: a request becomes messages of known origin, then the ids of a prompt within its budget (contract/prompt.md).

The text is decided here, in the order of authority; the template and the encoder are Template2's and Tokenizer2's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from slm2.artifact.program import Program
from slm2.errors import Slm2Error
from slm2.reference import rendering, template
from slm2.reference.events import Options
from slm2.reference.messages import Message
from slm2.reference.pieces import Fragment, Trust
from slm2.reference.prompt_report import Assembly, BudgetUse, Escape, PolicyName, count_by_source
from slm2.reference.prompt_request import Chunk, LocalState, PromptRequest, located
from slm2.reference.rendering import Finding, Spans, Token
from slm2.reference.utf8 import to_utf8

# P-45: where a wrapper of the assembler would begin; bytes, so that case is ASCII's alone (U+017F is no s).
_WRAPPER = re.compile(rb"<(?=/?(?:evidence|local_state|history_truncated))", re.IGNORECASE)
_ESCAPED = b"&lt;"
_GROWTH = len(_ESCAPED) - 1


@dataclass(frozen=True, slots=True)
class Composition:
    """Messages for the template.

    Attributes:
        messages: the system message, history, the user message, steps.
        escapes: for each source with escapes, the byte offset of each escaped ``<`` in the text as given, rising.
    """

    messages: list[Message]
    escapes: dict[str, list[int]]


def assemble(  # noqa: PLR0913  (an engine is three functions here)
    request: PromptRequest,
    program: Program,
    encode_spans: Spans,
    find_special: Spans,
    id_of_special: Mapping[str, int],
    *,
    reject_special: bool,
) -> Assembly:
    """The ids of a request's prompt, each with its origin, and the account of the budget.

    Args:
        request: checked.
        program: the template.
        encode_spans: plain encoding, ``(id, start, end)`` for each token of UTF-8.
        find_special: ``(start, end, id)`` of the text of special tokens in UTF-8.
        id_of_special: id of each structural token by its text.
        reject_special: whether text of special tokens outside the policy is refused.

    Raises:
        Slm2Error: ``message_refused``, ``special_token_in_text``, ``over_budget``.
    """
    composition = compose(request)
    rendered_messages = _rendered(request, composition, program)
    items = rendered_messages.items
    found, in_policy = rendering.find_special(items, find_special)
    findings = [_finding_as_given(finding, composition.escapes) for finding in found]
    if findings and reject_special:
        raise Slm2Error("special_token_in_text", findings=[asdict(finding) for finding in findings])
    rendered = rendering.render(items, encode_spans, id_of_special)
    budget = _budget(request, len(rendered.input_ids))
    tokens = [_token_as_given(token, composition.escapes) for token in rendered.tokens]
    paths = _paths(request)
    return Assembly(
        input_ids=rendered.input_ids,
        tokens=tokens,
        sources=count_by_source(tokens),
        budget=budget,
        policy=PolicyName(request.policy.digest, request.policy.length),
        escapes=[Escape(source, offset) for source, offsets in composition.escapes.items() for offset in offsets],
        findings=findings,
        policy_findings=in_policy,
        dropped_reasoning=[paths[index] for index in rendered_messages.dropped],
    )


def compose(request: PromptRequest) -> Composition:
    """The messages of a request (P-40 to P-46). Nothing depends on the order of ``local_state`` and ``retrieved``."""
    escapes: dict[str, list[int]] = {}
    facts = sorted(request.local_state, key=lambda fact: (-fact.priority, fact.name))
    chunks = sorted(request.retrieved, key=lambda chunk: (-chunk.score, chunk.id))
    system = [request.policy.fragment(), *_local_state(facts, escapes)]
    user = [fragment for chunk in chunks for fragment in _evidence(chunk, escapes)]
    user.append(Fragment(request.user_turn, "untrusted", "user_turn"))
    messages = [Message("system", tuple(system)), *request.history, Message("user", tuple(user)), *request.steps]
    return Composition(messages, escapes)


def _program(text: str) -> Fragment:
    return Fragment(text, "program", "program")


def _local_state(facts: Sequence[LocalState], escapes: dict[str, list[int]]) -> list[Fragment]:
    """P-41: what follows the policy."""
    if not facts:
        return []
    fragments = [_program("\n\n<local_state>\n")]
    for fact in facts:
        path = f"local_state[{fact.name}]"
        value = _escaped(fact.value, "application", f"{path}.value", escapes)
        fragments += [Fragment(fact.name, "application", f"{path}.name"), _program(": "), value, _program("\n")]
    return [*fragments, _program("</local_state>")]


def _evidence(chunk: Chunk, escapes: dict[str, list[int]]) -> list[Fragment]:
    """P-42: one passage before the user's words."""
    path = f"retrieved[{chunk.id}]"
    return [
        _program('<evidence id="'),
        Fragment(chunk.id, "untrusted", f"{path}.id"),
        _program('" source="'),
        Fragment(chunk.source, "untrusted", f"{path}.source"),
        _program('">\n'),
        _escaped(chunk.text, "untrusted", f"{path}.text", escapes),
        _program("\n</evidence>\n\n"),
    ]


def _escaped(text: str, trust: Trust, source: str, escapes: dict[str, list[int]]) -> Fragment:
    """P-45: the text as it stands in the prompt; where something was escaped, the places are added to ``escapes``."""
    data = to_utf8(text)
    offsets = [match.start() for match in _WRAPPER.finditer(data)]
    if offsets:
        escapes[source] = offsets
        data = _WRAPPER.sub(_ESCAPED, data)
    return Fragment(data.decode("utf-8"), trust, source)


def _rendered(request: PromptRequest, composition: Composition, program: Program) -> template.Composition:
    """What the template makes of the messages; a refusal names the part of the request."""
    options = Options(request.options.enable_thinking, add_generation_prompt=True)
    try:
        return template.compose(program, composition.messages, request.tools, options)
    except Slm2Error as error:
        index = error.fields.get("index")
        if not isinstance(index, int):
            raise
        before_steps = len(request.history) + 2
        raise (located(error, "steps", before_steps) if index >= before_steps else located(error, "history", 1)) from None


def _paths(request: PromptRequest) -> list[str]:
    """The place in the request of each message."""
    history = [f"history[{index}]" for index in range(len(request.history))]
    return ["policy", *history, "user_turn", *(f"steps[{index}]" for index in range(len(request.steps)))]


def _budget(request: PromptRequest, prompt_tokens: int) -> BudgetUse:
    """P-50: prompt and reserve together fit the context, or the request is refused."""
    budget = request.budget
    left = budget.context - budget.reserve - prompt_tokens
    if left < 0:
        raise Slm2Error("over_budget", prompt_tokens=prompt_tokens, reserve=budget.reserve, context=budget.context, excess=-left)
    return BudgetUse(budget.context, budget.reserve, prompt_tokens, left)


def _token_as_given(token: Token, escapes: Mapping[str, list[int]]) -> Token:
    """The token with ranges that count bytes of the text as given, not as escaped (P-46)."""
    if not any(source in escapes for source, _, _ in token.ranges):
        return token
    ranges = []
    for source, start, end in token.ranges:
        offsets = escapes.get(source, [])
        ranges.append((source, _as_given(start, offsets, inside=0), _as_given(end, offsets, inside=1)))
    return replace(token, ranges=tuple(ranges))


def _finding_as_given(finding: Finding, escapes: Mapping[str, list[int]]) -> Finding:
    return replace(finding, offset=_as_given(finding.offset, escapes.get(finding.source, []), inside=0))


def _as_given(offset: int, escapes: Sequence[int], *, inside: int) -> int:
    """The offset before escaping; one inside an escape is that of its ``<`` plus ``inside``."""
    passed = bisect_right(range(len(escapes)), offset, key=lambda number: escapes[number] + _GROWTH * number + len(_ESCAPED))
    if passed < len(escapes) and offset > escapes[passed] + _GROWTH * passed:
        return escapes[passed] + inside
    return offset - _GROWTH * passed
