"""``slm2 render``: a conversation to ids."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial

import click
from click.core import ParameterSource

from slm2.artifact import Profile
from slm2.cli.common import (
    STANDARD,
    contract_options,
    file_argument,
    for_each_line,
    identity,
    open_contract,
    profile_option,
    read_bytes,
    warn_of_findings,
    write_bytes,
    write_file,
    write_ids,
)
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.reference.json_text import JsonValue, read_json
from slm2.template import Rendering


@click.command("render")
@file_argument
@profile_option
@click.option("--format", "form", type=click.Choice(["ids", "json", "text"]), default="ids", show_default=True, help="Form of the output.")
@click.option("--explain", is_flag=True, help="Show the prompt coloured by part and the origin of each token; to stderr beside --format.")
@click.option("--html", "html_file", metavar="FILE", help="Write the same as a page to FILE; - is stdout.")
@click.option("--jsonl", is_flag=True, help="Each input line is a conversation, each output line its JSON: array, object or string.")
@contract_options
@click.pass_context
def command(  # noqa: PLR0913, PLR0917  (one parameter for each option)
    ctx: click.Context,
    file: str,
    profile: Profile,
    form: str,
    explain: bool,
    html_file: str | None,
    jsonl: bool,
    artifact: str | None,
    engine: EngineChoice,
) -> None:
    """Render a conversation with the chat template.

    FILE (or stdin) is {"messages": [...], "tools": [...], "enable_thinking": true, "add_generation_prompt": true,
    "continue_final_message": false, "preserve_thinking": false}. All but the messages may be left out: then there are no tools,
    enable_thinking is the model's choice, and the rest is false. The text form is for people: it must not be encoded again.
    """
    contract = open_contract(artifact, engine, profile)
    if jsonl:
        if explain or html_file is not None:
            raise click.UsageError("--explain and --html show one conversation, --jsonl has many")
        for_each_line(file, partial(_render_line, contract, form))
        return
    form_was_chosen = ctx.get_parameter_source("form") is not ParameterSource.DEFAULT
    page_on_stdout = html_file == STANDARD
    if page_on_stdout and form_was_chosen:
        raise click.UsageError("--html - writes the page to stdout, where --format would write too; leave one out")
    rendering = contract.template.render_request(read_json(read_bytes(file)))
    if form_was_chosen or not (explain or html_file is not None):
        _write(contract, rendering, form)
    if explain or html_file is not None:
        from slm2.cli import provenance  # noqa: PLC0415  (rich is slow to import)

        title = "stdin" if file == STANDARD else file
        if html_file is not None:
            write_file(html_file, provenance.html(contract, rendering, title=title).encode("utf-8", "backslashreplace"))
        if explain:
            provenance.print_picture(contract, rendering, title=title, stderr=form_was_chosen or page_on_stdout)
    elif form != "json":
        warn_of_findings(rendering.findings, rendering.policy_findings)


def _write(contract: Contract, rendering: Rendering, form: str) -> None:
    if form == "ids":
        write_ids(rendering.input_ids)
    elif form == "text":
        write_bytes(rendering.text.encode("utf-8"))
    else:
        write_bytes(json.dumps(_report(contract, rendering)).encode("ascii") + b"\n")


def _render_line(contract: Contract, form: str, value: JsonValue, line: int) -> str:
    rendering = contract.template.render_request(value)
    if form == "json":
        return json.dumps(_report(contract, rendering))
    warn_of_findings(rendering.findings, rendering.policy_findings, line=line)
    return json.dumps(rendering.input_ids if form == "ids" else rendering.text)


def _report(contract: Contract, rendering: Rendering) -> dict[str, object]:
    return {
        "input_ids": rendering.input_ids,
        **identity(contract),
        "findings": [asdict(finding) for finding in rendering.findings],
        "policy_findings": rendering.policy_findings,
        "dropped_reasoning": rendering.dropped_reasoning,
        "tokens": [asdict(token) for token in rendering.tokens],
    }
