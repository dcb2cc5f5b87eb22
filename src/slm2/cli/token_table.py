"""The table of ``slm2 encode --format table``."""

from __future__ import annotations

from rich import box
from rich.table import Table

from slm2.contract import Contract
from slm2.screen import console, print_on, visible


def print_tokens(contract: Contract, data: bytes, *, trusted: bool) -> None:
    """Print position, id, bytes, text and range of each token of ``data``."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("position", "id", "bytes"):
        table.add_column(heading, justify="left" if heading == "bytes" else "right", overflow="fold")
    table.add_column("text", overflow="fold")
    table.add_column("offsets", justify="right", no_wrap=True)
    for position, (token_id, start, end) in enumerate(_spans(contract, data, trusted=trusted)):
        token = contract.tokenizer.token_bytes(token_id)
        style = "bold" if token_id >= contract.tokenizer.vocabulary_size else ""
        table.add_row(str(position), str(token_id), token.hex(" "), visible(token, style), f"{start}–{end}")
    print_on(console(), table)


def _spans(contract: Contract, data: bytes, *, trusted: bool) -> list[tuple[int, int, int]]:
    """Each id with its range in ``data``; trusted text is cut at special tokens, as ``encode_trusted`` cuts it."""
    if not trusted:
        return contract.tokenizer.encode_spans(data)
    spans: list[tuple[int, int, int]] = []
    at = 0
    for finding in [*contract.tokenizer.find_special(data), None]:
        stop = len(data) if finding is None else finding.offset
        spans += [(token_id, at + start, at + end) for token_id, start, end in contract.tokenizer.encode_spans(data[at:stop])]
        if finding is not None:
            at = stop + len(finding.text.encode("utf-8"))
            spans.append((finding.id, stop, at))
    return spans
