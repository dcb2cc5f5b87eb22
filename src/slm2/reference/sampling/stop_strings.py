"""Texts that end a generation, found however the text is cut into pieces (contract/sampling.md, S-84)."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["StopStrings"]


class StopStrings:
    """Holds text back while it may still become one of some strings.

    Attributes:
        found: the string that was found; None before that.
    """

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = sorted(strings, key=len, reverse=True)
        self._held = ""
        self.found: str | None = None

    def push(self, text: str) -> str:
        """The text that cannot be part of a string any more; what follows a string that was found is dropped."""
        given = ""
        for char in text:
            self._held += char
            # One scalar value after the other, so that grouping changes nothing; of several that end here the longest counts.
            self.found = next((string for string in self._strings if self._held.endswith(string)), None)
            if self.found is not None:
                given, self._held = given + self._held[: -len(self.found)], ""
                return given
            free = len(self._held) - self._possible()
            given, self._held = given + self._held[:free], self._held[free:]
        return given

    def _possible(self) -> int:
        """How long the longest ending is that begins a string."""
        for length in range(len(self._held), 0, -1):
            if any(string.startswith(self._held[-length:]) for string in self._strings):
                return length
        return 0

    def release(self) -> str:
        """What was held back, where the generation ended otherwise."""
        held, self._held = self._held, ""
        return held
