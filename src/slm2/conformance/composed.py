"""The messages that a request of Prompt2 stands for, written out for programs that have no Prompt2 (contract/prompt.md, P-40 to P-45).

It takes requests that are in order and within their budget, and shares nothing with the assembler: it is what an application that has
transformers alone would write, so that transformers can be asked what the ids are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["composed"]

_WRAPPERS = ("evidence", "local_state", "history_truncated")


def composed(request: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Messages and options of the template."""
    system = request["policy"]
    facts = sorted(request.get("local_state") or [], key=lambda fact: (-fact["priority"], fact["name"].encode()))
    if facts:
        lines = "".join(f"{fact['name']}: {_escaped(fact['value'])}\n" for fact in facts)
        system += f"\n\n<local_state>\n{lines}</local_state>"
    passages = sorted(request.get("retrieved") or [], key=lambda passage: (-passage["score"], passage["id"].encode()))
    evidence = "".join(map(_evidence, passages))
    messages = [{"role": "system", "content": system}, *(request.get("history") or [])]
    messages += [{"role": "user", "content": evidence + request["user_turn"]}, *(request.get("steps") or [])]
    thinking = (request.get("options") or {}).get("enable_thinking")
    return messages, {"tools": request.get("tools"), "enable_thinking": thinking is not False, "add_generation_prompt": True}


def _evidence(passage: Mapping[str, Any]) -> str:
    head = f'<evidence id="{passage["id"]}" source="{passage["source"]}">'
    return f"{head}\n{_escaped(passage['text'])}\n</evidence>\n\n"


def _escaped(text: str) -> str:
    out, at = "", 0
    while (found := text.find("<", at)) >= 0:
        rest = text[found + 1 : found + 20].removeprefix("/")
        starts = any(rest[: len(name)].isascii() and rest[: len(name)].lower() == name for name in _WRAPPERS)
        out += text[at:found] + ("&lt;" if starts else "<")
        at = found + 1
    return out + text[at:]
