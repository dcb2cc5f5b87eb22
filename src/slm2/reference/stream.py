"""The strict streaming decoder (contract/stream.md, decisions D12)."""

from __future__ import annotations

from collections.abc import Sequence

from slm2.artifact import Artifact
from slm2.errors import Slm2Error
from slm2.reference.tokenizer import Special, decoded
from slm2.reference.utf8 import is_open, scalar_length


class ReferenceStream:
    """Text as soon as a scalar value is complete, never earlier or later, however the ids are grouped."""

    def __init__(self, artifact: Artifact, special: Special) -> None:
        self._artifact = artifact
        self._special = special
        self._position = 0
        self._pending = b""
        self._closed = False

    @property
    def pending(self) -> bytes:
        """Bytes that have come and were not delivered."""
        return self._pending

    def push(self, ids: Sequence[int]) -> str:
        """Text that became complete with ``ids``.

        Raises:
            Slm2Error: ``token_id_out_of_range`` and ``structural_id`` before any id was taken; ``ill_formed_text``, which ends
                the stream and carries the text of this call; ``stream_closed``.
        """
        self._check_open()
        self._check_ids(ids)
        text = ""
        for token_id in ids:
            text += self._feed(token_id, text)
        return text

    def _check_ids(self, ids: Sequence[int]) -> None:
        """Refuse ids that no text can have, as long as the text before them is well formed: behind a failure no id counts."""
        rest = self._pending
        failed = False
        for offset, token_id in enumerate(ids):
            is_structural = token_id in self._artifact.special_text
            # A structural id inside a scalar value is a failure of the text, whatever is done with structural ids.
            failed = failed or (is_structural and bool(rest))
            data = decoded(self._artifact, self._position + offset, token_id, "skip" if failed else self._special)
            _, rest = complete(rest + data)
            failed = failed or bool(rest and not is_open(rest))

    def _feed(self, token_id: int, text: str) -> str:
        """Take one id; ``text`` is what the call has delivered so far."""
        failed = token_id in self._artifact.special_text and bool(self._pending)
        data = b"" if failed else decoded(self._artifact, self._position, token_id, self._special)
        fresh, self._pending = complete(self._pending + data) if not failed else ("", self._pending)
        if failed or (self._pending and not is_open(self._pending)):
            self._closed = True
            raise Slm2Error("ill_formed_text", position=self._position, id=token_id, text=text + fresh, pending=self._pending.hex())
        self._position += 1
        return fresh

    def finish(self) -> None:
        """End the stream.

        Raises:
            Slm2Error: ``unfinished_text`` where a scalar value is open, ``stream_closed``.
        """
        self._check_open()
        self._closed = True
        if self._pending:
            raise Slm2Error("unfinished_text", position=self._position, pending=self._pending.hex())

    def _check_open(self) -> None:
        if self._closed:
            raise Slm2Error("stream_closed", position=self._position)


def complete(data: bytes) -> tuple[str, bytes]:
    """The scalar values that ``data`` begins with, and the bytes after them."""
    at = 0
    while at < len(data) and (length := scalar_length(data, at)):
        at += length
    return data[:at].decode("utf-8"), data[at:]
