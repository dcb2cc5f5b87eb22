"""A chat as JSON, between two turns: its session, and where its generator stands under which configuration.

A session's own checkpoint (contract/template.md, M-106) knows no sampling: a chat that went on from it would draw again what its first
turns drew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from slm2.errors import Slm2Error
from slm2.reference.json_text import JsonValue, json_type, read_json, shown, write_json
from slm2.sampling import SamplingConfig

if TYPE_CHECKING:
    from slm2.contract import Contract
    from slm2.session import Session

__all__ = ["is_of_chat", "restored", "saved"]

_KIND = "slm2 chat 1"


def saved(session: bytes, config: SamplingConfig, generator_state: bytes | None) -> bytes:
    """A checkpoint.

    Args:
        session: the checkpoint of the session.
        config: with which the replies were drawn.
        generator_state: after the last of them; None where none was drawn.
    """
    state = None if generator_state is None else generator_state.hex()
    content = {"kind": _KIND, "config": config.to_dict(), "generator": state, "session": session.decode("utf-8")}
    text = write_json(content, "checkpoint")
    return f'{{"checkpoint": {text}, "sha256": "{_digest(text)}"}}\n'.encode()


def is_of_chat(data: bytes) -> bool:
    """Whether a checkpoint is of a chat, of whatever version, and not of a session alone.

    Raises:
        Slm2Error: ``json_invalid``, ``json_duplicate_key``, ``json_number``.
    """
    kind = _content(read_json(data)).get("kind")
    return isinstance(kind, str) and kind.startswith("slm2 chat ")


def restored(contract: Contract, config: SamplingConfig, data: bytes) -> tuple[Session, bytes | None]:
    """The session of a checkpoint, and the state of the generator.

    Raises:
        Slm2Error: ``checkpoint_refused`` where it is none of a chat, was changed, or its replies were drawn with another configuration;
            what its session or its generator's state is refused with; ``json_invalid``, ``json_duplicate_key``, ``json_number``.
    """
    document = read_json(data)
    content = _content(document)
    if content.get("kind") != _KIND:
        raise Slm2Error("checkpoint_refused", reason=f"it is no checkpoint of a chat of the kind {_KIND!r}")
    if not isinstance(document, Mapping) or document.get("sha256") != _digest(write_json(content, "checkpoint")):
        raise Slm2Error("checkpoint_refused", reason="it was changed after it was saved")
    session, state = content.get("session"), content.get("generator")
    if not isinstance(session, str) or not (state is None or (isinstance(state, str) and _is_hex(state))):
        raise Slm2Error("checkpoint_refused", reason="what it holds is no chat")
    _check_config(content.get("config"), config)
    generator_state = None if state is None else bytes.fromhex(state)
    if generator_state is not None:
        contract.sampler(config).restore(generator_state)
    return contract.restore_session(session.encode("utf-8")), generator_state


def _content(document: JsonValue) -> Mapping[str, JsonValue]:
    content = document.get("checkpoint") if isinstance(document, Mapping) else None
    return content if isinstance(content, Mapping) else {}


def _is_hex(text: str) -> bool:
    return len(text) % 2 == 0 and set(text) <= set("0123456789abcdef")


def _check_config(recorded: JsonValue, config: SamplingConfig) -> None:
    """Refuse another configuration: its seed and its settings would stand for draws that they did not decide."""
    given = config.to_dict()
    if not isinstance(recorded, Mapping):
        raise Slm2Error("checkpoint_refused", reason=f"its configuration is of the type {json_type(recorded)}")
    for name in (*given, *recorded):
        if recorded.get(name) != given.get(name):
            before, now = (shown(write_json(values.get(name), "config")) for values in (recorded, given))
            reason = f"its replies were drawn with another configuration: {shown(name)} was {before}, and {now} came; go on with the same"
            raise Slm2Error("checkpoint_refused", reason=reason)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
