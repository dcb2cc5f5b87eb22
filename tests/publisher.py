"""The publisher's own files and programs, which are the oracle of the differential tests; each file is checked before use.

Where a file is missing the test is skipped with the reason, but under CI it fails: there the oracle must be.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from slm2.artifact import Profile

TOKENIZER_JSON = Path(__file__).resolve().parents[1] / ".cache" / "publisher" / "tokenizer.json"
TOKENIZER_SHA256 = "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4"
TEMPLATE_SHA256 = "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8"


def missing(what: str) -> None:
    """Skip here, fail under CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}; under CI nothing is skipped")
    pytest.skip(what)


def checked(path: Path, sha256: str) -> str:
    data = path.read_bytes()
    assert hashlib.sha256(data).hexdigest() == sha256, f"{path.name} is not the publisher's"
    return data.decode("utf-8")


@cache
def tokenizer_json() -> str:
    if not TOKENIZER_JSON.exists():
        missing("the publisher's tokenizer.json is not here: run tools/fetch_sources.py")
    return checked(TOKENIZER_JSON, TOKENIZER_SHA256)


@cache
def special_texts() -> dict[str, int]:
    return {token["content"]: token["id"] for token in json.loads(tokenizer_json())["added_tokens"]}


@cache
def publisher_tokenizer(profile: Profile = "publisher", *, added_tokens: bool = True) -> Tokenizer:
    """The publisher's program: as it is, without its normalizer (profile contract), and without its list of added tokens."""
    settings = json.loads(tokenizer_json())
    if profile == "contract":
        settings["normalizer"] = None
    if not added_tokens:
        settings["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(settings))


# As PyPI's trl 1.16.0 ships them.
TEMPLATES = {
    "qwen3": ("qwen3.jinja", TEMPLATE_SHA256),
    "qwen2.5": ("qwen2_5.jinja", "cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f"),
    "qwen3-instruct-2507": ("qwen3_instruct_2507.jinja", "64f85b198065d0fba2a81f37e10ed68161ce2c19a754c7100e67e0ca2ee9c326"),
}


@cache
def publisher_template(family: str = "qwen3") -> str:
    """The chat template of a family as PyPI's trl ships it, byte for byte; trl is installed without what it needs and never imported."""
    try:
        files = metadata.files("trl") or []
    except metadata.PackageNotFoundError:
        files = []
    name, digest = TEMPLATES[family]
    for file in files:
        if file.as_posix() == f"trl/chat_templates/{name}":
            return checked(Path(str(file.locate())), digest)
    missing("the publisher's chat template is not here: pip install --no-deps trl==1.16.0")
    raise AssertionError
