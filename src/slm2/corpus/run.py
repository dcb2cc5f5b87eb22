"""A run over a corpus: inputs to shards, in one stream, which goes on where a stopped one ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from os import PathLike, fsdecode
from pathlib import Path

from slm2.contract import Contract
from slm2.corpus.arrow import pyarrow
from slm2.corpus.batches import Cursor, batches
from slm2.corpus.encoding import EncodedBatch, encode_batch, encoded, ending
from slm2.corpus.inputs import Input, check_unchanged, describe
from slm2.corpus.journal import Journal
from slm2.corpus.options import CorpusOptions
from slm2.corpus.shards import ShardWriter, writer_of
from slm2.corpus.storage import Storage
from slm2.errors import Slm2Error

__all__ = ["CorpusReport", "Progress", "encode_corpus"]

_LOG = logging.getLogger("slm2")

# Bytes of all inputs that are done, and of all that there are.
Progress = Callable[[int, int], None]

_FORM = 1


@dataclass(frozen=True, slots=True)
class Counts:
    """What was encoded, and how fast."""

    documents: int
    ids: int
    text_bytes: int
    skipped: int
    shards: int


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """What a run came to.

    Attributes:
        total: of the whole output.
        here: of this run alone; less than the total where it went on with one that was stopped.
        seconds: that this run took.
        cut: bytes of the journal's torn last line, which a stopped run left and this one cut off.
    """

    total: Counts
    here: Counts
    seconds: float
    cut: int

    def to_dict(self) -> dict[str, object]:
        """For JSON; with ids a second of this run."""
        rate = round(self.here.ids / self.seconds) if self.seconds else 0
        return {"total": asdict(self.total), "this_run": {**asdict(self.here), "seconds": round(self.seconds, 3), "ids_per_second": rate}}


def encode_corpus(  # noqa: PLR0913  (two of them by name)
    contract: Contract,
    inputs: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    options: CorpusOptions,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> CorpusReport:
    """Encode every document of the inputs, in order, into shards in a folder.

    What is in the folder in the end depends on the contract, the inputs and the options alone: not on the number of threads, and not on
    where a run was stopped before. Called again after a run was stopped, it compares the shards that are whole with their digests, and
    goes on after the last of them; after a run that ended it only compares. Memory is bounded by ``threads + 2`` batches and the longest
    document (for Parquet inputs, a row group as pyarrow reads it).

    Args:
        contract: encodes.
        inputs: files, in the order of their documents.
        output: the folder; it must not be there, or be empty, or be that of the same run.
        options: what is read and written.
        threads: how many batches are encoded at once, beside reading and writing.
        progress: told after each batch.

    Raises:
        Slm2Error: ``document_refused`` for the first broken document under ``on_error="refuse"``; ``corpus_differs`` where the folder's run
            was begun with something else, or an input changed; ``corpus_output`` where the folder holds what no run left there, or
            another run is writing to it; ``file_unreadable``, ``file_unwritable``, ``dependency_missing``, ``invalid_value``,
            ``invalid_type``.
    """
    begun = time.perf_counter()
    if isinstance(inputs, str | bytes | PathLike):  # of whose letters each would be a file
        raise Slm2Error("invalid_type", field="inputs", expected="a list of files", found=type(inputs).__name__)
    if not isinstance(threads, int):
        raise Slm2Error("invalid_type", field="threads", expected="an integer", found=type(threads).__name__)
    if threads < 1:
        raise Slm2Error("invalid_value", field="threads", expected="1 or more", found=threads)
    end = ending(contract, options.append)
    sources = describe([fsdecode(path) for path in inputs], digest=options.input_digest)
    run = _Run(Storage(Path(fsdecode(output))), sources, options)
    before, journal = run.go(contract, _identity(contract, sources, options), end, threads, progress or (lambda _done, _all: None))
    total = _counts(journal)
    here = Counts(**{name: value - getattr(before, name) for name, value in asdict(total).items()})
    report = CorpusReport(total, here, time.perf_counter() - begun, journal.cut)
    said = "corpus: %d documents, %d ids, %d skipped, %d shards in %.1f s; %d shards were there before"
    _LOG.info(said, here.documents, here.ids, here.skipped, here.shards, report.seconds, before.shards)
    return report


def _identity(contract: Contract, sources: Sequence[Input], options: CorpusOptions) -> dict[str, object]:
    """All that decides the bytes of the output."""
    tables = "parquet" in (options.read, options.write) or options.write == "arrow"
    return {
        "form": _FORM,
        "artifact": contract.digest,
        "profile": contract.profile,
        "max_pretoken": contract.engine.max_pretoken,
        "pyarrow": pyarrow().__version__ if tables else None,
        "options": options.to_dict(),
        "inputs": [source.to_dict() for source in sources],
    }


def _counts(journal: Journal) -> Counts:
    names = ("documents", "ids", "text_bytes", "skipped")
    return Counts(**{name: sum(getattr(shard, name) for shard in journal.shards) for name in names}, shards=len(journal.shards))


@dataclass(frozen=True, slots=True)
class _Run:
    """A folder, what is encoded into it, and how."""

    storage: Storage
    sources: Sequence[Input]
    options: CorpusOptions

    def go(
        self, contract: Contract, identity: Mapping[str, object], end: bytes, threads: int, progress: Progress
    ) -> tuple[Counts, Journal]:
        """Go on until all is encoded: what was there before, and the journal in the end."""
        with self.storage.opened():
            journal = Journal(self.storage, identity, threads)
            before = _counts(journal)
            if not journal.complete:
                start = journal.shards[-1].end if journal.shards else Cursor()
                rows = batches(self.sources, self.options, start)
                stream = encoded(partial(encode_batch, contract.tokenizer, end), rows, threads)
                with closing(rows), closing(stream):
                    self._write(journal, start, stream, progress)
                journal.finish()
            return before, journal

    def _write(self, journal: Journal, start: Cursor, stream: Iterator[EncodedBatch], progress: Progress) -> None:
        writer: ShardWriter | None = None
        size = sum(source.size for source in self.sources)
        try:
            for encoded_batch in stream:
                self._refuse_broken(encoded_batch)
                if writer is None:
                    writer = writer_of(self.storage, self.options, self.sources, len(journal.shards), start)
                writer.write(encoded_batch)
                start = encoded_batch.batch.end
                if writer.ids >= self.options.shard_ids:
                    self._add(journal, writer)
                    writer = None
                progress(encoded_batch.batch.position, size)
            if writer is not None:
                self._add(journal, writer)
                writer = None
        finally:
            if writer is not None:
                writer.abandon()

    def _add(self, journal: Journal, writer: ShardWriter) -> None:
        """End a shard. None is told whose inputs changed while they were read: put back, they would pass for what is in it."""
        shard = writer.finish()
        for source in self.sources[shard.begin.input : shard.end.input + 1]:
            check_unchanged(source)
        journal.add(shard)

    def _refuse_broken(self, batch: EncodedBatch) -> None:
        if batch.broken and self.options.on_error == "refuse":
            first = batch.broken[0]
            path = self.sources[first.input].path
            raise Slm2Error("document_refused", source=path, row=first.row, reason_code=first.error.code, reason=str(first.error))
