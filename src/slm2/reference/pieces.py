"""What a prompt is made of before it becomes ids: stretches of text with one origin, and structural tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# Trust classes (decisions D5), highest first. A token over a joint has the lowest class of its pieces.
Trust = Literal["program", "policy", "application", "untrusted"]
TRUST_CLASSES: tuple[Trust, ...] = ("program", "policy", "application", "untrusted")

Part = Literal["structure", "role_header", "content", "tools", "reasoning", "tool_call", "tool_response", "generation_prompt"]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Text of one origin inside a field of a message.

    Attributes:
        text: the text as the caller or the assembler gave it.
        trust: its trust class.
        source: where it came from, as a path into the request: ``messages[2].content``, ``policy``, ``retrieved[kb-7].text``;
            ``program`` for literals of the template or the assembler.
        item: of a literal of the assembler, the item of the request that it stands for or around.
    """

    text: str = field(repr=False)  # it may be the policy, which no repr shows
    trust: Trust
    source: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that a template program yields: encoded jointly with its neighbours up to the next structural token.

    Attributes:
        data: UTF-8, after decisions D4.
        start: byte offset of ``data`` in the UTF-8 of the source field (a transform may have cut its head off).
    """

    data: bytes = field(repr=False)
    trust: Trust
    source: str
    start: int
    role: str
    part: Part
    message: int | None
    item: str = ""


@dataclass(frozen=True, slots=True)
class Structural:
    """A structural token, named by its text, that a template program yields. Only programs make these."""

    text: str
    role: str
    part: Part
    message: int | None


Item = Piece | Structural
