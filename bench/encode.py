"""Throughput of encoding: both engines of slm2 beside the publisher's program, in one run, as ratios.

    python bench/encode.py                    the Python files of the standard library
    python bench/encode.py FOLDER             every file below a folder, as UTF-8 text
    python bench/encode.py --profile publisher --rounds 9

Every program encodes the same documents, one after the other in each round, so that a busy machine slows all of them. Ids are
compared before anything is timed; a difference ends the run. Times are CPU time of the process, all threads together; the
number shown is the median over the rounds. The reference gets a part of the documents, and its ratio is over that part.
Both programs keep a cache of the pieces that they have seen, and the comparison before has filled it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import tokenizers

import slm2
from slm2.artifact import PROFILES, Profile

TOKENIZER_JSON = Path(__file__).resolve().parent.parent / ".cache" / "publisher" / "tokenizer.json"
TOKENIZER_SHA256 = "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4"
BASELINE = "tokenizers encode"
REFERENCE_CHARACTERS = 100_000

Run = Callable[[Sequence[str]], object]


@dataclass(frozen=True)
class Contender:
    """A program and the documents that it gets."""

    name: str
    run: Run
    documents: Sequence[str]

    @property
    def megabytes(self) -> float:
        """Size of the documents as UTF-8, in 10^6 bytes."""
        return sum(len(text.encode()) for text in self.documents) / 1e6


def read_documents(folder: Path | None, megabytes: float) -> list[str]:
    """The files of a folder in the order of their names, until there are enough of them."""
    root, pattern = (folder, "**/*") if folder else (Path(sysconfig.get_paths()["stdlib"]), "**/*.py")
    documents: list[str] = []
    left = megabytes * 1e6
    for path in sorted(path for path in root.glob(pattern) if path.is_file() and "site-packages" not in path.parts):
        text = path.read_bytes().decode("utf-8", errors="replace")
        if text:
            documents.append(text)
            left -= len(text.encode())
        if left <= 0:
            break
    return documents


def publisher(profile: Profile) -> tokenizers.Tokenizer:
    """The publisher's program for plain text: without added tokens, and in profile contract without normalizer."""
    data = TOKENIZER_JSON.read_bytes()
    if hashlib.sha256(data).hexdigest() != TOKENIZER_SHA256:
        raise SystemExit(f"{TOKENIZER_JSON.name} is not the publisher's: run tools/fetch_sources.py")
    settings = json.loads(data)
    settings["added_tokens"] = []
    if profile == "contract":
        settings["normalizer"] = None
    return tokenizers.Tokenizer.from_str(json.dumps(settings))


def contenders(documents: Sequence[str], profile: Profile, engines: Sequence[str]) -> Iterator[Contender]:
    """The baseline first."""
    theirs = publisher(profile)
    yield Contender(BASELINE, lambda texts: [theirs.encode(text).ids for text in texts], documents)
    yield Contender("tokenizers encode_batch_fast", lambda texts: [e.ids for e in theirs.encode_batch_fast(list(texts))], documents)
    if "native" in engines:
        native = slm2.load(engine="native", profile=profile).tokenizer
        yield Contender("slm2 native encode", lambda texts: [native.encode(text) for text in texts], documents)
        yield Contender("slm2 native encode_array", lambda texts: [native.encode_array(text) for text in texts], documents)
    if "reference" in engines:
        reference = slm2.load(engine="reference", profile=profile).tokenizer
        yield Contender("slm2 reference encode", lambda texts: [reference.encode(text) for text in texts], part(documents))


def part(documents: Sequence[str]) -> list[str]:
    """As many documents as the reference gets, the first cut short where it is too long."""
    taken: list[str] = []
    left = REFERENCE_CHARACTERS
    for text in documents:
        if left <= 0:
            break
        taken.append(text[:left])
        left -= len(text)
    return taken


def check(runners: Sequence[Contender]) -> None:
    """All give the ids that the baseline gives for the same documents."""
    baseline = runners[0]
    for runner in runners[1:]:
        expected, found = baseline.run(runner.documents), runner.run(runner.documents)
        assert isinstance(expected, list)
        assert isinstance(found, list)
        for number, (theirs, ours) in enumerate(zip(expected, found, strict=True)):
            if list(ours) != theirs:
                raise SystemExit(f"{runner.name} gives other ids than {baseline.name} for document {number}")


def measure(runners: Sequence[Contender], rounds: int) -> Iterator[tuple[str, float, float]]:
    """Name, MB/s of CPU time, and how many times the baseline's throughput on the same documents."""
    seconds: list[list[tuple[float, float]]] = [[] for _ in runners]
    for _ in range(rounds):
        whole = cpu_time(runners[0].run, runners[0].documents)
        for runner, times in zip(runners, seconds, strict=True):
            same = runner.documents is runners[0].documents
            theirs = whole if same else cpu_time(runners[0].run, runner.documents)
            times.append((theirs, whole if runner is runners[0] else cpu_time(runner.run, runner.documents)))
    for runner, times in zip(runners, seconds, strict=True):
        ours = statistics.median(own for _, own in times)
        yield runner.name, runner.megabytes / ours, statistics.median(theirs / own for theirs, own in times)


def cpu_time(run: Run, documents: Sequence[str]) -> float:
    """CPU seconds of the process."""
    start = time.process_time()
    run(documents)
    return time.process_time() - start


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="texts to encode; the standard library when left out")
    parser.add_argument("--profile", choices=PROFILES, default="contract", help="default: contract")
    parser.add_argument("--engine", action="append", choices=["native", "reference"], help="may be repeated; default: both")
    parser.add_argument("--megabytes", type=float, default=5.0, help="how much text at most; default: 5")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    arguments = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    documents = read_documents(arguments.folder, arguments.megabytes)
    if not documents:
        print("there is no text", file=sys.stderr)
        return 2
    runners = list(contenders(documents, arguments.profile, arguments.engine or ["native", "reference"]))
    check(runners)
    size = runners[0].megabytes
    print(f"{len(documents)} documents, {size:.2f} MB, profile {arguments.profile}, {arguments.rounds} rounds; ids equal")
    print(f"slm2 {slm2.__version__}, tokenizers {version('tokenizers')}, Python {platform.python_version()}, {platform.machine()}\n")
    print(f"{'':30} {'MB/s':>8} {'ratio':>8}")
    for name, speed, ratio in measure(runners, arguments.rounds):
        print(f"{name:30} {speed:8.2f} {ratio:8.3g}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
