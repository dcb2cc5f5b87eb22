"""Each join of literals and callers' text is made and encoded jointly (contract/template.md, M-60)."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

import pytest

import slm2
from programs import compose
from slm2.contract import Contract
from slm2.reference.messages import parse, parse_tools
from slm2.reference.pieces import Piece
from slm2.reference.rendering import segments

# tools/ is no package; the table is for tools/generate_vectors.py too.
JOINS = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "vector_cases" / "template_joins.py"))["JOINS"]


@cache
def contract() -> Contract:
    return slm2.load(engine="native")


def segment_of(join) -> list[Piece]:
    """The segment of the prompt in which the parts stand side by side."""
    request = join.request
    items = compose(
        parse(request["messages"]),
        parse_tools(request.get("tools")),
        enable_thinking=None,
        add_generation_prompt=bool(request.get("add_generation_prompt")),
    )
    for segment in segments(items):
        texts = [piece.data.decode() for piece in segment] if isinstance(segment, list) else []
        for at in range(len(texts)):
            if tuple(texts[at : at + len(join.parts)]) == join.parts:
                return segment
    raise AssertionError(f"no segment has the parts of {join.name!r}")


@pytest.mark.parametrize("join", JOINS, ids=lambda join: join.name)
def test_joint(join) -> None:
    encode = contract().tokenizer.encode
    together = encode("".join(join.parts))
    apart = [token for part in join.parts for token in encode(part)]
    assert (together != apart) == join.differs, (together, apart)
    segment = encode(b"".join(piece.data for piece in segment_of(join)))
    ids = contract().template.render_request(join.request).input_ids
    assert any(ids[at : at + len(segment)] == segment for at in range(len(ids)))


def test_names_are_unique() -> None:
    assert len({join.name for join in JOINS}) == len(JOINS)
