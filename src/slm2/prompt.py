"""Prompt2: what the model may see, in the order of authority and within the budget (contract/prompt.md).

The face: it joins the reference's assembler with an engine's encoder and computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from slm2.artifact import Profile
from slm2.engine import Engine, OfOneProcess
from slm2.errors import Slm2Error
from slm2.reference import prompt
from slm2.reference.json_text import shown
from slm2.reference.policy import SealedPolicy
from slm2.reference.prompt_report import Assembly, BudgetUse, Escape, PolicyName, SourceCount, owner, part_of
from slm2.reference.prompt_request import parse_request
from slm2.template import OnSpecial, TemplateProgram

__all__ = ["Assembly", "BudgetUse", "Escape", "PolicyName", "Prompt", "SealedPolicy", "SourceCount", "owner", "part_of"]


class Prompt(OfOneProcess):
    """The assembler, over one engine and one profile."""

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._program = TemplateProgram(engine)
        self._encode_spans = partial(engine.encode_spans, profile=profile, unit="bytes")
        self._find_special = engine.find_special
        self._id_of_special = {data.decode("utf-8"): token_id for token_id, data in engine.special_tokens}

    def assemble(self, request: Mapping[str, object], *, on_special: OnSpecial = "literal") -> Assembly:
        """Assemble a request.

        Args:
            request: as contract/prompt.md has it; ``policy`` is text or a :class:`SealedPolicy`.
            on_special: what to do with the text of special tokens outside the policy: ``literal`` encodes it as plain text and
                reports it, ``reject`` refuses it.

        Raises:
            Slm2Error: a code of contract/prompt.md. No error holds text of the policy.
        """
        if on_special not in ("literal", "reject"):
            raise Slm2Error("invalid_value", field="on_special", expected="literal or reject", found=shown(on_special))
        return prompt.assemble(
            parse_request(request),
            self._program.of_artifact,
            self._encode_spans,
            self._find_special,
            self._id_of_special,
            reject_special=on_special == "reject",
        )
