"""A conversation that keeps its cache: messages in, what to keep and what to append out (contract/template.md, M-100 to M-107).

The face: it asks an engine, and computes nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from slm2.artifact import Profile
from slm2.engine import DeltaRow, Engine, EngineSession, OfOneProcess, integer_ids
from slm2.errors import Slm2Error
from slm2.reference.json_text import json_type, read_json
from slm2.reference.session import Delta, Loss
from slm2.reference.session import LossReason as Reason
from slm2.reply import ReplyEvent, events_of
from slm2.text import to_bytes
from slm2.tool_schemas import as_schemas

__all__ = ["Delta", "Loss", "Reason", "Session"]


class Session(OfOneProcess):
    """One conversation over one engine and one profile. A call that is refused or cancelled leaves it as it was."""

    def __init__(
        self,
        engine: Engine,
        profile: Profile,
        *,
        tools: Sequence[object] | None = None,
        enable_thinking: bool | None = None,
        preserve_thinking: bool = False,
    ) -> None:
        """An empty conversation.

        Args:
            engine: opened artifact.
            profile: ``contract`` or ``publisher``.
            tools: as :meth:`slm2.template.Template.render` takes them; they stay for the session's life.
            enable_thinking: of each generation prompt, as there.
            preserve_thinking: as there (M-58); a reply that came by its ids then keeps them, and the cache only ever grows.

        Raises:
            Slm2Error: ``no_template``, ``invalid_type``, or what tools are refused with.
        """
        _check_flag("enable_thinking", enable_thinking, may_be_absent=True)
        _check_flag("preserve_thinking", preserve_thinking, may_be_absent=False)
        self._session = engine.session(profile, as_schemas(tools), enable_thinking, preserve_thinking)

    @classmethod
    def _of(cls, session: EngineSession) -> Session:
        made = cls.__new__(cls)
        made._session = session
        return made

    @property
    def messages(self) -> list[Mapping[str, object]]:
        """The conversation so far, as a copy; replies are in it as they were read."""
        return [cast("dict[str, object]", read_json(message)) for message in self._session.messages]

    @property
    def cached_ids(self) -> list[int]:
        """What the model's cache holds when every delta was followed: the last prompt and, after it, its reply."""
        return self._session.cached_ids

    def extend(self, messages: Sequence[Mapping[str, object]], *, enable_thinking: bool | None = None) -> Delta:
        """Add messages and ask for a reply.

        Args:
            messages: what is new, of any roles.
            enable_thinking: for this generation prompt; None takes the session's.

        Raises:
            Slm2Error: a code of contract/template.md; the session is as before.
        """
        _check_flag("enable_thinking", enable_thinking, may_be_absent=True)
        return _delta(self._session.extend(messages, enable_thinking))

    def reply(self, ids: Iterable[int]) -> list[ReplyEvent]:
        """Add the reply to the last prompt by its ids, which are then in the cache.

        Returns:
            What it says. Faults in its form (no ``</think>``, a call that is no JSON) do not refuse it: its message
            has what is well formed.

        A reply is added whole, once; to read it as it comes, use ``contract.reply(delta.state)`` and add ``reply.ids`` in the end. One
        that was cut inside a character, or stopped at a token that is no part of a turn (``<|endoftext|>``), is added without those ids.

        Raises:
            Slm2Error: ``no_prompt`` where no prompt waits for a reply; ``reply_refused`` for a structural id that no reply may hold there,
                or an id after the end of the turn; ``ill_formed_text``; ``token_id_out_of_range``; the session is as before.
        """
        return events_of(self._session.reply(integer_ids("ids", ids)))

    def settled(self) -> Delta:
        """The prompt up to the last turn in the form that it has once a user turn follows, for prefilling while the model is idle.

        The session does not change; to follow it, :meth:`settle`.

        Raises:
            Slm2Error: ``role_order`` where the last turn is a user's, after which no other may come.
        """
        return _delta(self._session.settled())

    def settle(self) -> Delta:
        """:meth:`settled`, and the cache holds it from now on."""
        return _delta(self._session.settle())

    def fork(self) -> Session:
        """Another session that goes on from here by itself."""
        return Session._of(self._session.fork())

    def save(self) -> bytes:
        """A checkpoint: JSON that names the artifact, the profile, the conversation, and the ids that the cache holds."""
        return self._session.save()

    @classmethod
    def restore(cls, engine: Engine, data: bytes) -> Session:
        """The session of a checkpoint, with a cache that holds what it held.

        Raises:
            Slm2Error: ``checkpoint_refused`` where it was damaged or made with another artifact; ``json_invalid``; ``invalid_type``.
        """
        return cls._of(engine.restore_session(to_bytes(data)))


def _check_flag(field: str, value: object, *, may_be_absent: bool) -> None:
    """Refuse what is no boolean, as :meth:`slm2.template.Template.render` does.

    Raises:
        Slm2Error: ``invalid_type``.
    """
    if not isinstance(value, bool) and not (value is None and may_be_absent):
        raise Slm2Error("invalid_type", field=field, expected="boolean", found=json_type(value))


def _delta(row: DeltaRow) -> Delta:
    keep, append, lost, state = row
    return Delta(keep, append, [Loss(message, ids, cast("Reason", reason)) for message, ids, reason in lost], state)
