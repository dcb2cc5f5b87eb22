"""A conversation that keeps its cache: messages in, what to keep and what to append out (contract/template.md, M-100 to M-107).

A session computes what the template makes of the messages that are new or have changed, and nothing before them. Its state is one
immutable value that a call replaces when all is done: a call that fails or is cancelled leaves the session as it was.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Literal

from slm2.artifact import Artifact, Profile, Program
from slm2.errors import Slm2Error
from slm2.reference import tokenizer
from slm2.reference.events import Conversation, Event, Options, last_query, of_end, of_message, of_tools
from slm2.reference.json_text import write_json
from slm2.reference.messages import Message, parse, parse_tools
from slm2.reference.pieces import Fragment
from slm2.reference.reply import ReplyEvent, ReplyReader
from slm2.reference.session_chunks import NO_CHUNKS, Chunk, ChunkBuilder, Chunks, Encode, IdMachine, end_of

__all__ = ["Delta", "Loss", "LossReason", "ReadReply", "Record", "SessionCore", "State", "read_reply", "texts"]

LossReason = Literal["reasoning", "rewritten", "generation_prompt", "later"]

# Arrays and objects of a checkpoint around a message or a tool, which count for how deep these may nest (M-31).
_AROUND = 3


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
    reason: LossReason


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
class Record:
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
class State:
    """All that a session knows.

    Attributes:
        given: messages as JSON, as they were given; replies as they were read.
        messages: the same as they were parsed.
        records: replies by their ids.
        chunks: ids of messages, without those of a reply that came last.
        cached: what the cache holds.
        waiting: the state in which the prompt ended that waits for a reply, by name; None where none does.
    """

    given: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    records: Mapping[int, Record] | None = None
    chunks: Chunks = NO_CHUNKS
    cached: tuple[Chunk, ...] = ()
    waiting: str | None = None

    def record(self, index: int) -> Record | None:
        """The ids of a message, where it is a reply that came by them."""
        return None if self.records is None else self.records.get(index)


@dataclass(frozen=True, slots=True)
class ReadReply:
    """A reply that was read to its end.

    Attributes:
        events: what it says.
        ended: whether it has the end of its turn itself.
        text: its message as JSON.
        message: the same as it was parsed.
    """

    events: list[ReplyEvent]
    ended: bool
    text: str
    message: Message


class SessionCore:
    """One conversation over one artifact and one profile; what stays for its life, and the way from one state to the next.

    Attributes:
        artifact: whose template it is.
        profile: in which text is encoded.
        program: the template.
        tools: JSON of each.
        options: of its prompts.
    """

    def __init__(self, settings: tokenizer.Settings, tools: object, *, enable_thinking: bool | None, preserve_thinking: bool) -> None:
        """An empty conversation.

        Raises:
            Slm2Error: ``no_template``, what tools are refused with (M-21), also those that nest too deeply for a checkpoint (M-106).
        """
        artifact = settings.artifact
        if artifact.program is None:
            raise Slm2Error("no_template", digest=artifact.semantic_digest)
        self.artifact: Artifact = artifact
        self.profile: Profile = settings.profile
        self.program: Program = artifact.program
        self.tools = parse_tools(tools)
        texts(tools, "tools")
        self.options = Options(enable_thinking=enable_thinking, add_generation_prompt=True, preserve_thinking=preserve_thinking)
        self.machine = IdMachine(self.program, artifact.special)
        self.encode: Encode = partial(tokenizer.encode, settings)

    def extended(self, old: State, given: object, enable_thinking: bool | None) -> tuple[State, Delta]:
        """After more messages, with a prompt that waits for a reply."""
        options = self.options if enable_thinking is None else replace(self.options, enable_thinking=enable_thinking)
        fresh = parse(given, first=len(old.messages))
        written = texts(given, "messages", len(old.messages))
        messages = (*old.messages, *fresh)
        chunks, builder = self.composed(old, messages, options)
        walk = Conversation(self.program, options, len(self.tools), len(messages), chunks.query, [])
        ids = builder.ids_of(of_end(walk), messages)
        end = Chunk(len(messages), ids, builder.state, (), False, end_of(chunks.all) + len(ids), waits=True)
        waiting = self.program.states[builder.state]
        state = State((*old.given, *written), messages, old.records, chunks, (*chunks.all, end), waiting)
        return state, self._delta(old, state)

    def replied(self, old: State, ids: Sequence[int]) -> tuple[State, list[ReplyEvent]]:
        """After a reply by its ids."""
        if old.waiting is None or not ids:
            raise Slm2Error("no_prompt")
        index = len(old.messages)
        read = read_reply(self.artifact, self.program, old.waiting, ids, index)
        head = old.cached[-1]
        whole = Chunk(index, (*head.ids, *ids), head.before, (), True, head.end + len(ids))
        record = Record(head.ids, tuple(ids), read.ended, old.waiting)
        state = replace(
            old,
            given=(*old.given, read.text),
            messages=(*old.messages, read.message),
            records={**(old.records or {}), index: record},
            cached=(*old.cached[:-1], whole),
            waiting=None,
        )
        return state, read.events

    def settled(self, old: State) -> tuple[State, Delta]:
        """The prompt up to the last turn in the form that it has once a user turn follows."""
        question = Message("user", (Fragment("", "application", "settled"),))
        chunks, _ = self.composed(old, (*old.messages, question), self.options)
        settled = tuple(chunk for chunk in chunks.all if chunk.message < len(old.messages))
        state = replace(old, cached=settled, waiting=None)
        return state, self._delta(old, state)

    def composed(self, old: State, messages: Sequence[Message], options: Options) -> tuple[Chunks, ChunkBuilder]:
        """Chunks of all messages, those that did not change as they were, and what built them, which stands after the last one."""
        query = last_query(self.program, messages)
        kept, start, machine, unanswered = old.chunks.kept(self.machine, messages, query, options.enable_thinking)
        walk = Conversation(self.program, options, len(self.tools), len(messages), query, list(unanswered))
        builder = ChunkBuilder(self.encode, self.machine, machine, kept)
        for index in range(start, len(messages)):
            builder.begin(index, tuple(walk.unanswered))
            events = self._events(walk, messages, index)
            record = old.record(index) if options.preserve_thinking else None
            if record is None:
                builder.take(events, messages)
            else:
                builder.take_record(list(events), messages, (*record.head, *record.ids), ended=record.ended)
        return builder.finished(walk), builder

    def _events(self, walk: Conversation, messages: Sequence[Message], index: int) -> Iterable[Event]:
        """Of one message; those of the tools stand with the first one."""
        events = of_message(walk, messages, index)
        if index or not self.tools:
            return events
        has_system = messages[0].role == "system"
        schemas = of_tools(self.tools, has_system=has_system)
        return chain(events, schemas) if has_system else chain(schemas, events)

    def _delta(self, old: State, new: State) -> Delta:
        """The common prefix of what was cached and what is to be there."""
        count = min(len(old.cached), len(new.cached))
        # Chunks that were not computed anew are the same objects, up to the first one that was.
        same = bisect_left(range(count), True, key=lambda at: old.cached[at] is not new.cached[at])
        while same < count and old.cached[same].ids == new.cached[same].ids:
            same += 1
        before = list(chain.from_iterable([chunk.ids for chunk in old.cached[same:]]))
        after = list(chain.from_iterable([chunk.ids for chunk in new.cached[same:]]))
        common = 0
        for left, right in zip(before, after, strict=False):
            if left != right:
                break
            common += 1
        keep = end_of(old.cached[:same]) + common
        return Delta(keep, after[common:], _lost(old.cached[same:], new.cached, common), new.waiting or self.program.states[0])


def texts(array: object, path: str, first: int = 0) -> tuple[str, ...]:
    """JSON of each element of an array; a session keeps nothing that a checkpoint could not hold (M-106).

    Raises:
        Slm2Error: what JSON values are refused with.
    """
    if not isinstance(array, list | tuple):
        return ()
    return tuple(write_json(element, f"{path}[{index}]", _AROUND) for index, element in enumerate(array, start=first))


def read_reply(artifact: Artifact, program: Program, state: str, ids: Sequence[int], index: int) -> ReadReply:
    """A whole reply, whose structural ids have business where they stand, as the message of an index.

    Raises:
        Slm2Error: ``reply_refused``, ``ill_formed_text``, ``token_id_out_of_range``, ``invalid_value``.
    """
    reader = ReplyReader(artifact, program, state)
    events = reader.push(ids)
    for event in events:
        if event.kind == "ill_formed":
            raise Slm2Error("ill_formed_text", position=len(ids), id=ids[-1], text="", pending=event.text)
        if event.kind == "unexpected":
            raise Slm2Error("reply_refused", position=_position(events, event), id=event.ids[-1])
    # Ids after a scalar value that is still open are no text either.
    events = [*events, *reader.finish()]
    if events[-1].kind == "ill_formed":
        raise Slm2Error("ill_formed_text", position=len(ids), id=ids[-1], text="", pending=events[-1].text)
    ended = any(event.kind == "end" and event.reason == "end_turn" for event in events)
    message = reader.message
    return ReadReply(events, ended, texts([message], "messages", index)[0], parse([message], first=index)[0])


def _position(events: Sequence[ReplyEvent], of: ReplyEvent) -> int:
    """Where in the reply the last id of an event stands."""
    taken = 0
    for event in events:
        taken += len(event.ids)
        if event is of:
            break
    return taken - 1


def _lost(old: Sequence[Chunk], new: Sequence[Chunk], common: int) -> list[Loss]:
    """Of which turns something was cut off, and why: what the first one lost is the reason of its own."""
    losses: list[Loss] = []
    at = 0
    for chunk in old:
        end = at + len(chunk.ids)
        if end > common:
            losses.append(Loss(chunk.message, end - max(at, common), "later" if losses else _reason(chunk, new)))
        at = end
    return losses


def _reason(before: Chunk, new: Sequence[Chunk]) -> LossReason:
    """Why a turn's ids are others now."""
    if before.waits:
        return "generation_prompt"
    now = next((chunk for chunk in reversed(new) if chunk.message <= before.message), None)
    return "reasoning" if before.reasons and not (now is not None and now.reasons) else "rewritten"
