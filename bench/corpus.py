"""A corpus to shards beside ``datasets.map`` with ``tokenizers``: the same documents in, tables of uint32 lists out, in one run, as ratios.

    python bench/corpus.py --tokenizer-json .cache/publisher/tokenizer.json            24 MB, 3 rounds
    python bench/corpus.py --tokenizer-json … --megabytes 100 --rounds 5

Needs datasets and tokenizers (the group ``adapters`` of pyproject.toml has them). The input is a JSONL file of documents of 2 kB, of the
kinds of text that ``slm2 bench`` makes, without the text of special tokens. *file to file* is everything: ``encode_corpus`` from JSONL to
Arrow files, beside ``load_dataset("json")`` and ``map`` to the Arrow file in its cache. *map alone* leaves the loading out for datasets,
and for nobody else. Two at a time: two threads of slm2 beside two processes of ``map`` and beside one process whose ``tokenizers`` uses
two threads; whichever of these is faster is the peer. Each measure is a process of its own, after its imports, subjects taking turns:
wall time, and CPU time of the process and those that it started, which other work on the machine disturbs less. Figures are medians,
ratios medians of the ratios of each round. Ids are compared first, in profile ``publisher``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import slm2
from slm2.bench.corpus import made_texts
from slm2.bench.texts import documents, shuffled

Figures = dict[str, float]

NAMES = {
    "slm2, 1 thread": ("slm2", 1, 1),
    "datasets.map, 1 process": ("datasets", 1, 1),
    "slm2, 2 threads": ("slm2", 2, 1),
    "datasets.map, 2 processes": ("datasets", 2, 1),
    "datasets.map, 1 process of 2 threads": ("datasets", 1, 2),
}
PAIRS = {
    "slm2, 1 thread": ("datasets.map, 1 process",),
    "slm2, 2 threads": ("datasets.map, 2 processes", "datasets.map, 1 process of 2 threads"),
}


def write_input(path: Path, size: int) -> int:
    """Documents of all kinds but chat, whose text has special tokens; how many bytes of text they are."""
    contract = slm2.load(engine="native")
    vocabulary = [contract.tokenizer.token_bytes(number) for number in range(contract.tokenizer.vocabulary_size)]
    special = [text.encode() for text in contract.tokenizer.special_tokens]
    kinds = [text for text in made_texts(vocabulary, size // 7) if text.name not in ("chat", "decomposed")]
    rows = [row for kind in kinds for row in documents(kind.data) if not any(text in row for text in special)]
    rows = shuffled(rows, 9)
    with path.open("w", encoding="ascii") as file:
        file.writelines(json.dumps({"text": row.decode("utf-8")}) + "\n" for row in rows)
    return sum(map(len, rows))


@dataclass(frozen=True)
class Clock:
    """Wall time, and CPU time of this process and those that it waited for, in seconds."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Clock:
        """The time."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.perf_counter(), sum(times.ru_utime + times.ru_stime for times in used))

    def since(self, measure: str, begin: Clock) -> Figures:
        """What went by, as figures of a measure."""
        return {f"{measure}, wall": self.wall - begin.wall, f"{measure}, CPU": self.cpu - begin.cpu}


def run_slm2(source: Path, output: Path, threads: int) -> Figures:
    """Seconds of all of it."""
    # pyarrow imports pandas at its first array, where it is there; datasets has imported both by now.
    import pandas  # noqa: F401, PLC0415
    import pyarrow.ipc  # noqa: F401, PLC0415

    from slm2.corpus import CorpusOptions, encode_corpus  # noqa: PLC0415

    begin = Clock.now()
    contract = slm2.load(engine="native", profile="publisher")
    options = CorpusOptions(read="jsonl", field="text", write="arrow", append="none")
    encode_corpus(contract, [source], output, options, threads=threads)
    return Clock.now().since("file to file", begin)


def run_datasets(source: Path, output: Path, processes: int, tokenizer_json: str) -> Figures:
    """Seconds of all of it, and of ``map`` alone."""
    import datasets  # noqa: PLC0415
    import tokenizers  # noqa: PLC0415

    datasets.disable_progress_bars()
    begin = Clock.now()
    tokenizer = tokenizers.Tokenizer.from_file(tokenizer_json)
    dataset = datasets.load_dataset("json", data_files=str(source), split="train", cache_dir=str(output))
    loaded = Clock.now()

    def encode(rows: dict[str, list[str]]) -> dict[str, Any]:
        return {"ids": [encoding.ids for encoding in tokenizer.encode_batch_fast(rows["text"], add_special_tokens=False)]}

    dataset.map(
        encode,
        batched=True,
        remove_columns=["text"],
        features=datasets.Features({"ids": datasets.List(datasets.Value("uint32"))}),
        num_proc=processes if processes > 1 else None,
    )
    end = Clock.now()
    return end.since("file to file", begin) | end.since("map alone", loaded)


def measured(name: str, source: Path, tokenizer_json: str) -> Figures:
    """One measure, in a process of its own and a folder that goes with it."""
    subject, workers, threads = NAMES[name]
    with tempfile.TemporaryDirectory(dir=source.parent) as output:
        variables = {**os.environ, "RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false"}
        words = [sys.executable, __file__, "--measure", subject, str(workers), str(source), output, "--tokenizer-json", tokenizer_json]
        done = subprocess.run(words, env=variables, check=True, capture_output=True, text=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare_ids(source: Path, tokenizer_json: str) -> int:
    """Every document's ids by both; how many there are.

    Raises:
        SystemExit: they differ.
    """
    import tokenizers  # noqa: PLC0415

    ours = slm2.load(engine="native", profile="publisher").tokenizer
    theirs = tokenizers.Tokenizer.from_file(tokenizer_json)
    count = 0
    with source.open(encoding="ascii") as file:
        for line in file:
            text = json.loads(line)["text"]
            ids = ours.encode(text)
            if ids != theirs.encode(text, add_special_tokens=False).ids:
                sys.exit(f"ids differ: {text!r}")
            count += len(ids)
    return count


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer-json", required=True)
    parser.add_argument("--megabytes", type=float, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        subject, workers, source, output = arguments.measure
        runs: dict[str, Callable[[], Figures]] = {
            "slm2": lambda: run_slm2(Path(source), Path(output) / "out", int(workers)),
            "datasets": lambda: run_datasets(Path(source), Path(output), int(workers), arguments.tokenizer_json),
        }
        print(json.dumps(runs[subject]()))
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "corpus.jsonl"
        size = write_input(source, round(arguments.megabytes * 1_000_000))
        ids = compare_ids(source, arguments.tokenizer_json)
        print(f"slm2 {slm2.__version__}; {size / 1e6:.1f} MB of text, {ids:,} ids, equal; {arguments.rounds} rounds")
        rounds = [
            {name: measured(name, source, arguments.tokenizer_json) for name in shifted(list(NAMES), number)}
            for number in range(arguments.rounds)
        ]
    print_table(rounds, size)


def shifted(names: list[str], by: int) -> list[str]:
    """A B C, then B C A."""
    return names[by % len(names) :] + names[: by % len(names)]


def print_table(rounds: list[dict[str, Figures]], size: int) -> None:
    """Seconds and megabytes a second, then ratios."""
    for name in NAMES:
        for measure in rounds[0][name]:
            seconds = statistics.median(figures[name][measure] for figures in rounds)
            print(f"{name:38} {measure:18} {seconds:7.2f} s {size / seconds / 1e6:7.1f} MB/s")
    for ours, peers in PAIRS.items():
        for measure in rounds[0][peers[0]]:
            own = f"file to file, {measure.rpartition(' ')[2]}"
            ratios = [min(figures[peer][measure] for peer in peers) / figures[ours][own] for figures in rounds]
            print(f"{ours:16} beside the faster of {len(peers)}, {measure:18}: {statistics.median(ratios):5.1f} times")


if __name__ == "__main__":
    main()
