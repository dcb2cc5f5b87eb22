"""``slm2 compile``: the publisher's files to an artifact."""

from __future__ import annotations

from pathlib import Path

import click

from slm2.artifact import read
from slm2.cli.common import STANDARD, write_bytes, write_file


@click.command("compile")
@click.argument("source_dir", metavar="SOURCE_DIR")
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="Where the artifact goes; replaced only when it is complete. - is stdout."
)
@click.option("--template", metavar="NAME", help="Template program to seal; the one of the publisher where the tokenizer is known.")
def command(source_dir: str, output: str, template: str | None) -> None:
    """Compile the publisher's files into an artifact.

    SOURCE_DIR holds the publisher's tokenizer.json; a Hugging Face snapshot folder will do as it is. Equal sources give equal files.
    Prints the file digest, the semantic digest and the name of the file, where the artifact itself does not go to stdout.
    """
    data = _compile(Path(source_dir), template)
    artifact = read(data)
    write_file(output, data)
    if output != STANDARD:
        write_bytes(f"{artifact.file_digest} {artifact.semantic_digest} {output}\n".encode("utf-8", "surrogateescape"))


def _compile(source_dir: Path, template: str | None) -> bytes:
    from slm2.cli.progress import bars  # noqa: PLC0415  (rich is slow to import)
    from slm2.compiler import compile_sources  # noqa: PLC0415  (so is the compiler)

    with bars() as progress:
        return compile_sources(source_dir, progress, template)
