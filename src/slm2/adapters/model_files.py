"""What the files beside weights say of a model, in the layout of a model hub: config.json, generation_config.json, tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slm2.errors import Slm2Error
from slm2.files import read_file
from slm2.logits_source import ModelFacts

__all__ = ["facts_of_directory"]


def facts_of_directory(directory: Path, *, name: str | None = None) -> ModelFacts:
    """All that the files of a directory say; what is not there is left open.

    Args:
        directory: that has the files.
        name: of the model; the directory where it is None.

    Raises:
        Slm2Error: ``file_unreadable``; ``model_unsupported`` where a file is not what its name says.
    """
    config = _object(directory / "config.json")
    generation = _object(directory / "generation_config.json")
    return ModelFacts(
        name=name or str(directory),
        width=_integer(config.get("vocab_size")),
        special_ids=_special_ids(directory),
        end_ids=_ids(generation.get("eos_token_id", config.get("eos_token_id"))),
        context=_integer(config.get("max_position_embeddings")),
    )


def _special_ids(directory: Path) -> dict[str, int]:
    """From tokenizer.json, else from tokenizer_config.json, which older checkpoints have beside vocab.json and merges.txt."""
    path = directory / "tokenizer.json"
    try:
        if path.exists():
            return {token["content"]: int(token["id"]) for token in _object(path).get("added_tokens", [])}
        path = directory / "tokenizer_config.json"
        decoder = _object(path).get("added_tokens_decoder", {})
        return {token["content"]: int(token_id) for token_id, token in decoder.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Slm2Error("model_unsupported", model=str(path), reason=f"its list of added tokens cannot be read ({error!r})") from error


def _object(path: Path) -> Mapping[str, Any]:
    """A file's JSON object; an empty one where there is no such file."""
    if not path.exists():
        return {}
    try:
        values = json.loads(read_file(str(path)))
    except ValueError as error:
        raise Slm2Error("model_unsupported", model=str(path), reason=f"it is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise Slm2Error("model_unsupported", model=str(path), reason="it holds no JSON object")
    return values


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _ids(value: object) -> tuple[int, ...]:
    """An id or a list of ids, as transformers writes either."""
    values = value if isinstance(value, list) else [value]
    return tuple(token for token in values if isinstance(token, int) and not isinstance(token, bool))
