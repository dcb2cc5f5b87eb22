"""Model back ends and distributed engines; each needs an extra of its own and is imported by its own name alone.

A model is named ``KIND:PLACE``, on the command line too. A kind is a module with a function ``open_model(place)``.
"""

from __future__ import annotations

import importlib

from slm2.errors import Slm2Error
from slm2.logits_source import LogitsSource, TokenServer
from slm2.reference.json_text import shown

__all__ = ["KINDS", "open_model"]

# Kind, its module, and what its places are.
KINDS: dict[str, tuple[str, str]] = {
    "transformers": ("slm2.adapters.transformers.source", "DIR"),
    "onnxruntime": ("slm2.adapters.onnxruntime", "FILE.onnx"),
    "llama-cpp": ("slm2.adapters.llama_cpp", "FILE.gguf"),
    "openai": ("slm2.adapters.openai", "URL"),
    "python": ("slm2.adapters.python", "MODULE:FUNCTION"),
}


def open_model(name: str) -> LogitsSource | TokenServer:
    """Open a model.

    Args:
        name: ``transformers:DIR``, ``onnxruntime:FILE.onnx``, ``llama-cpp:FILE.gguf``, ``openai:URL`` or ``python:MODULE:FUNCTION``.

    Raises:
        Slm2Error: ``invalid_value`` for another kind; ``dependency_missing`` where its extra is not installed; what the kind refuses.
    """
    kind, colon, place = name.partition(":")
    if kind not in KINDS or not colon or not place:
        expected = ", ".join(f"{known}:{places}" for known, (_, places) in KINDS.items())
        raise Slm2Error("invalid_value", field="model", expected=expected, found=shown(name))
    opened: LogitsSource | TokenServer = importlib.import_module(KINDS[kind][0]).open_model(place)
    return opened
