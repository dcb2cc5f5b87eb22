"""The order in which libstdc++'s std::sort leaves equal values (contract/sampling.md, S-57).

torch.sort(stable=False) on the CPU is std::sort: introsort with a median of three, insertion sort below 17 elements and heapsort when the
recursion is too deep. Values that differ come out in one order whatever the method; only where equal ones straddle the top_p cut does it
matter which of them come last, and there this method is the publisher's.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["introsort"]

_SMALL = 16


def introsort(values: Sequence[float]) -> list[int]:
    """Indices of the values, rising; values must not be NaN."""
    return _Introsort(values).sorted()


class _Introsort:
    """Keys and the indices that move with them."""

    def __init__(self, values: Sequence[float]) -> None:
        self.keys = [float(value) for value in values]
        self.indices = list(range(len(self.keys)))

    def sorted(self) -> list[int]:
        count = len(self.keys)
        if count > 1:
            self._loop(0, count, 2 * (count.bit_length() - 1))
            self._insertion(0, min(count, _SMALL))
            for at in range(_SMALL, count):
                self._unguarded_insert(at)
        return self.indices

    def _loop(self, first: int, last: int, depth: int) -> None:
        stack = [(first, last, depth)]  # the ranges are disjoint: their order does not matter
        while stack:
            first, last, depth = stack.pop()
            while last - first > _SMALL:
                if depth == 0:
                    self._heap_sort(first, last)
                    break
                depth -= 1
                self._median_to_first(first, first + 1, first + (last - first) // 2, last - 1)
                cut = self._partition(first + 1, last, first)
                stack.append((cut, last, depth))
                last = cut

    def _swap(self, a: int, b: int) -> None:
        self.keys[a], self.keys[b] = self.keys[b], self.keys[a]
        self.indices[a], self.indices[b] = self.indices[b], self.indices[a]

    def _median_to_first(self, target: int, a: int, b: int, c: int) -> None:
        keys = self.keys
        if keys[a] < keys[b]:
            chosen = b if keys[b] < keys[c] else c if keys[a] < keys[c] else a
        else:
            chosen = a if keys[a] < keys[c] else c if keys[b] < keys[c] else b
        self._swap(target, chosen)

    def _partition(self, first: int, last: int, pivot: int) -> int:
        key = self.keys[pivot]
        while True:
            while self.keys[first] < key:
                first += 1
            last -= 1
            while key < self.keys[last]:
                last -= 1
            if not first < last:
                return first
            self._swap(first, last)
            first += 1

    def _insertion(self, first: int, last: int) -> None:
        keys, indices = self.keys, self.indices
        for at in range(first + 1, last):
            if keys[at] < keys[first]:
                key, index = keys.pop(at), indices.pop(at)
                keys.insert(first, key)
                indices.insert(first, index)
            else:
                self._unguarded_insert(at)

    def _unguarded_insert(self, at: int) -> None:
        keys, indices = self.keys, self.indices
        key, index = keys[at], indices[at]
        while key < keys[at - 1]:
            keys[at], indices[at] = keys[at - 1], indices[at - 1]
            at -= 1
        keys[at], indices[at] = key, index

    def _heap_sort(self, first: int, last: int) -> None:
        length = last - first
        for parent in range((length - 2) // 2, -1, -1):
            self._adjust_heap(first, parent, length, self.keys[first + parent], self.indices[first + parent])
        while last - first > 1:
            last -= 1
            key, index = self.keys[last], self.indices[last]
            self.keys[last], self.indices[last] = self.keys[first], self.indices[first]
            self._adjust_heap(first, 0, last - first, key, index)

    def _adjust_heap(self, first: int, hole: int, length: int, key: float, index: int) -> None:
        keys, indices, top = self.keys, self.indices, hole

        def move(source: int) -> int:
            keys[first + hole], indices[first + hole] = keys[first + source], indices[first + source]
            return source

        child = hole
        while child < (length - 1) // 2:
            child = 2 * (child + 1)
            if keys[first + child] < keys[first + child - 1]:
                child -= 1
            hole = move(child)
        if length % 2 == 0 and child == (length - 2) // 2:
            hole = move(2 * child + 1)
        while hole > top and keys[first + (hole - 1) // 2] < key:
            hole = move((hole - 1) // 2)
        keys[first + hole], indices[first + hole] = key, index
