"""Methods of the testee protocol that no vector has: what an artifact is, sweeps, long runs, memory (contract/conformance.md)."""

from __future__ import annotations

import base64
import platform
import resource
import struct
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from slm2 import __version__
from slm2.conformance.sweeps import scalars_digest
from slm2.contract import Contract, load
from slm2.engine import Engine
from slm2.reference.sampling.recipe import Recipe
from slm2.sampling import Sample, Sampler, SamplingConfig

__all__ = ["EVERY", "NO_ID", "OPERATIONS", "artifact_facts", "host_facts", "token_digests"]

NO_ID = 2**32 - 1
EVERY = 100

Outcome = dict[str, Any]
Inputs = Mapping[str, Any]


def artifact_facts(engine: Engine) -> Outcome:
    """What names an opened artifact."""
    return {"semantic_digest": engine.semantic_digest, "file_digest": engine.file_digest}


def host_facts(engine: Engine) -> dict[str, str]:
    """What answers, and on what."""
    return {
        "name": f"slm2, engine {engine.name}",
        "version": __version__,
        "language": "Python" if engine.name == "reference" else "Python and Rust",
        "runtime": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _open(contract: Contract, inputs: Inputs) -> Outcome:
    """Open another artifact with the same engine."""
    limit = {name: inputs[name] for name in ("max_pretoken",) if name in inputs}
    return artifact_facts(load(base64.b64decode(inputs["base64"], validate=True), engine=contract.engine.name, **limit).engine)


def _special_tokens(contract: Contract, _: Inputs) -> Outcome:
    return {"tokens": [[token_id, text.decode("utf-8")] for token_id, text in contract.engine.special_tokens]}


def token_digests(
    block: range,
    token_bytes: Callable[[int], bytes],
    decoded: Callable[[int], bytes],
    token_id: Callable[[bytes], int | None],
    encoded: Callable[[bytes], list[int]],
) -> Outcome:
    """The four digests of ``tokens``, of whatever answers."""
    streams = {name: bytearray() for name in ("bytes", "decoded", "ids", "encoded")}
    for number in block:
        data, shown = token_bytes(number), decoded(number)
        streams["bytes"] += struct.pack("<II", number, len(data)) + data
        streams["decoded"] += struct.pack("<II", number, len(shown)) + shown
        found = token_id(data)
        streams["ids"] += struct.pack("<I", NO_ID if found is None else found)
        ids = encoded(data)
        streams["encoded"] += struct.pack(f"<{len(ids) + 1}I", len(ids), *ids)
    return {name: sha256(stream).hexdigest() for name, stream in streams.items()}


def _tokens(contract: Contract, inputs: Inputs) -> Outcome:
    tokenizer = contract.tokenizer
    return token_digests(
        range(inputs["first"], inputs["last"] + 1),
        tokenizer.token_bytes,
        lambda number: tokenizer.decode([number], special="bytes"),
        tokenizer.token_id,
        lambda data: contract.engine.encode(data, "contract"),
    )


def _scalars(contract: Contract, inputs: Inputs) -> Outcome:
    def encode_u32(text: str) -> bytes:
        return contract.engine.encode_u32(text.encode("utf-8"), contract.profile)

    return {"sha256": scalars_digest(range(inputs["first"], inputs["last"] + 1), encode_u32)}


def _draw(contract: Contract, inputs: Inputs) -> Outcome:
    """A long run over rows that are made once."""
    recipe, width = Recipe(**inputs["recipe"]), inputs["width"]
    rows = [Recipe(recipe.seed, recipe.step + n, recipe.scale, recipe.head, recipe.bfloat16).logits(width) for n in range(inputs["cycle"])]
    sampler = Sampler(contract.engine, SamplingConfig.from_dict(inputs["config"]), inputs["history"], width=width)
    ids: list[int] = []
    digests: list[str] = []
    stretch = bytearray()
    for number in range(inputs["steps"]):
        drawn = sampler.sample(rows[number % len(rows)])
        ids.append(drawn.id)
        stretch += _step(drawn)
        if (number + 1) % inputs.get("every", EVERY) == 0 or number + 1 == inputs["steps"]:
            digests.append(sha256(stretch).hexdigest())
            stretch.clear()
    return {"ids": ids, "digests": digests, "position": str(sampler.position)}


def _step(drawn: Sample) -> bytes:
    return struct.pack("<IIdd", drawn.id, drawn.kept, drawn.probability, drawn.log_probability)


def _memory(_: Contract, __: Inputs) -> Outcome:
    """All of the process, at its peak: an interpreter does not tell what belongs to whom."""
    unit = 1 if sys.platform == "darwin" else 1024
    return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, "measured": "process"}


OPERATIONS: dict[str, Callable[[Contract, Inputs], Outcome]] = {
    "open": _open,
    "special_tokens": _special_tokens,
    "tokens": _tokens,
    "scalars": _scalars,
    "draw": _draw,
    "memory": _memory,
}
