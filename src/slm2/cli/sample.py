"""``slm2 sample``: rows of logits to ids."""

from __future__ import annotations

import json
from io import BytesIO
from tokenize import TokenError
from typing import TYPE_CHECKING

import click

from slm2.cli.common import STANDARD, contract_options, open_contract, read_bytes, write_bytes, write_file
from slm2.cli.plot import check_plot, plot_step
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.files import reading
from slm2.reference.json_text import json_type, read_json
from slm2.sampling import Sampler, SamplingConfig

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@click.command("sample")
@click.option("--config", "config_file", metavar="C.json", required=True, help="Fields of SamplingConfig by name; see docs/sampling.md.")
@click.option("--logits", "logits_file", metavar="L.npy", required=True, help="Array of float32, [steps, 151936].")
@click.option("--history", "history_file", metavar="H.json", help="Array of the ids before the first step.")
@click.option("--trace", "trace_file", metavar="T.jsonl", help="Write a trace there, for slm2 replay; - is stdout, in place of the lines.")
@click.option("--plot", "plot_file", metavar="P.svg", help="Draw the last step there (.svg or .png): kept set, thresholds, draw.")
@contract_options
def command(  # noqa: PLR0913, PLR0917  (one parameter for each option)
    config_file: str,
    logits_file: str,
    history_file: str | None,
    trace_file: str | None,
    plot_file: str | None,
    artifact: str | None,
    engine: EngineChoice,
) -> None:
    """Draw an id for each row of logits.

    Every row is drawn: max_tokens, stop_ids and stop_strings end nothing here.

    Prints one JSON object a line: step, id, kept (how many ids were left to draw from), probability, words (taken from the generator).
    Each id drawn is in the history of the next step.
    """
    config = _config(config_file)
    history = _history(history_file)
    rows = read_rows(logits_file)
    if plot_file is not None:
        check_plot(plot_file)
    contract = open_contract(artifact, engine, config.profile)
    sampler = Sampler(contract.engine, config, history, record=trace_file is not None)
    for step, row in enumerate(rows):
        drawn = sampler.sample(row)
        line = {"step": step, "id": drawn.id, "kept": drawn.kept, "probability": drawn.probability, "words": drawn.words}
        if trace_file != STANDARD:
            write_bytes(json.dumps(line).encode("ascii") + b"\n")
    if trace_file is not None:
        write_file(trace_file, sampler.trace().to_jsonl().encode("utf-8"))
    if plot_file is not None and len(rows):
        before = Sampler(contract.engine, config, history)
        for row in rows[:-1]:
            before.sample(row)
        plot_step(before, rows[-1], plot_file)


def _config(file: str) -> SamplingConfig:
    value = read_json(read_bytes(file))
    if not isinstance(value, dict):
        raise Slm2Error("invalid_type", field="config", expected="object", found=json_type(value))
    return SamplingConfig.from_dict(value)


def _history(file: str | None) -> list[int]:
    if file is None:
        return []
    value = read_json(read_bytes(file))
    if not isinstance(value, list):
        raise Slm2Error("invalid_type", field="history", expected="array", found=json_type(value))
    history = []
    for position, token in enumerate(value):
        if isinstance(token, bool) or not isinstance(token, int):
            raise Slm2Error("invalid_type", field=f"history[{position}]", expected="integer", found=json_type(token))
        history.append(token)
    return history


def read_rows(file: str) -> npt.NDArray[np.float32]:
    """An array of rows of float32 from a file of NumPy, or from stdin for ``-``; nothing in it is executed.

    Raises:
        Slm2Error: ``file_unreadable``, ``invalid_type``.
    """
    import numpy as np  # noqa: PLC0415  (slow to import)

    with reading(file):
        try:
            if file == STANDARD:
                rows = np.load(BytesIO(read_bytes(file)), allow_pickle=False)
            else:
                rows = np.load(file, mmap_mode="r", allow_pickle=False)
        except (EOFError, OverflowError, TypeError, SyntaxError, TokenError, RecursionError) as error:
            # What NumPy lets through of a header that is none.
            raise ValueError(f"it is no array of NumPy: {error}") from None
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype != np.float32:
        found = f"{rows.dtype} with {rows.ndim} dimensions" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise Slm2Error("invalid_type", field="logits", expected="a two-dimensional array of float32", found=found)
    return rows
