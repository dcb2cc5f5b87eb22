"""Tables of Arrow to the same tables with ids: what Ray Data and Spark run on each machine, and any program that has tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

from slm2.artifact import Profile
from slm2.contract import Contract, load
from slm2.corpus.arrow import checked_type, ids_array, pyarrow, texts_of
from slm2.corpus.documents import checked
from slm2.corpus.encoding import encode_texts, ending
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error

__all__ = ["TableEncoder"]

Item = Literal["uint32", "int32"]
BrokenRow = Literal["refuse", "null"]

_ROWS = 1024


class TableEncoder:
    """Adds the ids of a column of text to tables of pyarrow: the same ids as :func:`slm2.corpus.encode_corpus` writes.

    Made to be sent to other processes and machines: what travels is the settings and the contract's digest, and each process opens the
    contract once, and refuses to work with another one.

    Attributes:
        digest: of the contract, as ``Contract.digest`` has it.
    """

    def __init__(  # noqa: PLR0913  (one for each setting, by name)
        self,
        column: str,
        *,
        append: str,
        ids: str = "ids",
        on_error: BrokenRow = "refuse",
        max_document: int = 1 << 26,
        item: Item = "uint32",
        artifact: str | None = None,
        profile: Profile = "contract",
        engine: EngineChoice = "auto",
        digest: str | None = None,
    ) -> None:
        """Open the contract, here too.

        Args:
            column: with the texts: strings, or bytes of UTF-8.
            append: what ends each document: ``none``, or the name of a special token such as ``endoftext``.
            ids: the column that is added: lists of ``item``.
            on_error: a broken document (null, not UTF-8, too long) is refused, or its ids are ``null`` and one more column, ``refused``,
                says why.
            max_document: bytes of a document at most.
            item: ``uint32``, or ``int32`` for hosts without unsigned numbers.
            artifact: a path, the same on every machine; None for the one in the package.
            profile: as for :func:`slm2.load`.
            engine: as for :func:`slm2.load`.
            digest: that the contract must have; None for whichever it has.

        Raises:
            Slm2Error: ``dependency_missing`` without pyarrow; ``corpus_differs`` where the digest is another; ``invalid_value``; what
                :func:`slm2.load` raises.
        """
        pyarrow()
        for name, value, allowed in (("on_error", on_error, get_args(BrokenRow)), ("item", item, get_args(Item))):
            if value not in allowed:
                raise Slm2Error("invalid_value", field=name, expected=" or ".join(allowed), found=repr(value))
        self._column, self._ids, self._item = column, ids, item
        self._append, self._on_error, self._max_document = append, on_error, max_document
        self._artifact, self._profile, self._engine = artifact, profile, engine
        self._contract: Contract | None = None
        self.digest = digest
        contract = self._opened()
        self.digest = contract.digest
        self._end = ending(contract, append)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_contract": None}

    def __call__(self, table: Any) -> Any:  # noqa: ANN401  (tables of pyarrow)
        """The table with the column of ids.

        Raises:
            Slm2Error: ``document_refused`` (its row is that of the table); ``corpus_differs`` where this process has another contract;
                ``invalid_type``, ``invalid_value`` where the column cannot be read or added.
        """
        arrow = pyarrow()
        done = []
        row = 0
        for batch in table.to_batches(max_chunksize=_ROWS):
            done.append(self._encoded(batch, row))
            row += batch.num_rows
        return arrow.Table.from_batches(done) if done else arrow.Table.from_batches([self._encoded(_empty(table.schema), 0)])

    def map(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The record batches of a stream, each with the column of ids."""
        row = 0
        for batch in batches:
            yield self._encoded(batch, row)
            row += batch.num_rows

    def array(self, texts: Any) -> Any:  # noqa: ANN401  (arrays of pyarrow)
        """The ids of an array of texts, as an array of lists."""
        return self._arrays(texts, 0)[0]

    def _encoded(self, batch: Any, row: int) -> Any:  # noqa: ANN401  (a record batch of pyarrow)
        names = list(batch.schema.names)
        if names.count(self._column) != 1:
            raise Slm2Error("invalid_value", field="column", expected=f"one column of {', '.join(names)}", found=repr(self._column))
        ids, refused = self._arrays(batch.column(names.index(self._column)), row)
        for name, column in ((self._ids, ids), ("refused", refused)):
            if column is not None:
                if name in names:
                    raise Slm2Error("invalid_value", field="ids", expected="a column that is not there yet", found=repr(name))
                batch = batch.append_column(name, column)
                names.append(name)
        return batch

    def _arrays(self, column: Any, row: int) -> tuple[Any, Any]:  # noqa: ANN401  (arrays of pyarrow)
        """Ids, and why there are none where that is asked for."""
        arrow = pyarrow()
        checked_type(column.type, self._column)
        texts = [text if isinstance(text, Slm2Error) else checked(text, self._max_document) for text in texts_of(column, self._column)]
        good = [text for text in texts if isinstance(text, bytes)]
        encoded = iter(encode_texts(self._opened().tokenizer, good, self._end))
        results = [text if isinstance(text, Slm2Error) else next(encoded) for text in texts]
        errors = [result if isinstance(result, Slm2Error) else None for result in results]
        if self._on_error == "refuse":
            for at, error in enumerate(errors):
                if error is not None:
                    place = {"source": f"column {self._column}", "row": row + at}
                    raise Slm2Error("document_refused", **place, reason_code=error.code, reason=str(error))
        lists = [result if isinstance(result, bytes) else b"" for result in results]
        missing = [error is not None for error in errors]
        ids = ids_array(b"".join(lists), [len(part) // 4 for part in lists], item=self._item, missing=missing if any(missing) else None)
        if self._on_error == "refuse":
            return ids, None
        return ids, arrow.array([error and f"{error.code}: {error}" for error in errors], arrow.string())

    def _opened(self) -> Contract:
        if self._contract is None:
            contract = load(self._artifact, engine=self._engine, profile=self._profile)
            if self.digest not in (None, contract.digest):
                raise Slm2Error("corpus_differs", field="artifact", expected=self.digest, found=contract.digest)
            self._contract = contract
        return self._contract


def _empty(schema: Any) -> Any:  # noqa: ANN401  (of pyarrow)
    arrow = pyarrow()
    return arrow.RecordBatch.from_arrays([arrow.array([], field.type) for field in schema], schema=schema)
