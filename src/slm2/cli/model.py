"""What the commands with a model share: which model, how it is sampled, and the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import click

from slm2.adapters import KINDS, open_model
from slm2.artifact import Profile
from slm2.chat import CONTEXT
from slm2.cli.common import contract_options, open_contract, profile_option, read_bytes
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.logits_source import LogitsSource, TokenServer
from slm2.reference.json_text import json_type, read_json
from slm2.sampling import PRESETS, STOP_IDS, SamplingConfig, config_from_preset

_Function = TypeVar("_Function", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--model",
        "model_name",
        metavar="KIND:PLACE",
        required=True,
        help="The model: " + ", ".join(f"{kind}:{place}" for kind, (_, place) in KINDS.items()) + ".",
    ),
    click.option("--preset", type=click.Choice(list(PRESETS)), help="The publisher's settings of sampling; with --seed."),
    click.option("--seed", metavar="N", help="Of the generator: an integer, or 64 hex digits with --rng chacha8."),
    click.option(
        "--rng", type=click.Choice(["pcg32", "chacha8", "mt19937-torch"]), help="Generator; pcg32, and mt19937-torch in profile publisher."
    ),
    click.option("--max-tokens", type=click.IntRange(1), help="The most ids of a reply, which the window reserves for it; 1024."),
    click.option("--config", "config_file", metavar="C.json", help="All of SamplingConfig by name, in place of the four options before."),
    click.option("--context", type=click.IntRange(1), help=f"Tokens of the window, prompt and reply together; {CONTEXT}."),
)
_MAX_TOKENS = 1024


def model_options(function: _Function) -> _Function:
    """Add the options of a model, of its sampling and of the contract."""
    given = profile_option(contract_options(function))
    for option in reversed(_OPTIONS):
        given = option(given)
    return given


@dataclass(frozen=True)
class Opened:
    """What the options name.

    Attributes:
        contract: of the profile.
        source: the model.
        config: of sampling.
        context: tokens of the window, where they were given.
    """

    contract: Contract
    source: LogitsSource | TokenServer
    config: SamplingConfig
    context: int | None


def opened(  # noqa: PLR0913  (one parameter for each option)
    *,
    model_name: str,
    preset: str | None,
    seed: str | None,
    rng: str | None,
    max_tokens: int | None,
    config_file: str | None,
    context: int | None,
    profile: Profile,
    artifact: str | None,
    engine: EngineChoice,
) -> Opened:
    """Open what the options name; what is wrong with the sampling is told before a model is opened.

    Raises:
        click.UsageError: neither a preset and a seed, nor a configuration.
        Slm2Error: of a configuration, an artifact or a model.
    """
    named = {"preset": preset, "seed": seed, "rng": rng, "max_tokens": max_tokens}
    config = _preset(named, profile) if config_file is None else _read_config(config_file, named)
    contract = open_contract(artifact, engine, config.profile)
    return Opened(contract, open_model(model_name), config, context)


def _preset(named: dict[str, Any], profile: Profile) -> SamplingConfig:
    """A preset with a seed: both must be said, since nothing about sampling is taken for granted."""
    if named["preset"] is None or named["seed"] is None:
        raise click.UsageError("sampling has no default: give --preset and --seed, or --config")
    rng = named["rng"] or ("mt19937-torch" if profile == "publisher" else "pcg32")
    seed = _seed(named["seed"], rng)
    return config_from_preset(
        cast("str", named["preset"]),
        profile=profile,
        rng=rng,
        seed=seed,
        max_tokens=named["max_tokens"] or _MAX_TOKENS,
        stop_ids=STOP_IDS,
    )


def _seed(text: str, rng: str) -> int | str:
    """A number in decimal digits; a key of chacha8 is text."""
    if text.isascii() and text.isdigit() and len(text) <= len(str(2**64)):
        return int(text)
    if rng == "chacha8":
        return text
    raise click.UsageError("--seed is an integer from 0 to 2^64 - 1, or 64 hex digits with --rng chacha8")


def _read_config(file: str, named: dict[str, Any]) -> SamplingConfig:
    given = [f"--{name.replace('_', '-')}" for name, value in named.items() if value is not None]
    if given:
        raise click.UsageError(f"--config says all of sampling; leave out {', '.join(given)}")
    value = read_json(read_bytes(file))
    if not isinstance(value, dict):
        raise Slm2Error("invalid_type", field="config", expected="object", found=json_type(value))
    return SamplingConfig.from_dict(value)
