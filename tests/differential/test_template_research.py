"""The conversations measured before anything was written, which lie beside the repository: golden, edges and joins."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

import slm2
from differential.template_oracle import has_special
from slm2.artifact import Profile
from slm2.contract import Contract
from slm2.errors import Slm2Error

DATA = Path(__file__).resolve().parents[3] / "shared" / "research" / "data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="../shared/research/data is not beside this checkout")


@cache
def contract(profile: Profile) -> Contract:
    return slm2.load(engine="native", profile=profile)


def load(name: str):
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def test_golden_conversations() -> None:
    accepted = compared = 0
    refused: set[str] = set()
    for case in load("template_golden.json")["cases"]:
        try:
            rendering = contract("publisher").template.render(case["messages"], **case["kwargs"])
        except Slm2Error as refusal:
            refused.add(refusal.code)
            continue
        accepted += 1
        assert rendering.text == case["text"]
        if not has_special(case["messages"]):
            compared += 1
            assert rendering.input_ids == case["ids"], case
    assert refused <= {"ambiguous_think", "role_order"}, refused
    assert accepted >= 250
    assert compared >= 250


def test_edges() -> None:
    accepted = 0
    for case in load("template_edges.json"):
        try:
            messages, options = ast.literal_eval(case["messages_repr"]), ast.literal_eval(case["kwargs_repr"])
        except ValueError:
            continue  # nan and inf, which are no literals
        options = {{"agp": "add_generation_prompt"}.get(key, key): value for key, value in options.items()}
        if "unknown_kw" in options:
            continue  # Python refuses it before the contract can
        try:
            rendering = contract("contract").template.render(messages, **options)
        except Slm2Error:
            continue
        accepted += 1
        if not case["template_new"].startswith("RAISES") and "surrogate" not in case["name"]:
            assert rendering.text == case["template_new"], case["name"]
    assert accepted >= 35, accepted


def test_joins() -> None:
    differing = 0
    for case in load("template_joins.json"):
        encode = contract("publisher").tokenizer.encode
        assert encode("".join(case["parts"])) == case["joint"], case["name"]
        assert [token for part in case["parts"] for token in encode(part)] == case["separate"], case["name"]
        differing += case["differs"]
    assert differing >= 25
