"""Texts as subjects get them: whole, in documents of 2 kB, and short chat messages."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["DOCUMENT_BYTES", "cut", "documents", "messages", "pick", "shuffled"]

DOCUMENT_BYTES = 2000

MESSAGES = 240
MESSAGE_CHARACTERS = 60
_WRITTEN = (
    "Can you explain the difference between a list and a tuple?",
    "What's the weather like in Paris today, and should I go out?",
    "Write a haiku about autumn leaves falling on a quiet pond.",
    "def f(x): return x ** 2  # why is this slow for big inputs?",
    "请用三句话介绍一下量子计算的基本原理，谢谢！",
    "Hi! I'm John, 34 years old; I live in Berlin & work at ACME.",
)
_SPOKEN = (
    "please could explain model token memory river mountain seven quickly summary python error function table recipe travel history "
    "garden server latency budget weekend letter because however"
)
_WORDS = _SPOKEN.split()

_Item = TypeVar("_Item")


def pick(source: random.Random, items: Sequence[_Item]) -> _Item:
    """One of them, by ``random()`` alone: it is what Python promises to keep from release to release."""
    return items[int(source.random() * len(items))]


def shuffled(items: Sequence[_Item], seed: int) -> list[_Item]:
    """All of them in an order that the seed decides."""
    source = random.Random(seed)
    return [item for _, item in sorted(((source.random(), item) for item in items), key=lambda pair: pair[0])]


def cut(data: bytes, end: int) -> bytes:
    """The first ``end`` bytes of UTF-8, and the rest of the last character."""
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return data[:end]


def documents(data: bytes) -> list[bytes]:
    """Pieces of DOCUMENT_BYTES, cut between characters."""
    pieces = []
    start = 0
    while start < len(data):
        piece = cut(data[start : start + DOCUMENT_BYTES + 4], DOCUMENT_BYTES)
        pieces.append(piece)
        start += len(piece)
    return pieces


def messages() -> list[str]:
    """Different chat messages of up to 60 characters."""
    source = random.Random(3)
    made = list(_WRITTEN)
    while len(made) < MESSAGES:
        words = [pick(source, _WORDS) for _ in range(9)]
        made.append((" ".join(words).capitalize() + pick(source, ".?!"))[:MESSAGE_CHARACTERS])
    return made
