"""Slm2Tokenizer beside the publisher's fast tokenizer in transformers, in one run, as ratios.

    .venv-adapters/bin/python bench/transformers_calls.py                1,000 texts of about 800 characters
    .venv-adapters/bin/python bench/transformers_calls.py --rounds 31

Both are called with the same texts in turn, in both orders; what they give is compared before anything is timed. Times are wall time,
since both use threads (``--threads 1`` for one each); a ratio is the median, over the rounds, of the ratios within a round. New ``str``
objects are made for each pass, so that nothing is known of a text by its identity.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sysconfig
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slm2.adapters.transformers import Slm2Tokenizer

SOURCES = Path(__file__).resolve().parent.parent / ".cache" / "publisher"
ROW = 800


def texts(count: int) -> list[str]:
    """Documentation strings and code of the standard library in rows, none with the text of a special token."""
    whole = ""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        whole += path.read_text(encoding="utf-8", errors="replace").replace("<", "(")
        if len(whole) > count * ROW:
            break
    return [whole[at : at + ROW] for at in range(0, count * ROW, ROW)]


def new(rows: list[str]) -> list[str]:
    """The same texts as objects of their own."""
    return [row[:1] + row[1:] for row in rows]


def cases(rows: list[str]) -> dict[str, Callable[[Any], Any]]:
    """What is called, by the name that is printed."""
    short = [row[:40] for row in rows]
    return {
        "batch, ids and mask": lambda tokenizer: tokenizer(new(rows)).data,
        "batch, padded, numpy": lambda tokenizer: {
            name: value.tolist() for name, value in tokenizer(new(rows), padding=True, return_tensors="np").items()
        },
        "batch, cut at 64 with stride": lambda tokenizer: (
            tokenizer(new(rows), truncation=True, max_length=64, stride=8, return_overflowing_tokens=True).data
        ),
        "batch, with offsets": lambda tokenizer: tokenizer(new(rows), return_offsets_mapping=True).data,
        "batch of short texts": lambda tokenizer: tokenizer(new(short)).data,
        "single calls, short": lambda tokenizer: [tokenizer(text).data for text in new(short)],
        "single encode, short": lambda tokenizer: [tokenizer.encode(text) for text in new(short)],
    }


def ratio(run: Callable[[Any], object], ours: Any, theirs: Any, rounds: int) -> tuple[float, float]:  # noqa: ANN401  (tokenizers)
    """How many times faster ours is, and its seconds."""
    ratios, seconds = [], []
    for number in range(rounds):
        took = {}
        for tokenizer in (ours, theirs) if number % 2 else (theirs, ours):
            begin = time.perf_counter()
            run(tokenizer)
            took[id(tokenizer)] = time.perf_counter() - begin
        ratios.append(took[id(theirs)] / took[id(ours)])
        seconds.append(took[id(ours)])
    return statistics.median(ratios), statistics.median(seconds)


def main() -> None:
    """Compare, then measure, then print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    if options.threads is not None:
        os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    # After the environment is set: the library reads it when it is first used.
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    make: Any = PreTrainedTokenizerFast
    theirs = make(tokenizer_file=str(SOURCES / "tokenizer.json"), pad_token="<|endoftext|>")
    theirs.model_input_names = ["input_ids", "attention_mask"]
    ours = Slm2Tokenizer(special_text="literal", profile="publisher", engine="native", threads=options.threads)
    rows = texts(options.texts)
    print(
        f"transformers {version('transformers')}, tokenizers {version('tokenizers')}; {len(rows)} texts, {sum(map(len, rows)):,} characters"
    )
    print("| call | times as fast as the publisher's | ms |\n|---|---|---|")
    for name, run in cases(rows).items():
        if run(ours) != run(theirs):
            raise SystemExit(f"{name}: they differ")
        faster, seconds = ratio(run, ours, theirs, options.rounds)
        print(f"| {name} | {faster:.1f} | {seconds * 1000:.1f} |", flush=True)


if __name__ == "__main__":
    main()
