"""Corpora for tests: documents, what must become of them, and a folder that stops a run at any operation."""

from __future__ import annotations

import doctest
import json
import random
import re
from pathlib import Path

import numpy
import pytest

import documents
from machine import ROOT
from slm2.contract import Contract
from slm2.corpus import CorpusOptions, CorpusReport, encode_corpus, read_shards
from slm2.corpus.storage import Storage

END = 151643


class Stopped(BaseException):
    """The process would be dead now."""


class UnsyncedStorage(Storage):
    """Does not wait for the disk: what waiting is for, no test in one process can see."""

    def _sync(self, descriptor):
        pass

    def _sync_folder(self):
        pass


class StoppingStorage(UnsyncedStorage):
    """Stops at its n-th operation, and at each that the dying process still tries; a write that stops is half done."""

    left = 0
    log: list[str]

    @classmethod
    def at(cls, operation: int) -> type[StoppingStorage]:
        """A class that stops there; ``log`` has the operations that were done or tried."""
        return type("StoppingStorage", (cls,), {"left": operation, "log": []})

    def _count(self, name: str) -> bool:
        """Whether to go on."""
        type(self).log.append(name)
        type(self).left -= 1
        return type(self).left >= 0

    def _open(self, name, flags):
        if not self._count(f"open {name}"):
            raise Stopped
        return super()._open(name, flags)

    def _write(self, descriptor, data):
        if not self._count("write"):
            if type(self).left == -1:
                super()._write(descriptor, bytes(data)[: len(data) // 2])
            raise Stopped
        super()._write(descriptor, data)

    def _sync(self, descriptor):
        if not self._count("sync"):
            raise Stopped
        super()._sync(descriptor)

    def _rename(self, name, other):
        if not self._count(f"rename {name}"):
            raise Stopped
        super()._rename(name, other)

    def _truncate(self, descriptor, size):
        if not self._count("truncate"):
            raise Stopped
        super()._truncate(descriptor, size)

    def _unlink(self, name):
        if not self._count(f"unlink {name}"):
            raise Stopped
        super()._unlink(name)

    def _sync_folder(self):
        if not self._count("sync the folder"):
            raise Stopped
        super()._sync_folder()


def run_on(storage: type[Storage], contract: Contract, inputs: list[Path], output: Path, chosen: CorpusOptions, **settings) -> CorpusReport:
    """A run over a folder of the class that is given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slm2.corpus.run.Storage", storage)
        return encode_corpus(contract, inputs, output, chosen, **settings)


def texts(seed: int, count: int) -> list[str]:
    """Documents without line feeds or lone surrogates; some are empty."""
    source = random.Random(seed)
    made = [text.replace("\n", " ").encode("utf-8", "replace").decode("utf-8") for text in documents.generated(seed, count)]
    return ["" if source.random() < 0.05 else text for text in made]


def write_lines(path: Path, rows: list[str]) -> Path:
    path.write_bytes("".join(f"{text}\n" for text in rows).encode("utf-8"))
    return path


def write_jsonl(path: Path, rows: list[str]) -> Path:
    path.write_text("".join(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(rows)), encoding="ascii")
    return path


def options(**changes: object) -> CorpusOptions:
    """Small batches and shards of lines, but for what is said."""
    return CorpusOptions(**{"read": "lines", "write": "shards", "append": "endoftext", "batch_bytes": 2_000, "shard_ids": 3_000, **changes})


def folder(path: Path) -> dict[str, bytes]:
    """Every file in a folder."""
    return {file.name: file.read_bytes() for file in path.iterdir()}


def shard_documents(path: Path) -> list[list[int]]:
    """Ids of every document of a run that wrote shards."""
    found = []
    for shard in read_shards(path):
        assert (shard.ids.dtype, shard.offsets.dtype) == (numpy.dtype("<u4"), numpy.dtype("<u8"))
        found += [shard[number].tolist() for number in range(len(shard))]
    return found


def run_page_example(heading: str) -> None:
    """The one example under a heading of docs/corpus.md that needs the libraries of adapters prints what it shows."""
    section = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (example,) = re.findall(r"^```pycon adapters\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    report: list[str] = []
    results = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(example, {}, heading, None, 0), out=report.append)
    assert results.attempted > 4
    assert results.failed == 0, "".join(report)
