"""Template2: a conversation becomes the ids of a prompt, each with its origin (contract/template.md).

The face: it joins the reference's template with an engine's encoder and computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal

from slm2.artifact import Profile
from slm2.engine import Engine, OfOneProcess
from slm2.errors import Slm2Error
from slm2.reference import rendering, template
from slm2.reference.json_text import JsonValue, json_type, read_json, shown, shown_key
from slm2.reference.messages import check, parse, parse_tools
from slm2.reference.rendering import Finding, Token

__all__ = ["Finding", "JsonValue", "OnSpecial", "Rendering", "Template", "Token", "read_json"]

OnSpecial = Literal["literal", "reject"]

_REQUEST_KEYS = ("messages", "tools", "enable_thinking", "add_generation_prompt")


@dataclass(frozen=True, slots=True)
class Rendering:
    """A prompt.

    Attributes:
        input_ids: its ids.
        tokens: for each id its role, part, trust class, message and byte ranges.
        text: the prompt as text, structural tokens included; for people, never to be encoded again.
        findings: text of special tokens in application and untrusted fields; it was encoded as plain text.
        policy_findings: how many there are in the policy.
        dropped_reasoning: indices of the messages whose reasoning the template leaves out of the prompt.
    """

    input_ids: list[int]
    tokens: list[Token]
    text: str
    findings: list[Finding]
    policy_findings: int
    dropped_reasoning: list[int]

    def __repr__(self) -> str:
        """No text and no ids: a policy may be among them (decisions D7)."""
        return f"Rendering({len(self.input_ids)} ids, {len(self.findings) + self.policy_findings} findings)"


class Template(OfOneProcess):
    """The publisher's chat template, over one engine and one profile."""

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._engine = engine
        self._encode_spans = partial(engine.encode_spans, profile=profile, unit="bytes")
        self._id_of_special = {data.decode("utf-8"): token_id for token_id, data in engine.special_tokens}

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        enable_thinking: bool | None = None,
        add_generation_prompt: bool = False,
        on_special: OnSpecial = "literal",
    ) -> Rendering:
        """Render a conversation.

        Args:
            messages: objects with ``role``, ``content`` and, of an assistant, ``reasoning_content`` and ``tool_calls``.
            tools: JSON schemas of the tools.
            enable_thinking: False closes the reasoning in the generation prompt; True and None leave it to the model.
            add_generation_prompt: whether the prompt ends with the head of an assistant turn.
            on_special: what to do with the text of special tokens in callers' text: ``literal`` encodes it as plain text and
                reports it, ``reject`` refuses it.

        Raises:
            Slm2Error: a code of contract/template.md.
        """
        _check_flag("enable_thinking", enable_thinking, allow_none=True)
        _check_flag("add_generation_prompt", add_generation_prompt, allow_none=False)
        if on_special not in ("literal", "reject"):
            raise Slm2Error("invalid_value", field="on_special", expected="literal or reject", found=shown(on_special))
        conversation, schemas = parse(messages), parse_tools(tools)
        check(conversation, add_generation_prompt=add_generation_prompt)
        items = template.compose(conversation, schemas, enable_thinking=enable_thinking, add_generation_prompt=add_generation_prompt)
        findings, in_policy = rendering.find_special(items, self._engine.find_special)
        if findings and on_special == "reject":
            raise Slm2Error("special_token_in_text", findings=[asdict(finding) for finding in findings])
        rendered = rendering.render(items, self._encode_spans, self._id_of_special)
        return Rendering(
            input_ids=rendered.input_ids,
            tokens=rendered.tokens,
            text=rendering.text(items),
            findings=findings,
            policy_findings=in_policy,
            dropped_reasoning=template.dropped_reasoning(conversation, items),
        )

    def render_request(self, request: object, *, on_special: OnSpecial = "literal") -> Rendering:
        """Render an object ``{"messages", "tools", "enable_thinking", "add_generation_prompt"}``; all but the first may be absent.

        Raises:
            Slm2Error: ``invalid_type``, ``unknown_field``, ``missing_field``, or what :meth:`render` raises.
        """
        if not isinstance(request, Mapping):
            raise Slm2Error("invalid_type", field="request", expected="object", found=json_type(request))
        given = {key: value for key, value in request.items() if value is not None}
        for key in given:
            if key not in _REQUEST_KEYS:
                raise Slm2Error("unknown_field", field=shown_key(key), known=", ".join(_REQUEST_KEYS))
        if "messages" not in given:
            raise Slm2Error("missing_field", field="messages")
        return self.render(**given, on_special=on_special)


def _check_flag(field: str, value: object, *, allow_none: bool) -> None:
    if not isinstance(value, bool) and not (value is None and allow_none):
        raise Slm2Error("invalid_type", field=field, expected="boolean", found=json_type(value))
