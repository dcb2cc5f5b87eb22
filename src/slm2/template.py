"""Template2: a conversation becomes the ids of a prompt, each with its origin (contract/template.md).

The face: it asks an engine, and computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Literal, cast

from slm2.artifact import Profile, Program, program
from slm2.engine import Engine, EngineComposition, OfOneProcess
from slm2.errors import Slm2Error
from slm2.reference.json_text import JsonValue, read_json, shown
from slm2.reference.pieces import Part, Trust
from slm2.reference.rendering import Finding, Token
from slm2.tool_schemas import as_schemas

__all__ = ["Finding", "JsonValue", "OnSpecial", "Rendering", "Template", "TemplateProgram", "Token", "read_json"]

OnSpecial = Literal["literal", "reject"]


class Rendering(OfOneProcess):
    """A prompt. What nobody asks for is not computed: each attribute is made when it is first read.

    Attributes:
        input_ids: its ids.
        tokens: for each id its role, part, trust class, message and byte ranges.
        text: the prompt as text, structural tokens included; for people, never to be encoded again.
        findings: text of special tokens in application and untrusted fields; it was encoded as plain text.
        policy_findings: how many there are in a policy: none, since Template2 knows no policy.
        dropped_reasoning: indices of the messages whose reasoning the template leaves out of the prompt.
        state: of the template's machine, by name; a reply goes on from there.
    """

    policy_findings = 0

    def __init__(self, composition: EngineComposition, profile: Profile, special_text: Mapping[int, str]) -> None:
        self._composition = composition
        self._profile: Profile = profile
        self._special_text = special_text

    def __repr__(self) -> str:
        """No text and no ids: a policy may be among them (decisions D7)."""
        return f"Rendering({len(self.input_ids)} ids, {len(self.findings)} findings)"

    def __eq__(self, other: object) -> bool:
        """Whether the other one is the same prompt, from the same fields."""
        if not isinstance(other, Rendering):
            return NotImplemented
        return (self.tokens, self.text, self.state, self.dropped_reasoning) == (
            other.tokens,
            other.text,
            other.state,
            other.dropped_reasoning,
        )

    __hash__ = None  # type: ignore[assignment]  # equal by value

    @cached_property
    def input_ids(self) -> list[int]:
        """See above."""
        return self._composition.ids(self._profile)

    @cached_property
    def tokens(self) -> list[Token]:
        """See above."""
        rows = self._composition.tokens(self._profile)
        return [
            Token(token_id, role, cast("Part", part), cast("Trust", trust), message, tuple(ranges))
            for token_id, role, part, trust, message, ranges in rows
        ]

    @cached_property
    def text(self) -> str:
        """See above."""
        return self._composition.text()

    @cached_property
    def findings(self) -> list[Finding]:
        """See above."""
        return [
            Finding(source, offset, token_id, self._special_text[token_id]) for source, offset, token_id in self._composition.findings()
        ]

    @property
    def dropped_reasoning(self) -> list[int]:
        """See above."""
        return self._composition.dropped_reasoning

    @property
    def state(self) -> str:
        """See above."""
        return self._composition.state


class TemplateProgram:
    """The template program of an engine's artifact."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @cached_property
    def of_artifact(self) -> Program:
        """The program, read once.

        Raises:
            Slm2Error: ``no_template``.
        """
        section = self._engine.template_section
        if section is None:
            raise Slm2Error("no_template", digest=self._engine.semantic_digest)
        return program.parse(section, self._engine.special_tokens)


class Template(OfOneProcess):
    """The artifact's chat template, over one engine and one profile."""

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._engine = engine
        self._profile: Profile = profile
        self._program = TemplateProgram(engine)
        self._special_text = {token_id: data.decode("utf-8") for token_id, data in engine.special_tokens}

    @property
    def program(self) -> Program:
        """The machine: states, rules and literals, as the artifact has them.

        Raises:
            Slm2Error: ``no_template``.
        """
        return self._program.of_artifact

    def render(  # noqa: PLR0913  (one parameter for each option of a request)
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[object] | None = None,
        enable_thinking: bool | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        preserve_thinking: bool = False,
        on_special: OnSpecial = "literal",
    ) -> Rendering:
        """Render a conversation.

        Args:
            messages: objects with ``role``, ``content`` and, of an assistant, ``reasoning_content`` and ``tool_calls``.
            tools: JSON schemas of the tools: mappings, pydantic models, or functions with type hints and a docstring.
            enable_thinking: False closes the reasoning in the generation prompt; True and None leave it to the model.
            add_generation_prompt: whether the prompt ends with the head of an assistant turn.
            continue_final_message: True or ``content`` ends the prompt inside the content of the last message, an assistant's;
                ``reasoning_content`` inside its reasoning.
            preserve_thinking: keep the reasoning of every assistant turn, an empty one too, so that history only grows. The ids are not
                the publisher's then (M-58).
            on_special: what to do with the text of special tokens in callers' text: ``literal`` encodes it as plain text and
                reports it, ``reject`` refuses it.

        Raises:
            Slm2Error: a code of contract/template.md.
        """
        for field, value in (("add_generation_prompt", add_generation_prompt), ("preserve_thinking", preserve_thinking)):
            if value is None:
                raise Slm2Error("invalid_type", field=field, expected="boolean", found="null")
        if continue_final_message is None:
            raise Slm2Error("invalid_type", field="continue_final_message", expected="boolean or string", found="null")
        request = {
            "messages": messages,
            "tools": tools,
            "enable_thinking": enable_thinking,
            "add_generation_prompt": add_generation_prompt,
            "continue_final_message": continue_final_message,
            "preserve_thinking": preserve_thinking,
        }
        if messages is None:
            raise Slm2Error("invalid_type", field="messages", expected="array", found="null")
        return self.render_request(request, on_special=on_special)

    def render_request(self, request: object, *, on_special: OnSpecial = "literal") -> Rendering:
        """Render an object with ``messages`` and what else :meth:`render` takes; all but the first may be absent.

        Raises:
            Slm2Error: ``invalid_type``, ``unknown_field``, ``missing_field``, or what :meth:`render` raises.
        """
        if on_special not in ("literal", "reject"):
            raise Slm2Error("invalid_value", field="on_special", expected="literal or reject", found=shown(on_special))
        if isinstance(request, Mapping) and request.get("tools"):
            request = {**request, "tools": as_schemas(request["tools"])}
        rendering = Rendering(self._engine.compose(request), self._profile, self._special_text)
        if on_special == "reject" and rendering.findings:
            raise Slm2Error("special_token_in_text", findings=[asdict(finding) for finding in rendering.findings])
        return rendering
