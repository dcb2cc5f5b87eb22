"""The template programs of the compiler, run on the reference alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from slm2.artifact import Program
from slm2.compiler import template_source
from slm2.reference import template
from slm2.reference.events import Options
from slm2.reference.messages import Message
from slm2.reference.pieces import Fragment, Item


@cache
def program(family: str = "qwen3") -> Program:
    return template_source.load(family)


def composition(
    messages: Sequence[Message],
    tools: Sequence[Fragment] = (),
    *,
    enable_thinking: bool | None = None,
    add_generation_prompt: bool = False,
    family: str = "qwen3",
) -> template.Composition:
    options = Options(enable_thinking=enable_thinking, add_generation_prompt=add_generation_prompt)
    return template.compose(program(family), messages, tools, options)


def compose(messages: Sequence[Message], tools: Sequence[Fragment] = (), **options: bool | None) -> list[Item]:
    return composition(messages, tools, **options).items
