"""Reading files, and encoding them on several threads."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from slm2.engine import EngineChunks
from slm2.errors import Slm2Error

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["EncodedFile", "encode_files", "read_file", "reading"]

_BLOCK = 1 << 20


def read_file(path: str) -> bytes:
    """All of a file.

    Raises:
        Slm2Error: ``file_unreadable``.
    """
    with reading(path):
        return Path(path).read_bytes()


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Whatever makes reading fail inside becomes ``file_unreadable`` with this path."""
    try:
        if not path:  # pathlib takes it for the folder at hand
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        yield
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have, with NUL or a lone surrogate
        raise Slm2Error("file_unreadable", path=path, reason=getattr(error, "strerror", None) or str(error)) from None


@dataclass(frozen=True, slots=True)
class EncodedFile:
    """A file and its ids.

    Attributes:
        path: as it was given.
        ids: array of uint32, one dimension.
        size: bytes read.
    """

    path: str
    ids: NDArray[numpy.uint32]
    size: int


def encode_files(chunks: Callable[[], EngineChunks], paths: Sequence[str], threads: int, *, progress: bool) -> Iterator[EncodedFile]:
    """The ids of each file, in order; at most two files a thread are ahead of the one that is asked for."""
    from rich.console import Console  # noqa: PLC0415  (not needed where no files are encoded)
    from rich.progress import Progress  # noqa: PLC0415

    rest = iter(paths)
    ahead: deque[Future[EncodedFile]] = deque()
    with ThreadPoolExecutor(threads) as pool, Progress(console=Console(stderr=True), disable=not progress) as bar:
        files = bar.add_task("files", total=len(paths))
        try:
            for _ in paths:
                ahead.extend(pool.submit(_encode_file, chunks(), path) for path in islice(rest, 2 * threads - len(ahead)))
                encoded = ahead.popleft().result()
                bar.advance(files)
                yield encoded
        finally:
            for future in ahead:
                future.cancel()


def _encode_file(chunks: EngineChunks, path: str) -> EncodedFile:
    import numpy  # noqa: PLC0415  (not needed for lists)

    parts: list[bytes] = []
    size = 0
    with reading(path), Path(path).open("rb") as file:
        while block := file.read(_BLOCK):
            parts.append(chunks.push_u32(block))
            size += len(block)
    parts.append(chunks.finish_u32())
    return EncodedFile(path, numpy.frombuffer(b"".join(parts), dtype="<u4"), size)
