"""The texts of a prompt: wrappers, escapes, the marker, and what a cut leaves (contract/prompt.md, P-40 to P-46, P-65)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from slm2.reference.messages import Message
from slm2.reference.pieces import Fragment, Trust
from slm2.reference.prompt_request import Chunk, LocalState, PromptRequest
from slm2.reference.utf8 import to_utf8

CUT = "\n[cut]"
# P-45: where a wrapper of the assembler would begin; bytes, so that case is ASCII's alone (U+017F is no s).
_WRAPPER = re.compile(rb"<(?=/?(?:evidence|local_state|history_truncated))", re.IGNORECASE)
_ESCAPED = b"&lt;"
_GROWTH = len(_ESCAPED) - 1


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a request is in the prompt.

    Attributes:
        turns_out: so many of the oldest turns are out.
        marker: whether the marker tells it (P-65).
        chunks: so many passages are in, the first ones of the prompt.
        facts: so many facts.
        chunk_cuts: for a passage by its id, the byte of its escaped text at which it is cut.
        response_cuts: for a tool response by ``(list, index)``, the byte of its text.
    """

    turns_out: int
    marker: bool
    chunks: int
    facts: int
    chunk_cuts: Mapping[str, int] = field(default_factory=dict)
    response_cuts: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def history(self, request: PromptRequest) -> int:
        """The index of the first message of ``history`` that is in."""
        return request.turns[self.turns_out - 1].stop if self.turns_out else 0


def whole(request: PromptRequest) -> Kept:
    """All of it."""
    return Kept(0, False, len(request.retrieved), len(request.local_state))


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages for the template.

    Attributes:
        messages: the system message, history, the user message, steps.
        paths: the place in the request of each message.
    """

    messages: list[Message]
    paths: list[str]


def conversation(request: PromptRequest, kept: Kept) -> Conversation:
    """The messages of what is kept. Nothing depends on the order of ``local_state`` and ``retrieved`` in the request."""
    system = [request.policy.fragment(), *_local_state(request.local_state[: kept.facts])]
    if kept.marker:
        system.append(program(f'\n\n<history_truncated turns="{kept.turns_out}"/>', "history"))
    user = [fragment for chunk in request.retrieved[: kept.chunks] for fragment in _evidence(chunk, kept.chunk_cuts.get(chunk.id))]
    user.append(Fragment(request.user_turn, "untrusted", "user_turn"))
    first = kept.history(request)
    history = [_cut(message, kept.response_cuts.get(("history", index))) for index, message in enumerate(request.history)][first:]
    steps = [_cut(message, kept.response_cuts.get(("steps", index))) for index, message in enumerate(request.steps)]
    paths = ["policy", *(f"history[{first + index}]" for index in range(len(history))), "user_turn"]
    paths += [f"steps[{index}]" for index in range(len(steps))]
    return Conversation([Message("system", tuple(system)), *history, Message("user", tuple(user)), *steps], paths)


def program(text: str, item: str) -> Fragment:
    """A literal of the assembler, which stands for or around an item of the request."""
    return Fragment(text, "program", "program", item)


def _local_state(facts: Sequence[LocalState]) -> list[Fragment]:
    """P-41: what follows the policy."""
    if not facts:
        return []
    fragments = [program("\n\n<local_state>\n", f"local_state[{facts[0].name}]")]
    for fact in facts:
        path = f"local_state[{fact.name}]"
        value = Fragment(escaped(fact.value), "application", f"{path}.value")
        fragments += [Fragment(fact.name, "application", f"{path}.name"), program(": ", path), value, program("\n", path)]
    return [*fragments, program("</local_state>", f"local_state[{facts[-1].name}]")]


def _evidence(chunk: Chunk, cut: int | None) -> list[Fragment]:
    """P-42: one passage before the user's words."""
    path = f"retrieved[{chunk.id}]"
    return [
        program('<evidence id="', path),
        Fragment(chunk.id, "untrusted", f"{path}.id"),
        program('" source="', path),
        Fragment(chunk.source, "untrusted", f"{path}.source"),
        program('">\n', path),
        *_shortened(escaped(chunk.text), "untrusted", f"{path}.text", path, cut),
        program("\n</evidence>\n\n", path),
    ]


def _cut(message: Message, cut: int | None) -> Message:
    """A tool's message, whose text may have been cut."""
    if cut is None:
        return message
    (text,) = message.content
    item = text.source.partition("]")[0] + "]"
    return replace(message, content=tuple(_shortened(text.text, text.trust, text.source, item, cut)))


def _shortened(text: str, trust: Trust, source: str, item: str, cut: int | None) -> list[Fragment]:
    if cut is None:
        return [Fragment(text, trust, source)]
    return [Fragment(to_utf8(text)[:cut].decode("utf-8"), trust, source), program(CUT, item)]


# ---- escapes ----


def escapes(text: str) -> list[int]:
    """P-45: the byte offset of each ``<`` that is escaped, in the text as given."""
    return [match.start() for match in _WRAPPER.finditer(to_utf8(text))]


def escaped(text: str) -> str:
    """The text as it stands in the prompt."""
    return _WRAPPER.sub(_ESCAPED, to_utf8(text)).decode("utf-8")


def is_inside_escape(offset: int, offsets: Sequence[int]) -> bool:
    """Whether a byte of an escaped text lies between two characters of an escape."""
    passed = _passed(offset, offsets)
    return passed < len(offsets) and offset > offsets[passed] + _GROWTH * passed


def as_given(offset: int, offsets: Sequence[int], *, inside: int = 0) -> int:
    """P-46: the offset before escaping; one inside an escape is that of its ``<`` plus ``inside``."""
    if is_inside_escape(offset, offsets):
        return offsets[_passed(offset, offsets)] + inside
    return offset - _GROWTH * _passed(offset, offsets)


def _passed(offset: int, offsets: Sequence[int]) -> int:
    """How many escapes end at or before a byte of an escaped text."""
    return bisect_right(range(len(offsets)), offset, key=lambda number: offsets[number] + _GROWTH * number + len(_ESCAPED))
