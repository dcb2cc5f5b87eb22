"""Section 0x70: what the artifact was made from."""

from __future__ import annotations

import re

from slm2.errors import Slm2Error

_LINE = re.compile("([a-z0-9._-]+)=([^\x00-\x1f\x7f]*)")


def encode(provenance: dict[str, str]) -> bytes:
    """The section of keys and values."""
    return "".join(f"{key}={provenance[key]}\n" for key in sorted(provenance)).encode("utf-8")


def parse(section: bytes) -> dict[str, str]:
    """Keys and values, checked as contract/artifact.md orders it."""
    provenance: dict[str, str] = {}
    previous = ""
    lines = section.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        match = _LINE.fullmatch(_text(line, number))
        if match is None or match[1] <= previous:
            raise Slm2Error("artifact_provenance", line=number)
        previous = match[1]
        provenance[previous] = match[2]
    if lines[-1]:
        raise Slm2Error("artifact_provenance", line=len(lines))
    return provenance


def _text(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise Slm2Error("artifact_provenance", line=number) from None
