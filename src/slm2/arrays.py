"""Arrays of ids; NumPy is imported when the first is made, since lists do not need it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy
    from numpy.typing import NDArray

__all__ = ["array_of"]


def array_of(ids: bytes) -> NDArray[numpy.uint32]:
    """Little-endian uint32 values as a one-dimensional read-only array of uint32 over the same memory."""
    frombuffer, dtype = _maker()
    return frombuffer(ids, dtype)


@cache
def _maker() -> tuple[Callable[[bytes, numpy.dtype[numpy.uint32]], NDArray[numpy.uint32]], numpy.dtype[numpy.uint32]]:
    """What makes an array, and its type as an object: reading ``"<u4"`` takes longer than encoding a short message."""
    import numpy  # noqa: PLC0415

    return numpy.frombuffer, numpy.dtype("<u4")
