"""Configurations of sampling out of the publisher's values: the presets, and a checkpoint's ``generation_config.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any

from slm2.errors import Slm2Error
from slm2.reference.sampling.config import SamplingConfig

__all__ = ["PRESETS", "STOP_IDS", "Preset", "config_from_generation_config", "config_from_preset"]

# <|im_end|> and <|endoftext|>: what the publisher's generation_config.json ends a reply with.
STOP_IDS = (151_645, 151_643)


@dataclass(frozen=True)
class Preset:
    """The publisher's values for a way to use the model; ``str`` says what it sets.

    Attributes:
        name: of the preset.
        values: fields of :class:`SamplingConfig`.
    """

    name: str
    values: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.name}: " + ", ".join(f"{field}={value}" for field, value in self.values.items())


def _preset(name: str, temperature: float, top_p: float) -> Preset:
    values = {"temperature": temperature, "top_k": 20, "top_p": top_p, "min_p": 0.0, "repetition_penalty": 1.0}
    return Preset(name, values)


PRESETS: Mapping[str, Preset] = {"thinking": _preset("thinking", 0.6, 0.95), "non-thinking": _preset("non-thinking", 0.7, 0.8)}


def config_from_preset(name: str, **explicit: Any) -> SamplingConfig:  # noqa: ANN401  (SamplingConfig checks them)
    """A configuration with the values of a preset; all that the preset does not set must be given, and what is given goes first.

    >>> print(PRESETS["thinking"])
    thinking: temperature=0.6, top_k=20, top_p=0.95, min_p=0.0, repetition_penalty=1.0

    Raises:
        Slm2Error: ``invalid_value``, or what :class:`SamplingConfig` raises.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise Slm2Error("invalid_value", field="preset", expected=" or ".join(PRESETS), found=repr(name))
    return SamplingConfig.from_dict({**PRESETS[name].values, **explicit})


# Of a generation_config.json: what sets a field here, what says nothing about sampling, and what must be off.
_TAKEN = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
_SAYS_NOTHING = {"bos_token_id", "pad_token_id", "do_sample", "transformers_version", "_from_model_config", "max_length", "use_cache"}


def config_from_generation_config(path: str | PathLike[str], **explicit: Any) -> SamplingConfig:  # noqa: ANN401
    """A configuration from a checkpoint's ``generation_config.json``.

    Taken are temperature, top_k, top_p, min_p, repetition_penalty, ``eos_token_id`` as stop_ids and ``max_new_tokens`` as max_tokens. What
    the file does not say must be given, and what is given goes first.

    Raises:
        Slm2Error: ``file_unreadable``; ``missing_field`` for what neither the file nor the caller says; ``unknown_field`` for a setting
            that this sampler does not have; ``invalid_value`` where the file says ``do_sample: false`` and no temperature is given.
    """
    if not isinstance(path, str | PathLike):
        raise Slm2Error("invalid_type", field="path", expected="a path", found=type(path).__name__)
    name = fsdecode(path)
    try:
        values = json.loads(Path(name).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Slm2Error("file_unreadable", path=name, reason=getattr(error, "strerror", None) or str(error)) from None
    if not isinstance(values, dict):
        raise Slm2Error("invalid_type", field=name, expected="object", found=type(values).__name__)
    known = {*_TAKEN, "eos_token_id", "max_new_tokens", *_SAYS_NOTHING}
    for key in values:
        if key not in known:
            raise Slm2Error("unknown_field", field=key, known=", ".join(sorted(known)))
    if values.get("do_sample") is False and "temperature" not in explicit:
        raise Slm2Error("invalid_value", field="do_sample", expected="true, or a temperature from the caller", found="false")
    read = {key: values[key] for key in _TAKEN if key in values}
    if "eos_token_id" in values:
        ids = values["eos_token_id"]
        read["stop_ids"] = ids if isinstance(ids, list) else [ids]
    if "max_new_tokens" in values:
        read["max_tokens"] = values["max_new_tokens"]
    return SamplingConfig.from_dict({**read, **explicit})
