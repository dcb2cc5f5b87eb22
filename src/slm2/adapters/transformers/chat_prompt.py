"""A prompt of Template2 among the texts that transformers' machinery takes: it has its ids already, and never becomes text on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slm2.adapters.transformers.encoding import Span, TokenSequence
from slm2.adapters.transformers.text_encoder import TextEncoder, numbered
from slm2.template import Rendering

__all__ = ["ChatPrompt", "sequence_of"]


class ChatPrompt(str):
    """The text of a prompt that brings its rendering along. It goes from ``apply_chat_template`` to the backend and to nobody else."""

    __slots__ = ("rendering",)
    rendering: Rendering

    @classmethod
    def of(cls, rendering: Rendering) -> ChatPrompt:
        """The prompt of a rendering."""
        prompt = cls(rendering.text)
        prompt.rendering = rendering
        return prompt


def sequence_of(encoder: TextEncoder, prompt: ChatPrompt) -> TokenSequence:
    """The ids of the rendering."""
    rendering = prompt.rendering
    return TokenSequence(rendering.input_ids, _PromptDetail(encoder, prompt), encoder.names, lambda: _assistant(rendering))


def _assistant(rendering: Rendering) -> list[int]:
    """1 for what a model writes in a turn of the assistant: all after the role header, up to and with the token that ends the turn."""
    mask: list[int] = []
    writing: int | None = None  # the message whose header was seen and whose end was not
    for token in rendering.tokens:
        assistant = token.role == "assistant" and token.message is not None
        if assistant and token.part == "role_header":
            writing = token.message
            mask.append(0)
            continue
        inside = assistant and token.message == writing
        mask.append(int(inside))
        if inside and token.part == "structure":
            writing = None
    return mask


class _PromptDetail:
    def __init__(self, encoder: TextEncoder, prompt: ChatPrompt) -> None:
        self._encoder = encoder
        self._text = str(prompt)

    def offsets(self, ids: Sequence[int]) -> list[Span]:
        offsets: list[Span] = []
        at = 0
        for plain, special in _stretches(ids, self._encoder.contract.tokenizer.vocabulary_size):
            end = self._end(plain, special, at)
            offsets += [(start + at, last + at) for start, last in self._encoder.offsets(self._text[at:end])]
            at = end
            if special is not None:
                at += len(self._encoder.name(special))
                offsets.append((end, at))
        return offsets

    def words(self, ids: Sequence[int]) -> list[int]:
        return numbered(self._encoder, ids)

    def _end(self, plain: list[int], special: int | None, start: int) -> int:
        """Where the text of plain ids ends: the text of the token after them may stand in it as well, as plain text.

        What ends earlier has fewer bytes, normalised too, and so never the same ids.
        """
        if special is None:
            return len(self._text)
        name = self._encoder.name(special)
        end = self._text.index(name, start)
        while self._encoder.contract.tokenizer.encode(self._text[start:end]) != plain:
            end = self._text.index(name, end + 1)
        return end


def _stretches(ids: Sequence[int], first_special: int) -> Iterator[tuple[list[int], int | None]]:
    """Runs of plain ids, each with the special one after it; the last has none."""
    plain: list[int] = []
    for token_id in ids:
        if token_id < first_special:
            plain.append(token_id)
        else:
            yield plain, token_id
            plain = []
    yield plain, None
