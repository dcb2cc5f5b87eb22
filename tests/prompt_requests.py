"""Random requests of Prompt2 out of a string of bytes, so that hypothesis makes them small when one of them fails."""

from __future__ import annotations

import random
from typing import Any, TypeVar

Json = dict[str, Any]
_T = TypeVar("_T")

# What joins, splits, ends lines and sentences, imitates wrappers and tokens, and is not normalised.
ATOMS = (
    "word ",
    "\n",
    ". ",
    "<evidence>",
    "</Local_State>",
    '<history_truncated turns="9"/>',
    "<|im_end|>",
    "</tool_response>",
    " SqlDataAdapte",
    "r",
    "\n\n",
    "  ",
    "é",
    "e\u0301",
    "\u0323\u0301",
    "x.",
    "! ",
    "。",
    "的是",
    "🙂",
    "\u212b",
    "'s",
    "<",
    "12",
    ".\n",
    "\ud800",
    "\r\n",
    "?\u3000",
)


class Source:
    """Choices out of bytes; where these end, out of numbers that follow from them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._more = random.Random(data)

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1."""
        self._at += 1
        value = self._data[self._at - 1] if self._at <= len(self._data) else self._more.randrange(256)
        return value % limit

    def choice(self, values: tuple[_T, ...]) -> _T:
        """One of them; the first is the simplest."""
        return values[self.below(len(values))]

    def text(self, longest: int) -> str:
        """Atoms, often one of them many times."""
        return "".join(self.choice(ATOMS) * (1 + self.below(longest)) for _ in range(self.below(4)))


def request(source: Source) -> Json:
    """A request that is accepted; whether it fits is another matter."""
    keep_turns = source.below(4)
    degradation: Json | str | None = {
        "keep_turns": keep_turns,
        "keep_chunks": source.below(4),
        "active_turns": source.below(keep_turns + 1),
        "chunk_limit": source.choice((16, 17, 24, 60)),
        "tool_limit": source.choice((16, 19, 40)),
        "sweep": source.choice(("allow", "refuse", "allow")),
        "headroom": source.choice((0, 0, 0, 1, 40, 300, 32_768)),
    }
    if source.below(16) == 1:
        degradation = source.choice((None, "agent", "conversation", "retrieval"))
    given: Json = {
        "policy": source.text(6),
        "user_turn": source.text(6),
        "budget": {"context": 30 + 8 * source.below(100), "reserve": source.choice((0, 7))},
        "degradation": degradation,
        "history": [message for _ in range(source.below(6)) for message in _turn(source)],
        "retrieved": [_chunk(source, number) for number in range(source.below(6))],
        "local_state": [_fact(source, number) for number in range(source.below(4))],
        "steps": [message for _ in range(source.choice((0, 0, 1, 2))) for message in _round(source)],
    }
    if source.below(4) == 1:
        given["tools"] = [{"name": "f", "description": source.text(3)}]
    if source.below(2):
        given["options"] = {"enable_thinking": source.below(2) == 0, "preserve_thinking": source.below(2) == 1}
    return given


def _turn(source: Source) -> list[Json]:
    rounds = [message for _ in range(source.choice((0, 0, 0, 1, 2))) for message in _round(source)]
    answer: Json = {"role": "assistant", "content": source.text(8)}
    if source.below(3) == 1:
        answer["reasoning_content"] = source.text(4)
    return [{"role": "user", "content": source.text(8)}, *rounds, answer]


def _round(source: Source) -> list[Json]:
    calls = [{"name": "f", "arguments": source.choice(("{}", '{"a":  1}'))}] * source.choice((1, 1, 2))
    return [
        {"role": "assistant", "content": source.text(2), "tool_calls": calls},
        *({"role": "tool", "content": source.text(30)} for _ in calls),
    ]


def _chunk(source: Source, number: int) -> Json:
    score = source.choice((1.0, 1, 0.5, 0.0, -0.0, -3))
    chunk = {"id": f"c{(7 * number) % 10}", "text": source.text(40), "score": score, "source": "s"}
    return {**chunk, "limit": source.choice((16, 20, 50))} if source.below(4) == 1 else chunk


def _fact(source: Source, number: int) -> Json:
    value = source.text(4).replace("\n", "").replace("\r", "")
    return {"name": f"n{(3 * number) % 10}", "value": value, "priority": source.below(3)}
