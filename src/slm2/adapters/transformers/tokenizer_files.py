"""Files beside a checkpoint's weights that say something of its tokenizer: they must say what the artifact does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from slm2.adapters.transformers.backend import EngineBackend
from slm2.adapters.transformers.byte_alphabet import bytes_of
from slm2.artifact import Artifact
from slm2.errors import Slm2Error
from slm2.files import read_file

__all__ = ["ARTIFACT_FILE", "REFUSING_TEMPLATE", "check_added_tokens", "check_template", "check_tokenizer_file", "difference"]

# What save_pretrained calls the artifact.
ARTIFACT_FILE = "tokenizer.slm2"

# Of the families that Template2 has programs for: the publisher's text (contract/template.md; decisions D6).
_TEMPLATES = {
    "qwen3": "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8",
    "qwen2.5": "cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f",
    "qwen3-instruct-2507": "64f85b198065d0fba2a81f37e10ed68161ce2c19a754c7100e67e0ca2ee9c326",
}

# What ``chat_template`` is where no folder brought the publisher's text: programs ask whether there is one, and must not render another.
REFUSING_TEMPLATE = (
    "{{ raise_exception('the chat template of this tokenizer is a program in its artifact: call its apply_chat_template') }}"
)


def check_template(backend: EngineBackend, text: object, model: str) -> None:
    """Refuse a Jinja template that the artifact's program was not made from.

    Raises:
        Slm2Error: ``model_mismatch``.
    """
    family = backend.contract.engine.provenance.get("template", "")
    expected = _TEMPLATES.get(family)
    if text == REFUSING_TEMPLATE:
        return
    found = hashlib.sha256(text.encode("utf-8")).hexdigest() if isinstance(text, str) else f"a {type(text).__name__}"
    if found != expected:
        raise Slm2Error("model_mismatch", model=model, what="the SHA-256 of its chat template", expected=expected, found=found)


def check_added_tokens(backend: EngineBackend, tokens: Mapping[int, Any], model: str) -> None:
    """Refuse special tokens that are not the artifact's.

    Raises:
        Slm2Error: ``model_mismatch``.
    """
    special = backend.encoder.special
    for token_id, token in tokens.items():
        found = special.get(str(token))
        if found != int(token_id):
            what = f"the id of {token}"
            expected = "no such token" if found is None else found
            raise Slm2Error("model_mismatch", model=model, what=what, expected=expected, found=int(token_id))


def check_tokenizer_file(backend: EngineBackend, path: Path, model: str) -> None:
    """Refuse a tokenizer.json that says another tokenizer than the artifact.

    The publisher's file is known by its digest. One that was written again, as training programs do, is compared entry by entry:
    vocabulary, merges with their ranks, special tokens, normaliser, pattern and byte level.

    Raises:
        Slm2Error: ``model_mismatch``, ``file_unreadable``.
    """
    data = read_file(str(path))
    if f"sha256:{hashlib.sha256(data).hexdigest()}" == backend.contract.engine.provenance.get("source.tokenizer.json"):
        return
    try:
        settings = json.loads(data)
        differs = difference(backend, settings)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Slm2Error("file_unreadable", path=str(path), reason=f"no tokenizer.json of byte-level BPE: {error!r}") from None
    if differs is not None:
        raise Slm2Error("model_mismatch", model=model, what=f"of its tokenizer.json, {differs}", expected="the artifact's", found="another")


def difference(backend: EngineBackend, settings: dict[str, Any]) -> str | None:
    """The first part of a tokenizer.json that is not the artifact's; None where all are."""
    artifact, model = backend.encoder.artifact, settings["model"]
    pattern = backend.contract.engine.provenance.get("pattern")
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    # The byte level's trim_offsets says nothing before tokens are there.
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    steps = settings["pre_tokenizer"]["pretokenizers"]
    steps = [{name: value for name, value in step.items() if name != "trim_offsets"} for step in steps]
    added = {token["content"]: token["id"] for token in settings["added_tokens"]}
    plainly = all(not token[flag] for token in settings["added_tokens"] for flag in ("single_word", "lstrip", "rstrip", "normalized"))
    parts: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("the type of model", lambda: model["type"] == "BPE" and not model.get("byte_fallback") and not model.get("ignore_merges")),
        ("the normaliser", lambda: settings["normalizer"] == {"type": "NFC"}),
        ("the pre-tokenizer", lambda: steps == [split, byte_level]),
        ("the list of special tokens", lambda: plainly and added == backend.encoder.special),
        ("the vocabulary", lambda: {bytes_of(text): token_id for text, token_id in model["vocab"].items()} == artifact.token_ids),
        ("the list of merges", lambda: _merges_equal(artifact, model["merges"])),
    )
    return next((part for part, same in parts if not same()), None)


def _merges_equal(artifact: Artifact, merges: list[Any]) -> bool:
    """Whether each pair is the artifact's of this rank."""
    ids = artifact.token_ids
    for rank, merge in enumerate(merges):
        left, right = (bytes_of(part) for part in (merge.split(" ") if isinstance(merge, str) else merge))
        if left is None or right is None or left not in ids or right not in ids:
            return False
        found = artifact.merges.find(ids[left], ids[right])
        if found is None or found[0] != rank:
            return False
    return len(merges) == len(artifact.token_ids) - 256
