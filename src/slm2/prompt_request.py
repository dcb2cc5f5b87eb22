"""The request of Prompt2 as a model of pydantic, for editors, type checkers and forms (contract/prompt.md, P-10 to P-22).

It holds what a mapping would hold, checked by the rules of the page: what they refuse is refused here, by the same code. Import it where
it is used; nothing else of the library needs pydantic.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from slm2.errors import Slm2Error
from slm2.reference.json_text import read_json
from slm2.reference.policy import SealedPolicy
from slm2.reference.prompt_request import MAX_CONTEXT, MAX_COUNT, MIN_LIMIT, PRESETS, parse_request

__all__ = [
    "AssistantMessage",
    "Budget",
    "Chunk",
    "Degradation",
    "Fact",
    "FlatCall",
    "Function",
    "Options",
    "PromptRequest",
    "ToolMessage",
    "UserMessage",
    "WrappedCall",
    "json_schema",
]

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:/-]{1,128}$")]
Limit = Annotated[int, Field(ge=MIN_LIMIT, le=MAX_CONTEXT)]


def _sealed(policy: object) -> object:
    return SealedPolicy(policy) if isinstance(policy, str) else policy


def _refuse(_: object) -> object:
    raise TypeError("a SealedPolicy is not serialized: its text must not leave the process")


Policy = Annotated[
    SealedPolicy,
    BeforeValidator(_sealed),
    PlainSerializer(_refuse, when_used="json"),
    WithJsonSchema({"type": "string", "description": "The system policy; text or the host's sealed value."}),
]


def _plain(given: object) -> object:
    """The request with models as mappings and without what is null, which counts as absent; its policy sealed."""
    if not isinstance(given, Mapping):
        return given
    fields = {name: _object(value) for name, value in given.items() if value is not None}
    for name in ("steps", "local_state", "retrieved", "history"):
        if isinstance(fields.get(name), list | tuple):
            fields[name] = [_object(element) for element in fields[name]]
    return {**fields, "policy": _sealed(fields["policy"])} if "policy" in fields else fields


def _object(value: Any) -> Any:  # noqa: ANN401  (whatever a caller gives)
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True)
    return {name: member for name, member in value.items() if member is not None} if isinstance(value, Mapping) else value


class _Strict(BaseModel):
    """No other fields; no value of a caller in an error of pydantic's."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, arbitrary_types_allowed=True)


class Fact(_Strict):
    """A fact of the application; the higher ``priority`` comes first."""

    name: Identifier
    value: Annotated[str, Field(pattern=r"^[^\r\n]*$")]
    priority: Annotated[int, Field(ge=-MAX_COUNT, le=MAX_COUNT)]


class Chunk(_Strict):
    """A retrieved passage; the higher ``score`` comes first, ``limit`` is in tokens."""

    id: Identifier
    text: str
    score: Annotated[float, Field(ge=-sys.float_info.max, le=sys.float_info.max)]
    source: Identifier
    limit: Limit | None = None


class Function(_Strict):
    """Name and arguments of a call; arguments that are text go in verbatim."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    arguments: dict[str, Any] | str


class WrappedCall(_Strict):
    """A call with name and arguments under ``function``."""

    function: Function
    id: str | None = None
    index: Any = None
    type: Any = None


class FlatCall(Function):
    """A call without ``function``."""

    id: str | None = None
    index: Any = None
    type: Any = None


class _Message(_Strict):
    id: Any = None
    name: Any = None
    type: Any = None


class UserMessage(_Message):
    """The beginning of a prior turn."""

    role: Literal["user"]
    content: str


class AssistantMessage(_Message):
    """A reply; ``content`` may be absent where there are calls."""

    role: Literal["assistant"]
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[WrappedCall | FlatCall] | None = None


class ToolMessage(_Message):
    """The response to a call."""

    role: Literal["tool"]
    content: str
    tool_call_id: str | None = None


class Options(_Strict):
    """Of the template."""

    enable_thinking: bool | None = None
    preserve_thinking: bool | None = None


class Budget(_Strict):
    """Tokens: of the whole window, and of the part kept for generation."""

    context: Annotated[int, Field(ge=1, le=MAX_CONTEXT)]
    reserve: Annotated[int, Field(ge=0, le=MAX_CONTEXT)]


class Degradation(_Strict):
    """How far the passes may go (P-60)."""

    keep_turns: Annotated[int, Field(ge=0, le=MAX_CONTEXT)]
    keep_chunks: Annotated[int, Field(ge=0, le=MAX_COUNT)]
    active_turns: Annotated[int, Field(ge=0, le=MAX_CONTEXT)]
    chunk_limit: Limit
    tool_limit: Limit
    sweep: Literal["allow", "refuse"]
    headroom: Annotated[int, Field(ge=0, le=MAX_CONTEXT)]


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]
Preset = Annotated[str, Field(json_schema_extra={"enum": sorted(PRESETS)})]


class PromptRequest(_Strict):
    """What :meth:`slm2.prompt.Prompt.assemble` takes.

    Making one checks all that contract/prompt.md says: a refusal is a :class:`slm2.errors.Slm2Error`, and holds no text of the policy.
    """

    policy: Policy
    user_turn: str
    steps: list[AssistantMessage | ToolMessage] | None = None
    local_state: list[Fact] | None = None
    retrieved: list[Chunk] | None = None
    history: list[Message] | None = None
    tools: list[dict[str, Any]] | None = None
    options: Options | None = None
    budget: Budget
    degradation: Degradation | Preset | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, given: Any, handler: ModelWrapValidatorHandler[PromptRequest]) -> PromptRequest:  # noqa: ANN401  (whatever a caller gives)
        """First the page's own checks: they name the field, and pydantic's errors would quote the request, the policy included."""
        if not isinstance(given, PromptRequest):
            given = _plain(given)
            parse_request(given)
        try:
            return handler(given)
        except ValidationError as error:
            told = error.errors(include_input=False, include_context=False, include_url=False)[0]
            field = ".".join(map(str, told["loc"])) or "request"
        raise Slm2Error("invalid_value", field=field, expected="what the model of a request can hold", found=told["type"])

    @classmethod
    def from_json(cls, text: str | bytes) -> PromptRequest:
        """The request of a JSON text, read as the contract reads it: duplicate keys are refused, numbers stay what they are.

        Raises:
            Slm2Error: ``json_invalid``, ``json_duplicate_key``, ``json_number``, or a code of contract/prompt.md.
        """
        return cls.model_validate(read_json(text))

    def as_mapping(self) -> dict[str, Any]:
        """The fields that were given, as :meth:`slm2.prompt.Prompt.assemble` takes them; the policy is the sealed value."""
        return self.model_dump(exclude_unset=True)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a request, which contract/schemas publishes."""
    schema = PromptRequest.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "A request of Prompt2 (contract/prompt.md)"
    return schema
