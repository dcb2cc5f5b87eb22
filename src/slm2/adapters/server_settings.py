"""A sampling configuration in the words of a server's completions, as far as they mean the same there.

The meanings are vLLM's (vllm/sampling_params.py). What it would change without a word, such as a temperature below 0.01, is refused
here as is what it does not have. What stays different is said in docs/back-ends.md: the generator, and the order of the cuts.
"""

from __future__ import annotations

from slm2.errors import Slm2Error
from slm2.reference.sampling.config import SamplingConfig

__all__ = ["request_settings"]

_LARGEST_SEED = 2**63 - 1
_LOWEST_TEMPERATURE = 0.01
_LARGEST_BIAS = 100.0
_LARGEST_PENALTY = 2.0


def request_settings(config: SamplingConfig) -> dict[str, object]:
    """The fields of a request.

    ``stop_strings`` is not among them: whoever reads the ids finds the texts in them, and closes the request.

    Raises:
        Slm2Error: ``invalid_value`` for what a server cannot do.
    """
    _refuse("banned_ids", "absent: a server bans no ids", tuple(config.banned_ids), bool(config.banned_ids))
    _refuse("stream", "0: a server's generator has no streams", config.stream, config.stream != 0)
    seed = config.seed
    _refuse("seed", f"an integer up to {_LARGEST_SEED}", seed, not isinstance(seed, int) or seed > _LARGEST_SEED)
    cold = 0 < config.temperature < _LOWEST_TEMPERATURE
    _refuse("temperature", f"0 or at least {_LOWEST_TEMPERATURE}: a server takes a lower one as this", config.temperature, cold)
    _refuse("top_p", "above 0", config.top_p, config.top_p == 0)
    for name in ("presence_penalty", "frequency_penalty"):
        value = getattr(config, name)
        _refuse(name, f"from {-_LARGEST_PENALTY} to {_LARGEST_PENALTY}", value, abs(value) > _LARGEST_PENALTY)
    for token, bias in config.logit_bias.items():
        _refuse(f"logit_bias[{token}]", f"from {-_LARGEST_BIAS} to {_LARGEST_BIAS}", bias, not abs(bias) <= _LARGEST_BIAS)
    return {
        "temperature": config.temperature,
        "top_k": config.top_k or -1,
        "top_p": config.top_p,
        "min_p": config.min_p,
        "repetition_penalty": config.repetition_penalty,
        "presence_penalty": config.presence_penalty,
        "frequency_penalty": config.frequency_penalty,
        "logit_bias": {str(token): bias for token, bias in config.logit_bias.items()},
        "seed": seed,
        "max_tokens": config.max_tokens,
        "stop_token_ids": list(config.stop_ids),
        # The end ids of the checkpoint's generation_config.json are not the configuration's; what ends a reply is said above.
        "ignore_eos": True,
        "add_special_tokens": False,
        "skip_special_tokens": False,
    }


def _refuse(field: str, expected: str, found: object, condition: bool) -> None:
    if condition:
        raise Slm2Error("invalid_value", field=field, expected=f"{expected} (the server draws)", found=repr(found))
