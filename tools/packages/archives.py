"""Archives whose bytes follow from what is in them and from one time: sorted entries, no owner, one of two modes."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

FILE = 0o644
PROGRAM = 0o755


def read_zip(path: Path) -> dict[str, bytes]:
    """Name and bytes of every file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def write_zip(path: Path, entries: Mapping[str, bytes], epoch: int, *, first: Iterable[str] = ()) -> None:
    """Files in the order of their names, but those that readers want before the others; shared libraries may be executed."""
    front = list(first)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in [*front, *sorted(entries.keys() - set(front))]:
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.create_system = 3  # Unix, so that the modes count
            entry.external_attr = (0o100000 | (PROGRAM if name.endswith(".so") else FILE)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, entries[name], compresslevel=9)


def read_tar(path: Path) -> dict[str, bytes]:
    """Name and bytes of every file."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member)
            if stream is not None:
                found[member.name] = stream.read()
    return found


def write_tar(path: Path, entries: Mapping[str, bytes], epoch: int) -> None:
    """A `.tar.gz` of the files."""
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name in sorted(entries):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(entries[name]), epoch, FILE
            archive.addfile(member, io.BytesIO(entries[name]))
