"""The operations of sampling vectors (contract/conformance.md). Floating-point numbers are the bits, as hex digits, highest first."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slm2.contract import Contract
from slm2.engine import PortableFunction
from slm2.errors import Slm2Error
from slm2.generation import Generation
from slm2.replay import audit, replay
from slm2.sampling import WIDTH, Sample, Sampler, SamplingConfig, Trace, generator

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["OPERATIONS"]

Outcome = dict[str, Any]
Vector = Mapping[str, Any]


def bits(value: float) -> str:
    """A float64 as 16 hex digits."""
    return struct.pack(">d", value).hex()


def row(spec: Mapping[str, Any], width: int) -> npt.NDArray[np.float32]:
    """A row of logits: of a recipe (S-70), or one value with exceptions."""
    import numpy as np  # noqa: PLC0415

    from slm2.reference.sampling.recipe import Recipe  # noqa: PLC0415

    if "recipe" in spec:
        return Recipe(**spec["recipe"]).logits(width)
    filled = np.full(width, int(spec["fill"], 16), np.uint32)
    for token, pattern in spec["set"].items():
        filled[int(token)] = int(pattern, 16)
    return filled.view(np.float32)


def _sampler(contract: Contract, vector: Vector, *, record: bool = False) -> Sampler:
    config = SamplingConfig.from_dict(vector["config"])
    return Sampler(contract.engine, config, vector["history"], width=vector["width"], record=record)


def _allowed(vector: Vector) -> bytes | None:
    return bytes.fromhex(vector["allowed"]) if "allowed" in vector else None


def _sample(contract: Contract, vector: Vector) -> Outcome:
    sampler = _sampler(contract, vector)
    steps = []
    for spec in vector["rows"]:
        drawn = sampler.sample(row(spec, vector["width"]), allowed=_allowed(vector), top=vector.get("top", 0))
        steps.append(_step(drawn, _kept_digest(sampler)))
    return {"steps": steps}


def _step(drawn: Sample, kept: str) -> Outcome:
    return {
        "id": drawn.id,
        "probability": bits(drawn.probability),
        "log_probability": bits(drawn.log_probability),
        "sizes": list(drawn.sizes),
        "kept": kept,
        "words": drawn.words,
        "numbers": [bits(number) for number in drawn.numbers],
        "top": [[token, bits(probability), bits(logarithm)] for token, probability, logarithm in drawn.top],
    }


def _kept_digest(sampler: Sampler) -> str:
    return hashlib.sha256(sampler.kept().astype("<u4").tobytes()).hexdigest()[:16]


def _sample_kept(contract: Contract, vector: Vector) -> Outcome:
    sampler = _sampler(contract, vector)
    steps = []
    for spec in vector["rows"]:
        drawn = sampler.sample(row(spec, vector["width"]))
        steps.append([drawn.id, drawn.kept, _kept_digest(sampler)])
    return {"steps": steps}


def _random_words(contract: Contract, vector: Vector) -> Outcome:
    made = generator(contract.engine, vector["rng"], vector["seed"], vector["stream"])
    for count in vector["advance"]:
        made.advance(int(count))
    state = made.state()
    uniform = made.uniform()
    made.restore(state)
    return {
        "state": hashlib.sha256(state).hexdigest(),
        "position": str(made.position),
        "words": [made.word() for _ in range(vector["count"])],
        "uniform": bits(uniform),
    }


def _restore(contract: Contract, vector: Vector) -> Outcome:
    made = generator(contract.engine, vector["rng"], vector["seed"])
    made.restore(bytes.fromhex(vector["state"]))
    return {"position": str(made.position), "words": [made.word() for _ in range(vector["count"])]}


def _portable(contract: Contract, vector: Vector) -> Outcome:
    function: PortableFunction = vector["function"]
    values = b"".join(bytes.fromhex(pattern)[::-1] for pattern in vector["values"])
    results = contract.engine.portable(function, values)
    return {"values": [results[at : at + 8][::-1].hex() for at in range(0, len(results), 8)]}


def _recipe(contract: Contract, vector: Vector) -> Outcome:
    from slm2.reference.sampling.recipe import Recipe  # noqa: PLC0415

    del contract  # every host makes the same
    logits = row(vector, vector["width"])
    return {
        "first": [f"{pattern:08x}" for pattern in logits[:4].view("uint32").tolist()],
        "sha256": hashlib.sha256(logits.astype("<f4").tobytes()).hexdigest(),
        "history": Recipe(**vector["recipe"]).history(vector["count"], vector["width"]),
    }


def _generate(contract: Contract, vector: Vector) -> Outcome:
    """Rows in which one id is greatest, one after the other."""
    config = SamplingConfig.from_dict(vector["config"])
    generation = Generation(contract.engine, config, special=vector["special"])
    texts: list[str] = []
    error: Outcome | None = None
    rows = (row({"fill": "00000000", "set": {str(token): "3f800000"}}, WIDTH) for token in vector["ids"])
    try:
        texts.extend(generation.step(logits).text for logits in rows)
    except Slm2Error as refusal:
        error = {"code": refusal.code, "fields": refusal.fields}
    result = generation.result
    return {
        "texts": texts,
        "drawn": list(result.ids),
        "reason": result.reason,
        "stopped_by": result.stopped_by,
        "stop_string": result.stop_string,
        "pending": result.pending.hex(),
        "refusal": error,
    }


def _trace(contract: Contract, vector: Vector) -> Outcome:
    """Record, write, read back, audit and replay."""
    import numpy as np  # noqa: PLC0415

    sampler = _sampler(contract, vector, record=True)
    rows = np.stack([row(spec, vector["width"]) for spec in vector["rows"]])
    for logits in rows:
        sampler.sample(logits)
    trace = Trace.from_jsonl(sampler.trace().to_jsonl())
    return {"lines": [trace.head, *trace.lines], "audited": audit(trace), "replayed": replay(trace, contract.engine, rows)}


def _replay(contract: Contract, vector: Vector) -> Outcome:
    del contract
    return {"audited": audit(Trace.from_jsonl(_jsonl(vector["lines"])))}


def _jsonl(lines: Sequence[Mapping[str, Any]]) -> str:
    return Trace(dict(lines[0]), [dict(line) for line in lines[1:]]).to_jsonl()


OPERATIONS: dict[str, Callable[[Contract, Vector], Outcome]] = {
    "sample": _sample,
    "sample_kept": _sample_kept,
    "random_words": _random_words,
    "restore": _restore,
    "portable": _portable,
    "recipe": _recipe,
    "generate": _generate,
    "trace": _trace,
    "replay": _replay,
}
