"""The text of ids that were drawn, until something ends it, and why it ended (contract/sampling.md, S-80 to S-84)."""

from __future__ import annotations

from typing import Literal

from slm2.artifact import Artifact
from slm2.errors import Slm2Error
from slm2.reference.sampling.config import SamplingConfig
from slm2.reference.sampling.stop_strings import StopStrings
from slm2.reference.stream import ReferenceStream
from slm2.reference.tokenizer import Special

__all__ = ["EndReason", "Limit", "ReferenceGeneratedText"]

Limit = Literal["StopToken", "MaxTokens", "StopString"]
EndReason = Literal["StopToken", "MaxTokens", "StopString", "FatalError"]


class ReferenceGeneratedText:
    """See :class:`slm2.engine.EngineGeneratedText`."""

    def __init__(self, artifact: Artifact, config: SamplingConfig, special: Special) -> None:
        self._decoder = ReferenceStream(artifact, special)
        self._strings = StopStrings(config.stop_strings)
        self._stop_ids, self._max_tokens = config.stop_ids, config.max_tokens
        self.ids: list[int] = []
        self._text: list[str] = []
        self.reason: EndReason | None = None
        self.stopped_by: Limit | None = None
        self._refused: str | None = None

    def check_open(self) -> None:
        """Raise ``generation_ended`` where it has."""
        if self.reason is not None or self._refused is not None:
            raise Slm2Error("generation_ended", reason=self.reason or self._refused)

    def take(self, token: int) -> str:
        """Take an id that was drawn: the text that is delivered with it."""
        self.check_open()
        self.ids.append(token)
        text = self._text_of(token)
        if self.reason is not None and self.stopped_by != "StopString":
            text += self._strings.release()
        self._text.append(text)
        return text

    def _text_of(self, token: int) -> str:
        if token in self._stop_ids:
            self._end("StopToken")
            return ""
        try:
            text, failed = self._decoder.push([token]), False
        except Slm2Error as error:
            if error.code != "ill_formed_text":
                self._refused = error.code
                self._text.append(self._strings.release())  # what was held back is part of what was generated (S-84)
                raise
            text, failed = str(error.fields["text"]), True
        text = self._strings.push(text)
        if self._strings.found is not None:
            self.stopped_by = "StopString"
        elif len(self.ids) == self._max_tokens:
            self.stopped_by = "MaxTokens"
        if failed:
            self.reason = "FatalError"
        elif self.stopped_by == "StopString":
            self.reason = "StopString"
        elif self.stopped_by is not None:
            self._end(self.stopped_by)
        return text

    def _end(self, limit: Limit) -> None:
        """Meet a limit; an open scalar value makes it fatal."""
        self.stopped_by = limit
        try:
            self._decoder.finish()
            self.reason = limit
        except Slm2Error:
            self.reason = "FatalError"

    @property
    def text(self) -> str:
        """All that was delivered."""
        return "".join(self._text)

    @property
    def stop_string(self) -> str | None:
        """Which string ended it."""
        return self._strings.found

    @property
    def pending(self) -> bytes:
        """Bytes that came and are no text."""
        return b"" if self.reason == "StopString" else self._decoder.pending
