"""The reference behind the protocol of :mod:`slm2.engine`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from slm2.artifact import Profile, read
from slm2.artifact.layout import integer_bytes
from slm2.reference import tokenizer
from slm2.reference.sampling import portable_math
from slm2.reference.sampling.config import Rng, SamplingConfig, stream_number
from slm2.reference.sampling.generators import ReferenceGenerator
from slm2.reference.sampling.sampler import ReferenceSampler
from slm2.reference.stream import ReferenceStream
from slm2.reference.tokenizer import Special

PortableFunction = Literal["exp", "log", "log1p"]


class ReferenceEngine:
    """One opened artifact; see :class:`slm2.engine.Engine`."""

    name = "reference"

    def __init__(self, data: bytes) -> None:
        self._artifact = read(data)

    @property
    def contract_version(self) -> int:
        return self._artifact.contract_version

    @property
    def vocabulary_size(self) -> int:
        return len(self._artifact.tokens)

    @property
    def token_limit(self) -> int:
        return self._artifact.token_limit

    @property
    def file_digest(self) -> str:
        return self._artifact.file_digest

    @property
    def semantic_digest(self) -> str:
        return self._artifact.semantic_digest

    @property
    def special_tokens(self) -> list[tuple[int, bytes]]:
        return list(self._artifact.special)

    @property
    def provenance(self) -> dict[str, str]:
        return dict(self._artifact.provenance)

    def encode(self, data: bytes, profile: Profile) -> list[int]:
        return tokenizer.encode(self._artifact, data, profile)

    def encode_u32(self, data: bytes, profile: Profile) -> bytes:
        return integer_bytes("I", tokenizer.encode(self._artifact, data, profile))

    def encode_spans(self, data: bytes, profile: Profile) -> list[tuple[int, int, int]]:
        return tokenizer.encode_spans(self._artifact, data, profile)

    def encode_trusted(self, data: bytes, profile: Profile) -> list[int]:
        return tokenizer.encode_trusted(self._artifact, data, profile)

    def find_special(self, data: bytes) -> list[tuple[int, int, int]]:
        return tokenizer.find_special(self._artifact, data)

    def decode(self, ids: Sequence[int], special: Special) -> bytes:
        return tokenizer.decode(self._artifact, ids, special)

    def token_bytes(self, token_id: int) -> bytes:
        return tokenizer.decode(self._artifact, [token_id], "bytes")

    def token_id(self, data: bytes) -> int | None:
        return self._artifact.token_ids.get(data)

    def stream_decoder(self, special: Special) -> ReferenceStream:
        return ReferenceStream(self._artifact, special)

    def sampler(self, config: SamplingConfig, prompt: Sequence[int], width: int) -> ReferenceSampler:
        return ReferenceSampler(config, prompt, width, self.token_limit)

    def generator(self, rng: Rng, seed: int | str, stream: int | str) -> ReferenceGenerator:
        return ReferenceGenerator(rng, seed, stream_number(stream))

    def portable(self, function: PortableFunction, values: bytes) -> bytes:
        apply = {"exp": portable_math.exp, "log": portable_math.log, "log1p": portable_math.log1p}[function]
        return apply(np.frombuffer(values, "<f8")).astype("<f8").tobytes()
