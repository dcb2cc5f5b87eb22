"""The system policy as a sealed value (decisions D7.1): it can be put into a prompt and named, never shown."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NoReturn

from slm2.errors import Slm2Error
from slm2.reference.json_text import json_type
from slm2.reference.pieces import Fragment
from slm2.reference.utf8 import to_utf8

POLICY_SOURCE = "policy"


class SealedPolicy:
    """A policy that cannot be changed, and whose text is in no ``repr``, ``str``, format, comparison, error, state, copy or pickle.

    This rules out that the text is printed, logged or stored by accident. Python cannot hide memory from its own process: whoever calls
    :meth:`fragment`, looks into the closure that holds the text, walks the heap or dumps it has the text, and
    ``object.__setattr__`` changes even this object.

    Attributes:
        digest: SHA-256 of the UTF-8 text, hex. It names the policy; a short policy that can be guessed can be confirmed with it.
        length: of the UTF-8 text, bytes.
    """

    __slots__ = ("__unseal", "digest", "length")
    __unseal: Callable[[], Fragment]
    digest: str
    length: int

    def __new__(cls, text: str) -> SealedPolicy:
        """Seal a text.

        Raises:
            Slm2Error: ``invalid_type``.
        """
        if not isinstance(text, str):
            raise Slm2Error("invalid_type", field="policy", expected="string", found=json_type(text))
        data = to_utf8(text)
        # A closure, not the text: object.__getstate__, which nobody can forbid, collects the values of all slots.
        members = {"digest": hashlib.sha256(data).hexdigest(), "length": len(data), "_SealedPolicy__unseal": _sealed(data)}
        policy = super().__new__(cls)
        for name, value in members.items():
            object.__setattr__(policy, name, value)
        return policy

    def fragment(self) -> Fragment:
        """The text for the assembler, which alone calls this; the caller must not keep, print or log it."""
        return self.__unseal()

    def __repr__(self) -> str:
        return f"SealedPolicy(length={self.length}, digest={self.digest!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SealedPolicy) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a SealedPolicy cannot be changed: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a SealedPolicy cannot be changed: {name}")

    def __copy__(self) -> SealedPolicy:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> SealedPolicy:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        _refuse_pickle()

    def __reduce__(self) -> NoReturn:
        _refuse_pickle()

    def __getstate__(self) -> NoReturn:
        _refuse_pickle()


def _sealed(data: bytes) -> Callable[[], Fragment]:
    return lambda: Fragment(data.decode("utf-8"), "policy", POLICY_SOURCE)


def _refuse_pickle() -> NoReturn:
    raise TypeError("a SealedPolicy is not pickled: its text must not leave the process; send the policy by your own means")
