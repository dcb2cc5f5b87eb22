"""Configurations are read and refused by the core as by the reference: the same code and the same fields, asked of the testee of C."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hosts.toolchain import ARTIFACT, CAPI, compile_c
from slm2.errors import Slm2Error
from slm2.reference.json_text import read_json
from slm2.sampling import SamplingConfig

pytestmark = pytest.mark.xdist_group("hosts")

GOOD = {
    "profile": "contract", "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0, "repetition_penalty": 1.0,
    "rng": "pcg32", "seed": 1, "max_tokens": 10, "stop_ids": [151_645],
}  # fmt: skip

# Each field with values of all types, at and past its bounds.
VALUES = [
    None, True, 0, 1, -1, 0.5, -0.5, -0.0, 1.0, 20.0, 1.0000001, 1e-60, 1e39, -1e39, 1e16, 10**20, -(10**400), 10**400, 2**32, 2**32 - 1,
    2**64, 2**64 - 1, 151_935, 151_936, "", "x", "contract", "publisher", "pcg32", "chacha8", "mt19937-torch", "philox", "é" * 70,
    "00" * 32, "AB" * 32, "zz" * 32, [], [1], [-1], [151_936], [1.0], [None], ["x"], [""], ["a", 1], {}, {"5": 1.5}, {"05": 1}, {"x": 1},
    {"151936": 1}, {"-1": 1}, {"5": None}, {"5": 1e39}, {"5": "x"},
]  # fmt: skip
OPTIONAL = ("stream", "logit_bias", "banned_ids", "presence_penalty", "frequency_penalty", "stop_strings")


def configurations() -> list[str]:
    made: list[object] = [GOOD, [], None, "x", 1, {}, {**GOOD, "typical_p": 1}, {**GOOD, "n" * 70: 1}]
    made += [{**GOOD, name: value} for name in (*GOOD, *OPTIONAL) for value in VALUES]
    made += [{**GOOD, "rng": "chacha8", "seed": value} for value in VALUES]
    torch = {**GOOD, "profile": "publisher", "rng": "mt19937-torch"}
    made += [{**torch, "stream": value} for value in VALUES]
    made += [{name: value for name, value in GOOD.items() if name != left_out} for left_out in GOOD]
    # Of several refusals the same one counts.
    made += [
        {**GOOD, "seed": -1, "top_k": -1},
        {**GOOD, "stop_ids": 1, "seed": "x"},
        {**GOOD, "stop_strings": 1, "banned_ids": 1, "logit_bias": 1},
    ]
    return [json.dumps(config, ensure_ascii=False) for config in made]


def by_the_reference(text: str) -> object:
    try:
        SamplingConfig.from_dict(read_json(text))  # type: ignore[arg-type]
    except Slm2Error as error:
        return {"code": error.code, "fields": error.fields}
    return None


def test_the_core_refuses_what_the_reference_does(tmp_path: Path) -> None:
    testee = compile_c(tmp_path / "testee", *sorted((CAPI / "testee").glob("*.c")))
    texts = configurations()
    params = [{"profile": "contract", "config": text, "width": 151_936, "history": [], "rows": []} for text in texts]
    lines = "".join(json.dumps({"id": number, "method": "sample", "params": each}) + "\n" for number, each in enumerate(params))
    command = [testee, "--artifact", ARTIFACT]
    answers = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=True).stdout.splitlines()
    assert len(answers) == len(texts) > 900
    refused = 0
    for text, answer in zip(texts, answers, strict=True):
        theirs = by_the_reference(text)
        assert json.loads(answer).get("error") == theirs, text
        refused += theirs is not None
    assert refused > 600
