"""The publisher's programs as the source of expectations. Nothing of slm2 computes here.

Three routes to ids. Text that the publisher's program takes goes to it untouched, but for its normalizer (profile contract) and
its list of added tokens (untrusted text). Ill-formed bytes, which it cannot take, go through its parts: its splitter sees each of
them as a private-use character, which is no letter, no number and no white space either, and its merges see the bytes of each
piece. Prompts come from the publisher's template, rendered by transformers' Jinja environment.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from transformers.utils.chat_template_utils import _compile_jinja_template

__all__ = ["PROFILES", "Oracle", "as_bytes", "is_normal"]

PROFILES = ("contract", "publisher")
DIGESTS = {
    "tokenizer.json": "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
    "qwen3.jinja": "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8",
}
# Private-use planes: one stands for ill-formed bytes, the other for special tokens in callers' text.
_BYTES_AT, _TOKENS_AT = 0xF0000, 0x100000
_OPEN, _CLOSE = "\ue000", "\ue001"


class Oracle:
    """The publisher's files of a folder, checked, and what its programs say."""

    def __init__(self, folder: Path) -> None:
        files = {}
        for name, digest in DIGESTS.items():
            data = (folder / name).read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                raise SystemExit(f"{folder / name} is not the publisher's file: run tools/fetch_sources.py")
            files[name] = data.decode("utf-8")
        self.settings: dict[str, Any] = json.loads(files["tokenizer.json"])
        self._template = _compile_jinja_template(files["qwen3.jinja"])
        self.special: dict[str, int] = {token["content"]: token["id"] for token in self.settings["added_tokens"]}
        self._special_pattern = re.compile("|".join(re.escape(text) for text in sorted(self.special, key=len, reverse=True)))
        self._placeholders = {text: chr(_TOKENS_AT + number) for number, text in enumerate(self.special)}
        self.tokenizer = cache(self._tokenizer)

    @staticmethod
    def versions() -> dict[str, str]:
        """Whose answers these are."""
        return {name: version(name) for name in ("tokenizers", "transformers", "jinja2")}

    def _tokenizer(self, profile: str, added: bool) -> Tokenizer:
        settings = dict(self.settings)
        if profile == "contract":
            settings["normalizer"] = None
        if not added:
            settings["added_tokens"] = []
        return Tokenizer.from_str(json.dumps(settings))

    @cached_property
    def _byte_chars(self) -> list[str]:
        """The visible character that stands for each byte in tokenizer.json: itself, or the next from U+0100."""
        visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
        hidden = iter(range(0x100, 0x200))
        return [chr(byte if byte in visible else next(hidden)) for byte in range(256)]

    @cached_property
    def vocabulary(self) -> list[bytes]:
        """Bytes of each plain token, by id."""
        byte_of = {char: byte for byte, char in enumerate(self._byte_chars)}
        entries = sorted(self.settings["model"]["vocab"].items(), key=lambda entry: int(entry[1]))
        assert [token_id for _, token_id in entries] == list(range(len(entries)))
        return [bytes(byte_of[char] for char in token) for token, _ in entries]

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes of a plain token, text of a special one."""
        texts = {number: text for text, number in self.special.items()}
        return texts[token_id].encode() if token_id in texts else self.vocabulary[token_id]

    def decoded(self, ids: Sequence[int], special: str) -> bytes:
        """The bytes of ids, where ``special`` is not to refuse any of them."""
        skipped = set(self.special.values()) if special == "skip" else set()
        return b"".join(self.token_bytes(token_id) for token_id in ids if token_id not in skipped)

    # ---- text ----

    def ids(self, text: str | bytes, profile: str) -> list[int]:
        """Plain encoding, in which no text is a special token."""
        data = _repaired(text).encode("utf-8") if isinstance(text, str) else text
        try:
            whole = data.decode("utf-8")
        except UnicodeDecodeError:
            return self._ill_formed_ids(data, profile)
        ids: list[int] = self.tokenizer(profile, False).encode(whole, add_special_tokens=False).ids
        return ids

    def trusted_ids(self, text: str, profile: str) -> list[int]:
        """Encoding in which the text of a special token is that token."""
        ids: list[int] = self.tokenizer(profile, True).encode(text, add_special_tokens=False).ids
        return ids

    def _ill_formed_ids(self, data: bytes, profile: str) -> list[int]:
        text = ""
        for stretch in data.decode("utf-8", "surrogateescape_each").split(_BREAK):
            is_byte = len(stretch) == 1 and ord(stretch) >= _BYTES_AT
            text += stretch if is_byte or profile == "contract" else normalizers.NFC().normalize_str(stretch)
        split = pre_tokenizers.Split(Regex(self.settings["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]), "isolated")
        model, ids = self.tokenizer(profile, False).model, []
        for piece, _ in split.pre_tokenize_str(text):
            visible = "".join(self._byte_chars[byte] for byte in _real_bytes(piece))
            ids += [token.id for token in model.tokenize(visible)]
        return ids

    def ids_of_parts(self, parts: Sequence[Mapping[str, Any]], profile: str) -> list[int]:
        """The ids of parts that are one text, in which a pair of surrogates may be cut between two strings."""
        data, text = b"", ""
        for part in parts:
            if "base64" in part:
                data, text = data + _repaired(text).encode("utf-8") + base64.b64decode(part["base64"]), ""
            else:
                text += _host_string(part)
        return self.ids(data + _repaired(text).encode("utf-8"), profile)

    def growth(self, parts: Sequence[Mapping[str, Any]], profile: str) -> dict[str, Any]:
        """The ids after each part, which is a text of its own, as how many of those before stay and which come."""
        text, before, calls = b"", list[int](), []
        for part in parts:
            text += as_bytes(part)
            ids = self.ids(text, profile)
            keep = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, ids, strict=False))))
            calls.append({"keep": keep, "append": ids[keep:]})
            before = ids
        return {"calls": calls, "ids": before}

    def contract_spans(self, text: bytes, unit: str) -> list[list[int]] | None:
        """Where no byte changes, ranges follow from the lengths of the tokens; None for characters of ill-formed text."""
        at, spans = 0, []
        for token_id in self.ids(text, "contract"):
            spans.append([token_id, at, at + len(self.vocabulary[token_id])])
            at = spans[-1][2]
        if unit == "bytes":
            return spans
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            return None
        codec, size = ("utf-32-le", 4) if unit == "code_points" else ("utf-16-le", 2)
        # A range of bytes as whole characters: what is cut at its start is taken in, and what is cut at its end.
        starts = [len(text[:start].decode("utf-8", "ignore").encode(codec)) // size for _, start, _ in spans]
        rests = [len(_decoded_end(text[end:]).encode(codec)) // size for _, _, end in spans]
        whole = len(text.decode("utf-8").encode(codec)) // size
        return [[token_id, start, whole - rest] for (token_id, _, _), start, rest in zip(spans, starts, rests, strict=True)]

    def findings(self, text: str) -> list[dict[str, object]]:
        """Special tokens that the publisher's program sees in a text; offsets in bytes."""
        encoding = self.tokenizer("contract", True).encode(text, add_special_tokens=False)
        found: list[dict[str, object]] = []
        for token_id, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if token_id >= len(self.vocabulary):
                found.append({"offset": len(text[:start].encode("utf-8")), "id": token_id, "text": text[start:end]})
        return found

    # ---- prompts ----

    def prompt(self, messages: list[Any], options: dict[str, Any]) -> tuple[str, dict[str, list[int]]]:
        """The text of a prompt and its ids in each profile, where special tokens in callers' text stay text."""
        messages, options = self._hidden(_repaired(messages)), self._hidden(_repaired(options))
        template_text = self._template.render(messages=messages, **options)
        return self._shown(template_text), {profile: list(self._segments(template_text, profile)) for profile in PROFILES}

    def _segments(self, text: str, profile: str) -> Iterator[int]:
        at = 0
        for match in self._special_pattern.finditer(text):
            yield from self.ids(self._shown(text[at : match.start()]), profile)
            yield self.special[match.group()]
            at = match.end()
        yield from self.ids(self._shown(text[at:]), profile)

    def _hidden(self, value: Any) -> Any:  # noqa: ANN401  (any JSON value)
        """Special tokens in a caller's text become private-use characters, so that those of the template are the only ones."""
        if isinstance(value, str):
            return self._special_pattern.sub(lambda match: self._placeholders[match.group()], value)
        if isinstance(value, list):
            return [self._hidden(element) for element in value]
        if not isinstance(value, dict):
            return value
        hidden = {self._hidden(key): self._hidden(member) for key, member in value.items()}
        if value.get("role") == "assistant" and value.get("reasoning_content") is None and isinstance(value.get("content"), str):
            # The template itself reads these two tags here (M-50).
            kept = value["content"].replace("<think>", _OPEN).replace("</think>", _CLOSE) if "</think>" in value["content"] else ""
            if kept:
                hidden["content"] = self._hidden(kept).replace(_OPEN, "<think>").replace(_CLOSE, "</think>")
        return hidden

    def _shown(self, text: str) -> str:
        return text.translate({ord(char): special for special, char in self._placeholders.items()})


_BREAK = "\uffff\ufffe\uffff"  # noncharacters: between stretches that are normalised apart, never in a case


def _apart(error: UnicodeError) -> tuple[str, int]:
    """Each ill-formed byte as a private-use character, between breaks. Python's decoder and Unicode agree on which bytes these are."""
    assert isinstance(error, UnicodeDecodeError)
    return _BREAK + chr(_BYTES_AT + error.object[error.start]) + _BREAK, error.start + 1


codecs.register_error("surrogateescape_each", _apart)


def _real_bytes(piece: str) -> bytes:
    return b"".join(bytes([ord(char) - _BYTES_AT]) if 0 <= ord(char) - _BYTES_AT < 256 else char.encode("utf-8") for char in piece)


def _paired(match: re.Match[str]) -> str:
    high, low = map(ord, match.group())
    return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)


def _repaired(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """Decisions D4: a pair of surrogates is a scalar value, another surrogate U+FFFD."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", re.sub("[\ud800-\udbff][\udc00-\udfff]", _paired, value))
    if isinstance(value, list):
        return [_repaired(element) for element in value]
    return {_repaired(key): _repaired(member) for key, member in value.items()} if isinstance(value, dict) else value


def as_bytes(inputs: Mapping[str, Any]) -> bytes:
    """The text of a vector, as the publisher's program would get it."""
    if "base64" in inputs:
        return base64.b64decode(inputs["base64"])
    repaired: str = _repaired(_host_string(inputs))
    return repaired.encode("utf-8")


def _host_string(inputs: Mapping[str, Any]) -> str:
    text: str = "".join(map(chr, inputs["utf16"])) if "utf16" in inputs else inputs["text"]
    return text


def _decoded_end(data: bytes) -> str:
    """The whole characters at the end of well-formed text that begins inside of one."""
    return data.lstrip(bytes(range(0x80, 0xC0))).decode("utf-8")


def is_normal(data: bytes) -> bool:
    """Whether the publisher's normalizer leaves a text as it is; ill-formed text is never said to be."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(normalizers.NFC().normalize_str(text) == text)
