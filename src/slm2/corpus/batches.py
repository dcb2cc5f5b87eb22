"""Documents of all inputs, cut into batches by what is in them alone: the same ones wherever a run begins and on however many threads."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, field

from slm2.corpus.inputs import Input, open_documents
from slm2.corpus.options import CorpusOptions
from slm2.errors import Slm2Error

__all__ = ["Batch", "Broken", "Cursor", "batches"]

# Of a batch, whatever their length.
MOST_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two rows.

    Attributes:
        input: number of the file.
        row: rows of it before this place.
        offset: bytes of it, unpacked, before this place; 0 where rows are not found by bytes.
    """

    input: int = 0
    row: int = 0
    offset: int = 0

    def to_dict(self) -> dict[str, int]:
        """As the journal has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that cannot become ids, and why."""

    input: int
    row: int
    error: Slm2Error


@dataclass(slots=True)
class Batch:
    """Rows that are encoded together.

    Attributes:
        begin: before its first row.
        end: after its last.
        texts: of its documents.
        places: input and row of each.
        broken: the rows between them that are no documents, in their order.
        position: bytes of all inputs that were read, for progress alone.
    """

    begin: Cursor
    end: Cursor
    texts: list[bytes] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    position: int = 0


def batches(inputs: Sequence[Input], options: CorpusOptions, start: Cursor) -> Generator[Batch, None, None]:
    """All rows from a place on. A batch ends with the row with which it has ``batch_bytes`` of text or 8192 rows.

    Raises:
        Slm2Error: what :func:`slm2.corpus.inputs.open_documents` raises, at its place.
    """
    batch = Batch(start, start)
    size = 0
    passed = sum(source.size for source in inputs[: start.input])
    for number in range(start.input, len(inputs)):
        row, offset = (start.row, start.offset) if number == start.input else (0, 0)
        with open_documents(inputs[number], options, row, offset) as documents:
            for text, after in documents:
                if isinstance(text, Slm2Error):
                    batch.broken.append(Broken(number, row, text))
                else:
                    batch.texts.append(text)
                    batch.places.append((number, row))
                    size += len(text)
                row += 1
                if size >= options.batch_bytes or len(batch.texts) + len(batch.broken) >= MOST_ROWS:
                    batch.end = Cursor(number, row, after)
                    batch.position = passed + documents.position()
                    yield batch
                    batch, size = Batch(batch.end, batch.end), 0
                offset = after
        passed += inputs[number].size
        batch.end = Cursor(number, row, offset)
    if batch.texts or batch.broken:
        batch.position = passed
        yield batch
