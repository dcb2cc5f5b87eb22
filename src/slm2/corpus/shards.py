"""Shards: how they are written, in each form, and how those of uint32 are read (docs/corpus.md has the layouts byte by byte)."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from slm2.corpus.arrow import ids_array, pyarrow
from slm2.corpus.batches import Cursor
from slm2.corpus.encoding import EncodedBatch
from slm2.corpus.inputs import Input
from slm2.corpus.journal import MANIFEST, ShardRecord
from slm2.corpus.options import CorpusOptions
from slm2.corpus.storage import OutputFile, Storage
from slm2.errors import Slm2Error
from slm2.files import read_file, reading

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["Shard", "ShardWriter", "read_shards", "writer_of"]


class ShardWriter:
    """One shard that is being written: its documents in the form asked for, and the list of what was left out."""

    def __init__(self, storage: Storage, number: int, begin: Cursor, inputs: Sequence[Input], form: _Form) -> None:
        self._storage, self._number, self._begin, self._inputs, self._form = storage, number, begin, inputs, form
        self._end = begin
        self._documents = self._text_bytes = self._skipped = 0
        self.ids = 0
        self._left_out: OutputFile | None = None

    def write(self, encoded: EncodedBatch) -> None:
        """Add a batch."""
        if encoded.lengths:
            self._form.write(encoded)
        for broken in encoded.broken:
            row = {"source": self._inputs[broken.input].path, "row": broken.row, **broken.error.to_dict()}
            self._list().write(json.dumps(row).encode("ascii") + b"\n")
        self._end = encoded.batch.end
        self._documents += len(encoded.lengths)
        self._text_bytes += sum(encoded.sizes)
        self._skipped += len(encoded.broken)
        self.ids += len(encoded.ids) // 4

    def finish(self) -> ShardRecord:
        """Write its files for good, and put them in place."""
        self._form.close()
        files = tuple(file.seal() for file in self._files())
        self._storage.put_in_place([file.name for file in files])
        return ShardRecord(
            number=self._number,
            begin=self._begin,
            end=self._end,
            documents=self._documents,
            ids=self.ids,
            text_bytes=self._text_bytes,
            skipped=self._skipped,
            files=files,
        )

    def abandon(self) -> None:
        """Let go of the files; what is in them counts for nothing."""
        for file in self._files():
            file.abandon()
        self._form.close()

    def _files(self) -> list[OutputFile]:
        return [*self._form.files, *([] if self._left_out is None else [self._left_out])]

    def _list(self) -> OutputFile:
        if self._left_out is None:
            self._left_out = self._storage.create(f"shard-{self._number:06}.skipped.jsonl")
        return self._left_out


class _Form(Protocol):
    """The files of a shard's documents."""

    files: list[OutputFile]

    def write(self, encoded: EncodedBatch) -> None:
        """Add the documents of a batch, at least one."""

    def close(self) -> None:
        """Write what ends the files."""


def writer_of(storage: Storage, options: CorpusOptions, inputs: Sequence[Input], number: int, begin: Cursor) -> ShardWriter:
    """A shard in the form that the options ask for."""
    name = f"shard-{number:06}"
    form: _Form = _NumberFiles(storage, name) if options.write == "shards" else _Table(storage, name, options, inputs)
    return ShardWriter(storage, number, begin, inputs, form)


class _NumberFiles:
    """Ids as uint32 in one file, where documents begin as uint64 in another, both little-endian and without a header."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._ids, self._offsets = storage.create(f"{name}.bin"), storage.create(f"{name}.offsets")
        self.files = [self._ids, self._offsets]
        self._count = 0
        self._offsets.write(bytes(8))

    def write(self, encoded: EncodedBatch) -> None:
        ends = array("Q", accumulate(encoded.lengths, initial=self._count))
        self._count = ends[-1]
        if sys.byteorder == "big":
            ends.byteswap()
        self._offsets.write(ends.tobytes()[8:])
        self._ids.write(encoded.ids)

    def close(self) -> None:
        """Nothing ends them."""


class _Table:
    """A Parquet file with a row group for each batch, or an Arrow file with a record batch for each."""

    def __init__(self, storage: Storage, name: str, options: CorpusOptions, inputs: Sequence[Input]) -> None:
        arrow = pyarrow()
        file = storage.create(f"{name}.{options.write}")
        self.files = [file]
        self._inputs = inputs
        columns = [
            arrow.field("ids", arrow.list_(arrow.field("item", arrow.uint32(), nullable=False)), nullable=False),
            arrow.field("source", arrow.string(), nullable=False),
            arrow.field("row", arrow.uint64(), nullable=False),
        ]
        if options.text_bytes:
            columns.append(arrow.field("text_bytes", arrow.uint64(), nullable=False))
        self._schema = arrow.schema(columns)
        self._writer = _table_writer(file, self._schema, options.write)

    def write(self, encoded: EncodedBatch) -> None:
        arrow = pyarrow()
        names = {number: _in_utf8(self._inputs[number].path) for number, _ in encoded.places}
        columns = [
            ids_array(encoded.ids, encoded.lengths),
            arrow.array([names[number] for number, _ in encoded.places], arrow.string()),
            arrow.array([row for _, row in encoded.places], arrow.uint64()),
        ]
        if len(self._schema) > len(columns):
            columns.append(arrow.array(encoded.sizes, arrow.uint64()))
        self._writer.write_batch(arrow.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _table_writer(file: OutputFile, schema: Any, form: str) -> Any:  # noqa: ANN401  (pyarrow's)
    if form == "arrow":
        return pyarrow("pyarrow.ipc").new_file(file, schema)
    # Ids are all over the vocabulary: a dictionary of them is made, found too large and dropped again.
    return pyarrow("pyarrow.parquet").ParquetWriter(file, schema, compression="zstd", use_dictionary=["source"], write_statistics=["row"])


def _in_utf8(path: str) -> str:
    """The name of a file, where a byte that is not UTF-8 is written out."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Shard:
    """The documents of one shard of uint32.

    Attributes:
        ids: of all documents, one after the other: uint32, mapped into memory.
        offsets: uint64; document ``i`` has ``ids[offsets[i] : offsets[i + 1]]``, so there is one more than there are documents.
    """

    ids: NDArray[numpy.uint32]
    offsets: NDArray[numpy.uint64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, document: int) -> NDArray[numpy.uint32]:
        begin, end = self.offsets[range(len(self))[document] :][:2]
        return self.ids[int(begin) : int(end)]


def read_shards(folder: str | PathLike[str]) -> Iterator[Shard]:
    """The shards of a run that ended, in order; nothing is read before it is looked at.

    Args:
        folder: the output of a run that wrote ``shards``.

    Raises:
        Slm2Error: ``file_unreadable``, also where the run has not ended; ``corpus_output`` where a file is not as it was written.
    """
    path = Path(fsdecode(folder))
    data = read_file(str(path / MANIFEST))
    try:
        listed = [{str(file["name"]).rpartition(".")[2]: file for file in shard["files"]} for shard in json.loads(data)["shards"]]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise Slm2Error("corpus_output", path=str(path), reason=f"{MANIFEST} is not as it was written") from None
    for files in listed:
        if "bin" not in files:
            raise Slm2Error("corpus_output", path=str(path), reason="its run wrote tables, not shards of uint32")
        yield Shard(_mapped(path, files["bin"], "<u4"), _mapped(path, files["offsets"], "<u8"))


def _mapped(folder: Path, file: Mapping[str, Any], kind: str) -> Any:  # noqa: ANN401  (an array of this kind)
    import numpy  # noqa: PLC0415  (writing needs none)

    path = folder / file["name"]
    with reading(str(path)):
        size = path.stat().st_size
        if size != file["size"]:
            reason = f"{path.name} has {size} bytes; it was written with {file['size']}"
            raise Slm2Error("corpus_output", path=str(folder), reason=reason)
        if size == 0:  # cannot be mapped
            return numpy.empty(0, kind)
        return numpy.memmap(path, dtype=kind, mode="r")
