"""Tier 3."""

from __future__ import annotations

from slm2.conformance.asking import Part

__all__ = ["TIER", "parts"]

TIER = 3


def parts(data: bytes) -> list[Part]:
    del data
    return []
