"""Inputs: which files they are, and the documents in them, one after the other from any row on."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from slm2.corpus.arrow import ParquetDocuments, pyarrow
from slm2.corpus.documents import Document, Documents, checked, too_long
from slm2.corpus.json_lines import text_of_line
from slm2.corpus.options import CorpusOptions
from slm2.errors import Slm2Error
from slm2.files import reading

__all__ = ["Input", "describe", "open_documents"]

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """A file as the journal names it: by its size, and by its time of modification or its digest."""

    path: str
    size: int
    mtime_ns: int | None = None
    sha256: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The members that are known."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def describe(paths: Sequence[str], *, digest: bool) -> list[Input]:
    """What identifies each file.

    Raises:
        Slm2Error: ``file_unreadable``; ``invalid_value`` where a path comes twice.
    """
    if len(set(paths)) != len(paths):
        twice = next(path for at, path in enumerate(paths) if path in paths[:at])
        raise Slm2Error("invalid_value", field="inputs", expected="each file once", found=twice)
    return [_described(path, digest=digest) for path in paths]


def _described(path: str, *, digest: bool) -> Input:
    with _unpacking(path):
        regular = stat.S_ISREG(os.stat(path).st_mode)  # asked before it is opened, which would wait for what fills a pipe
    if not regular:
        raise Slm2Error("file_unreadable", path=path, reason="it is no regular file, and could not be read again after a stop")
    with _unpacking(path), Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        if not digest:
            return Input(path, status.st_size, mtime_ns=status.st_mtime_ns)
        sha256 = hashlib.sha256()
        while block := file.read(_BLOCK):
            sha256.update(block)
        return Input(path, status.st_size, sha256=sha256.hexdigest())


@contextmanager
def open_documents(source: Input, options: CorpusOptions, row: int, offset: int) -> Iterator[Documents]:
    """Open an input at a row, and see that it is, and stays, the one that was described.

    Raises:
        Slm2Error: ``file_unreadable``; ``corpus_differs`` where the file changed; ``dependency_missing`` for Parquet and ``.zst``.
    """
    with _unpacking(source.path), Path(source.path).open("rb") as file:
        before = os.fstat(file.fileno())
        if before.st_size != source.size or source.mtime_ns not in (None, before.st_mtime_ns):
            raise _changed(source)
        yield _documents(source.path, file, options, row, offset)
        after = os.fstat(file.fileno())
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise _changed(source)


def _changed(source: Input) -> Slm2Error:
    return Slm2Error("corpus_differs", field=f"the input {source.path}", expected="the file that the run began with", found="a changed one")


def _documents(path: str, file: BinaryIO, options: CorpusOptions, row: int, offset: int) -> Documents:
    if options.read == "parquet":
        return ParquetDocuments(file, str(options.field), row, options.max_document)
    if options.read == "files":
        return _WholeFile(path, file, row, options.max_document)
    return _Lines(path, file, offset, options)


@contextmanager
def _unpacking(path: str) -> Iterator[None]:
    """Whatever makes reading or unpacking fail inside becomes ``file_unreadable``."""
    try:
        with reading(path):
            yield
    except (EOFError, zlib.error) as error:
        raise Slm2Error("file_unreadable", path=path, reason=str(error)) from None


@contextmanager
def _unpacked(path: str, file: BinaryIO) -> Iterator[BinaryIO]:
    """The bytes of the text: ``.gz`` and ``.zst`` are unpacked."""
    if path.endswith(".gz"):
        with gzip.GzipFile(fileobj=file) as stream:
            yield stream  # type: ignore[misc]  # reads like one
    elif path.endswith(".zst"):
        own = os.fdopen(os.dup(file.fileno()), "rb")  # pyarrow closes what it read from
        with own, closing(pyarrow().CompressedInputStream(own, "zstd")) as stream:
            yield stream
    else:
        yield file


class _WholeFile:
    """A file that is one document."""

    def __init__(self, path: str, file: BinaryIO, row: int, limit: int) -> None:
        self._path, self._file, self._row, self._limit = path, file, row, limit

    def position(self) -> int:
        return self._file.tell()

    def __iter__(self) -> Iterator[Document]:
        if self._row > 0:
            return
        with _unpacked(self._path, self._file) as stream:
            data = _read_at_most(stream.read, self._limit)
        yield checked(data, self._limit), 0


def _read_at_most(read: Callable[[int], bytes], limit: int) -> bytes:
    """All, or one byte more than the limit."""
    parts: list[bytes] = []
    left = limit + 1
    while left and (block := read(min(_BLOCK, left))):
        parts.append(block)
        left -= len(block)
    return b"".join(parts)


class _Lines:
    """A file with a document in each line: the line, or a member of the object that it is."""

    def __init__(self, path: str, file: BinaryIO, offset: int, options: CorpusOptions) -> None:
        self._path, self._file, self._offset, self._options = path, file, offset, options

    def position(self) -> int:
        return self._file.tell()

    def __iter__(self) -> Iterator[Document]:
        limit, field = self._options.max_document, self._options.field
        end = self._offset
        with _unpacked(self._path, self._file) as stream:
            if stream is self._file:
                stream.seek(end)
            else:
                _pass_over(stream.read, end)
            for line, size in split_lines(stream.read, limit):
                end += size
                if line is None:
                    yield too_long(limit), end
                else:
                    yield (checked(line, limit) if field is None else text_of_line(line, field)), end


def _pass_over(read: Callable[[int], bytes], count: int) -> None:
    while count and (block := read(min(_BLOCK, count))):
        count -= len(block)


def split_lines(read: Callable[[int], bytes], limit: int) -> Iterator[tuple[bytes | None, int]]:
    """Each line without its line feed (None where it is longer than the limit; it is not held), and the bytes that it took."""
    held: list[bytes] = []
    size = 0
    while block := read(_BLOCK):
        *ended, rest = block.split(b"\n")
        for part in ended:
            size += len(part)
            yield (b"".join((*held, part)) if held else part) if size <= limit else None, size + 1
            held.clear()
            size = 0
        size += len(rest)
        if size > limit:
            held.clear()
        elif rest:
            held.append(rest)
    if size:
        yield b"".join(held) if size <= limit else None, size
