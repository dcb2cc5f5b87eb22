"""Arrow: documents out of Parquet files, and ids into tables. pyarrow is an optional extra, and imported where it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, BinaryIO

from slm2.corpus.documents import Document, checked
from slm2.errors import Slm2Error

__all__ = ["ParquetDocuments", "ids_array", "pyarrow", "texts_of"]

_ROWS = 1024


def pyarrow(module: str = "pyarrow") -> Any:  # noqa: ANN401  (a module without types of its own)
    """pyarrow, or a module of it.

    Raises:
        Slm2Error: ``dependency_missing``.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Slm2Error("dependency_missing", package="pyarrow", extra="corpus") from None


class ParquetDocuments:
    """The column of a Parquet file, row group by row group."""

    def __init__(self, file: BinaryIO, field: str, row: int, limit: int) -> None:
        parquet = pyarrow("pyarrow.parquet")
        self._file = parquet.ParquetFile(file, memory_map=False, pre_buffer=False)
        self._field, self._row, self._limit = field, row, limit
        self._position = 0
        names = self._file.schema_arrow.names
        if names.count(field) != 1:
            raise Slm2Error("invalid_value", field="field", expected=f"one column of {', '.join(names)}", found=repr(field))
        checked_type(self._file.schema_arrow.field(field).type, field)

    def position(self) -> int:
        """Bytes of the row groups that are done."""
        return self._position

    def __iter__(self) -> Iterator[Document]:
        passed = self._row
        for at in range(self._file.num_row_groups):
            group = self._file.metadata.row_group(at)
            if passed < group.num_rows:
                for part in self._file.iter_batches(_ROWS, row_groups=[at], columns=[self._field], use_threads=False):
                    # Asked for a column with a dot in its name, pyarrow gives what lies within structs by that path as well.
                    for text in texts_of(part.column(part.schema.get_field_index(self._field)), self._field)[passed:]:
                        yield text if isinstance(text, Slm2Error) else checked(text, self._limit), 0
                    passed = max(passed - part.num_rows, 0)
            else:
                passed -= group.num_rows
            self._position += sum(group.column(column).total_compressed_size for column in range(group.num_columns))


def checked_type(kind: Any, field: str) -> None:  # noqa: ANN401  (a type of pyarrow)
    """Refuse a column that is no text. One of nulls alone has no type, where a host infers it block by block.

    Raises:
        Slm2Error: ``invalid_type``.
    """
    types = pyarrow().types
    inside = kind.value_type if types.is_dictionary(kind) else kind
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary, types.is_binary_view)
    if not any(is_text(inside) for is_text in (*texts, types.is_null)):
        raise Slm2Error("invalid_type", field=field, expected="a column of strings or of bytes", found=str(kind))


def texts_of(column: Any, field: str) -> list[bytes | Slm2Error]:  # noqa: ANN401  (an array of pyarrow)
    """The bytes of each value, unchecked (pyarrow does not look whether strings are UTF-8); an error for each null."""
    arrow = pyarrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values: list[bytes | None] = column.cast(arrow.large_binary()).to_pylist()
    return [Slm2Error("missing_field", field=field) if value is None else value for value in values]


def ids_array(ids: bytes, lengths: Sequence[int], *, item: str = "uint32", missing: Sequence[bool] | None = None) -> Any:  # noqa: ANN401
    """An array of lists.

    Args:
        ids: of all documents, one after the other, as little-endian uint32.
        lengths: how many are each document's.
        item: ``uint32``, or ``int32`` for hosts without unsigned numbers; every id fits.
        missing: which documents have null in place of a list; none where it is left out.
    """
    arrow = pyarrow()
    flat = arrow.Array.from_buffers(arrow.type_for_alias(item), len(ids) // 4, [None, arrow.py_buffer(ids)])
    offsets = arrow.array([0, *accumulate(lengths)], arrow.int32())
    mask = None if missing is None else arrow.array(missing, arrow.bool_())
    kind = arrow.list_(arrow.field("item", arrow.type_for_alias(item), nullable=False))
    return arrow.ListArray.from_arrays(offsets, flat, type=kind, mask=mask)
