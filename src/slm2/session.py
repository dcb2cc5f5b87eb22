"""A conversation that keeps its cache: messages in, what to keep and what to append out (contract/template.md, M-100 to M-107).

A session computes what the template makes of the messages that are new or have changed, and nothing before them. Its state is one
immutable value that a call replaces when all is done: a call that fails or is cancelled leaves the session as it was.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from slm2.artifact import Profile, Program
from slm2.engine import Engine, OfOneProcess, integer_ids
from slm2.errors import Slm2Error
from slm2.reference.events import Conversation, Event, Options, last_query, of_end, of_message, of_tools
from slm2.reference.json_text import json_type, read_json, write_json
from slm2.reference.messages import Message, parse, parse_tools
from slm2.reference.pieces import Fragment
from slm2.reply import Reply, ReplyEvent
from slm2.session_chunks import NO_CHUNKS, Chunk, ChunkBuilder, Chunks, IdMachine, end_of
from slm2.template import TemplateProgram
from slm2.tool_schemas import as_schemas

__all__ = ["Delta", "Loss", "Reason", "Session"]

Reason = Literal["reasoning", "rewritten", "generation_prompt", "later"]

_CHECKPOINT = "slm2 session 1"
# Objects and lists in one another (M-31), those of the message itself included.
_DEEPEST = 140


@dataclass(frozen=True, slots=True)
class Loss:
    """What a turn lost of the cache.

    Attributes:
        message: its index; the number of messages for a generation prompt without a reply.
        ids: how many of its cached ids are not in the prompt any more, at their place.
        reason: ``reasoning`` the template leaves its reasoning or its think block out now; ``rewritten`` its ids were not those that its
            message is rendered with (whitespace, arguments, ids that no encoder would choose); ``generation_prompt`` the head of a
            reply that was not kept; ``later`` it stands after something that changed.
    """

    message: int
    ids: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Delta:
    """What to do with a cache.

    Attributes:
        keep: how many ids of the cache stay: cut it there.
        append: the ids that follow.
        lost: for each turn of which something was cut off, how much and why.
        state: of the template's machine after the last id, by name: a reply goes on from there.
    """

    keep: int
    append: list[int]
    lost: list[Loss]
    state: str


@dataclass(frozen=True, slots=True)
class _Record:
    """A reply by its ids.

    Attributes:
        head: ids of the generation prompt before it.
        ids: its own.
        ended: whether it has the end of its turn itself.
        state: of the machine before it, by name.
    """

    head: tuple[int, ...]
    ids: tuple[int, ...]
    ended: bool
    state: str


@dataclass(frozen=True, slots=True)
class _State:
    """All that a session knows.

    Attributes:
        given: messages as they were given.
        messages: the same as they were read.
        records: replies by their ids.
        chunks: ids of messages, without those of a reply that came last.
        cached: what the cache holds.
        machine: the state in which the prompt ended that waits for a reply, by name; None where none does.
    """

    given: tuple[Mapping[str, object], ...]
    messages: tuple[Message, ...]
    records: Mapping[int, _Record]
    chunks: Chunks
    cached: tuple[Chunk, ...]
    machine: str | None


_EMPTY = _State((), (), {}, NO_CHUNKS, (), None)


class Session(OfOneProcess):
    """One conversation over one engine and one profile."""

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
        self._engine = engine
        self._profile: Profile = profile
        self._program: Program = TemplateProgram(engine).of_artifact
        self._machine = IdMachine(engine, profile, self._program)
        self._tools = parse_tools(as_schemas(tools))
        _check_flag("enable_thinking", enable_thinking, may_be_absent=True)
        _check_flag("preserve_thinking", preserve_thinking, may_be_absent=False)
        self._options = Options(enable_thinking=enable_thinking, add_generation_prompt=True, preserve_thinking=preserve_thinking)
        self._state = _EMPTY

    @property
    def messages(self) -> list[Mapping[str, object]]:
        """The conversation so far, as a copy; replies are in it as they were read."""
        return [_copy(message) for message in self._state.given]

    @property
    def cached_ids(self) -> list[int]:
        """What the model's cache holds when every delta was followed: the last prompt and, after it, its reply."""
        return list(chain.from_iterable(chunk.ids for chunk in self._state.cached))

    def extend(self, messages: Sequence[Mapping[str, object]], *, enable_thinking: bool | None = None) -> Delta:
        """Add messages and ask for a reply.

        Args:
            messages: what is new, of any roles.
            enable_thinking: for this generation prompt; None takes the session's.

        Raises:
            Slm2Error: a code of contract/template.md; the session is as before.
        """
        _check_flag("enable_thinking", enable_thinking, may_be_absent=True)
        options = self._options if enable_thinking is None else replace(self._options, enable_thinking=enable_thinking)
        state, delta = self._extended(self._state, messages, options)
        self._state = state
        return delta

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
        taken = integer_ids("ids", ids)
        state, events = self._replied(self._state, taken)
        self._state = state
        return events

    def settled(self) -> Delta:
        """The prompt up to the last turn in the form that it has once a user turn follows, for prefilling while the model is idle.

        The session does not change; to follow it, :meth:`settle`.

        Raises:
            Slm2Error: ``role_order`` where the last turn is a user's, after which no other may come.
        """
        return self._settled()[1]

    def settle(self) -> Delta:
        """:meth:`settled`, and the cache holds it from now on."""
        self._state, delta = self._settled()
        return delta

    def fork(self) -> Session:
        """Another session that goes on from here by itself."""
        other = Session.__new__(Session)
        other.__dict__.update(self.__dict__)
        return other

    def save(self) -> bytes:
        """A checkpoint: JSON that names the artifact, the profile, the conversation, and the ids that the cache holds."""
        state = self._state
        content: dict[str, Any] = {
            "kind": _CHECKPOINT,
            "semantic_digest": self._engine.semantic_digest,
            "profile": self._profile,
            "enable_thinking": self._options.enable_thinking,
            "preserve_thinking": self._options.preserve_thinking,
            "tools": [read_json(tool.text) for tool in self._tools],
            "messages": list(state.given),
            "records": {str(at): [list(one.head), list(one.ids), one.ended, one.state] for at, one in state.records.items()},
            "cached": [[chunk.message, list(chunk.ids), chunk.reasons, chunk.waits] for chunk in state.cached],
            "state": state.machine,
        }
        text = write_json(content, "checkpoint")
        return f'{{"checkpoint": {text}, "sha256": "{hashlib.sha256(text.encode()).hexdigest()}"}}\n'.encode()

    @classmethod
    def restore(cls, engine: Engine, data: bytes) -> Session:
        """The session of a checkpoint, with a cache that holds what it held.

        Raises:
            Slm2Error: ``checkpoint_refused`` where it was damaged or made with another artifact; ``json_invalid``.
        """
        document = read_json(data)
        content = document.get("checkpoint") if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(content, dict) or content.get("kind") != _CHECKPOINT:
            raise Slm2Error("checkpoint_refused", reason="it is no checkpoint of a session")
        digest = hashlib.sha256(write_json(content, "checkpoint").encode()).hexdigest()
        if digest != document.get("sha256"):
            raise Slm2Error("checkpoint_refused", reason="it was changed after it was saved")
        if content.get("semantic_digest") != engine.semantic_digest:
            raise Slm2Error("checkpoint_refused", reason=f"it belongs to the artifact {content.get('semantic_digest')}")
        try:
            return cls._restored(engine, content)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, Slm2Error):
            raise Slm2Error("checkpoint_refused", reason="what it holds is no conversation of a session") from None

    # ---- below: from one state to the next ----

    @classmethod
    def _restored(cls, engine: Engine, content: Any) -> Session:  # noqa: ANN401  (JSON)
        session = cls(
            engine,
            content["profile"],
            tools=content["tools"],
            enable_thinking=content["enable_thinking"],
            preserve_thinking=content["preserve_thinking"],
        )
        given = tuple(content["messages"])
        records = {int(index): _record(*row) for index, row in content["records"].items()}
        cached: list[Chunk] = []
        for message, ids, reasons, waits in content["cached"]:
            cached.append(Chunk(message, tuple(ids), 0, (), reasons, end_of(cached) + len(ids), waits))
        for index, record in records.items():
            if _read(engine, record.state, list(record.ids))[0].message != given[index]:
                raise ValueError(index)
        messages = tuple(parse(given))
        state = _State(given, messages, records, NO_CHUNKS, tuple(cached), content["state"])
        session._state = replace(state, chunks=session._composed(state, messages, session._options)[0])
        return session

    def _extended(self, old: _State, messages: Sequence[Mapping[str, object]], options: Options) -> tuple[_State, Delta]:
        fresh = parse(messages, first=len(old.messages))
        all_messages = (*old.messages, *fresh)
        chunks, builder = self._composed(old, all_messages, options)
        walk = Conversation(self._program, options, len(self._tools), len(all_messages), chunks.query, [])
        ids = builder.ids_of(of_end(walk), all_messages)
        end = Chunk(len(all_messages), ids, builder.state, (), False, end_of(chunks.all) + len(ids), waits=True)
        given = (*old.given, *(_copy(message) for message in messages))
        machine = self._program.states[builder.state]
        state = _State(given, all_messages, old.records, chunks, (*chunks.all, end), machine)
        return state, self._delta(old, state)

    def _composed(self, old: _State, messages: Sequence[Message], options: Options) -> tuple[Chunks, ChunkBuilder]:
        """Chunks of all messages, those that did not change as they were, and what built them, which stands after the last one."""
        query = last_query(self._program, messages)
        kept, start, machine, unanswered = old.chunks.kept(self._machine, messages, query, options.enable_thinking)
        walk = Conversation(self._program, options, len(self._tools), len(messages), query, list(unanswered))
        builder = ChunkBuilder(self._engine, self._machine, machine, kept)
        for index in range(start, len(messages)):
            builder.begin(index, tuple(walk.unanswered))
            events = self._events(walk, messages, index)
            record = old.records.get(index) if options.preserve_thinking else None
            if record is None:
                builder.take(events, messages)
            else:
                builder.take_record(list(events), messages, (*record.head, *record.ids), ended=record.ended)
        return builder.finished(walk), builder

    def _events(self, walk: Conversation, messages: Sequence[Message], index: int) -> Iterable[Event]:
        """Of one message; those of the tools stand with the first one."""
        events = of_message(walk, messages, index)
        if index or not self._tools:
            return events
        has_system = messages[0].role == "system"
        schemas = of_tools(self._tools, has_system=has_system)
        return chain(events, schemas) if has_system else chain(schemas, events)

    def _delta(self, old: _State, new: _State) -> Delta:
        """The common prefix of what was cached and what is to be there."""
        count = min(len(old.cached), len(new.cached))
        # Chunks that were not computed anew are the same objects, up to the first one that was.
        same = bisect_left(range(count), True, key=lambda at: old.cached[at] is not new.cached[at])
        while same < count and old.cached[same].ids == new.cached[same].ids:
            same += 1
        keep = end_of(old.cached[:same])
        before = list(chain.from_iterable([chunk.ids for chunk in old.cached[same:]]))
        after = list(chain.from_iterable([chunk.ids for chunk in new.cached[same:]]))
        common = 0
        for left, right in zip(before, after, strict=False):
            if left != right:
                break
            common += 1
        return Delta(keep + common, after[common:], self._lost(old, new, same, common), new.machine or "INIT")

    def _lost(self, old: _State, new: _State, same: int, common: int) -> list[Loss]:
        """Of which turns something was cut off, and why: what the first one lost is the reason of its own."""
        losses: list[Loss] = []
        at = 0
        for chunk in old.cached[same:]:
            end = at + len(chunk.ids)
            if end > common:
                lost = end - max(at, common)
                losses.append(Loss(chunk.message, lost, "later" if losses else _reason(chunk, new)))
            at = end
        return losses

    def _replied(self, old: _State, ids: list[int]) -> tuple[_State, list[ReplyEvent]]:
        if old.machine is None or not ids:
            raise Slm2Error("no_prompt")
        reader, events = _read(self._engine, old.machine, ids)
        ended = any(event.kind == "end" and event.reason == "end_turn" for event in events)
        index = len(old.messages)
        message = reader.message
        head = old.cached[-1]
        whole = Chunk(index, (*head.ids, *ids), head.before, (), True, head.end + len(ids))
        record = _Record(head.ids, tuple(ids), ended, old.machine)
        parsed = parse([message], first=index)
        state = replace(
            old,
            given=(*old.given, message),
            messages=(*old.messages, *parsed),
            records={**old.records, index: record},
            cached=(*old.cached[:-1], whole),
            machine=None,
        )
        return state, events

    def _settled(self) -> tuple[_State, Delta]:
        old = self._state
        question = Message("user", (Fragment("", "application", "settled"),))
        longer = (*old.messages, question)
        chunks, _ = self._composed(old, longer, self._options)
        settled = tuple(chunk for chunk in chunks.all if chunk.message < len(old.messages))
        state = replace(old, cached=settled, machine=None)
        return state, self._delta(old, state)


def _check_flag(field: str, value: object, *, may_be_absent: bool) -> None:
    """Refuse what is no boolean, as :meth:`slm2.template.Template.render` does.

    Raises:
        Slm2Error: ``invalid_type``.
    """
    if not isinstance(value, bool) and not (value is None and may_be_absent):
        raise Slm2Error("invalid_type", field=field, expected="boolean", found=json_type(value))


def _copy(value: Any, depth: int = 0) -> Any:  # noqa: ANN401  (JSON)
    """A message that nobody else holds: what a caller does with its own afterwards must not change the conversation."""
    if depth > _DEEPEST:  # in a field that is not looked at (M-14); JSON is not as deep
        return value
    if isinstance(value, Mapping):
        return {key: _copy(member, depth + 1) for key, member in value.items()}
    return [_copy(element, depth + 1) for element in value] if isinstance(value, list | tuple) else value


def _record(head: list[int], ids: list[int], ended: bool, state: str) -> _Record:
    return _Record(tuple(head), tuple(ids), bool(ended), state)


def _read(engine: Engine, state: str, ids: list[int]) -> tuple[Reply, list[ReplyEvent]]:
    """A whole reply, whose structural ids have business where they stand."""
    reader = Reply(engine, state)
    events = reader.push(ids)
    for event in events:
        if event.kind == "ill_formed":
            raise Slm2Error("ill_formed_text", position=len(ids), id=ids[-1], text="", pending=event.text)
        if event.kind == "unexpected":
            raise Slm2Error("reply_refused", position=_position(events, event), id=event.ids[-1])
    # Ids after a scalar value that is still open are no text either.
    events += reader.finish()
    if events[-1].kind == "ill_formed":
        raise Slm2Error("ill_formed_text", position=len(ids), id=ids[-1], text="", pending=events[-1].text)
    return reader, events


def _reason(before: Chunk, new: _State) -> Reason:
    """Why a turn's ids are others now."""
    if before.waits:
        return "generation_prompt"
    now = next(chunk for chunk in reversed(new.cached) if chunk.message <= before.message)
    return "reasoning" if before.reasons and not now.reasons else "rewritten"


def _position(events: Sequence[ReplyEvent], of: ReplyEvent) -> int:
    """Where in the reply the last id of an event stands."""
    taken = 0
    for event in events:
        taken += len(event.ids)
        if event is of:
            break
    return taken - 1
