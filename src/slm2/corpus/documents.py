"""What a reader gives for each row of its input: the text of a document, or why it is broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from slm2.errors import Slm2Error

__all__ = ["Document", "Documents", "checked", "too_long"]

# The text in UTF-8, or why it is broken; and where the row ends, in bytes of the unpacked input (0 where rows are not found by bytes).
Document = tuple[bytes | Slm2Error, int]


class Documents(Protocol):
    """The documents of one open input."""

    def position(self) -> int:
        """Bytes of the file that were read, for progress alone."""

    def __iter__(self) -> Iterator[Document]:
        """From the row at which it was opened."""


def checked(text: bytes, limit: int) -> bytes | Slm2Error:
    """A text, or why it is none: too long, or not UTF-8."""
    if len(text) > limit:
        return too_long(limit)
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"the byte 0x{text[error.start]:02x} at {error.start}"
        return Slm2Error("invalid_value", field="the document", expected="UTF-8", found=found)
    return text


def too_long(limit: int) -> Slm2Error:
    """Of a document of more bytes than it may have."""
    return Slm2Error("invalid_value", field="the document", expected=f"at most {limit} bytes long", found="a longer one")
