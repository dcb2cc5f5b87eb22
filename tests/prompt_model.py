"""The passes of contract/prompt.md a second time, as naive as they can be: after each step all is rendered and counted anew.

Nothing of the reference is used: the text is made here, and whoever counts is asked through the faces of the library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from slm2.contract import Contract

Json = dict[str, Any]

PRESETS = {"agent": (4, 4, 1, 512, 1024, "allow", 4096), "conversation": (8, 4, 4, 512, 512, "allow", 2048)}
PRESETS["retrieval"] = (2, 16, 1, 512, 512, "allow", 1024)
FLOORS = ("keep_turns", "keep_chunks", "active_turns", "chunk_limit", "tool_limit", "sweep", "headroom")
WRAPPERS = ("evidence", "local_state", "history_truncated")
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


@dataclass
class Outcome:
    """What came out: ids, or None where the request was refused; the size then; and (pass, action, source, before, after) of each step."""

    ids: list[int] | None
    size: int
    steps: list[tuple[str, str, str, int, int]] = field(default_factory=list)


class Model:
    """One request, and what is left of it. Texts are bytes, so that a host's string is made UTF-8 once."""

    def __init__(self, contract: Contract, request: Json) -> None:
        self.contract = contract
        self.request = request
        self.turns: list[list[tuple[str, Json]]] = []
        for index, message in enumerate(request["history"]):
            if message["role"] == "user":
                self.turns.append([])
            self.turns[-1].append((f"history[{index}]", dict(message)))
        self.steps_of_request = [(f"steps[{index}]", dict(message)) for index, message in enumerate(request["steps"])]
        self.chunks = [{**chunk, "score": float(chunk["score"]), "escaped": escaped(chunk["text"])} for chunk in request["retrieved"]]
        self.facts = list(request["local_state"])
        self.out = 0
        self.marker = False
        self.cut: set[str] = set()

    def run(self) -> Outcome:
        """All steps, one after the other."""
        floors = self.request["degradation"]
        if isinstance(floors, str):
            floors = dict(zip(FLOORS, PRESETS[floors], strict=True))
        available = self.request["budget"]["context"] - self.request["budget"]["reserve"]
        outcome = Outcome(None, len(self.ids()))
        if floors is not None and outcome.size > available:
            aim = available
            while floors["headroom"] and aim > outcome.size - floors["headroom"] * -(-(outcome.size - available) // floors["headroom"]):
                aim -= 1
            while outcome.size > aim and self.step(floors, outcome):
                pass
            while outcome.size > available and floors["sweep"] == "allow" and self.swept(outcome):
                pass
        if outcome.size <= available:
            outcome.ids = self.ids()
        return outcome

    # ---- the steps ----

    def step(self, floors: Json, outcome: Outcome) -> bool:
        """The first thing that passes 1 to 4 allow now."""
        if len(self.turns) > floors["keep_turns"]:
            return self.told(outcome, "1", "drop_turn", self.drop_turns(1))
        if len(self.chunks) > floors["keep_chunks"]:
            return self.told(outcome, "2", "drop_chunk", self.drop_chunk())
        if len(self.turns) > floors["active_turns"]:
            self.marker = True
            return self.told(outcome, "3", "truncate_history", self.drop_turns(len(self.turns) - floors["active_turns"]))
        long = []
        for chunk in self.chunks:
            limit = min(chunk.get("limit") or floors["chunk_limit"], floors["chunk_limit"])
            count = self.count(chunk["escaped"])
            if count > limit and chunk["id"] not in self.cut:
                long.append((count, chunk["id"], limit, chunk))
        if long:
            _, name, limit, chunk = max(long, key=lambda row: row[:2])
            self.cut.add(name)
            chunk["escaped"] = self.shortened(chunk["escaped"], limit, escapes=True)
            return self.told(outcome, "4", "cut_chunk", f"retrieved[{name}].text")
        responses = []
        for place, (path, message) in enumerate([*(message for turn in self.turns for message in turn), *self.steps_of_request]):
            if message["role"] == "tool" and path not in self.cut and self.count(message["content"]) > floors["tool_limit"]:
                responses.append((self.count(message["content"]), -place, path, message))
        if responses:
            _, _, path, message = max(responses, key=lambda row: row[:2])
            self.cut.add(path)
            message["content"] = self.shortened(message["content"], floors["tool_limit"], escapes=False)
            return self.told(outcome, "4", "cut_tool_response", f"{path}.content")
        return False

    def swept(self, outcome: Outcome) -> bool:
        """The next item, whatever the floors."""
        if self.turns:
            self.marker = True
            return self.told(outcome, "sweep", "drop_turn", self.drop_turns(1))
        if self.chunks:
            return self.told(outcome, "sweep", "drop_chunk", self.drop_chunk())
        if self.facts:
            lowest = min(fact["priority"] for fact in self.facts)
            fact = max((fact for fact in self.facts if fact["priority"] == lowest), key=lambda fact: fact["name"])
            self.facts.remove(fact)
            return self.told(outcome, "sweep", "drop_fact", f"local_state[{fact['name']}]")
        return False

    def told(self, outcome: Outcome, name: str, action: str, source: str) -> bool:
        before, outcome.size = outcome.size, len(self.ids())
        outcome.steps.append((name, action, source, before, outcome.size))
        return True

    def drop_turns(self, count: int) -> str:
        path = self.turns[0][0][0]
        del self.turns[:count]
        self.out += count
        return path

    def drop_chunk(self) -> str:
        lowest = min(chunk["score"] for chunk in self.chunks)
        chunk = max((chunk for chunk in self.chunks if chunk["score"] == lowest), key=lambda chunk: chunk["id"])
        self.chunks.remove(chunk)
        return f"retrieved[{chunk['id']}]"

    # ---- text ----

    def ids(self) -> list[int]:
        """The whole prompt of what is left."""
        system = self.request["policy"]
        facts = sorted(self.facts, key=lambda fact: fact["name"])
        facts.sort(key=lambda fact: fact["priority"], reverse=True)
        if facts:
            system += "\n\n<local_state>\n" + "".join(f"{fact['name']}: {escaped(fact['value'])}\n" for fact in facts) + "</local_state>"
        if self.marker:
            system += f'\n\n<history_truncated turns="{self.out}"/>'
        chunks = sorted(self.chunks, key=lambda chunk: chunk["id"])
        chunks.sort(key=lambda chunk: chunk["score"], reverse=True)
        user = "".join(f'<evidence id="{chunk["id"]}" source="{chunk["source"]}">\n{chunk["escaped"]}\n</evidence>\n\n' for chunk in chunks)
        messages = [message for turn in self.turns for _, message in turn]
        messages = [{"role": "system", "content": system}, *messages, {"role": "user", "content": user + self.request["user_turn"]}]
        messages += [message for _, message in self.steps_of_request]
        options = self.request.get("options") or {}
        asked = {
            "messages": messages,
            "tools": self.request.get("tools"),
            "enable_thinking": options.get("enable_thinking", True),
            "preserve_thinking": options.get("preserve_thinking", False),
            "add_generation_prompt": True,
        }
        return self.contract.template.render_request(asked).input_ids

    def count(self, text: str) -> int:
        return self.contract.tokenizer.count(text)

    def shortened(self, text: str, limit: int, *, escapes: bool) -> str:
        """P-67, tried from the last token on."""
        data = as_utf8(text)
        spans = self.contract.tokenizer.encode_spans(text, unit="bytes")
        inside = {at + step for at in range(len(data)) if data.startswith(b"&lt;", at) for step in (1, 2, 3)} if escapes else set()
        # What was given as &lt; is no escape.
        inside -= {place for place in inside if not is_escape(data, place)}
        at = 0
        for number in range(limit - self.count("\n[cut]"), 0, -1):
            end = max(span[2] for span in spans[:number])
            apart = all(span[1] >= end for span in spans[number:])
            if apart and end not in inside and (end == len(data) or data[end] & 0xC0 != 0x80):
                at = end
                break
        lines = [end for end in range(max(at - at // 10, 1), at + 1) if data[end - 1 : end] == b"\n"]
        sentences = [end for end in range(max(at - at // 10, 1), at + 1) if ends_sentence(data, end)]
        return data[: max(lines or sentences or [at])].decode() + "\n[cut]"


def as_utf8(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def escaped(text: str) -> str:
    """P-45, letter by letter."""
    out = ""
    for at, char in enumerate(text):
        rest = text[at + 1 :].removeprefix("/")
        begins = any(rest[: len(name)].isascii() and rest[: len(name)].lower() == name for name in WRAPPERS)
        out += "&lt;" if char == "<" and begins else char
    return out


def is_escape(data: bytes, place: int) -> bool:
    """Whether the ``&lt;`` around a byte stands before the name of a wrapper, which is never so of one that was given."""
    start = data.rfind(b"&", 0, place)
    rest = data[start + 4 :].removeprefix(b"/")
    return any(rest[: len(name)].lower() == name.encode() for name in WRAPPERS)


def ends_sentence(data: bytes, end: int) -> bool:
    if data[:end].endswith(tuple(mark.encode() for mark in "。！？")):
        return True
    following = data[end : end + 4].decode("utf-8", "ignore")[:1]
    return data[end - 1 : end] in (b".", b"!", b"?") and following != "" and following in SPACES
