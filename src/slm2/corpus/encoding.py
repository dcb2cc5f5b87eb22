"""Texts to ids, with what ends each document: the one function of files, Ray and Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from slm2.contract import Contract
from slm2.corpus.batches import Batch, Broken
from slm2.errors import Slm2Error
from slm2.tokenizer import Tokenizer

__all__ = ["EncodedBatch", "encode_batch", "encode_texts", "encoded", "ending"]

NOTHING = "none"


def ending(contract: Contract, name: str) -> bytes:
    """What ends each document, as little-endian uint32: nothing for ``none``, else the id of the special token of that name.

    Raises:
        Slm2Error: ``invalid_value`` with the names that the artifact has.
    """
    if name == NOTHING:
        return b""
    names = {
        text[2:-2]: token for text, token in contract.tokenizer.special_tokens.items() if text.startswith("<|") and text.endswith("|>")
    }
    if name not in names:
        raise Slm2Error("invalid_value", field="append", expected=f"one of {NOTHING}, {', '.join(sorted(names))}", found=repr(name))
    return names[name].to_bytes(4, "little")


def encode_texts(tokenizer: Tokenizer, texts: Sequence[bytes], end: bytes) -> list[bytes | Slm2Error]:
    """The ids of each text and what ends it, as little-endian uint32, or why the text is refused."""
    try:
        return [ids.tobytes() + end for ids in tokenizer.encode_batch_arrays(texts, threads=1)]
    except Slm2Error:  # of the first that is refused; which others are, they tell one by one
        return [_encode_text(tokenizer, text, end) for text in texts]


def _encode_text(tokenizer: Tokenizer, text: bytes, end: bytes) -> bytes | Slm2Error:
    try:
        return tokenizer.encode_array(text).tobytes() + end
    except Slm2Error as error:
        return error


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """A batch and its ids.

    Attributes:
        batch: its places, its end, its position; the texts and places of documents alone that were encoded.
        ids: of all documents, little-endian uint32.
        lengths: ids of each document.
        sizes: bytes of the text of each document.
        broken: the rows that have no ids, in their order.
    """

    batch: Batch
    ids: bytes
    lengths: list[int]
    sizes: list[int]
    places: list[tuple[int, int]]
    broken: list[Broken]


def encode_batch(tokenizer: Tokenizer, end: bytes, batch: Batch) -> EncodedBatch:
    """The ids of a batch; its texts are let go."""
    results = encode_texts(tokenizer, batch.texts, end)
    done = [(ids, len(text), place) for ids, text, place in zip(results, batch.texts, batch.places, strict=True) if isinstance(ids, bytes)]
    refused = [Broken(*place, error) for error, place in zip(results, batch.places, strict=True) if isinstance(error, Slm2Error)]
    batch.texts.clear()
    return EncodedBatch(
        batch=batch,
        ids=b"".join([ids for ids, _, _ in done]),
        lengths=[len(ids) // 4 for ids, _, _ in done],
        sizes=[size for _, size, _ in done],
        places=[place for _, _, place in done],
        broken=sorted([*batch.broken, *refused], key=lambda row: (row.input, row.row)),
    )


def encoded(encode: Callable[[Batch], EncodedBatch], batches: Iterator[Batch], threads: int) -> Generator[EncodedBatch, None, None]:
    """Each batch encoded, in order. With several threads so many work while the caller reads ahead and writes.

    What reading raises comes after all that was read before it, so that threads do not decide which of two refusals is told.
    """
    if threads == 1:
        yield from map(encode, batches)
        return
    ahead: deque[Future[EncodedBatch]] = deque()
    failure: Exception | None = None
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                try:
                    while failure is None and len(ahead) <= threads:
                        ahead.append(pool.submit(encode, next(batches)))
                except StopIteration:
                    batches = iter(())
                except Exception as error:  # raised again below, at its place
                    failure = error
                if not ahead:
                    break
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
    if failure is not None:
        raise failure
