"""What a caller's text may be, and its bytes."""

from __future__ import annotations

from slm2.errors import Slm2Error
from slm2.reference.utf8 import to_utf8

__all__ = ["Text", "to_bytes"]

Text = str | bytes | bytearray | memoryview


def to_bytes(text: Text) -> bytes:
    """The bytes that a text stands for.

    Raises:
        Slm2Error: ``invalid_type``.
    """
    if isinstance(text, str):
        return to_utf8(text)
    if isinstance(text, bytes | bytearray | memoryview):
        if type(text) is bytes:
            return text
        try:
            return bytes(memoryview(text))  # a subclass does not decide its bytes
        except ValueError:
            raise Slm2Error("invalid_type", field="text", expected="str or bytes", found="released memoryview") from None
    raise Slm2Error("invalid_type", field="text", expected="str or bytes", found=type(text).__name__)
