"""For transformers: ``pip install 'slm2[transformers]'``."""

from __future__ import annotations

from slm2.adapters.transformers.source import TransformersSource

__all__ = ["TransformersSource"]
