"""Tools as JSON schemas: mappings, pydantic models, functions."""

from __future__ import annotations


def as_schemas(tools: object) -> object:
    """Tools as JSON values."""
    return tools
