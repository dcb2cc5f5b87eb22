"""The lines of the testee protocol (contract/conformance.md): vectors as calls, and calls as the inputs of an operation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slm2.artifact import Profile
from slm2.reference.json_text import read_json

__all__ = ["PROTOCOL", "Call", "ProtocolError", "call_of", "inputs_of", "line", "outcome_of"]

PROTOCOL = 1
LONGEST_LINE = 16 * 2**20

Json = Mapping[str, Any]

# What a vector says about itself, and is no input.
_NO_INPUT = frozenset({"id", "clause", "op", "profile", "flags", "comment", "oracle", "expect", "error"})
# What the library reads by its own reader of JSON (C-4).
_TEXTS = ("config", "options")
_KEY_DIGITS = 64


class ProtocolError(Exception):
    """A line that is none of the protocol."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, without its number.

    Attributes:
        method: ``hello``, an operation of the vectors, or another method of the table.
        params: its parameters, as they cross.
    """

    method: str
    params: Json


def line(value: object) -> bytes:
    """A request or an answer as it crosses: JSON in ASCII on one line."""
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def call_of(vector: Json, profile: Profile) -> Call:
    """A vector as a call."""
    params: dict[str, Any] = {"profile": profile}
    for name, value in vector.items():
        if name not in _NO_INPUT:
            params |= _crossing(name, value)
    return Call(vector["op"], params)


def _crossing(name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401  (JSON)
    if name in _TEXTS:
        return {name: json.dumps(value)}
    if name == "lines":
        return {name: [json.dumps(text) for text in value]}
    if name == "steps" and isinstance(value, list):
        return {name: [{**step, "extend": json.dumps(step["extend"])} if "extend" in step else step for step in value]}
    if name == "seed":
        is_key = isinstance(value, str) and len(value) == _KEY_DIGITS
        return {"key": value} if is_key else {name: str(value)}
    if name == "stream" and isinstance(value, str):
        return {"stream_name": value}
    return {name: str(value) if name == "stream" else value}


def inputs_of(call: Call) -> tuple[dict[str, Any], Profile]:
    """The vector behind a call: ``op`` and inputs as the operations of this package take them."""
    inputs: dict[str, Any] = {"op": call.method}
    for name, value in call.params.items():
        inputs |= _arrived(name, value)
    profile: Profile = inputs.pop("profile", "contract")
    return inputs, profile


def _arrived(name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401  (JSON)
    if name in _TEXTS:
        return {name: read_json(value)}
    if name == "lines":
        return {name: [json.loads(text) for text in value]}
    if name == "steps" and isinstance(value, list):
        return {name: [{**step, "extend": read_json(step["extend"])} if "extend" in step else step for step in value]}
    if name in ("seed", "stream"):
        return {name: int(value)}
    return {{"key": "seed", "stream_name": "stream"}.get(name, name): value}


def outcome_of(answer: object, number: int) -> dict[str, Any]:
    """``{"expect": …}`` or ``{"error": …}`` of an answer, as vectors have it; ``{"exception": …}`` of a testee's own failure.

    Raises:
        ProtocolError: it is no answer, or that of another request.
    """
    if not isinstance(answer, dict) or type(answer.get("id")) is not int or len(answer) != 2:
        raise ProtocolError("no answer: an object with `id` and one of `result`, `error` and `failure` was expected")
    if answer["id"] != number:
        raise ProtocolError(f"the answer to request {answer['id']} where that to {number} was expected")
    if "result" in answer:
        return {"expect": answer["result"]}
    if "failure" in answer:
        return {"exception": answer["failure"]}
    error = answer.get("error")
    if not isinstance(error, dict) or error.keys() != {"code", "fields"}:
        raise ProtocolError("an error is an object with `code` and `fields`")
    return {"error": error}
