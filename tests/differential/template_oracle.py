"""What the publisher's template and programs make of a conversation.

Two routes. ``publisher_ids`` is the publisher's pipeline untouched. Where callers' text holds the text of special tokens that
pipeline makes structural tokens of it (decisions D5), so ``separated_ids`` hides such text from the template behind private-use
characters, cuts the prompt at the special tokens that are then the template's own, puts the text back and encodes each stretch
with a tokenizer that has no added tokens.
"""

from __future__ import annotations

import re
from functools import cache

from transformers.utils.chat_template_utils import _compile_jinja_template

from publisher import publisher_template, publisher_tokenizer, special_texts
from slm2.artifact import Profile

PLACEHOLDER = 0xF0000  # the first of a plane of private-use characters, of which ATOMS has none


def paired(match: re.Match[str]) -> str:
    high, low = map(ord, match.group())
    return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)


def repaired(value):
    """Decisions D4, written apart from the code under test."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", re.sub("[\ud800-\udbff][\udc00-\udfff]", paired, value))
    if isinstance(value, list):
        return [repaired(element) for element in value]
    if isinstance(value, dict):
        return {repaired(key): repaired(member) for key, member in value.items()}
    return value


@cache
def template():
    return _compile_jinja_template(publisher_template())


def publisher_text(messages: list, options: dict) -> str:
    return template().render(messages=repaired(messages), **repaired(options))


def publisher_ids(messages: list, options: dict, profile: Profile) -> list[int]:
    return publisher_tokenizer(profile).encode(publisher_text(messages, options), add_special_tokens=False).ids


@cache
def special_pattern() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(text) for text in sorted(special_texts(), key=len, reverse=True)))


def has_special(value) -> bool:
    if isinstance(value, str):
        return special_pattern().search(value) is not None
    if isinstance(value, list):
        return any(has_special(element) for element in value)
    return isinstance(value, dict) and any(has_special(key) or has_special(member) for key, member in value.items())


def hidden(value):
    texts = list(special_texts())
    if isinstance(value, str):
        return special_pattern().sub(lambda match: chr(PLACEHOLDER + texts.index(match.group())), value)
    if isinstance(value, list):
        return [hidden(element) for element in value]
    return {hidden(key): hidden(member) for key, member in value.items()} if isinstance(value, dict) else value


def hidden_message(message: dict) -> dict:
    """The tags of a whole think block in the content stay: the template reads them."""
    splits = message["role"] == "assistant" and message.get("reasoning_content") is None and "</think>" in (message.get("content") or "")
    if not splits:
        return hidden(message)
    kept = message["content"].replace("<think>", "\ue000", 1).replace("</think>", "\ue001", 1)
    return {**hidden(message), "content": hidden(kept).replace("\ue000", "<think>").replace("\ue001", "</think>")}


def shown(text: str) -> str:
    return "".join(list(special_texts())[ord(c) - PLACEHOLDER] if 0 <= ord(c) - PLACEHOLDER < len(special_texts()) else c for c in text)


def separated_ids(messages: list, options: dict, profile: Profile) -> list[int]:
    options = {**options, "tools": hidden(options.get("tools"))}
    prompt = publisher_text([hidden_message(message) for message in messages], options)
    plain = publisher_tokenizer(profile, added_tokens=False)
    ids: list[int] = []
    at = 0
    for match in special_pattern().finditer(prompt):
        ids += plain.encode(shown(prompt[at : match.start()]), add_special_tokens=False).ids
        ids.append(special_texts()[match.group()])
        at = match.end()
    return ids + plain.encode(shown(prompt[at:]), add_special_tokens=False).ids
