"""An engine of this process as a testee: the faces of the library answer each operation of the vectors (contract/conformance.md)."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

from slm2.artifact import Profile
from slm2.conformance import bulk, sampling
from slm2.conformance.suite import Outcome, Vector
from slm2.conformance.verdict import canonical
from slm2.contract import Contract
from slm2.engine import Engine
from slm2.errors import Slm2Error
from slm2.prompt import Assembly
from slm2.reference.json_text import read_json
from slm2.reference.rendering import Token
from slm2.reply import ReplyEvent
from slm2.session import Session

__all__ = ["OPERATIONS", "InProcess", "input_text"]


class InProcess:
    """An engine of this process behind the faces of the library.

    Attributes:
        contract: opened with a limit (None: that of the engine itself) and a profile, once for each of both.
    """

    def __init__(self, engine: Engine, limited: Callable[[int], Engine]) -> None:
        """Put an engine behind the testee.

        Args:
            engine: what answers.
            limited: opens the same with another ``max_pretoken``, for the vectors that have one.
        """
        opened = cache(lambda limit: engine if limit is None else limited(limit))
        self.contract: Callable[[int | None, Profile], Contract] = cache(lambda limit, profile: Contract(opened(limit), profile))

    def answer(self, vector: Vector, profile: Profile) -> Outcome:
        """The library's answer; whatever else an engine throws is an answer too, and never the expected one."""
        try:
            outcome = {"expect": OPERATIONS[vector["op"]](self.contract(vector.get("max_pretoken"), profile), vector)}
            canonical(outcome)
        except Slm2Error as error:
            return {"error": {"code": error.code, "fields": error.fields}}
        except Exception as error:
            return {"exception": repr(error)}
        return outcome


def input_text(vector: Vector) -> str | bytes:
    """The text of a vector: as a host's string, or as bytes where these need not be UTF-8."""
    if "base64" in vector:
        return base64.b64decode(vector["base64"], validate=True)
    if "utf16" in vector:
        # One character for each unit: a str of Python can hold even a pair of surrogates as two (T-2).
        return "".join(map(chr, vector["utf16"]))
    text: str = vector["text"]
    return text


def output_text(data: bytes) -> Outcome:
    """Bytes in a result: ``text`` where they are well-formed UTF-8, else ``base64``."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _on_special(vector: Vector) -> Any:  # noqa: ANN401  (a word that the face checks)
    return vector.get("on_special", "literal")


def _encode(contract: Contract, vector: Vector) -> Outcome:
    return {"ids": contract.tokenizer.encode(input_text(vector), on_special=_on_special(vector))}


def _encode_spans(contract: Contract, vector: Vector) -> Outcome:
    unit: Any = vector.get("unit", "bytes")
    return {"spans": contract.tokenizer.encode_spans(input_text(vector), unit=unit, on_special=_on_special(vector))}


def _encode_into(contract: Contract, vector: Vector) -> Outcome:
    """The memory holds no id before, so that what must stay as it was is seen."""
    out = array("I", [bulk.NO_ID]) * vector["room"]
    count = contract.tokenizer.encode_into(input_text(vector), out)
    return {"count": count, "out": [None if token_id == bulk.NO_ID else token_id for token_id in out]}


def _count(contract: Contract, vector: Vector) -> Outcome:
    return {"count": contract.tokenizer.count(input_text(vector))}


def _count_until(contract: Contract, vector: Vector) -> Outcome:
    return {"count": contract.tokenizer.count_until(input_text(vector), vector["limit"])}


def _chunks(contract: Contract, vector: Vector) -> Outcome:
    """Every call has an outcome of its own, the end too."""
    chunks = contract.tokenizer.chunks()

    def call(part: Any) -> Outcome:  # noqa: ANN401  (a text, or a word)
        ids = chunks.finish() if part == "finish" else chunks.push(input_text(part))
        return {"ids": ids, "pending": chunks.pending}

    return {"calls": [_outcome(call, part) for part in vector["parts"]]}


def _append(contract: Contract, vector: Vector) -> Outcome:
    """Every call has an outcome of its own, and the text all its ids at the end."""
    text = contract.tokenizer.encoded_text()
    calls = [_outcome(lambda part: text.append(input_text(part))._asdict(), part) for part in vector["parts"]]
    return {"calls": calls, "ids": text.ids}


def _outcome(call: Callable[[Any], Outcome], argument: object) -> Outcome:
    try:
        return call(argument)
    except Slm2Error as error:
        return {"error": {"code": error.code, "fields": error.fields}}


def _encode_trusted(contract: Contract, vector: Vector) -> Outcome:
    return {"ids": contract.tokenizer.encode_trusted(input_text(vector))}


def _find_special(contract: Contract, vector: Vector) -> Outcome:
    return {"findings": [asdict(finding) for finding in contract.tokenizer.find_special(input_text(vector))]}


def _decode(contract: Contract, vector: Vector) -> Outcome:
    return output_text(contract.tokenizer.decode(vector["ids"], special=vector["special"]))


def _token_bytes(contract: Contract, vector: Vector) -> Outcome:
    return output_text(contract.tokenizer.token_bytes(vector["token"]))


def _token_id(contract: Contract, vector: Vector) -> Outcome:
    text = input_text(vector)
    return {"token": contract.tokenizer.token_id(text.encode("utf-8") if isinstance(text, str) else text)}


def _stream(contract: Contract, vector: Vector) -> Outcome:
    """Every call has an outcome of its own, so that what comes after a failure is told too."""
    decoder = contract.stream_decoder(special=vector["special"])
    calls: list[Outcome] = []
    for call in vector["calls"]:
        outcome: Outcome = {}
        try:
            if call == "finish":
                decoder.finish()
            else:
                outcome["text"] = decoder.push(call)
        except Slm2Error as error:
            outcome["error"] = {"code": error.code, "fields": error.fields}
        calls.append({**outcome, "pending": decoder.pending.hex()})
    return {"calls": calls}


def _render(contract: Contract, vector: Vector) -> Outcome:
    rendering = contract.template.render_request(read_json(vector["request"]), on_special=_on_special(vector))
    return {
        "input_ids": rendering.input_ids,
        "text": rendering.text,
        "findings": [asdict(finding) for finding in rendering.findings],
        "dropped_reasoning": rendering.dropped_reasoning,
    }


def _render_tokens(contract: Contract, vector: Vector) -> Outcome:
    return {"tokens": [_row(token) for token in contract.template.render_request(read_json(vector["request"])).tokens]}


def _reply(contract: Contract, vector: Vector) -> Outcome:
    """As for streams, every call has an outcome of its own."""
    reply = contract.reply(vector["state"])
    calls: list[Outcome] = []
    for call in vector["calls"]:
        outcome: Outcome
        try:
            outcome = {"events": [_said(event) for event in (reply.finish() if call == "finish" else reply.push(call))]}
        except Slm2Error as error:
            outcome = {"error": {"code": error.code, "fields": error.fields}}
        calls.append({**outcome, "state": reply.state})
    return {"calls": calls}


def _said(event: ReplyEvent) -> Outcome:
    """An event without what is empty."""
    return {name: value for name, value in asdict(event).items() if value or name == "kind"}


def _session(contract: Contract, vector: Vector) -> Outcome:
    """Step by step; a refused one changes nothing."""
    session = contract.session(**vector["options"])
    steps: list[Outcome] = []
    for step in vector["steps"]:
        try:
            session, outcome = _step(contract, session, step)
        except Slm2Error as error:
            outcome = {"error": {"code": error.code, "fields": error.fields}}
        steps.append(outcome)
    return {"steps": steps}


def _step(contract: Contract, session: Session, step: Any) -> tuple[Session, Outcome]:  # noqa: ANN401  (a word or an object)
    """The session that goes on, and what the step gave."""
    if step == "save":
        return session, {"checkpoint": session.save().decode("utf-8")}
    if "restore" in step:
        restored = contract.restore_session(step["restore"].encode("utf-8"))
        return restored, {"cached": len(restored.cached_ids)}
    if "reply" in step:
        return session, {"events": [_said(event) for event in session.reply(step["reply"])]}
    if step in ("settle", "settled"):
        delta = session.settle() if step == "settle" else session.settled()
    else:
        delta = session.extend(step["extend"], enable_thinking=step.get("enable_thinking"))
    return session, {**asdict(delta), "lost": [[loss.message, loss.ids, loss.reason] for loss in delta.lost]}


def _assemble(contract: Contract, vector: Vector) -> Outcome:
    request: Any = read_json(vector["request"])
    assembly = contract.prompt.assemble(request, on_special=_on_special(vector)).to_dict()
    return {name: value for name, value in assembly.items() if name != "tokens"}


def _assemble_tokens(contract: Contract, vector: Vector) -> Outcome:
    request: Any = read_json(vector["request"])
    return {"tokens": [_row(token) for token in contract.prompt.assemble(request).tokens]}


def _prompt_delta(contract: Contract, vector: Vector) -> Outcome:
    """The prompt of one request against a cache that holds that of another, or nothing."""

    def assembled(text: str) -> Assembly:
        request: Any = read_json(text)
        return contract.prompt.assemble(request)

    before = vector["before"]
    return asdict(assembled(vector["request"]).delta([] if before is None else assembled(before).input_ids))


def _row(token: Token) -> list[object]:
    """A token and its origin, short: id, role, part, trust class, message, ranges."""
    return [token.id, token.role, token.part, token.trust, token.message, token.ranges]


OPERATIONS: dict[str, Callable[[Contract, Vector], Outcome]] = {
    "encode": _encode,
    "encode_spans": _encode_spans,
    "encode_into": _encode_into,
    "count": _count,
    "count_until": _count_until,
    "chunks": _chunks,
    "append": _append,
    "encode_trusted": _encode_trusted,
    "find_special": _find_special,
    "decode": _decode,
    "token_bytes": _token_bytes,
    "token_id": _token_id,
    "stream": _stream,
    "render": _render,
    "render_tokens": _render_tokens,
    "reply": _reply,
    "session": _session,
    "assemble": _assemble,
    "assemble_tokens": _assemble_tokens,
    "prompt_delta": _prompt_delta,
    **sampling.OPERATIONS,
    **bulk.OPERATIONS,
}
