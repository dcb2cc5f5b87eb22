"""A session as JSON that names what it belongs to (contract/template.md, M-106), and the session behind the protocol of engines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from slm2.artifact import PROFILES, Artifact
from slm2.errors import Slm2Error
from slm2.reference.json_text import read_json, shown, write_json
from slm2.reference.messages import parse
from slm2.reference.session import Record, SessionCore, State, read_reply, texts
from slm2.reference.session_chunks import Chunk, end_of
from slm2.reference.tokenizer import Settings

__all__ = ["restored", "saved"]

_KIND = "slm2 session 1"
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, Slm2Error)


def saved(core: SessionCore, state: State) -> bytes:
    """A checkpoint."""
    text = _content(core, state)
    return f'{{"checkpoint": {text}, "sha256": "{_digest(text)}"}}\n'.encode()


def restored(artifact: Artifact, max_pretoken: int, data: bytes) -> tuple[SessionCore, State]:
    """What a checkpoint says.

    Raises:
        Slm2Error: ``checkpoint_refused``; ``json_invalid``, ``json_duplicate_key``, ``json_number``; ``no_template``.
    """
    if artifact.program is None:
        raise Slm2Error("no_template", digest=artifact.semantic_digest)
    document = read_json(data)
    content = document.get("checkpoint") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(content, dict) or content.get("kind") != _KIND:
        raise Slm2Error("checkpoint_refused", reason="it is no checkpoint of a session")
    text = write_json(content, "checkpoint")
    if document.get("sha256") != _digest(text):
        raise Slm2Error("checkpoint_refused", reason="it was changed after it was saved")
    named = content.get("semantic_digest")
    if named != artifact.semantic_digest:
        raise Slm2Error("checkpoint_refused", reason=f"it belongs to the artifact {shown(named)}")
    try:
        core, state = _session(artifact, max_pretoken, content)
        # What is not said in the form in which it is saved says something else than it seems to.
        is_canonical = _content(core, state) == text
    except _BROKEN:
        is_canonical = False
    if not is_canonical:
        raise Slm2Error("checkpoint_refused", reason="what it holds is no conversation of a session")
    return core, state


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _content(core: SessionCore, state: State) -> str:
    """The members in their order, as M-37 writes them; messages and tools are written already."""
    records = state.records or {}
    members = {
        "kind": write_json(_KIND, ""),
        "semantic_digest": write_json(core.artifact.semantic_digest, ""),
        "profile": write_json(core.profile, ""),
        "enable_thinking": write_json(core.options.enable_thinking, ""),
        "preserve_thinking": write_json(core.options.preserve_thinking, ""),
        "tools": f"[{', '.join(tool.text for tool in core.tools)}]",
        "messages": f"[{', '.join(state.given)}]",
        "records": write_json({str(at): [one.head, one.ids, one.ended, one.state] for at, one in sorted(records.items())}, ""),
        "cached": write_json([[chunk.message, chunk.ids, chunk.reasons, chunk.waits] for chunk in state.cached], ""),
        "state": write_json(state.waiting, ""),
    }
    return "{" + ", ".join(f'"{name}": {text}' for name, text in members.items()) + "}"


def _session(artifact: Artifact, max_pretoken: int, content: Mapping[str, Any]) -> tuple[SessionCore, State]:
    """A conversation, or any of :data:`_BROKEN`; what is said in another form than that of a checkpoint may pass."""
    thinking, preserve = content["enable_thinking"], content["preserve_thinking"]
    if content["profile"] not in PROFILES or not isinstance(preserve, bool) or not (thinking is None or isinstance(thinking, bool)):
        raise ValueError("options")
    settings = Settings(artifact, content["profile"], max_pretoken)
    core = SessionCore(settings, content["tools"], enable_thinking=thinking, preserve_thinking=preserve)
    given = texts(content["messages"], "messages")
    records: dict[int, Record] = {}
    for key, (head, said, _, state) in content["records"].items():
        index, ids = int(key), _ids(artifact, said)
        read = read_reply(artifact, core.program, state, ids, index)
        if not ids or index < 0 or read.text != given[index]:
            raise ValueError("records")
        records[index] = Record(_ids(artifact, head), ids, read.ended, state)
    cached: list[Chunk] = []
    for message, ids, reasons, waits in content["cached"]:
        if type(message) is not int or not 0 <= message <= len(given) or not isinstance(reasons, bool) or not isinstance(waits, bool):
            raise ValueError("cached")
        taken = _ids(artifact, ids)
        cached.append(Chunk(message, taken, 0, (), reasons, end_of(cached) + len(taken), waits))
    waiting = content["state"]
    # A prompt waits for its reply where its head is the last of what is cached, and nowhere else.
    expected = [] if waiting is None else [len(cached) - 1]
    if [at for at, chunk in enumerate(cached) if chunk.waits] != expected or not (waiting is None or waiting in core.program.states):
        raise ValueError("state")
    messages = tuple(parse(content["messages"]))
    state = State(given, messages, records, cached=tuple(cached), waiting=waiting)
    return core, replace(state, chunks=core.composed(state, messages, core.options)[0])


def _ids(artifact: Artifact, values: Sequence[Any]) -> tuple[int, ...]:
    """Ids, each of which has a token."""
    for value in values:
        if type(value) is not int or not (0 <= value < len(artifact.tokens) or value in artifact.special_text):
            raise ValueError("ids")
    return tuple(values)
