"""The journal of a run: what it was begun with, and each shard that is whole. The one thing that says how far a run came."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from slm2.corpus.batches import Cursor
from slm2.corpus.storage import PART, FileRecord, Storage
from slm2.errors import Slm2Error

__all__ = ["JOURNAL", "MANIFEST", "Journal", "ShardRecord"]

JOURNAL = "journal.jsonl"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """A shard that is whole: where it begins and ends in the inputs, what is in it, its files."""

    number: int
    begin: Cursor
    end: Cursor
    documents: int
    ids: int
    text_bytes: int
    skipped: int
    files: tuple[FileRecord, ...]

    def to_dict(self) -> dict[str, object]:
        """As the journal and the manifest have it."""
        return {
            "shard": self.number,
            "begin": self.begin.to_dict(),
            "end": self.end.to_dict(),
            "documents": self.documents,
            "ids": self.ids,
            "text_bytes": self.text_bytes,
            "skipped": self.skipped,
            "files": [file.to_dict() for file in self.files],
        }


def _shard(record: Mapping[str, Any]) -> ShardRecord:
    return ShardRecord(
        number=record["shard"],
        begin=Cursor(**record["begin"]),
        end=Cursor(**record["end"]),
        documents=record["documents"],
        ids=record["ids"],
        text_bytes=record["text_bytes"],
        skipped=record["skipped"],
        files=tuple(FileRecord(**file) for file in record["files"]),
    )


class Journal:
    """The journal in a folder, and the manifest that takes its place in the end.

    A line is ``{"record": ..., "sha256": ...}``, the digest that of the record's compact JSON in ASCII. The first record is the run's
    identity; it is put in place in one step. Each other is a shard's, appended when its files are whole and in place. So a last
    line without a line feed is one that was being appended when the run was stopped, and is cut off; anything else that is not as it was
    written is refused.

    Attributes:
        shards: those that are whole.
        complete: whether the run ended, and the manifest is there.
        cut: bytes of a torn last line that were cut off.
    """

    def __init__(self, storage: Storage, identity: Mapping[str, object], threads: int = 1) -> None:
        """Begin a run, or go on with it.

        Args:
            storage: the folder.
            identity: all that decides the bytes of the output.
            threads: that read the files of whole shards, to compare their digests.

        Raises:
            Slm2Error: ``corpus_differs`` where the folder's run was begun with something else; ``corpus_output`` where the folder holds
                what no run left there; ``file_unwritable``.
        """
        self._storage, self._identity, self._threads = storage, identity, threads
        self.shards: list[ShardRecord] = []
        self.complete = False
        self.cut = 0
        names = storage.names()
        whole: int | None = None
        if MANIFEST in names:
            self._read_manifest()
            self._check_names(names, {JOURNAL, MANIFEST})
        elif JOURNAL in names:
            whole = self._read_journal()
            self._check_names(names, {JOURNAL, MANIFEST + PART})
        else:
            self._check_names(names, {JOURNAL + PART})
        self._check_digests()
        # Only now, that nothing can be refused any more, is anything changed.
        if not self.complete and JOURNAL not in names:
            storage.write_whole(JOURNAL, _line(identity))
        elif self.complete and JOURNAL in names:
            storage.remove(JOURNAL)
        elif whole is not None and self.cut:
            storage.cut(JOURNAL, whole)

    def add(self, shard: ShardRecord) -> None:
        """A shard whose files are in place."""
        self._storage.append(JOURNAL, _line(shard.to_dict()))
        self.shards.append(shard)

    def finish(self) -> None:
        """All inputs are encoded: the manifest takes the journal's place."""
        totals = {name: sum(getattr(shard, name) for shard in self.shards) for name in ("documents", "ids", "text_bytes", "skipped")}
        manifest = {**self._identity, "totals": totals, "shards": [shard.to_dict() for shard in self.shards]}
        self._storage.write_whole(MANIFEST, json.dumps(manifest, indent=1).encode("ascii") + b"\n")
        self._storage.remove(JOURNAL)
        self.complete = True

    def _read_manifest(self) -> None:
        manifest = self._parsed(MANIFEST, self._storage.read(MANIFEST))
        self._take(manifest.pop("shards", None), MANIFEST)
        manifest.pop("totals", None)
        self._compare(manifest)
        self.complete = True

    def _read_journal(self) -> int:
        """How many bytes of it are whole lines."""
        data = self._storage.read(JOURNAL)
        whole = data.rfind(b"\n") + 1
        records = [self._record(number, line) for number, line in enumerate(data[:whole].splitlines(), start=1)]
        if not records:
            raise self._refusal(f"{JOURNAL} has no first line")
        self._compare(records[0])
        self._take(records[1:], JOURNAL)
        self.cut = len(data) - whole
        return whole

    def _record(self, number: int, line: bytes) -> dict[str, Any]:
        told = self._parsed(f"line {number} of {JOURNAL}", line)
        record = told.get("record")
        if not isinstance(record, dict) or line + b"\n" != _line(record):
            raise self._refusal(f"line {number} of {JOURNAL} is not as it was written")
        return record

    def _parsed(self, name: str, text: bytes) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._refusal(f"{name} is not as it was written")
        return value

    def _take(self, records: Any, name: str) -> None:  # noqa: ANN401  (of JSON)
        """The shards, each beginning where the one before ended, with files of the size that they had."""
        try:
            shards = [_shard(record) for record in records]
        except (KeyError, TypeError):
            raise self._refusal(f"{name} is not as it was written") from None
        begin = Cursor()
        for number, shard in enumerate(shards):
            if (shard.number, shard.begin) != (number, begin):
                raise self._refusal(f"{name} is not as it was written: shard {number} does not begin where the one before ended")
            begin = shard.end
            for file in shard.files:
                size = self._storage.size(file.name)
                if size != file.size:
                    found = "is not there" if size is None else f"has {size} bytes"
                    raise self._refusal(f"{file.name} {found}; it was written with {file.size}")
        self.shards = shards

    def _check_digests(self) -> None:
        """All files are read for it, so it comes after what can be refused without."""
        files = [file for shard in self.shards for file in shard.files]
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                for file, digest in zip(files, pool.map(self._storage.digest, [file.name for file in files]), strict=True):
                    if digest != file.sha256:
                        raise self._refusal(f"{file.name} is not as it was written: its SHA-256 is {digest}, not {file.sha256}")
            finally:
                pool.shutdown(cancel_futures=True)

    def _compare(self, recorded: Mapping[str, object]) -> None:
        """The first member that differs, for the error."""
        written = json.loads(json.dumps(self._identity))
        difference = _difference("", recorded, written)
        if difference is not None:
            field, expected, found = difference
            raise Slm2Error("corpus_differs", field=field, expected=expected, found=found)

    def _check_names(self, names: set[str], own: set[str]) -> None:
        """Nothing is in the folder but what this run wrote: whole shards, and what was left of the one that was being written."""
        own = own | {file.name for shard in self.shards for file in shard.files}
        begun = f"shard-{len(self.shards):06}."
        foreign = sorted(name for name in names - own if self.complete or JOURNAL not in own or not name.startswith(begun))
        if foreign:
            raise self._refusal(f"it holds {foreign[0]}, which no run with this journal wrote")

    def _refusal(self, reason: str) -> Slm2Error:
        return Slm2Error("corpus_output", path=str(self._storage.folder), reason=reason)


def _line(record: Mapping[str, object]) -> bytes:
    text = json.dumps(record, separators=(",", ":"))
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    return f'{{"record":{text},"sha256":"{digest}"}}\n'.encode("ascii")


def _difference(path: str, recorded: object, given: object) -> tuple[str, object, object] | None:
    """Path, and both values, of the first place at which two values of JSON differ."""
    if isinstance(recorded, dict) and isinstance(given, dict):
        for name in (*recorded, *(name for name in given if name not in recorded)):
            inside = f"{path}.{name}" if path else str(name)
            found = _difference(inside, recorded.get(name), given.get(name))
            if found is not None:
                return found
        return None
    if isinstance(recorded, list) and isinstance(given, list) and len(recorded) == len(given):
        pairs = enumerate(zip(recorded, given, strict=True))
        return next((found for at, (one, other) in pairs if (found := _difference(f"{path}[{at}]", one, other))), None)
    if recorded == given:
        return None
    return path, _shown(recorded), _shown(given)


def _shown(value: object) -> object:
    return f"{len(value)} of them" if isinstance(value, list) else value
