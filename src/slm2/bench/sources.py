"""The files that subjects load, made of the publisher's tokenizer.json."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

__all__ = ["write"]


def write(tokenizer_json: Path, folder: Path) -> None:
    """Write them all into a folder: as it is, without normalizer, as tiktoken's ranks, and as vocabulary and merges."""
    shutil.copyfile(tokenizer_json, folder / "tokenizer.json")
    settings: dict[str, Any] = json.loads(tokenizer_json.read_bytes())
    _write_json(folder / "tokenizer-contract.json", {**settings, "normalizer": None})
    special = settings["added_tokens"]
    _write_json(folder / "special.json", {token["content"]: token["id"] for token in special})
    vocabulary: dict[str, int] = settings["model"]["vocab"]
    _write_ranks(folder / "qwen.tiktoken", vocabulary)
    bpe_qwen = folder / "bpe-qwen"
    bpe_qwen.mkdir()
    _write_json(bpe_qwen / "vocab.json", vocabulary)
    merges = (merge if isinstance(merge, str) else " ".join(merge) for merge in settings["model"]["merges"])
    (bpe_qwen / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{merge}\n" for merge in merges), encoding="utf-8")
    decoder = {str(token["id"]): {"content": token["content"], "special": token["special"]} for token in special}
    _write_json(bpe_qwen / "tokenizer_config.json", {"added_tokens_decoder": decoder})


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _write_ranks(path: Path, vocabulary: dict[str, int]) -> None:
    """Base64 of each token's bytes and its id; characters stand for bytes as GPT-2 has it."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    byte_of = {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
    with path.open("wb") as file:
        for token, rank in sorted(vocabulary.items(), key=lambda entry: entry[1]):
            file.write(base64.b64encode(bytes(byte_of[character] for character in token)) + f" {rank}\n".encode())
