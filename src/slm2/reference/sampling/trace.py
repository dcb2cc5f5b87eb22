"""A record of draws that can be replayed and audited step by step (contract/sampling.md, S-60 to S-63).

Lines of JSON: a head, then one line a step. Floating-point numbers stand as C99 writes them in hexadecimal, which is exact.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slm2.errors import Slm2Error
from slm2.reference.sampling.config import PUBLISHER_STREAM, SamplingConfig

__all__ = ["EVENTS", "FORM", "MOST_LOGITS", "GrowingDigest", "Trace", "digest", "digest_of_ids", "link"]

FORM = 1
# What may happen between two steps.
EVENTS = ("extend", "advance", "restore")
# Of a row; a sampler has no more.
MOST_LOGITS = 2**24
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_STEP_FIELDS = (
    "logits", "allowed", "history", "position", "id", "sizes", "kept", "words", "numbers", "probability", "log_probability",
    "chain",
)  # fmt: skip

Line = dict[str, Any]


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def digest_of_ids(ids: Sequence[int]) -> str:
    """SHA-256 of ids as little-endian u32."""
    return GrowingDigest(ids).hex()


class GrowingDigest:
    """SHA-256 of ids as little-endian u32, to which ids are added: a step costs its own ids and not the history before it."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._hash = hashlib.sha256()
        self.add(ids)

    def add(self, ids: Sequence[int]) -> None:
        """More ids."""
        self._hash.update(b"".join(token.to_bytes(4, "little") for token in ids))

    def hex(self) -> str:
        """Of all ids so far."""
        return self._hash.copy().hexdigest()


def link(chain: str, line: Line) -> str:
    """The digest that a step carries: of the one before it and of its own fields, so that a changed field is found at its step."""
    fields = {name: value for name, value in line.items() if name != "chain"}
    return digest((chain + json.dumps(fields, sort_keys=True, separators=(",", ":"))).encode("ascii"))


class Trace:
    """What was drawn, from what.

    Attributes:
        head: configuration, ids of the prompt, width, and the torch release whose stream it is.
        lines: steps and events.
    """

    def __init__(self, head: Line, lines: list[Line]) -> None:
        self.head = head
        self.lines = lines
        self._history = GrowingDigest(head["prompt"])
        self._steps = sum("step" in line for line in lines)
        self._chain = self._history.hex()
        for line in lines:
            self._chain = link(self._chain, line)
            self._history.add([line["id"]] if "step" in line else line.get("extend", []))

    @classmethod
    def begin(cls, config: SamplingConfig, prompt: Sequence[int], width: int) -> Trace:
        """A trace without steps."""
        torch = PUBLISHER_STREAM if config.profile == "publisher" else None
        return cls({"trace": FORM, "config": config.to_dict(), "prompt": list(prompt), "width": width, "torch": torch}, [])

    def add_step(self, inputs: Mapping[str, str | None], position: int, drawn: Mapping[str, Any], kept: str) -> None:
        """One draw: digests of the inputs, the place in the stream before it, the sample, the digest of the kept ids."""
        line = {
            "step": self._steps,
            **inputs,
            "history": self._history.hex(),
            "position": position,
            "id": drawn["id"],
            "sizes": list(drawn["sizes"]),
            "kept": kept,
            "words": drawn["words"],
            "numbers": [number.hex() for number in drawn["numbers"]],
            "probability": drawn["probability"].hex(),
            "log_probability": drawn["log_probability"].hex(),
        }
        self._chain = link(self._chain, line)
        self.lines.append({**line, "chain": self._chain})
        self._history.add([drawn["id"]])
        self._steps += 1

    def add_event(self, name: str, value: object) -> None:
        """Something between two steps, one of :data:`EVENTS`."""
        line = {name: value}
        self.lines.append(line)
        self._chain = link(self._chain, line)
        if name == "extend" and isinstance(value, list):
            self._history.add(value)

    def __reduce__(self) -> tuple[object, ...]:
        return (Trace, (self.head, self.lines))

    def to_jsonl(self) -> str:
        """The lines of a file."""
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (self.head, *self.lines))

    @classmethod
    def from_jsonl(cls, text: str) -> Trace:
        """Read a file back.

        Raises:
            Slm2Error: ``trace_invalid``.
        """
        lines = list(_parsed(text))
        if not lines or lines[0].get("trace") != FORM:
            raise Slm2Error("trace_invalid", line=1, reason=f'its head must say "trace": {FORM}')
        head = lines[0]
        for name, kind in (("config", dict), ("prompt", list), ("width", int)):
            if not isinstance(head.get(name), kind):
                raise Slm2Error("trace_invalid", line=1, reason=f"{name} is missing or no {kind.__name__}")
        if type(head["width"]) is not int or not 1 <= head["width"] <= MOST_LOGITS:
            raise Slm2Error("trace_invalid", line=1, reason="width is no integer from 1 to 2^24")
        if not all(type(token) is int and 0 <= token < 2**32 for token in head["prompt"]):
            raise Slm2Error("trace_invalid", line=1, reason="prompt holds something that is no id")
        for number, line in enumerate(lines[1:], start=2):
            _check_line(number, line)
        return cls(head, lines[1:])


def _parsed(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Slm2Error("trace_invalid", line=number, reason=str(error)) from None
        if not isinstance(value, dict):
            raise Slm2Error("trace_invalid", line=number, reason="it is no object")
        yield value


def _check_line(number: int, line: Line) -> None:
    """A step has all fields of their kinds, an event one name and a value of its kind."""
    if "step" not in line:
        kinds: dict[str, type] = {"extend": list, "advance": int, "restore": str}
        if len(line) != 1 or not all(isinstance(value, kinds.get(name, type(None))) for name, value in line.items()):
            raise Slm2Error("trace_invalid", line=number, reason="it is neither a step nor one of " + ", ".join(EVENTS))
        if not all(type(token) is int and 0 <= token < 2**32 for token in line.get("extend", [])):
            raise Slm2Error("trace_invalid", line=number, reason="extend holds something that is no id")
        if "advance" in line and not (type(line["advance"]) is int and 0 <= line["advance"] < 2**64):
            raise Slm2Error("trace_invalid", line=number, reason="advance is no integer from 0 to 2^64 - 1")
        if "restore" in line and not _HEX.fullmatch(line["restore"]):
            raise Slm2Error("trace_invalid", line=number, reason="restore is not in hexadecimal")
        return
    missing = [name for name in _STEP_FIELDS if name not in line]
    if missing:
        raise Slm2Error("trace_invalid", line=number, reason=f"{missing[0]} is missing")
    if not (type(line["id"]) is int and 0 <= line["id"] < 2**32):
        raise Slm2Error("trace_invalid", line=number, reason="id is none")
    if not isinstance(line["numbers"], list) or not all(map(_is_number, (*line["numbers"], line["probability"], line["log_probability"]))):
        raise Slm2Error("trace_invalid", line=number, reason="a number is not in hexadecimal, or not finite")


def _is_number(text: object) -> bool:
    """Whether a float is written in hexadecimal."""
    try:
        return isinstance(text, str) and math.isfinite(float.fromhex(text))
    except (ValueError, OverflowError):
        return False
