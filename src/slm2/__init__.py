"""SLM2: everything of a small language model except its weights, from one sealed artifact.

>>> import slm2
>>> contract = slm2.load(engine="reference")
>>> contract.tokenizer.encode("Hello, world")
[9707, 11, 1879]
"""

from __future__ import annotations

from slm2.contract import Contract, load
from slm2.errors import Slm2Error
from slm2.generation import Generation
from slm2.prompt import Prompt
from slm2.sampling import Sample, Sampler, SamplingConfig
from slm2.stream import StreamDecoder
from slm2.template import Template
from slm2.tokenizer import Finding, Tokenizer

__all__ = [
    "Contract",
    "Finding",
    "Generation",
    "Prompt",
    "Sample",
    "Sampler",
    "SamplingConfig",
    "Slm2Error",
    "StreamDecoder",
    "Template",
    "Tokenizer",
    "load",
]
__version__ = "0.1.0"
