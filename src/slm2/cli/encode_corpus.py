"""``slm2 encode-corpus``: files of documents to shards of ids."""

from __future__ import annotations

import json
from pathlib import Path

import click

from slm2.artifact import Profile
from slm2.cli.common import STANDARD, contract_options, identity, open_contract, profile_option, write_file
from slm2.cli.messages import print_warning
from slm2.corpus import CorpusOptions, CorpusReport, encode_corpus
from slm2.corpus.options import OnError, ReadForm, WriteForm
from slm2.engine import MAX_PRETOKEN, EngineChoice

_SIZES = CorpusOptions(read="lines", write="shards", append="none")


@click.command("encode-corpus")
@click.argument("inputs", nargs=-1, required=True, metavar="FILE...")
@click.option("--output", required=True, metavar="DIR", help="Folder of the shards: absent, empty, or that of the same run, stopped.")
@click.option(
    "--from",
    "read",
    required=True,
    type=click.Choice(["files", "lines", "jsonl", "parquet"]),
    help="A document is a file, a line, a member of each line of JSON, or a column of each row.",
)
@click.option("--field", metavar="NAME", help="The member or column; needed with jsonl and parquet.")
@click.option(
    "--to",
    "write",
    required=True,
    type=click.Choice(["shards", "parquet", "arrow"]),
    help="uint32 for numpy.memmap, or tables with the columns ids, source and row.",
)
@click.option("--append", required=True, metavar="none|NAME", help="What ends each document: nothing, or a special token: endoftext.")
@click.option(
    "--on-error",
    type=click.Choice(["refuse", "skip"]),
    default="refuse",
    show_default=True,
    help="A broken document ends the run, or is left out, counted and listed.",
)
@click.option(
    "--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Batches encoded at once; no effect on what is written."
)
@click.option(
    "--shard-ids",
    type=int,
    default=_SIZES.shard_ids,
    show_default=True,
    metavar="N",
    help="A shard ends after the batch that brings it to N ids.",
)
@click.option(
    "--batch-bytes",
    type=int,
    default=_SIZES.batch_bytes,
    show_default=True,
    metavar="N",
    help="Text encoded at once; a record batch or row group.",
)
@click.option(
    "--max-document",
    type=int,
    default=_SIZES.max_document,
    show_default=True,
    metavar="N",
    help="Bytes of a document (or line of JSON) at most.",
)
@click.option("--max-pretoken", type=int, default=MAX_PRETOKEN, show_default=True, metavar="N", help="Bytes of one piece of text at most.")
@click.option("--text-bytes", is_flag=True, help="Tables have the column text_bytes: the length of each text.")
@click.option("--input-digest", is_flag=True, help="Name inputs by SHA-256, not by their times, which copying changes; reads them twice.")
@click.option("--report", metavar="FILE", help="Write a report as JSON; - is stdout, in place of the line of text.")
@profile_option
@contract_options
def command(  # noqa: PLR0913, PLR0917  (one parameter for each option)
    inputs: tuple[str, ...],
    output: str,
    read: ReadForm,
    field: str | None,
    write: WriteForm,
    append: str,
    on_error: OnError,
    threads: int,
    shard_ids: int,
    batch_bytes: int,
    max_document: int,
    max_pretoken: int,
    text_bytes: bool,
    input_digest: bool,
    report: str | None,
    profile: Profile,
    artifact: str | None,
    engine: EngineChoice,
) -> None:
    """Turn files of documents into shards of token ids.

    Streams: memory does not grow with the corpus. Stopped in whatever way, the same command goes on after the last whole shard, and what
    is in the folder in the end is what an undisturbed run writes, byte by byte. Files that end in .gz or .zst are unpacked. Text is
    literal: text of special tokens is encoded as plain text.
    """
    if report not in (None, STANDARD) and Path(str(report)).absolute().parent.resolve() == Path(output).resolve():
        raise click.UsageError("--report is no file of the run, and would keep it from going on; put it beside --output, not into it")
    options = CorpusOptions(
        read=read,
        write=write,
        append=append,
        field=field,
        on_error=on_error,
        shard_ids=shard_ids,
        batch_bytes=batch_bytes,
        max_document=max_document,
        text_bytes=text_bytes,
        input_digest=input_digest,
    )
    from slm2.cli.progress import byte_bar  # noqa: PLC0415  (rich is slow to import)

    contract = open_contract(artifact, engine, profile, max_pretoken)
    with byte_bar("encoding") as progress:
        done = encode_corpus(contract, inputs, output, options, threads=threads, progress=progress)
    if done.cut:
        print_warning("journal_cut", f"a stopped run left {done.cut} bytes of a line in the journal; they were cut off")
    if done.total.skipped:
        print_warning("documents_skipped", f"{done.total.skipped} broken documents were left out; shard-*.skipped.jsonl list them")
    _tell(done, {**identity(contract), **done.to_dict()}, report)


def _tell(done: CorpusReport, report: dict[str, object], file: str | None) -> None:
    if file is not None:
        write_file(file, json.dumps(report).encode("ascii") + b"\n")
    total = done.total
    if file != STANDARD:
        click.echo(f"{total.documents:,} documents, {total.ids:,} ids, {total.skipped:,} skipped, {total.shards:,} shards")
