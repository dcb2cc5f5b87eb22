"""Random conversations: well formed, with the text of special tokens in every field, and wild."""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Sequence

Conversation = tuple[list, dict]

# No two of them make the text of a special token, in any order; the tests assert it.
ATOMS = [
    *("hello", "Hello world", "The", "answer", "is", "x", "f", "_f", "don't", "we'LL", "'ſ", "SqlDataAdapter", "日本語", "中文", "한국어"),
    *(" ", "  ", "\n", "\n\n", "\n \n", "\r\n", "\r", "\t", " \n", "\u00a0", "\u2028", "\u3000", "\x85", "\x0b", "\x00", "\x1f", "\x7f"),
    *(".", "...", "!", "?!", ",", ":", "->", "# Policy", "====", "(", ")", "$", "{", "}", "}}", '"', "\\", "\\n", "'", "`", "/", "&lt;"),
    *("1", "1234", "3.14", "٣", "Ⅷ", "½", "é", "e\u0301", "\u0301", "ḍ\u0307", "x\u0898\u0334", "\U00011935\U00011930", "Å", "\u212b"),
    *("🙂", "👩\u200d👩\u200d👧", "🏳️\u200d🌈", "\u200b", "\ufeff", "שלום", "مرحبا", "\u202e", "\ud83d", "\ude00", "\U0010ffff", "\ufffd"),
    *('{"a": 1}', '{"ok": true}', "[1, 2]", "<p>", "</p>", "<tools>", "</tools>", "<evidence>"),
    *("<|im_end|", "|im_end|>", "<think", "</tool_call"),
]
FLOATS = [0.0, -0.0, 1.0, 0.1, 1e5, 1e15, 1e16, 1e22, 1e-4, 1e-5, 1e-7, 1e100, 5e-324, 1.7976931348623157e308, 2.5, -3.0, 123456789.125]
NAME_START = "abcxyzABC019_.-"
KEYS = ["a", "b", "c", "city", "10", "2", "", "ключ", "k\n", '"', "é", "e\u0301", "🙂", "<p>"]


def is_shape(text: str) -> bool:
    return text.startswith("<tool_response>") and text.endswith("</tool_response>")


class Source:
    """Draws conversations that the contract accepts; with ``specials``, their texts stand in callers' fields."""

    def __init__(self, seed: int, specials: Sequence[str] = ()) -> None:
        self.random = random.Random(seed)
        self.specials = list(specials)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def text(self, most: int = 6) -> str:
        parts = self.random.choices(ATOMS, k=self.random.randint(0, 60 if self.chance(0.02) else most))
        if self.specials and self.chance(0.5):
            for _ in range(self.random.randint(1, 3)):
                parts.insert(self.random.randint(0, len(parts)), self.random.choice(self.specials))
        return "".join(parts)

    def integer(self) -> int:
        return self.random.choice((1, -1)) * self.random.choice((0, 1, 7, 2**31, 2**53 + 1, 2**64, 10 ** self.random.randint(0, 60) + 1))

    def real(self) -> float:
        if self.chance(0.6):
            return self.random.choice(FLOATS)
        value = struct.unpack("<d", self.random.randbytes(8))[0]
        return value if abs(value) < float("inf") else 1.5  # also where it is NaN

    def value(self, depth: int = 0):
        kind = self.random.randint(0, 5 if depth > 3 else 8)
        if kind <= 1:
            return self.text(3)
        if kind <= 3:
            return self.integer() if kind == 2 else self.real()
        if kind == 4:
            return self.random.choice((True, False, None))
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.random.randint(0, 3))]
        return self.mapping(depth + 1)

    def key(self) -> str:
        return self.random.choice(self.specials if self.specials and self.chance(0.2) else KEYS)

    def mapping(self, depth: int = 0) -> dict:
        if depth > 4:
            return {}
        return {self.key(): self.value(depth) for _ in range(self.random.randint(0, 3))}

    def arguments(self):
        value = self.mapping()
        if self.chance(0.5):
            return value
        text = json.dumps(
            value,
            ensure_ascii=self.chance(0.3),
            separators=self.random.choice(((", ", ": "), (",", ":"), (" ,", ":\t"))),
            indent=self.random.choice((None, None, 2)),
        )
        return self.random.choice(("", "", " ", "\n")) + text + self.random.choice(("", "", "\n", " \r\n"))

    def call(self, identifier: str | None) -> dict:
        name = self.random.choice(NAME_START) + "".join(self.random.choices("abcdef_.-09", k=self.random.randint(0, 9)))
        function = {"name": name, "arguments": self.arguments()}
        call = {"type": "function", "function": function} if self.chance(0.5) else dict(function)
        if identifier is not None:
            call["id"] = identifier
        return call

    def user(self) -> dict:
        content = self.text()
        message = {"role": "user", "content": content + "." if is_shape(content) else content}
        if self.chance(0.1):
            message |= {"name": "bob", "id": "m1", "type": "message", "reasoning_content": None, "tool_calls": []}
        return message

    def assistant(self, calls: list[dict]) -> dict:
        message: dict = {"role": "assistant", "content": self.text()}
        if self.chance(0.4):
            message["reasoning_content"] = self.random.choice((self.text(), "", "\n", "\n\nR\n"))
        elif self.chance(0.2):
            inner, rest = (self.text().replace("think>", "thing>") for _ in range(2))
            message["content"] = f"<think>\n{inner}\n</think>\n\n{rest}"
        elif "</think>" in message["content"]:
            message["reasoning_content"] = self.text()
        elif self.chance(0.2):
            message["reasoning_content"] = None
        if calls:
            message["tool_calls"] = calls
            if message.get("reasoning_content") is not None and self.chance(0.3):
                message["content"] = None
            elif self.chance(0.2):
                message["content"] = "\n"
            elif self.chance(0.1):
                del message["content"]
        return message

    def step(self) -> list[dict]:
        """An assistant message with calls and the answers to some of them."""
        with_ids = self.chance(0.5)
        calls = [self.call(f"call_{number}" if with_ids else None) for number in range(self.random.randint(1, 3))]
        answers = []
        for number in range(self.random.choice((len(calls), len(calls), self.random.randint(0, len(calls))))):
            answers.append({"role": "tool", "content": self.text()})
            if with_ids and self.chance(0.7):
                answers[-1]["tool_call_id"] = f"call_{number}"
        return [self.assistant(calls), *answers]

    def messages(self) -> list[dict]:
        messages = [{"role": "system", "content": self.text()}] if self.chance(0.5) else []
        for _ in range(self.random.randint(1, 4)):
            messages.append(self.user())
            for _ in range(self.random.choice((0, 0, 1, 2))):
                if messages[-1]["role"] in ("user", "tool"):
                    messages += self.step()
            if messages[-1]["role"] in ("user", "tool"):
                messages.append(self.assistant([]))
        for _ in range(self.random.randint(0, 2)):
            if sum(message["role"] == "user" for message in messages[:-1]):
                messages.pop()
        return messages

    def options(self, messages: list[dict]) -> dict:
        options: dict = {}
        if self.chance(0.4):
            options["tools"] = [
                {"type": "function", "function": {"name": "f", "description": self.text(), "parameters": self.mapping()}}
                if self.chance(0.6)
                else self.mapping()
                for _ in range(self.random.randint(0, 3))
            ]
        if self.chance(0.6):
            options["enable_thinking"] = self.random.choice((True, False, None))
        options["add_generation_prompt"] = messages[-1]["role"] != "assistant" and self.chance(0.7)
        return options

    def conversation(self) -> Conversation:
        messages = self.messages()
        return messages, self.options(messages)

    def wild(self) -> Conversation:
        """A conversation with none to three faults; some faults do no harm."""
        messages, options = copy.deepcopy(self.conversation())
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            if messages and self.chance(0.9):
                self.random.choice(FAULTS)(self, messages)
            else:
                options[self.random.choice(("enable_thinking", "tools", "add_generation_prompt"))] = self.random.choice(
                    ([], 0, 1, "false", True, False, ["x"], [{"a": 1}, None], {"a": 1})
                )
        return messages, options


def reordered(source: Source, messages: list) -> None:
    source.random.shuffle(messages)


def dropped(source: Source, messages: list) -> None:
    del messages[source.random.randrange(len(messages))]


def repeated(source: Source, messages: list) -> None:
    at = source.random.randrange(len(messages))
    messages.insert(at, copy.deepcopy(messages[at]))


def emptied(source: Source, messages: list) -> None:
    if source.chance(0.2):
        messages.clear()


def content_changed(source: Source, messages: list) -> None:
    source.random.choice(messages)["content"] = source.random.choice(
        (None, 5, [], {"a": 1}, [{"type": "text", "text": "x"}], [{"type": "image_url", "image_url": {}}], "", "\n", source.text())
    )


def think_put_in(source: Source, messages: list) -> None:
    tags = ("<think>", "</think>", "\n</think>\n\n", "<think>\n", "<think>\n\n</think>\n\n", "a", "\n")
    source.random.choice(messages)["content"] = "".join(source.random.choices(tags, k=source.random.randint(1, 4)))


def shape_put_in(source: Source, messages: list) -> None:
    message = source.random.choice(messages)
    message["content"] = source.random.choice(("", " ")) + "<tool_response>\nr\n</tool_response>" + source.random.choice(("", "\n"))


def role_changed(source: Source, messages: list) -> None:
    roles = ("system", "user", "assistant", "tool", "user", "assistant", "tool", "developer", "User", "function", None, 7)
    source.random.choice(messages)["role"] = source.random.choice(roles)


def key_added(source: Source, messages: list) -> None:
    key = source.random.choice(("name", "id", "type", "tool_call_id", "reasoning", "thinking", "refusal", "extra", "tool_calls"))
    source.random.choice(messages)[key] = source.random.choice((None, [], "x", 3, [{"name": "f", "arguments": {}}]))


def reasoning_changed(source: Source, messages: list) -> None:
    source.random.choice(messages)["reasoning_content"] = source.random.choice((None, "", "R", "\n", ["R"], 5))


def call_changed(source: Source, messages: list) -> None:
    lists = [message["tool_calls"] for message in messages if isinstance(message.get("tool_calls"), list)]
    calls = [call for calls in lists for call in calls]
    if calls:
        call = source.random.choice(calls)
        function = call.get("function")
        target = function if isinstance(function, dict) and function else call
        key = source.random.choice(("name", "arguments", "id", "function", "index", "extra"))
        values = (None, "", "f", 5, {}, {"a": 1.0}, "not json", '{"a": 1}', '{"a": NaN}', '{"a":1,"a":2}', "[1]", [1], "a b", '"')
        (target if key in target or source.chance(0.5) else call)[key] = source.random.choice(values)


FAULTS = [
    *(reordered, dropped, repeated, emptied, content_changed, think_put_in, shape_put_in),
    *(role_changed, key_added, reasoning_changed, call_changed, call_changed),
]
