"""The tokenizer over the native engine. Apart, since it can be imported only where that engine was built."""

from __future__ import annotations

from slm2._engine import NativeTokenizer as _NativeTokenizer
from slm2.tokenizer import Tokenizer

__all__ = ["NativeTokenizer"]


class NativeTokenizer(_NativeTokenizer, Tokenizer):
    """A :class:`~slm2.Tokenizer` whose ``encode`` and ``encode_array`` are those of the engine: no frame of Python between."""
