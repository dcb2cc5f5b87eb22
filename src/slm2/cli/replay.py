"""``slm2 replay``: a trace again, step by step."""

from __future__ import annotations

import json

import click

from slm2.cli.common import contract_options, open_contract, read_bytes, write_bytes
from slm2.cli.messages import print_error
from slm2.cli.sample import read_rows
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.reference.sampling.trace import Trace
from slm2.replay import audit, replay

_DIFFERS = 1


@click.command("replay")
@click.argument("trace_file", metavar="TRACE")
@click.option("--logits", "logits_file", metavar="L.npy", help="The rows that were drawn from: compute everything again.")
@contract_options
@click.pass_context
def command(ctx: click.Context, trace_file: str, logits_file: str | None, artifact: str | None, engine: EngineChoice) -> None:
    """Replay a trace of draws, and name the first step that differs.

    Without --logits every uniform is made again from the seed, and every draw checked from its numbers; with them everything is computed
    again. Prints {"steps", "logits"}; exit status 1 where a step differs.
    """
    try:
        text = read_bytes(trace_file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Slm2Error("trace_invalid", line=1, reason=f"it is no UTF-8: {error.reason}") from None
    trace = Trace.from_jsonl(text)
    try:
        steps = audit(trace)
        if logits_file is not None:
            steps = replay(trace, open_contract(artifact, engine).engine, read_rows(logits_file))
    except Slm2Error as error:
        if error.code != "trace_differs":
            raise
        print_error(error.to_dict())
        ctx.exit(_DIFFERS)
    write_bytes(json.dumps({"steps": steps, "logits": logits_file is not None}).encode("ascii") + b"\n")
