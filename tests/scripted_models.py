"""Models for tests, made of nothing: what they say depends on exactly the ids in their cache, so that a wrong cache is seen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from slm2.logits_source import ModelFacts, Served
from slm2.sampling import STOP_IDS, WIDTH, SamplingConfig, config_from_preset

END_OF_TURN = STOP_IDS[0]
# Plain words of ASCII, and the end of a turn: whatever is drawn of them is a well-formed reply.
WORDS = (*range(300, 330), 9707, 1879, END_OF_TURN)


def config(**changes) -> SamplingConfig:
    given = {"profile": "contract", "rng": "pcg32", "seed": 7, "max_tokens": 16, "stop_ids": STOP_IDS}
    return config_from_preset("thinking", **{**given, **changes})


class Failure(RuntimeError):
    """What a test's model raises."""


class WordModel:
    """Logits that are a hash of all ids in its cache, over a few words.

    Attributes:
        calls: keep and length of append of each call that came to its end.
        fails_at: numbers of calls, counted from 0 with those that fail, at which it raises, and how: before it touches its cache, after,
            or by a row of NaN.
    """

    def __init__(self, words: Sequence[int] = WORDS, **facts) -> None:
        self.model = ModelFacts(**{"name": "words", "width": WIDTH, **facts})
        self.words = np.array(words)
        self.cache: list[int] | None = []
        self.calls: list[tuple[int, int]] = []
        self.fails_at: dict[int, str] = {}
        self.count = -1

    def logits(self, *, keep: int, append: Sequence[int]):
        self.count += 1
        assert append
        if self.cache is None:
            assert keep == 0, "after a failure the cache counts as empty"
            self.cache = []
        assert keep <= len(self.cache)
        how = self.fails_at.get(self.count)
        if how == "before":
            self.cache = None
            raise Failure("out of memory")
        self.cache = [*self.cache[:keep], *append]
        row = self.row()
        if how == "nan":
            self.cache = None
            return np.full(WIDTH, np.nan, np.float32)
        if how is not None:
            self.cache = None
            raise {"after": Failure("out of memory"), "interrupt": KeyboardInterrupt()}[how]
        self.calls.append((keep, len(append)))
        return row

    def row(self):
        digest = hashlib.sha256(np.array(self.cache, np.uint32).tobytes()).digest()
        row = np.full(WIDTH, -30.0, np.float32)
        row[self.words] = np.random.default_rng(int.from_bytes(digest[:8], "little")).random(len(self.words)) * 5
        return row


class ScriptModel(WordModel):
    """Says given replies, by their ids, one after the other; which one is told by how many turns of the assistant the cache begins."""

    def __init__(self, *replies: Sequence[int], **facts) -> None:
        super().__init__(**facts)
        self.replies = replies

    def row(self):
        cache = np.array(self.cache)
        begins = (cache[:-2] == 151_644) & (cache[1:-1] == 77_091) & (cache[2:] == 198)  # <|im_start|>assistant and a line break
        said = len(cache) - (np.flatnonzero(begins)[-1] + 3)
        reply = self.replies[np.count_nonzero(begins) - 1]
        row = np.full(WIDTH, -30.0, np.float32)
        row[reply[said]] = 30.0
        return row


class WordServer:
    """A server that draws by itself: chunks of ids as they were given, one list for each request.

    Attributes:
        requests: prompt and max_tokens of each.
    """

    def __init__(self, *answers: Sequence[Served | Exception], **facts) -> None:
        self.model = ModelFacts(**{"name": "served", "width": None, **facts})
        self.answers = list(answers)
        self.requests: list[tuple[list[int], int]] = []
        self.closed = 0

    def serve(self, *, prompt: Sequence[int], config: SamplingConfig) -> Iterator[Served]:
        self.requests.append((list(prompt), config.max_tokens))
        try:
            for chunk in self.answers.pop(0):
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
        finally:
            self.closed += 1
