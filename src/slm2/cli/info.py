"""``slm2 info``: which engine, artifact and versions are in use."""

from __future__ import annotations

import json
import platform
import warnings

import click

from slm2 import __version__
from slm2.artifact import Profile
from slm2.cli.common import contract_options, identity, profile_option, write_bytes
from slm2.cli.messages import strict
from slm2.contract import EMBEDDED, Contract, load
from slm2.engine import EngineChoice, native_reason


@click.command("info")
@profile_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on one line.")
@contract_options
def command(profile: Profile, as_json: bool, artifact: str | None, engine: EngineChoice) -> None:
    """Say which engine, artifact and versions are in use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report itself says that the native engine is not there, and why
        contract = load(artifact, engine=engine, profile=profile)
    report = _report(contract, artifact)
    if as_json:
        write_bytes(json.dumps(strict(report)).encode("ascii") + b"\n")
        return
    from slm2.screen import console, facts, print_on  # noqa: PLC0415  (rich is slow to import)

    print_on(console(), facts(report))


def _report(contract: Contract, artifact: str | None) -> dict[str, object]:
    engine = contract.engine
    provenance = engine.provenance
    absent = native_reason()
    return {
        "slm2": __version__,
        "python": platform.python_version(),
        "native": {"available": absent is None, "reason": absent},
        **identity(contract),
        "file": artifact or f"{EMBEDDED} in the package",
        "contract_version": engine.contract_version,
        "vocabulary": {
            "plain_tokens": engine.vocabulary_size,
            "special_tokens": len(engine.special_tokens),
            "token_limit": engine.token_limit,
        },
        "unicode": provenance.get("unicode"),
        "normalization": provenance.get("normalization"),
        "provenance": provenance,
    }
