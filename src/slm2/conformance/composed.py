"""The messages that a request of Prompt2 stands for, written out for programs that have no Prompt2 (contract/prompt.md, P-40 to P-45).

It takes requests that are in order, and the steps of a ledger where they were not within their budget. It shares nothing with the
assembler: it is what an application that has transformers alone would write, so that transformers can be asked what the ids are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["composed"]

_WRAPPERS = ("evidence", "local_state", "history_truncated")
_CUT = "\n[cut]"


def composed(request: Mapping[str, Any], steps: Sequence[Mapping[str, Any]] = ()) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Messages and options of the template.

    Args:
        request: of Prompt2.
        steps: what was given up, as a ledger tells it.
    """
    gone = {step["source"] for step in steps if step["action"] in ("drop_chunk", "drop_fact")}
    cuts = {step["source"]: step["kept_bytes"] for step in steps if step["action"].startswith("cut_")}
    facts = [fact for fact in request.get("local_state") or [] if f"local_state[{fact['name']}]" not in gone]
    passages = [passage for passage in request.get("retrieved") or [] if f"retrieved[{passage['id']}]" not in gone]
    facts.sort(key=lambda fact: (-fact["priority"], fact["name"].encode()))
    passages.sort(key=lambda passage: (-passage["score"], passage["id"].encode()))
    system = request["policy"]
    if facts:
        lines = "".join(f"{fact['name']}: {_escaped(fact['value'])}\n" for fact in facts)
        system += f"\n\n<local_state>\n{lines}</local_state>"
    history = _shortened(request, "history", cuts)
    out = history[: sum(step["messages"] for step in steps)]
    if any(step["pass"] in ("3", "sweep") and step["messages"] for step in steps):
        system += f'\n\n<history_truncated turns="{sum(message["role"] == "user" for message in out)}"/>'
    evidence = "".join(_evidence(passage, cuts.get(f"retrieved[{passage['id']}].text")) for passage in passages)
    messages = [{"role": "system", "content": system}, *history[len(out) :]]
    messages += [{"role": "user", "content": evidence + request["user_turn"]}, *_shortened(request, "steps", cuts)]
    thinking = (request.get("options") or {}).get("enable_thinking")
    return messages, {"tools": request.get("tools"), "enable_thinking": thinking is not False, "add_generation_prompt": True}


def _shortened(request: Mapping[str, Any], name: str, cuts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The messages of a list, responses that were cut with what is left of them."""
    messages = []
    for index, message in enumerate(request.get(name) or []):
        kept = cuts.get(f"{name}[{index}].content")
        messages.append(message if kept is None else {**message, "content": _beginning(message["content"], kept) + _CUT})
    return messages


def _evidence(passage: Mapping[str, Any], kept: int | None) -> str:
    head = f'<evidence id="{passage["id"]}" source="{passage["source"]}">'
    text = _escaped(passage["text"], kept) + ("" if kept is None else _CUT)
    return f"{head}\n{text}\n</evidence>\n\n"


def _beginning(text: str, kept: int | None) -> str:
    """So many bytes of a text."""
    return text if kept is None else text.encode("utf-8", "replace")[:kept].decode("utf-8")


def _escaped(text: str, kept: int | None = None) -> str:
    """The beginning of a text, what begins a wrapper in the whole of it escaped."""
    out, at, end = "", 0, len(_beginning(text, kept))
    while 0 <= (found := text.find("<", at)) < end:
        rest = text[found + 1 : found + 20].removeprefix("/")
        starts = any(rest[: len(name)].isascii() and rest[: len(name)].lower() == name for name in _WRAPPERS)
        out += text[at:found] + ("&lt;" if starts else "<")
        at = found + 1
    return out + text[at:end]
