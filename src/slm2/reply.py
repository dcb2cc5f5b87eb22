"""A reply as the model writes it: ids in, events and at the end a message out (contract/template.md, M-90 to M-97).

The face: it asks an engine and keeps what was said; it decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from slm2.engine import Engine, OfOneProcess, ReplyRow, integer_ids
from slm2.errors import Slm2Error
from slm2.reference.json_text import read_json
from slm2.reference.reply import Kind, ReplyEvent
from slm2.reference.utf8 import to_utf8

__all__ = ["Reply", "ReplyEvent", "events_of"]

FAULTS = ("bad_call", "stray_text", "unexpected", "unclosed", "ill_formed")


class Reply(OfOneProcess):
    """Reads one reply; begin with the ``state`` of the :class:`slm2.template.Rendering` that the model continues.

    Attributes:
        ids: all ids so far.
        faults: the events that say what is wrong with the reply; empty for one that can go into a conversation as it is.
    """

    def __init__(self, engine: Engine, state: str) -> None:
        """Begin.

        Raises:
            Slm2Error: ``invalid_value`` where no reply begins in this state, ``invalid_type``, ``no_template``.
        """
        if not isinstance(state, str):
            raise Slm2Error("invalid_type", field="state", expected="a state's name", found=type(state).__name__)
        self._reader = engine.reply_reader(to_utf8(state).decode("utf-8"))
        self.ids: list[int] = []
        self.faults: list[ReplyEvent] = []

    @property
    def state(self) -> str:
        """Of the template's machine, by name."""
        return self._reader.state

    def push(self, ids: int | Iterable[int]) -> list[ReplyEvent]:
        """What one id says, or several.

        Raises:
            Slm2Error: ``token_id_out_of_range`` and ``invalid_type`` (nothing of this call was taken), ``stream_closed``.
        """
        given = [ids] if isinstance(ids, int) else integer_ids("ids", ids)
        events = self._events(self._reader.push(given))
        self.ids += given
        return events

    def finish(self) -> list[ReplyEvent]:
        """The end, where no token ended the turn: what is open is told, then ``end`` with the reason ``cut``.

        Raises:
            Slm2Error: ``stream_closed``.
        """
        return self._events(self._reader.finish())

    @property
    def message(self) -> dict[str, object]:
        """What was said so far, as a message for :meth:`slm2.template.Template.render`; calls that are none are not in it.

        Reasoning is always given apart, so that no text of the content is split again.
        """
        return cast("dict[str, object]", read_json(self._reader.message))

    def _events(self, rows: list[ReplyRow]) -> list[ReplyEvent]:
        events = events_of(rows)
        self.faults += [event for event in events if event.kind in FAULTS]
        return events


def events_of(rows: list[ReplyRow]) -> list[ReplyEvent]:
    """The events of an engine."""
    return [ReplyEvent(cast("Kind", kind), text, tuple(ids), name, arguments, reason) for kind, text, ids, name, arguments, reason in rows]
