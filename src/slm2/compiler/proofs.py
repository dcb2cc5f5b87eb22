"""Statements about every vocabulary entry, proved one by one and sealed as facts."""

from __future__ import annotations

import sys
from collections.abc import Callable

from slm2.artifact import Artifact, Facts
from slm2.reference import tokenizer

Progress = Callable[[int, int], None]


def prove(artifact: Artifact, progress: Progress) -> Facts:
    """Which entries the merges do not reproduce, and which do not encode to themselves."""
    not_merged: list[int] = []
    not_encoded: list[int] = []
    settings = tokenizer.Settings(artifact, "contract", sys.maxsize)
    for token_id, token in enumerate(artifact.tokens):
        if tokenizer.merge(artifact, token) != [token_id]:
            not_merged.append(token_id)
        if tokenizer.encode(settings, token) != [token_id]:
            not_encoded.append(token_id)
        if token_id % 1024 == 0:
            progress(token_id, len(artifact.tokens))
    return Facts(tuple(not_merged), tuple(not_encoded))
