"""Spark: a column of ids for a data frame, through Arrow, on as many machines as there are; each needs the extra ``pyspark``."""

from __future__ import annotations

import importlib
from typing import Any

from slm2.corpus import TableEncoder
from slm2.errors import Slm2Error

__all__ = ["encode_frame", "ids_udf"]


def encode_frame(frame: Any, column: str, *, append: str, ids: str = "ids", **settings: Any) -> Any:  # noqa: ANN401  (of Spark)
    """The data frame with a column of ids: ``mapInArrow`` with :class:`slm2.corpus.TableEncoder`, opened once in each worker.

    Args:
        frame: a ``pyspark.sql.DataFrame``.
        column: with the texts.
        append: what ends each document: ``none``, or the name of a special token such as ``endoftext``.
        ids: the column that is added: ``array<int>``, since Spark has no unsigned numbers; every id fits.
        settings: the others of :class:`slm2.corpus.TableEncoder`, but ``item``.

    Returns:
        A ``pyspark.sql.DataFrame``, which is encoded when it is read, as Spark has it.

    Raises:
        Slm2Error: ``dependency_missing`` without Spark, or what the encoder raises; while it is read, Spark raises its
            own error, which tells it.
    """
    types = _spark("pyspark.sql.types")
    encoder = TableEncoder(column, append=append, ids=ids, item="int32", **settings)
    marked = settings.get("on_error") == "null"
    fields = [*frame.schema.fields, types.StructField(ids, _ids_type(types), nullable=marked)]
    if marked:
        fields.append(types.StructField("refused", types.StringType(), nullable=True))
    return frame.mapInArrow(encoder.map, types.StructType(fields))


def ids_udf(*, append: str, **settings: Any) -> Any:  # noqa: ANN401  (a function of Spark)
    """A function of a column of texts that gives a column of ids: an Arrow UDF, for expressions and SQL.

    Args:
        append: what ends each document: ``none``, or the name of a special token such as ``endoftext``.
        settings: the others of :class:`slm2.corpus.TableEncoder`, but ``ids`` and ``item``.

    Raises:
        Slm2Error: as :func:`encode_frame`.
    """
    functions, types = _spark("pyspark.sql.functions"), _spark("pyspark.sql.types")
    arrow = importlib.import_module("pyarrow")
    encoder = TableEncoder("text", append=append, item="int32", **settings)

    def ids(texts: Any) -> Any:  # noqa: ANN401  (arrays of pyarrow)
        return encoder.array(texts)

    ids.__annotations__ = {"texts": arrow.Array, "return": arrow.Array}  # Spark reads from these what it is to hand over
    return functions.arrow_udf(ids, _ids_type(types))


def _ids_type(types: Any) -> Any:  # noqa: ANN401  (Spark's types)
    return types.ArrayType(types.IntegerType(), containsNull=False)


def _spark(module: str) -> Any:  # noqa: ANN401  (a module)
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Slm2Error("dependency_missing", package="pyspark", extra="pyspark") from None
