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
        Slm2Error: ``invalid_value`` where there is no such function; ``model_unsupported`` where it fails; ``invalid_type`` where it gives
            no model; and what it raises itself of these.
    """
    module, _, function = place.partition(":")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:  # TypeError: the name of a module in a package that is not named
        raise Slm2Error("invalid_value", field="model", expected=f"python:MODULE:FUNCTION ({error})", found=shown(place)) from error
    if not callable(make):
        raise Slm2Error("invalid_value", field="model", expected="python:MODULE:FUNCTION (it is no function)", found=shown(place))
    try:
        made = make()
    except Slm2Error:
        raise
    except Exception as error:  # whatever a caller's function raises
        raise Slm2Error("model_unsupported", model=place, reason=f"{type(error).__name__}: {error}") from error
    if not isinstance(made, LogitsSource | TokenServer):
        raise Slm2Error("invalid_type", field=place, expected="a LogitsSource or a TokenServer", found=type(made).__name__)
    return made
