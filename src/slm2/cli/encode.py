"""``slm2 encode``: text to ids."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial

import click
from click.core import ParameterSource

from slm2.artifact import Profile
from slm2.cli.common import (
    contract_options,
    file_argument,
    for_each_line,
    identity,
    open_contract,
    profile_option,
    read_bytes,
    warn_of_findings,
    write_bytes,
    write_ids,
)
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.reference.json_text import JsonValue, json_type
from slm2.tokenizer import OnSpecial


@click.command("encode")
@file_argument
@profile_option
@click.option(
    "--on-special",
    type=click.Choice(["literal", "reject"]),
    default="literal",
    show_default=True,
    help="The text of a special token: encode it as plain text and tell so on stderr, or refuse it.",
)
@click.option("--trusted", is_flag=True, help="Text of special tokens becomes those tokens. Never for what users write.")
@click.option("--format", "form", type=click.Choice(["ids", "json", "table"]), default="ids", show_default=True, help="Form of the output.")
@click.option("--jsonl", is_flag=True, help="Each input line is a JSON string, each output line a JSON array of ids.")
@contract_options
@click.pass_context
def command(  # noqa: PLR0913, PLR0917  (one parameter for each option)
    ctx: click.Context,
    file: str,
    profile: Profile,
    on_special: OnSpecial,
    trusted: bool,
    form: str,
    jsonl: bool,
    artifact: str | None,
    engine: EngineChoice,
) -> None:
    """Turn text into token ids.

    The bytes of FILE (or stdin) are encoded as they are: a final newline counts, ill-formed UTF-8 is kept.
    """
    _refuse_together(ctx, trusted, "trusted", "on_special")
    _refuse_together(ctx, jsonl, "jsonl", "form")
    contract = open_contract(artifact, engine, profile)
    if jsonl:
        for_each_line(file, partial(_encode_line, contract, on_special, trusted))
        return
    data = read_bytes(file)
    ids = contract.tokenizer.encode_trusted(data) if trusted else contract.tokenizer.encode(data, on_special=on_special)
    findings = [] if trusted else contract.tokenizer.find_special(data)
    if form == "json":
        report = {"input_ids": ids, **identity(contract), "findings": [asdict(finding) for finding in findings]}
        write_bytes(json.dumps(report).encode("ascii") + b"\n")
        return
    if form == "table":
        from slm2.cli.token_table import print_tokens  # noqa: PLC0415  (rich is slow to import)

        print_tokens(contract, data, trusted=trusted)
    else:
        write_ids(ids)
    warn_of_findings(findings)


def _refuse_together(ctx: click.Context, flag: bool, name: str, other: str) -> None:
    """Refuse an option beside a flag that makes it meaningless."""
    if flag and ctx.get_parameter_source(other) is not ParameterSource.DEFAULT:
        option = next(parameter.opts[0] for parameter in ctx.command.params if parameter.name == other)
        raise click.UsageError(f"--{name} and {option} do not go together", ctx)


def _encode_line(contract: Contract, on_special: OnSpecial, trusted: bool, value: JsonValue, line: int) -> str:
    if not isinstance(value, str):
        raise Slm2Error("invalid_type", field="the value", expected="string", found=json_type(value))
    if trusted:
        return json.dumps(contract.tokenizer.encode_trusted(value))
    ids = contract.tokenizer.encode(value, on_special=on_special)
    warn_of_findings(contract.tokenizer.find_special(value), line=line)
    return json.dumps(ids)
