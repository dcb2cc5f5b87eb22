"""``slm2 generate``: a conversation or a request to the model's reply, as it comes."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource

from slm2.chat import CONTEXT, generate
from slm2.cli.common import STANDARD, file_argument, read_bytes, write_bytes, write_file
from slm2.cli.messages import print_warning
from slm2.cli.model import Opened, model_options, opened
from slm2.errors import Slm2Error
from slm2.reference.json_text import JsonValue, json_type, read_json, shown_key
from slm2.reply import ReplyEvent
from slm2.screen import safe
from slm2.turn import Turn, TurnResult

_CONVERSATION = ("messages", "tools", "enable_thinking")


@click.command("generate")
@file_argument
@click.option("--prompt", "prompt_text", metavar="TEXT", help="What the user says, in place of FILE.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "events", "ids"]), default="text", show_default=True, help="Form of the output."
)
@click.option("--show-reasoning", is_flag=True, help="In the text form, print the reasoning too, before the content.")
@click.option(
    "--report", "report_file", metavar="R.json", help="Write the JSON form there beside any other; - is stdout, in place of the text."
)
@model_options
@click.pass_context
def command(  # noqa: PLR0913  (one parameter for each option)
    ctx: click.Context,
    /,
    file: str,
    prompt_text: str | None,
    form: str | None,
    *,
    show_reasoning: bool,
    report_file: str | None,
    **model: Any,  # noqa: ANN401
) -> None:
    r"""Generate a reply, and print it as it comes.

    FILE (or stdin) is an array of messages; or {"messages": [...], "tools": [...], "enable_thinking": true}; or a request as
    slm2 assemble takes it. Sampling has no default: --preset and --seed, or --config.

    \b
    text    the content as it comes; calls of tools as JSON, one a line
    events  one JSON object a line for each event, and the result as the last line
    ids     the ids as they come
    json    the result: ids, message, reason, sampled_by, configuration, budget, counts and times

    A reply that is cut off at --max-tokens is told by a warning on stderr, one that no conversation can hold (bytes that are no text)
    by an error and exit status 3 after what came.
    """
    if prompt_text is not None and file != STANDARD:
        raise click.UsageError("--prompt takes the place of FILE")
    if report_file == STANDARD:
        if ctx.get_parameter_source("form") is not ParameterSource.DEFAULT:
            raise click.UsageError("--report - writes the report to stdout, where --format would write too; leave one out")
        form = None
    conversation: JsonValue = [{"role": "user", "content": prompt_text}] if prompt_text is not None else read_json(read_bytes(file))
    turn = _turn(opened(**model), conversation)
    for event in turn:
        _write_event(event, form, show_reasoning=show_reasoning)
    _end(turn.result(), form, report_file)


def _turn(model: Opened, conversation: JsonValue) -> Turn:
    """The turn of what the file holds."""
    if isinstance(conversation, list):
        conversation = {"messages": conversation}
    if not isinstance(conversation, dict):
        expected = "an array of messages, or an object"
        raise Slm2Error("invalid_type", field="conversation", expected=expected, found=json_type(conversation))
    if "messages" not in conversation:
        if model.context is not None:
            raise click.UsageError("--context is of a conversation; a request has its budget")
        return generate(model.source, conversation, model.config, contract=model.contract)
    for key in conversation:
        if key not in _CONVERSATION:
            raise Slm2Error("unknown_field", field=shown_key(key), known=", ".join(_CONVERSATION))
    options: dict[str, Any] = {name: conversation.get(name) for name in ("tools", "enable_thinking")}
    messages: Any = conversation["messages"]
    if not isinstance(messages, list):
        raise Slm2Error("invalid_type", field="messages", expected="array", found=json_type(messages))
    return generate(model.source, messages, model.config, contract=model.contract, context=model.context or CONTEXT, **options)


def _write_event(event: ReplyEvent, form: str | None, *, show_reasoning: bool) -> None:
    if form == "events":
        _line(asdict(event))
    elif form == "ids":
        write_bytes("".join(f"{token} " for token in event.ids).encode("ascii"))
    elif form == "text":
        write_text(text_of(event, show_reasoning=show_reasoning))


def write_text(text: str) -> None:
    """Write to stdout as it is; where that is a terminal, nothing in it can steer it."""
    write_bytes((safe(text) if sys.stdout.isatty() else text).encode("utf-8"))


def text_of(event: ReplyEvent, *, show_reasoning: bool) -> str:
    """What an event is as plain text: the words as they are, a call as a line of JSON, and nothing of the rest."""
    if event.kind == "content" or (event.kind == "reasoning" and show_reasoning):
        return event.text
    if event.kind == "call":
        arguments = json.loads(event.arguments)
        return json.dumps({"name": event.name, "arguments": arguments}, ensure_ascii=False) + "\n"
    return ""


def _end(result: TurnResult, form: str | None, report_file: str | None) -> None:
    """The end of the output, the report, and what must be told of the reply."""
    report = result.to_dict()
    if form in ("text", "ids"):
        write_bytes(b"\n")
    elif form is not None:
        _line({"result": report} if form == "events" else report)
    if report_file is not None:
        write_file(report_file, json.dumps(report, indent=2).encode("ascii") + b"\n")
    tell(result)
    if result.refusal is not None:
        raise result.refusal


def tell(result: TurnResult) -> None:
    """Warn of what the text of a reply does not show: who drew it, and that it was cut off."""
    if result.sampled_by == "server":
        print_warning("sampled_by_server", "the server drew the ids: the settings of sampling were only asked for", model=result.model)
    if result.stopped_by == "MaxTokens":
        print_warning("reply_cut", "the reply was cut off at its limit", max_tokens=result.config.max_tokens, ids=len(result.ids))


def _line(value: object) -> None:
    write_bytes(json.dumps(value).encode("ascii") + b"\n")
