"""The request of Prompt2: a mapping becomes values that cannot be wrong (contract/prompt.md, P-10 to P-26)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from slm2.errors import Slm2Error
from slm2.reference.fields import Fields
from slm2.reference.json_text import shown
from slm2.reference.messages import Message, is_response_shape, parse, parse_tools, text_of
from slm2.reference.pairing import check_steps, turns_of
from slm2.reference.pieces import Fragment
from slm2.reference.policy import SealedPolicy
from slm2.reference.utf8 import to_utf8

MAX_CONTEXT = 32_768  # decisions D9
MAX_COUNT = 2**53 - 1  # what every host holds exactly
MIN_LIMIT = 16

FIELDS = (
    "policy",
    "user_turn",
    "steps",
    "local_state",
    "retrieved",
    "history",
    "tools",
    "options",
    "budget",
    "degradation",
)
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_LINE_BREAK = re.compile(r"[\n\r]")


@dataclass(frozen=True, slots=True)
class LocalState:
    """A fact of the application; the higher ``priority`` comes first."""

    name: str
    value: str
    priority: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrieved passage; the higher ``score`` comes first, ``limit`` is in tokens."""

    id: str
    text: str = field(repr=False)
    score: float
    source: str
    limit: int | None


@dataclass(frozen=True, slots=True)
class Options:
    """Of the template."""

    enable_thinking: bool
    preserve_thinking: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens: of the whole window, and of the part kept for generation."""

    context: int
    reserve: int


@dataclass(frozen=True, slots=True)
class Degradation:
    """How far the passes may go (contract/prompt.md, P-60); counts of items, limits and headroom in tokens."""

    keep_turns: int
    keep_chunks: int
    active_turns: int
    chunk_limit: int
    tool_limit: int
    sweep: Literal["allow", "refuse"]
    headroom: int


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A request that was checked. Facts and passages are in the order of the prompt (P-41, P-42).

    Attributes:
        turns: the messages of each turn of ``history``.
    """

    policy: SealedPolicy
    user_turn: str = field(repr=False)
    steps: tuple[Message, ...] = field(repr=False)
    local_state: tuple[LocalState, ...] = field(repr=False)
    retrieved: tuple[Chunk, ...] = field(repr=False)
    history: tuple[Message, ...] = field(repr=False)
    turns: tuple[range, ...]
    tools: tuple[Fragment, ...] = field(repr=False)
    options: Options
    budget: Budget
    degradation: Degradation | None


# P-61.
PRESETS = {
    "agent": Degradation(4, 4, 1, 512, 1024, "allow", 4096),
    "conversation": Degradation(8, 4, 4, 512, 512, "allow", 2048),
    "retrieval": Degradation(2, 16, 1, 512, 512, "allow", 1024),
}


def parse_request(request: object) -> PromptRequest:
    """Check a request, field by field in the order of the table in contract/prompt.md.

    Args:
        request: a mapping; ``policy`` is text or a :class:`SealedPolicy`.

    Raises:
        Slm2Error: ``invalid_type``, ``invalid_value``, ``missing_field``, ``unknown_field``, ``bad_identifier``,
            ``duplicate_identifier``, ``line_break_in_value``, ``not_paired``, ``message_refused``, or what tools
            are refused with. None of them holds text of the policy.
    """
    fields = Fields(request, "", FIELDS)
    policy = _policy(fields)
    user_turn = fields.text("user_turn")
    _check_shape(to_utf8(user_turn), "user_turn")
    steps = _messages(fields, "steps")
    check_steps(steps)
    local_state = tuple(_local_state(value, f"local_state[{index}]") for index, value in enumerate(fields.array("local_state")))
    _refuse_twins([fact.name for fact in local_state], "local_state", "name")
    retrieved = tuple(_chunk(value, f"retrieved[{index}]") for index, value in enumerate(fields.array("retrieved")))
    _refuse_twins([chunk.id for chunk in retrieved], "retrieved", "id")
    history = _messages(fields, "history")
    turns = turns_of(history)
    for index, message in enumerate(history):
        if message.role == "user":
            _check_shape(text_of(message.content), "history", index)
    return PromptRequest(
        policy=policy,
        user_turn=user_turn,
        steps=steps,
        local_state=tuple(sorted(local_state, key=lambda fact: (-fact.priority, fact.name))),
        retrieved=tuple(sorted(retrieved, key=lambda chunk: (-chunk.score, chunk.id))),
        history=history,
        turns=tuple(turns),
        tools=tuple(parse_tools(fields.optional("tools"))),
        options=_options(fields.optional("options")),
        budget=_budget(fields.required("budget")),
        degradation=_degradation(fields.optional("degradation")),
    )


def _policy(fields: Fields) -> SealedPolicy:
    value = fields.required("policy")
    return value if isinstance(value, SealedPolicy) else SealedPolicy(fields.text("policy"))


def _messages(fields: Fields, name: str) -> tuple[Message, ...]:
    """``history`` or ``steps`` as Template2 reads messages; a refusal names the list and the place in it."""
    try:
        return tuple(parse(fields.array(name), name))
    except Slm2Error as error:
        raise located(error, name) from None


def located(error: Slm2Error, field: str, shift: int = 0) -> Slm2Error:
    """A refusal of Template2 in terms of the request.

    Args:
        error: it counts messages from the first message of a list, in its field ``index``; one without is returned as it is.
        field: the list in the request, or ``user_turn``, which counts as a list of one.
        shift: messages before that list.
    """
    index = error.fields.get("index")
    if not isinstance(index, int):
        return error
    local = Slm2Error(error.code, **{**error.fields, "index": index - shift})
    path = field if field == "user_turn" else f"{field}[{index - shift}]"
    return Slm2Error("message_refused", field=path, cause=error.code, reason=str(local))


def _check_shape(text: bytes, field: str, index: int = 0) -> None:
    """P-25: looked at as given, so that what is put before the user's words never changes the verdict."""
    if is_response_shape(text):
        raise located(Slm2Error("reserved_user_shape", index=index), field)


def _local_state(value: object, path: str) -> LocalState:
    fields = Fields(value, path, ("name", "value", "priority"))
    name = _identifier(fields, "name")
    text = fields.text("value")
    if _LINE_BREAK.search(text):
        raise Slm2Error("line_break_in_value", field=fields.at("value"))
    return LocalState(name, text, fields.integer("priority", -MAX_COUNT, MAX_COUNT))


def _chunk(value: object, path: str) -> Chunk:
    fields = Fields(value, path, ("id", "text", "score", "source", "limit"))
    return Chunk(
        id=_identifier(fields, "id"),
        text=fields.text("text"),
        score=fields.number("score"),
        source=_identifier(fields, "source"),
        limit=None if fields.optional("limit") is None else fields.integer("limit", MIN_LIMIT, MAX_CONTEXT),
    )


def _identifier(fields: Fields, name: str) -> str:
    value = fields.text(name)
    if _IDENTIFIER.fullmatch(value) is None:
        raise Slm2Error("bad_identifier", field=fields.at(name), found=shown(value))
    return value


def _refuse_twins(identifiers: list[str], array: str, name: str) -> None:
    seen: set[str] = set()
    for index, identifier in enumerate(identifiers):
        if identifier in seen:
            raise Slm2Error("duplicate_identifier", field=f"{array}[{index}].{name}", found=identifier)
        seen.add(identifier)


def _options(value: object) -> Options:
    fields = Fields({} if value is None else value, "options", ("enable_thinking", "preserve_thinking"))
    return Options(fields.flag("enable_thinking", default=True), fields.flag("preserve_thinking", default=False))


def _budget(value: object) -> Budget:
    fields = Fields(value, "budget", ("context", "reserve"))
    context = fields.integer("context", 1, MAX_CONTEXT)
    return Budget(context, fields.integer("reserve", 0, context))


def _degradation(value: object) -> Degradation | None:
    if value is None:
        return None
    if isinstance(value, str):
        if value not in PRESETS:
            expected = f"an object, or {', '.join(list(PRESETS)[:-1])} or {list(PRESETS)[-1]}"
            raise Slm2Error("invalid_value", field="degradation", expected=expected, found=shown(value))
        return PRESETS[value]
    names = ("keep_turns", "keep_chunks", "active_turns", "chunk_limit", "tool_limit", "sweep", "headroom")
    fields = Fields(value, "degradation", names)
    return Degradation(
        keep_turns=(keep_turns := fields.integer("keep_turns", 0, MAX_CONTEXT)),
        keep_chunks=fields.integer("keep_chunks", 0, MAX_COUNT),
        active_turns=fields.integer("active_turns", 0, keep_turns),
        chunk_limit=fields.integer("chunk_limit", MIN_LIMIT, MAX_CONTEXT),
        tool_limit=fields.integer("tool_limit", MIN_LIMIT, MAX_CONTEXT),
        sweep=_sweep(fields),
        headroom=fields.integer("headroom", 0, MAX_CONTEXT),
    )


def _sweep(fields: Fields) -> Literal["allow", "refuse"]:
    value = fields.text("sweep")
    if value == "allow":
        return "allow"
    if value == "refuse":
        return "refuse"
    raise Slm2Error("invalid_value", field=fields.at("sweep"), expected="allow or refuse", found=shown(value))
