"""SLM2: everything of a small language model except its weights, from one sealed artifact.

>>> import slm2
>>> contract = slm2.load(engine="reference")
>>> contract.tokenizer.encode("Hello, world")
[9707, 11, 1879]
"""

from __future__ import annotations

import logging

from slm2.chat import Chat, generate
from slm2.contract import Contract, load
from slm2.errors import Slm2Error
from slm2.generation import Generation
from slm2.prompt import Prompt
from slm2.sampling import Sample, Sampler, SamplingConfig
from slm2.stream import StreamDecoder
from slm2.template import Template
from slm2.tokenizer import Finding, Tokenizer

__all__ = [
    "Chat",
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
    "generate",
    "load",
]
# As a library does: nothing is printed where the application does not ask for it. Every record has the name "slm2".
logging.getLogger("slm2").addHandler(logging.NullHandler())
__version__ = "0.1.0"
