"""What a model's cache holds, as far as its callers here know: so that no id is computed twice, and none is believed that may be wrong."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slm2.errors import Slm2Error
from slm2.logits_source import LogitsSource
from slm2.stats import Stats

if TYPE_CHECKING:
    from slm2.logits_source import Row

__all__ = ["ModelCache", "cache_of", "common_prefix"]

# By id() of the source: it may be no key of a mapping. The second member lets go of the entry when the source goes.
_CACHES: dict[int, tuple[ModelCache, weakref.ref[LogitsSource]]] = {}


class ModelCache:
    """The cache of one source, whoever calls it through this module.

    Attributes:
        ids: what the cache holds for certain; empty after any failure.
    """

    def __init__(self, source: weakref.ref[LogitsSource]) -> None:
        self._source = source
        self.ids: list[int] = []

    def row(self, ids: Sequence[int], step: int, stats: Stats) -> Row:
        """The row for the id that follows ``ids``, of which the model is given those that its cache does not hold.

        The last id is always given, since a model gives logits for what it is given alone.

        Raises:
            Slm2Error: ``model_failed`` where the model raised; its error is the cause. The cache counts as empty then, also after an
                interrupt, which goes through as it is.
        """
        source = self._source()
        if source is None:
            raise ReferenceError("the source of this cache is gone")
        keep = common_prefix(self.ids, ids[:-1])
        append = list(ids[keep:])
        self.ids = []  # while the model works, nothing is certain
        try:
            with stats.timed("model"):
                row = source.logits(keep=keep, append=append)
        except Exception as error:
            stats.failed_calls += 1
            raise Slm2Error("model_failed", step=step, reason=f"{type(error).__name__}: {error}") from error
        if not stats.model_calls:
            stats.first_seconds = stats.model_seconds
        self.ids = list(ids)
        stats.computed_ids += len(append)
        stats.model_calls += 1
        return row

    def forget(self) -> None:
        """Take the cache as empty."""
        self.ids = []


def cache_of(source: LogitsSource) -> ModelCache:
    """The one cache of a source, shared by all that is made over it in this process.

    Raises:
        Slm2Error: ``invalid_type`` where the source has no room for a weak reference.
    """
    key = id(source)
    if key not in _CACHES:
        try:
            reference = weakref.ref(source, lambda _: _CACHES.pop(key, None))
        except TypeError:
            expected = "an object that can be weakly referenced (__weakref__ among its slots)"
            raise Slm2Error("invalid_type", field="source", expected=expected, found=type(source).__name__) from None
        _CACHES[key] = (ModelCache(reference), reference)
    return _CACHES[key][0]


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many ids at the beginning are the same."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:  # the usual case, at the speed of memory
        return shorter
    return next(at for at in range(shorter) if left[at] != right[at])
