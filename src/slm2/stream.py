"""The streaming decoder's face: ids to text, strictly."""

from __future__ import annotations

from collections.abc import Iterable

from slm2.engine import Engine, OfOneProcess, SpecialPolicy, check_special, integer_ids

__all__ = ["StreamDecoder"]


class StreamDecoder(OfOneProcess):
    """Text from ids as they come (contract/stream.md): as soon as a scalar value is complete, never earlier or later.

    ``"".join`` of what :meth:`push` returned is always well formed and is the text of the ids so far, less the bytes in
    :attr:`pending`. Ids that cannot become text end the stream with an error; nothing is replaced by U+FFFD.
    """

    def __init__(self, engine: Engine, special: SpecialPolicy) -> None:
        self._stream = engine.stream_decoder(check_special(special))

    @property
    def pending(self) -> bytes:
        """Bytes that have come and were not delivered: an open scalar value, or what ended the stream."""
        return self._stream.pending

    def push(self, ids: int | Iterable[int]) -> str:
        """The text that became complete with one id, or with several.

        Raises:
            Slm2Error: ``ill_formed_text`` (ends the stream; its field ``text`` is what became complete in this call),
                ``token_id_out_of_range``, ``structural_id`` and ``invalid_type`` (nothing of this call was taken), ``stream_closed``.
        """
        return self._stream.push([ids] if isinstance(ids, int) else integer_ids("ids", ids))

    def finish(self) -> None:
        """End the stream.

        Raises:
            Slm2Error: ``unfinished_text`` where a scalar value is open (its bytes stay in :attr:`pending`), ``stream_closed``.
        """
        self._stream.finish()
