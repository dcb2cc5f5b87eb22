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
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.prompt import Assembly
from slm2.prompt_view import masked_text
from slm2.reference.json_text import JsonValue, json_type, read_json


@click.command("assemble")
@click.argument("request_file", metavar="REQUEST.json")
@profile_option
@click.option("--budget", type=int, metavar="N", help="Tokens of the whole window, in place of budget.context of the request.")
@click.option("--reserve", type=int, metavar="N", help="Tokens kept for generation, in place of budget.reserve of the request.")
@click.option("--explain", is_flag=True, help="Show the prompt coloured by source, the ids and the budget; to stderr beside --format.")
@click.option(
    "--format", "form", type=click.Choice(["ids", "json", "text", "html"]), default="ids", show_default=True, help="Form of the output."
)
@contract_options
@click.pass_context
def command(  # noqa: PLR0913, PLR0917  (one parameter for each option)
    ctx: click.Context,
    request_file: str,
    profile: Profile,
    budget: int | None,
    reserve: int | None,
    explain: bool,
    form: str,
    artifact: str | None,
    engine: EngineChoice,
) -> None:
    """Assemble a prompt from a request, within its budget.

    REQUEST.json (- for stdin) holds the policy, the user's turn, local state, retrieved passages, history, tools and the budget, as
    contract/prompt.md has them. What is over the budget is given up as the request allows it, and refused (exit status 3, the error as
    JSON on stderr) where that is not enough. The ids and the JSON form hold the policy's tokens; the text and HTML forms and the
    picture never show the policy.
    """
    contract = open_contract(artifact, engine, profile)
    request = read_json(read_bytes(request_file))
    if not isinstance(request, dict):
        raise Slm2Error("invalid_type", field="request", expected="object", found=json_type(request))
    assembly = contract.prompt.assemble(_with_budget(request, budget, reserve))
    form_was_chosen = ctx.get_parameter_source("form") is not ParameterSource.DEFAULT
    if form_was_chosen or not explain:
        _write(contract, assembly, form)
    if explain:
        from slm2.cli.heading import heading  # noqa: PLC0415  (rich is slow to import)
        from slm2.prompt_picture import print_picture  # noqa: PLC0415

        print_picture(assembly, contract.tokenizer.token_bytes, heading=heading(contract, request_file), stderr=form_was_chosen)
    elif form != "json":
        warn_of_findings(assembly.findings, assembly.policy_findings)


def _with_budget(request: dict[str, JsonValue], context: int | None, reserve: int | None) -> dict[str, JsonValue]:
    """The request with what the command line says of the budget; what it says nothing of stays, wrong or not."""
    said: dict[str, JsonValue] = {name: value for name, value in (("context", context), ("reserve", reserve)) if value is not None}
    given = request.get("budget")
    if not said or not (given is None or isinstance(given, dict)):
        return request
    return {**request, "budget": {**(given or {}), **said}}


def _write(contract: Contract, assembly: Assembly, form: str) -> None:
    if form == "ids":
        write_ids(assembly.input_ids)
    elif form == "text":
        write_bytes(masked_text(assembly, contract.tokenizer.token_bytes))
    elif form == "html":
        write_bytes(assembly.to_html().encode("utf-8"))
    else:
        write_bytes(json.dumps({**identity(contract), **assembly.to_dict()}).encode("ascii") + b"\n")
