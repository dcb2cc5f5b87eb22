"""Inputs: which files they are, and the documents in them, one after the other from any row on."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from slm2.corpus.arrow import ParquetDocuments, pyarrow
from slm2.corpus.documents import Document, Documents, checked, too_long
from slm2.corpus.json_lines import text_of_line
from slm2.corpus.options import CorpusOptions
from slm2.errors import Slm2Error
from slm2.files import reading

__all__ = ["Input", "check_unchanged", "describe", "open_documents"]

_BLOCK = 1 << 20


class _Stamp(NamedTuple):
    """What the system says of a file, and that writing to it changes.

    A program may set ``mtime_ns`` back after it wrote, but not ``ctime_ns``, the time of the last change of the file or of what the
    system knows of it. Windows calls the time of creation so, which no writing changes: it is None there.
    """

    size: int
    mtime_ns: int
    ctime_ns: int | None

    @classmethod
    def of(cls, status: os.stat_result) -> _Stamp:
        return cls(status.st_size, status.st_mtime_ns, None if os.name == "nt" else status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Input:
    """A file as the journal names it: by its size, and by its times or its digest.

    Attributes:
        path: as it was given.
        stamp: when it was described.
        sha256: of its bytes under that stamp; None where it is named by its times.
    """

    path: str
    stamp: _Stamp
    sha256: str | None = None

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stamp.size

    def to_dict(self) -> dict[str, object]:
        """The members that name it."""
        if self.sha256 is not None:
            return {"path": self.path, "size": self.size, "sha256": self.sha256}
        return {"path": self.path} | {name: value for name, value in self.stamp._asdict().items() if value is not None}


def describe(paths: Sequence[str], *, digest: bool) -> list[Input]:
    """What identifies each file.

    Raises:
        Slm2Error: ``file_unreadable``; ``invalid_value`` where a file comes twice, by whatever path; ``corpus_differs`` where one changes
            while its digest is taken.
    """
    seen: dict[tuple[int, int], str] = {}
    for path in paths:
        status = _status(path)
        file = (status.st_dev, status.st_ino)
        if file in seen:
            found = path if path == seen[file] else f"{path}, which is the file {seen[file]} too"
            raise Slm2Error("invalid_value", field="inputs", expected="each file once", found=found)
        seen[file] = path
    return [_described(path, digest=digest) for path in paths]


def _status(path: str) -> os.stat_result:
    """Of a regular file; asked before it is opened, which would wait for what fills a pipe."""
    with _unpacking(path):
        status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise Slm2Error("file_unreadable", path=path, reason="it is no regular file, and could not be read again after a stop")
    return status


def _described(path: str, *, digest: bool) -> Input:
    with _unpacking(path), Path(path).open("rb") as file:
        stamp = _Stamp.of(os.fstat(file.fileno()))
        if not digest:
            return Input(path, stamp)
        sha256 = hashlib.sha256()
        while block := file.read(_BLOCK):
            sha256.update(block)
        source = Input(path, stamp, sha256.hexdigest())
        _check_stamp(source, os.fstat(file.fileno()))
        return source


def check_unchanged(source: Input) -> None:
    """See that a file is still as it was described, and so that what was read of it is what its digest or its times stand for.

    Raises:
        Slm2Error: ``file_unreadable``; ``corpus_differs``.
    """
    with _unpacking(source.path):
        status = os.stat(source.path)
    _check_stamp(source, status)


def _check_stamp(source: Input, status: os.stat_result) -> None:
    if _Stamp.of(status) != source.stamp:
        field = f"the input {source.path}"
        raise Slm2Error("corpus_differs", field=field, expected="the file that the run began with", found="a changed one")


@contextmanager
def open_documents(source: Input, options: CorpusOptions, row: int, offset: int) -> Iterator[Documents]:
    """Open an input at a row, and see that it is the one that was described; :func:`check_unchanged` says whether it stayed so.

    Raises:
        Slm2Error: ``file_unreadable``; ``corpus_differs`` where the file changed; ``dependency_missing`` for Parquet and ``.zst``.
    """
    with _unpacking(source.path), Path(source.path).open("rb") as file:
        _check_stamp(source, os.fstat(file.fileno()))
        yield _documents(source.path, file, options, row, offset)


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
