"""What the commands share: options, opening an artifact, reading and writing bytes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, TypeVar

import click

from slm2.artifact import PROFILES, Profile
from slm2.cli.messages import InputLineError, print_warning
from slm2.contract import Contract, load
from slm2.engine import MAX_PRETOKEN, EngineChoice
from slm2.errors import Slm2Error
from slm2.files import read_file, reading
from slm2.reference.json_text import JsonValue, read_json
from slm2.template import Finding as FieldFinding
from slm2.tokenizer import Finding

# In the place of a file's name: stdin where it is read, stdout where it is written.
STANDARD = "-"
_STDIN = "<stdin>"

_Function = TypeVar("_Function", bound=Callable[..., object])

file_argument = click.argument("file", default=STANDARD, metavar="[FILE|-]")

artifact_option = click.option("--artifact", metavar="FILE", help="Artifact to use instead of the one in the package.")

engine_option = click.option(
    "--engine",
    type=click.Choice(["auto", "native", "reference"]),
    default="auto",
    show_default=True,
    help="Which implementation computes: the Rust engine, the Python reference, or the first that is there.",
)

profile_option = click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="contract",
    show_default=True,
    help="contract: text is taken as it is. publisher: text is NFC-normalized as the publisher's Python pipeline does.",
)


def contract_options(function: _Function) -> _Function:
    """Add ``--artifact`` and ``--engine``."""
    return artifact_option(engine_option(function))


def open_contract(artifact: str | None, engine: EngineChoice, profile: Profile = "contract", max_pretoken: int = MAX_PRETOKEN) -> Contract:
    """Load the contract; where ``auto`` falls back to the reference, the warning is a line on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        contract = load(artifact, engine=engine, profile=profile, max_pretoken=max_pretoken)
    for warning in caught:
        print_warning("reference_engine", str(warning.message))
    return contract


def read_bytes(file: str) -> bytes:
    """All of a file, or of stdin where ``file`` is ``-``.

    Raises:
        Slm2Error: ``file_unreadable``.
    """
    if file != STANDARD:
        return read_file(file)
    with reading(_STDIN):
        return opened_stdin().read()


def opened_stdin() -> BinaryIO:
    """Stdin, for bytes.

    Raises:
        OSError: it was closed before the process began.
    """
    if sys.stdin is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return sys.stdin.buffer


def for_each_line(file: str, answer: Callable[[JsonValue, int], str]) -> None:
    """Write a line for each line of JSON, at once, so that a program can talk with the command line by line.

    Args:
        file: to read, ``-`` for stdin.
        answer: of the value on a line and its number, counted from 1.

    Raises:
        Slm2Error: ``file_unreadable``.
        InputLineError: a line was refused; the answers to those before it are written.
    """
    for number, line in enumerate(_lines(file), start=1):
        try:
            text = answer(read_json(line), number)
        except Slm2Error as error:
            raise InputLineError(error, number) from None
        write_bytes(text.encode("utf-8") + b"\n")


def _lines(file: str) -> Iterator[bytes]:
    path = _STDIN if file == STANDARD else file
    with reading(path):
        opened = nullcontext(opened_stdin()) if file == STANDARD else Path(file).open("rb")  # noqa: SIM115  (closed below)
    with opened as stream:
        while True:
            with reading(path):  # what is done with the line must not pass through this handler
                line = stream.readline()
            if not line:
                return
            yield line


def write_bytes(data: bytes) -> None:
    """Write to stdout, unchanged, now."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_file(name: str, data: bytes) -> None:
    """Put a file in its place in one step, so that no reader ever finds half of it; or write to stdout where its name is ``-``.

    A command that writes something else to stdout leaves that out then.

    Raises:
        Slm2Error: ``file_unwritable``.
    """
    if name == STANDARD:
        write_bytes(data)
        return
    path = Path(name)
    if not path.name or path.is_dir():
        raise Slm2Error("file_unwritable", path=str(path), reason="it is a folder")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise Slm2Error("file_unwritable", path=str(path), reason=error.strerror or str(error)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_ids(ids: Sequence[int]) -> None:
    """Write ids on one line, separated by spaces."""
    write_bytes(" ".join(map(str, ids)).encode("ascii") + b"\n")


def warn_of_findings(findings: Sequence[Finding | FieldFinding], policy_findings: int = 0, **fields: object) -> None:
    """Tell on stderr that text of special tokens was found and encoded as plain text."""
    if findings or policy_findings:
        message = "the input holds the text of special tokens; it was encoded as plain text"
        told = {"policy_findings": policy_findings} if policy_findings else {}
        print_warning("special_token_text", message, **fields, findings=[asdict(finding) for finding in findings], **told)


def identity(contract: Contract) -> dict[str, object]:
    """What made a result, for reports: engine, profile and digests."""
    return {
        "engine": contract.engine.name,
        "profile": contract.profile,
        "artifact": {"file_digest": contract.file_digest, "semantic_digest": contract.digest},
    }
