"""For transformers: ``pip install 'slm2[transformers]'``. What is named here is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from slm2.adapters.libraries import library

if TYPE_CHECKING:
    from slm2.adapters.transformers.sampler import Slm2LogitsProcessor
    from slm2.adapters.transformers.source import TransformersSource
    from slm2.adapters.transformers.tokenizer import Slm2Tokenizer

__all__ = ["Slm2LogitsProcessor", "Slm2Tokenizer", "TransformersSource"]

_MODULES = {"Slm2LogitsProcessor": "sampler", "Slm2Tokenizer": "tokenizer", "TransformersSource": "source"}


def __getattr__(name: str) -> object:
    """A class by its name.

    Raises:
        Slm2Error: ``dependency_missing`` where a library of the extra is not there.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for needed in ("torch", "transformers"):
        library(needed, needed, "transformers")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
