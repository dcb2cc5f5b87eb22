"""The native engine over the texts of node.mjs, as measure.js measures: texts on standard input, rates on standard output, both JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import TypedDict

import slm2

ROUNDS = 5


class Text(TypedDict):
    """A text of measure.js: its kind, its documents, and how many bytes they have."""

    name: str
    documents: list[str]
    bytes: int


def measure(tokenizer: slm2.Tokenizer, text: Text) -> dict[str, str | float]:
    """MB/s of the first pass, the median of those after it, and one number for all ids."""
    rates = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        arrays = [tokenizer.encode_array(document) for document in text["documents"]]
        rates.append(text["bytes"] / (time.perf_counter() - started) / 1e6)
    fingerprint = 0
    for ids in arrays:
        for token in ids.tolist():
            fingerprint = (fingerprint * 31 + token) & 0xFFFF_FFFF
    return {"text": text["name"], "first": rates[0], "rate": statistics.median(rates[1:]), "fingerprint": fingerprint}


def main() -> int:
    """Measure; the exit status."""
    tokenizer = slm2.load(profile="publisher").tokenizer
    tokenizer.encode_array("")  # the first array imports NumPy, which is not what is measured
    json.dump([measure(tokenizer, text) for text in json.load(sys.stdin)], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
