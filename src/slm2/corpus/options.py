"""What a run over a corpus is asked to do. All of it is written into the journal, and a run goes on only under the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from slm2.errors import Slm2Error

__all__ = ["CorpusOptions", "OnError", "ReadForm", "WriteForm"]

ReadForm = Literal["files", "lines", "jsonl", "parquet"]
WriteForm = Literal["shards", "parquet", "arrow"]
OnError = Literal["refuse", "skip"]

_WITH_FIELD = ("jsonl", "parquet")
_MOST_IDS = 2**40
_MOST_BYTES = 2**28  # the ids of a batch are counted by Arrow in 31 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusOptions:
    """How documents are found, and what is written.

    Attributes:
        read: ``files``: a file is a document. ``lines``: a line is one, without its line feed. ``jsonl``: a line is an object of JSON,
            whose member ``field`` is one. ``parquet``: a row is one, in column ``field``.
        write: ``shards`` of uint32 for ``numpy.memmap``, or tables as ``parquet`` or ``arrow`` files (docs/corpus.md has the layouts).
        append: what ends each document: ``none``, or the name of a special token (``endoftext`` is ``<|endoftext|>``).
        field: member or column with the text; of ``jsonl`` and ``parquet`` alone, which need it.
        on_error: what becomes of a broken document (not UTF-8, without the field, too long): ``refuse`` ends the run, ``skip`` leaves it
            out, counted and listed.
        shard_ids: a shard ends after the first batch with which it has so many ids.
        batch_bytes: bytes of text that are encoded at once: a record batch or row group of the output. A thread holds some of these.
        max_document: bytes of a document, or of a line of JSON, at most; a longer one is broken.
        text_bytes: whether tables have the column ``text_bytes``.
        input_digest: whether inputs are named by SHA-256 (read twice then) in place of their times.
    """

    read: ReadForm
    write: WriteForm
    append: str
    field: str | None = None
    on_error: OnError = "refuse"
    shard_ids: int = 1 << 26
    batch_bytes: int = 1 << 22
    max_document: int = 1 << 26
    text_bytes: bool = False
    input_digest: bool = False

    def __post_init__(self) -> None:
        """Refuse what has no meaning.

        Raises:
            Slm2Error: ``invalid_value``, ``invalid_type``, ``missing_field``.
        """
        _one_of("read", self.read, get_args(ReadForm))
        _one_of("write", self.write, get_args(WriteForm))
        _one_of("on_error", self.on_error, get_args(OnError))
        for name, most in (("shard_ids", _MOST_IDS), ("batch_bytes", _MOST_BYTES), ("max_document", _MOST_BYTES)):
            _positive(name, getattr(self, name), most)
        if self.field is not None and not isinstance(self.field, str):
            raise Slm2Error("invalid_type", field="field", expected="a string", found=type(self.field).__name__)
        if self.field is None and self.read in _WITH_FIELD:
            raise Slm2Error("missing_field", field="field")
        if self.field is not None and self.read not in _WITH_FIELD:
            raise Slm2Error("invalid_value", field="field", expected=f"none where {self.read} are read", found=repr(self.field))
        if self.text_bytes and self.write == "shards":
            raise Slm2Error("invalid_value", field="text_bytes", expected="false where shards are written", found="true")

    def to_dict(self) -> dict[str, object]:
        """The options as the journal has them."""
        return asdict(self)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise Slm2Error("invalid_value", field=name, expected=" or ".join(allowed), found=repr(value))


def _positive(name: str, value: object, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Slm2Error("invalid_type", field=name, expected="an integer", found=type(value).__name__)
    if not 0 < value <= most:
        raise Slm2Error("invalid_value", field=name, expected=f"1 to {most}", found=value)
