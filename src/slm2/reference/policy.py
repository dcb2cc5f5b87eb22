"""The system policy as a sealed value (decisions D7.1): it can be put into a prompt and named, never shown."""

from __future__ import annotations

import hashlib
from typing import NoReturn

from slm2.reference.pieces import Fragment
from slm2.reference.utf8 import to_utf8

POLICY_SOURCE = "policy"


class SealedPolicy:
    """A policy whose text is in no ``repr``, ``str``, format, comparison, error, copy or pickle.

    Python cannot hide memory from its own process; what this rules out is that the text is printed, logged or stored by accident.

    Attributes:
        digest: SHA-256 of the UTF-8 text, hex. It names the policy; a short policy that can be guessed can be confirmed with it.
        length: of the UTF-8 text, bytes.
    """

    __slots__ = ("__text", "digest", "length")

    def __init__(self, text: str) -> None:
        data = to_utf8(text)
        self.digest = hashlib.sha256(data).hexdigest()
        self.length = len(data)
        self.__text = text

    def fragment(self) -> Fragment:
        """The text for the assembler, which alone calls this; the caller must not keep, print or log it."""
        return Fragment(self.__text, "policy", POLICY_SOURCE)

    def __repr__(self) -> str:
        return f"SealedPolicy(length={self.length}, digest={self.digest!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SealedPolicy) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __copy__(self) -> SealedPolicy:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> SealedPolicy:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        _refuse_pickle()

    def __getstate__(self) -> NoReturn:
        _refuse_pickle()


def _refuse_pickle() -> NoReturn:
    raise TypeError("a SealedPolicy is not pickled: its text must not leave the process; send the policy by your own means")
