"""``slm2 bench``: how fast this machine encodes, beside whichever other tokenizers are there."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import click

from slm2.cli.common import artifact_option, write_bytes
from slm2.cli.messages import print_warning
from slm2.engine import native_reason

_MEGABYTE = 1_000_000


def _named_pythons(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    from slm2.bench.subjects import SUBJECTS  # noqa: PLC0415  (--help imports no measure)

    pythons = {}
    for value in values:
        name, equals, path = value.partition("=")
        if not equals or name not in SUBJECTS:
            raise click.BadParameter(f"{value!r} is not SUBJECT=PYTHON, with one of {', '.join(SUBJECTS)}", ctx, parameter)
        pythons[name] = path
    return pythons


def _known_subjects(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from slm2.bench.subjects import SUBJECTS  # noqa: PLC0415

    return _known(ctx, parameter, values, tuple(SUBJECTS))


def _known_measures(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from slm2.bench.measures import MEASURES  # noqa: PLC0415

    return _known(ctx, parameter, values, tuple(MEASURES))


def _known(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value not in names:
            raise click.BadParameter(f"{value!r} is not one of {', '.join(names)}", ctx, parameter)
    return tuple(dict.fromkeys(values))


class _Finite(click.FloatRange):
    """A range in which NaN is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401  (click's signature)
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


@click.command("bench")
@click.option("--corpus", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Folder of texts; made when left out.")
@click.option("--megabytes", type=_Finite(min=0.01, max=1000), default=1.0, show_default=True, help="Size of a text at most.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="How often each measure is taken.")
@click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True, help="Of the batch call.")
@click.option("--timeout", type=_Finite(min=1, max=86_400), default=60.0, show_default=True, help="Seconds that a measure may take.")
@click.option("--subject", "subjects", multiple=True, callback=_known_subjects, metavar="NAME", help="What is measured; may be repeated.")
@click.option("--measure", "measures", multiple=True, callback=_known_measures, metavar="NAME", help="What of it; may be repeated.")
@click.option(
    "--tokenizer-json",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="The publisher's tokenizer.json: other tokenizers load it, and tokenizers 0.23.3 then says which ids are right.",
)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    callback=_named_pythons,
    metavar="SUBJECT=PYTHON",
    help="Interpreter of a subject.",
)
@click.option("--format", "form", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True)
@artifact_option
def command(  # noqa: PLR0913, PLR0917  (one parameter for each option)
    corpus: str | None,
    megabytes: float,
    rounds: int,
    threads: int,
    timeout: float,
    subjects: tuple[str, ...],
    measures: tuple[str, ...],
    tokenizer_json: str | None,
    pythons: dict[str, str],
    form: str,
    artifact: str | None,
) -> None:
    """Measure slm2 beside the other tokenizers that are installed.

    Ids are compared in the same run: with tokenizers 0.23.3 where it and the publisher's file are there, else with slm2's reference on
    the beginning of each text. Subjects take turns, each measure in a process forked from one that had just loaded. Takes minutes.
    """
    if not hasattr(os, "fork"):
        raise click.UsageError("slm2 bench needs a system that can fork")
    from slm2.bench.markdown import markdown  # noqa: PLC0415
    from slm2.bench.measures import MEASURES  # noqa: PLC0415
    from slm2.bench.run import Settings, default_subjects, run  # noqa: PLC0415
    from slm2.bench.summary import Summary  # noqa: PLC0415
    from slm2.cli.progress import bars  # noqa: PLC0415  (rich is slow to import)

    absent = native_reason()
    if absent is not None and not subjects:
        print_warning("reference_engine", f"the reference is measured, which is hundreds of times slower; take --megabytes 0.02 ({absent})")

    settings = Settings(
        subjects=subjects or default_subjects(),
        measures=measures or tuple(MEASURES),
        folder=None if corpus is None else Path(corpus),
        size=round(megabytes * _MEGABYTE),
        rounds=rounds,
        threads=threads,
        timeout=timeout,
        tokenizer_json=None if tokenizer_json is None else Path(tokenizer_json),
        artifact=None if artifact is None else Path(artifact),
        pythons=pythons,
    )
    with bars() as progress:
        raw = run(settings, progress)
    write_bytes((_lines(raw) if form == "json" else markdown(Summary(raw))).encode("utf-8"))


def _lines(raw: dict[str, object]) -> str:
    """JSON with a row of a list on each line, so that two runs can be compared."""
    members = []
    for name, value in raw.items():
        inside = ",\n".join(json.dumps(row) for row in value) if isinstance(value, list) else ""
        members.append(f"{json.dumps(name)}: " + (f"[\n{inside}\n]" if inside else json.dumps(value)))
    return "{\n" + ",\n".join(members) + "\n}\n"
