"""The publisher's files: what they hold, and the refusal of what the artifact cannot say."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from slm2.errors import Slm2Error

# Revision and digest of files that are known; a source with another digest compiles too, without a revision.
QWEN3_TOKENIZER = "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4"
TEMPLATES = {QWEN3_TOKENIZER: "qwen3"}
PUBLISHED = {QWEN3_TOKENIZER: ("Qwen/Qwen3-0.6B", "c1899de289a04d12100db370d81485cdf75e47ca")}

_PLAIN_BPE = {
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "fuse_unk": False,
    "byte_fallback": False,
}
_BYTE_LEVEL = {"add_prefix_space": False, "use_regex": False}


@dataclass(frozen=True, slots=True)
class Source:
    """A byte-level BPE tokenizer as ``tokenizer.json`` describes it.

    Attributes:
        tokens: bytes of each plain token, by id.
        merges: ``(left, right, id)`` in rank order.
        special: id and text of each added token, ids rising.
        pattern: of the pre-tokenizer.
        nfc: whether the normalizer is NFC (else there is none).
        ignore_merges: whether a piece that is an entry skips the merges.
        digest: SHA-256 of the file, hex.
    """

    tokens: list[bytes]
    merges: list[tuple[int, int, int]]
    special: list[tuple[int, bytes]]
    pattern: str
    nfc: bool
    ignore_merges: bool
    digest: str


def load(source_dir: Path) -> Source:
    """Read ``tokenizer.json`` of a folder, as a Hugging Face snapshot has it.

    Raises:
        Slm2Error: ``source_missing``, ``source_unsupported`` with the construct.
    """
    path = source_dir / "tokenizer.json"
    try:
        content = path.read_bytes()
    except OSError:
        raise Slm2Error("source_missing", path=str(path)) from None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Slm2Error("source_unsupported", construct="JSON", found=str(error)) from None
    return parse(document, hashlib.sha256(content).hexdigest())


def parse(document: Any, digest: str) -> Source:  # noqa: ANN401  (parsed JSON)
    """The source in a parsed ``tokenizer.json``.

    Raises:
        Slm2Error: ``source_unsupported`` with the construct.
    """
    if not isinstance(document, dict):
        _refuse("no object at the top", document)
    model = _expect(document, "model", dict)
    if model.get("type") != "BPE":
        _refuse("model.type", model.get("type"))
    for name, plain in _PLAIN_BPE.items():
        # Absent, null and the neutral value all mean the same to the publisher's program.
        if model.get(name) not in (plain, None, ""):
            _refuse(f"model.{name}", model[name])
    normalizer = document.get("normalizer")
    if normalizer not in (None, {"type": "NFC"}):
        _refuse("normalizer", normalizer)
    decoder = document.get("decoder")
    if not isinstance(decoder, dict) or decoder.get("type") != "ByteLevel":
        _refuse("decoder", decoder)
    added = _added(document)
    tokens = _tokens(model, {token["id"] for token in added})
    return Source(
        tokens=tokens,
        merges=_merges(model, tokens),
        special=_special(added, len(tokens)),
        pattern=_pattern(document.get("pre_tokenizer")),
        nfc=normalizer is not None,
        ignore_merges=bool(model.get("ignore_merges")),
        digest=digest,
    )


def _refuse(construct: str, found: object) -> NoReturn:
    raise Slm2Error("source_unsupported", construct=construct, found=json.dumps(found, ensure_ascii=False)[:200])


def _expect(document: dict[str, Any], name: str, kind: type) -> Any:  # noqa: ANN401  (parsed JSON)
    value = document.get(name)
    if not isinstance(value, kind):
        _refuse(name, value)
    return value


def byte_of_char() -> dict[str, int]:
    """GPT-2's mapping of bytes to visible characters, turned round: printable bytes stand for themselves."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(0x100 + index): byte for index, byte in enumerate(hidden)}


def _added(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The added tokens, ids rising."""
    added = document.get("added_tokens") or []
    if not isinstance(added, list):
        _refuse("added_tokens", added)
    for token in added:
        if not isinstance(token, dict) or not _is_id(token.get("id")) or not isinstance(token.get("content"), str):
            _refuse("an added token without id and content", token)
    return sorted(added, key=lambda token: int(token["id"]))


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _tokens(model: dict[str, Any], added: set[int]) -> list[bytes]:
    """Bytes by id; added tokens that some files repeat in the vocabulary are left out."""
    vocabulary = {
        token: token_id for token, token_id in _expect(model, "vocab", dict).items() if not _is_id(token_id) or token_id not in added
    }
    byte_of = byte_of_char()
    tokens = [b""] * len(vocabulary)
    for token, token_id in vocabulary.items():
        if not _is_id(token_id):
            _refuse("model.vocab with an id that is no integer", token_id)
        if not 0 <= token_id < len(tokens):
            _refuse("model.vocab with a gap at id", token_id)
        if not token or not all(char in byte_of for char in token):
            _refuse("a vocabulary entry that is not byte-level", token)
        tokens[token_id] = bytes(byte_of[char] for char in token)
    return tokens


def _merges(model: dict[str, Any], tokens: list[bytes]) -> list[tuple[int, int, int]]:
    byte_of = byte_of_char()
    ids = {token: token_id for token_id, token in enumerate(tokens)}

    def token_id(text: str) -> int:
        found = ids.get(bytes(byte_of.get(char, 0) for char in text))
        if found is None:
            _refuse("a merge whose part or result is no vocabulary entry", text)
        return found

    merges: list[tuple[int, int, int]] = []
    for merge in _expect(model, "merges", list):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
            _refuse("a merge that is no pair", merge)
        left, right = parts
        merges.append((token_id(left), token_id(right), token_id(left + right)))
    if len({(left, right) for left, right, _ in merges}) != len(merges):
        _refuse("model.merges with a pair that occurs twice", len(merges))
    return merges


def _special(added: list[dict[str, Any]], vocabulary_size: int) -> list[tuple[int, bytes]]:
    special: list[tuple[int, bytes]] = []
    for token in added:
        for flag in ("single_word", "lstrip", "rstrip", "normalized"):
            if token.get(flag):
                _refuse(f"an added token with {flag}", token["content"])
        if token["id"] < vocabulary_size:
            _refuse("an added token inside the vocabulary", token["content"])
        special.append((token["id"], token["content"].encode("utf-8")))
    return special


def _pattern(pre_tokenizer: object) -> str:
    """The pattern of ``Sequence[Split(Regex, Isolated), ByteLevel]``, the shape that byte-level tokenizers have."""
    steps = pre_tokenizer.get("pretokenizers") if isinstance(pre_tokenizer, dict) else None
    if not isinstance(steps, list) or [step.get("type") for step in steps if isinstance(step, dict)] != ["Split", "ByteLevel"]:
        _refuse("pre_tokenizer", pre_tokenizer)
    split, byte_level = steps
    pattern = split.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    if split.get("behavior") != "Isolated" or split.get("invert") or not isinstance(regex, str):
        _refuse("pre_tokenizer.Split", split)
    for name, plain in _BYTE_LEVEL.items():
        if byte_level.get(name) != plain:
            _refuse(f"pre_tokenizer.ByteLevel.{name}", byte_level.get(name))
    return regex
