"""The alphabet of byte-level BPE: a printable character for each byte, as tokenizer.json and transformers write tokens.

The 188 bytes that are printable in Latin-1 stand for themselves, the 68 others for U+0100 and what follows, in their order (GPT-2's rule).
"""

from __future__ import annotations

__all__ = ["bytes_of", "text_of"]


def _alphabet() -> dict[int, str]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(256) if byte not in printable)
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + at) for at, byte in enumerate(others)}


_TEXT = _alphabet()
# str.translate over Latin-1 is the fast way to write many tokens.
_TRANSLATION = {byte: text for byte, text in _TEXT.items() if chr(byte) != text}
_BYTES = {text: byte for byte, text in _TEXT.items()}


def text_of(data: bytes) -> str:
    """A token's bytes as its text."""
    return data.decode("latin-1").translate(_TRANSLATION)


def bytes_of(text: str) -> bytes | None:
    """The bytes of a token's text; None where a character is none of the alphabet's."""
    try:
        return bytes(map(_BYTES.__getitem__, text))
    except KeyError:
        return None
