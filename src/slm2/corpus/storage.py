"""The output's folder: every operation on it goes through here, so that tests can stop a run at each of them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from slm2.errors import Slm2Error
from slm2.files import read_file, reading

__all__ = ["PART", "FileRecord", "OutputFile", "Storage"]

# What a name ends with until the file is whole.
PART = ".part"
_HELD = 1 << 20
# What flock answers on a file system that has no locks, as some over a network have none.
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that is whole."""

    name: str
    size: int
    sha256: str

    def to_dict(self) -> dict[str, object]:
        """As the journal has it."""
        return asdict(self)


class Storage:
    """One folder. Whatever fails is ``file_unwritable`` with the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder where it is not there, and keep every other run out of it, until this process ends in whatever way.

        Raises:
            Slm2Error: ``corpus_output`` where another run has it; ``file_unwritable``.
        """
        with self._writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        try:
            fcntl = importlib.import_module("fcntl")
        except ImportError:  # a system without such locks
            yield
            return
        with self._writing(self.folder):
            descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Slm2Error("corpus_output", path=str(self.folder), reason="another run is writing to it") from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise Slm2Error("file_unwritable", path=str(self.folder), reason=error.strerror or str(error)) from None
            yield
        finally:
            os.close(descriptor)

    def names(self) -> set[str]:
        """Of everything in the folder."""
        with self._writing(self.folder):
            return set(os.listdir(self.folder))

    def size(self, name: str) -> int | None:
        """Of a file; None where there is none."""
        path = self.folder / name
        return path.stat().st_size if path.is_file() else None

    def digest(self, name: str) -> str:
        """SHA-256 of a file, hex.

        Raises:
            Slm2Error: ``file_unreadable``.
        """
        sha256 = hashlib.sha256()
        with reading(str(self.folder / name)), (self.folder / name).open("rb", buffering=0) as file:
            block = bytearray(_HELD)
            while count := file.readinto(block):
                sha256.update(memoryview(block)[:count])
        return sha256.hexdigest()

    def read(self, name: str) -> bytes:
        """All of a file.

        Raises:
            Slm2Error: ``file_unreadable``.
        """
        return read_file(str(self.folder / name))

    def create(self, name: str) -> OutputFile:
        """A file that is empty, under the name it has until it is whole."""
        with self._writing(self.folder / name):
            return OutputFile(self, name, self._open(name + PART, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))

    def put_in_place(self, names: list[str]) -> None:
        """Give files that are whole their own names, for good."""
        for name in names:
            with self._writing(self.folder / name):
                self._rename(name + PART, name)
        self._sync_folder()

    def write_whole(self, name: str, data: bytes) -> None:
        """A file in its place in one step."""
        file = self.create(name)
        file.write(data)
        file.seal()
        self.put_in_place([name])

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file, for good."""
        with self._writing(self.folder / name):
            descriptor = self._open(name, os.O_WRONLY | os.O_APPEND)
            try:
                self._write(descriptor, data)
                self._sync(descriptor)
            finally:
                os.close(descriptor)

    def cut(self, name: str, size: int) -> None:
        """Leave the first bytes of a file alone, for good."""
        with self._writing(self.folder / name):
            descriptor = self._open(name, os.O_WRONLY)
            try:
                self._truncate(descriptor, size)
                self._sync(descriptor)
            finally:
                os.close(descriptor)

    def remove(self, name: str) -> None:
        """Take a file away, for good."""
        with self._writing(self.folder / name):
            self._unlink(name)
        self._sync_folder()

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            raise Slm2Error("file_unwritable", path=str(path), reason=getattr(error, "strerror", None) or str(error)) from None

    # The operations of the system, each of which a run can be stopped at.

    def _open(self, name: str, flags: int) -> int:
        return os.open(self.folder / name, flags | getattr(os, "O_BINARY", 0), 0o666)

    def _write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data).cast("B")
        while view:
            view = view[os.write(descriptor, view) :]

    def _sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def _rename(self, name: str, other: str) -> None:
        os.replace(self.folder / name, self.folder / other)

    def _truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def _unlink(self, name: str) -> None:
        os.unlink(self.folder / name)

    def _sync_folder(self) -> None:
        """Names last only when their folder is written too; where a folder cannot be opened (Windows), the system sees to that."""
        with self._writing(self.folder), contextlib.suppress(PermissionError):
            descriptor = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


class OutputFile:
    """A file that is written from its beginning, counted and digested; enough of Python's files for pyarrow to write to."""

    def __init__(self, storage: Storage, name: str, descriptor: int) -> None:
        self._storage, self._name = storage, name
        self._descriptor: int | None = descriptor
        self._held = bytearray()
        self._size = 0
        self._sha256 = hashlib.sha256()

    @property
    def closed(self) -> bool:
        """False: the writer of tables does not decide when the file is whole."""
        return False

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: bytes | memoryview) -> int:
        """Add to the end."""
        view = memoryview(data).cast("B")
        self._size += len(view)
        self._held += view
        if len(self._held) >= _HELD:
            self.flush_held()
        return len(view)

    def tell(self) -> int:
        """Bytes written."""
        return self._size

    def flush(self) -> None:
        """What is held is written when there is enough of it."""

    def flush_held(self) -> None:
        """Give the system what is held; nothing more of a file that was abandoned."""
        held, self._held = self._held, bytearray()  # where writing fails, the error holds on to what was written, which cannot grow then
        if self._descriptor is not None and held:
            self._sha256.update(held)
            with self._storage._writing(self._storage.folder / self._name):
                self._storage._write(self._descriptor, held)

    def seal(self) -> FileRecord:
        """Write all for good, and close."""
        self.flush_held()
        assert self._descriptor is not None
        with self._storage._writing(self._storage.folder / self._name):
            self._storage._sync(self._descriptor)
        self.abandon()
        return FileRecord(self._name, self._size, self._sha256.hexdigest())

    def abandon(self) -> None:
        """Close; what is written from now on is dropped."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
