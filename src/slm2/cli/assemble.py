"""``slm2 assemble``: a request to the ids of a prompt, and the picture of it."""

from __future__ import annotations

import json

import click
from click.core import ParameterSource

from slm2.artifact import Profile
from slm2.cli.common import (
    contract_options,
    identity,
    open_contract,
    profile_option,
    read_bytes,
    warn_of_findings,
    write_bytes,
    write_ids,
)
from slm2.cli.prompt_text import masked_text
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.prompt import Assembly
from slm2.reference.json_text import json_type, read_json


@click.command("assemble")
@click.argument("request_file", metavar="REQUEST.json")
@profile_option
@click.option("--explain", is_flag=True, help="Show the prompt coloured by source, the ids and the budget; to stderr beside --format.")
@click.option("--format", "form", type=click.Choice(["ids", "json", "text"]), default="ids", show_default=True, help="Form of the output.")
@contract_options
@click.pass_context
def command(  # noqa: PLR0913, PLR0917  (one parameter for each option)
    ctx: click.Context,
    request_file: str,
    profile: Profile,
    explain: bool,
    form: str,
    artifact: str | None,
    engine: EngineChoice,
) -> None:
    """Assemble a prompt from a request, within its budget.

    REQUEST.json (- for stdin) holds the policy, the user's turn, local state, retrieved passages, history, tools and the budget, as
    contract/prompt.md has them. What does not fit the budget is refused. The ids and the JSON form hold the policy's tokens; the text
    form and the picture never show the policy.
    """
    contract = open_contract(artifact, engine, profile)
    request = read_json(read_bytes(request_file))
    if not isinstance(request, dict):
        raise Slm2Error("invalid_type", field="request", expected="object", found=json_type(request))
    assembly = contract.prompt.assemble(request)
    form_was_chosen = ctx.get_parameter_source("form") is not ParameterSource.DEFAULT
    if form_was_chosen or not explain:
        _write(contract, assembly, form)
    if explain:
        from slm2.cli.explain import print_picture  # noqa: PLC0415  (rich is slow to import)

        print_picture(contract, assembly, title=request_file, stderr=form_was_chosen)
    elif form != "json":
        warn_of_findings(assembly.findings, assembly.policy_findings)


def _write(contract: Contract, assembly: Assembly, form: str) -> None:
    if form == "ids":
        write_ids(assembly.input_ids)
    elif form == "text":
        write_bytes(masked_text(assembly, contract.tokenizer.token_bytes))
    else:
        write_bytes(json.dumps({**identity(contract), **assembly.to_dict()}).encode("ascii") + b"\n")
