"""The publisher's fast tokenizer in transformers, from its tokenizer.json and what its tokenizer_config.json says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import Qwen2Tokenizer

from adapters import checkpoints
from publisher import TEMPLATE_SHA256, TOKENIZER_JSON, checked, missing
from slm2.artifact import Profile

# Of tokenizer_config.json at the pinned revision, what checkpoints.write_tokenizer leaves out.
EXTRA = [
    "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>", "<|quad_start|>",
    "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>",
]  # fmt: skip
REST = {
    "additional_special_tokens": EXTRA,
    "add_bos_token": False,
    "add_prefix_space": False,
    "errors": "replace",
    "split_special_tokens": False,
}


def write(directory: Path, *, template: bool) -> Path:
    """A folder with both files, with the publisher's chat template where it is asked for."""
    checkpoints.write_tokenizer(directory)
    path = directory / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | REST
    if template:
        settings["chat_template"] = chat_template()
    path.write_text(json.dumps(settings), encoding="utf-8")
    return directory


def chat_template() -> str:
    """The publisher's Jinja template, which tools/fetch_sources.py lays beside tokenizer.json."""
    path = TOKENIZER_JSON.with_name("qwen3.jinja")
    if not path.exists():
        missing("the publisher's qwen3.jinja is not here: run tools/fetch_sources.py")
    return checked(path, TEMPLATE_SHA256)


def load(directory: Path, profile: Profile) -> Any:
    """The publisher's tokenizer; for profile ``contract`` without its normaliser (decisions D1)."""
    tokenizer = Qwen2Tokenizer.from_pretrained(directory)
    if profile == "contract":
        settings = json.loads(tokenizer._tokenizer.to_str())
        settings["normalizer"] = None
        tokenizer._tokenizer = Tokenizer.from_str(json.dumps(settings))
    return tokenizer
