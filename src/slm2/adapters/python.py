"""A model of one's own: what a function gives that is a LogitsSource or a TokenServer."""

from __future__ import annotations

import importlib

from slm2.errors import Slm2Error
from slm2.logits_source import LogitsSource, TokenServer
from slm2.reference.json_text import shown

__all__ = ["open_model"]


def open_model(place: str) -> LogitsSource | TokenServer:
    """The model of ``--model python:MODULE:FUNCTION``: the function is called without arguments, once. Its module is run.

    Raises:
        Slm2Error: ``invalid_value`` where there is no such function; ``invalid_type`` where it gives no model.
    """
    module, _, function = place.partition(":")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise Slm2Error("invalid_value", field="model", expected=f"python:MODULE:FUNCTION ({error})", found=shown(place)) from error
    made = make()
    if not isinstance(made, LogitsSource | TokenServer):
        raise Slm2Error("invalid_type", field=place, expected="a LogitsSource or a TokenServer", found=type(made).__name__)
    return made
