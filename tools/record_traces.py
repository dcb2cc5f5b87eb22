"""Record what transformers and torch draw on this machine's CPU, over logits that any host can rebuild (contract/sampling.md, S-70).

    python tools/record_traces.py OUT.json [--first 2] [--settings 200] [--steps 12]

Needs torch and transformers (pip install torch==2.13.0 transformers==5.24.0) and a processor with AVX-512: the stream of profile publisher
is that of 16 lanes. tests/data/torch-2.13-cpu-avx512.json was written by this program; the vectors of that profile come from there.
Each record is a setting and, for each step, the id, the number of ids kept, and the first 16 hex digits of the SHA-256 over the kept ids
(rising, little-endian u32). The generator is seeded once for each setting, and the ids drawn are in the history of the next step.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from slm2.reference.sampling.recipe import Recipe
from slm2.sampling import WIDTH

Setting = dict[str, Any]

GRID: dict[str, list[Any]] = {
    "temperature": [0.6, 0.7, 1.0, 1.3, 0.25],
    "top_k": [0, 1, 20, 50, 500],
    "top_p": [1.0, 0.95, 0.8, 0.5],
    "min_p": [0.0, 0.05, 0.3],
    "repetition_penalty": [1.0, 1.1, 1.5, 0.8],
    "dtype": ["float32", "bfloat16"],
}


def settings(first: int, count: int) -> Iterator[Setting]:
    """A shuffled part of the grid, with rows and histories that differ from setting to setting."""
    grid = list(itertools.product(*GRID.values()))
    random.Random(first).shuffle(grid)
    for number in range(count):
        yield {
            **dict(zip(GRID, grid[number % len(grid)], strict=True)),
            "seed": first * 1000 + number,
            "logits_seed": first * 10_000 + number,
            "scale": [0.5, 1.0, 2.0][number % 3],
            "head": [4.0, 9.0, 14.0][number // 3 % 3],
            "history": [0, 5, 64][number // 9 % 3],
        }


def recipe(setting: Setting, step: int) -> Recipe:
    """The row of a step."""
    return Recipe(setting["logits_seed"], step, setting["scale"], setting["head"], setting["dtype"] == "bfloat16")


def processors(setting: Setting) -> LogitsProcessorList:
    """As generate() puts them together."""
    chain = LogitsProcessorList()
    if setting["repetition_penalty"] != 1.0:
        chain.append(RepetitionPenaltyLogitsProcessor(setting["repetition_penalty"]))
    if setting["temperature"] != 1.0:
        chain.append(TemperatureLogitsWarper(setting["temperature"]))
    if setting["top_k"]:
        chain.append(TopKLogitsWarper(setting["top_k"]))
    if setting["top_p"] < 1.0:
        chain.append(TopPLogitsWarper(setting["top_p"]))
    if setting["min_p"]:
        chain.append(MinPLogitsWarper(setting["min_p"]))
    return chain


def drawn(setting: Setting, steps: int) -> list[list[Any]]:
    """Id, number of kept ids and their digest, step by step."""
    ids, rows = recipe(setting, 0).history(setting["history"], WIDTH), []
    chain: Any = processors(setting)  # its stub asks for subclasses of tensors that nobody makes
    torch.manual_seed(setting["seed"])
    for step in range(steps):
        logits = torch.from_numpy(recipe(setting, step).logits(WIDTH))[None]
        scores = chain(torch.tensor([ids], dtype=torch.long), logits)
        kept = torch.nonzero(scores[0] > -float("inf")).flatten().numpy().astype("<u4")
        token = int(torch.multinomial(torch.softmax(scores, dim=-1), 1)[0, 0])
        rows.append([token, int(kept.size), hashlib.sha256(kept.tobytes()).hexdigest()[:16]])
        ids.append(token)
    return rows


def main() -> int:
    """Record; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--first", type=int, default=2, help="seed of the shuffle, and of all others")
    parser.add_argument("--settings", type=int, default=200)
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the stream does not depend on it; on a busy machine several wait for each other
    capability = torch.backends.cpu.get_cpu_capability()
    if capability != "AVX512":
        raise SystemExit(f"this processor has {capability}: its softmax sums in other lanes, and its stream is another one")
    records = [{**setting, "steps": drawn(setting, arguments.steps)} for setting in settings(arguments.first, arguments.settings)]
    head = {"torch": torch.__version__, "transformers": transformers.__version__, "cpu_capability": capability}
    head["logits_check_sha256"] = hashlib.sha256(Recipe(7, 3, 1.0, 9.0).logits(WIDTH).tobytes()).hexdigest()
    rows = ",\n".join(json.dumps(record, separators=(",", ":")) for record in records)
    body = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    arguments.output.write_text("{\n" + body + f'"records": [\n{rows}\n]\n}}\n', encoding="utf-8")
    print(f"{len(records)} settings, {sum(len(record['steps']) for record in records)} steps")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
