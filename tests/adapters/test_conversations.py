"""One conversation over each back end: the same replies, and a session that no failure changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slm2
from adapters import checkpoints, onnx_checkpoint
from adapters.completions_server import CompletionsServer, running
from publisher import publisher_tokenizer
from slm2.adapters.llama_cpp import LlamaCppSource
from slm2.adapters.onnxruntime import OnnxSource
from slm2.adapters.openai import OpenAIServer
from slm2.adapters.transformers.source import TransformersSource
from slm2.chat import Chat
from slm2.logits_source import LogitsSource, TokenServer
from slm2.sampling import STOP_IDS, SamplingConfig

CONTEXT = 512
QUESTIONS = ("Hi", "What is the capital of France?", "Et en français ? 👍🏽")
LOGITS = ("transformers", "onnxruntime", "llama-cpp")
# A row of one back end against another's, in the units of a logit; see test_sources.
CLOSE = 1e-4
# Of few candidates: among all 151,936 many have less probability than rows of two back ends differ by, and a draw may tell them apart.
DRAWN = {"temperature": 0.7, "top_k": 20, "top_p": 0.8, "repetition_penalty": 1.1}


def config(**changes: object) -> SamplingConfig:
    settings: dict[str, Any] = {
        "profile": "contract", "temperature": 0, "top_k": 0, "top_p": 1, "min_p": 0, "repetition_penalty": 1, "rng": "pcg32", "seed": 3,
        "max_tokens": 12, "stop_ids": STOP_IDS,
    }  # fmt: skip
    return SamplingConfig(**(settings | changes))


@pytest.fixture(scope="module")
def server() -> Iterator[CompletionsServer]:
    with running(checkpoints.model(), publisher_tokenizer()) as made:
        yield made


@pytest.fixture(scope="module")
def back_ends(
    checkpoint: Path, onnx_file: Path, gguf_file: Path, server: CompletionsServer
) -> Iterator[dict[str, LogitsSource | TokenServer]]:
    with LlamaCppSource.open(gguf_file, context=CONTEXT, threads=1, cache="float32") as llama:
        yield {
            "transformers": TransformersSource.from_pretrained(checkpoint),
            "onnxruntime": OnnxSource.open(onnx_file, threads=1),
            "llama-cpp": llama,
            "openai": OpenAIServer.open(server.url),
        }


class Recorded:
    """A source that remembers its rows, and fails once at every step where it is told to."""

    def __init__(self, source: LogitsSource, failing: bool = False) -> None:
        self.source, self.failing, self.failed = source, failing, 0
        self.rows: list[np.ndarray] = []
        self._fails = failing

    @property
    def model(self) -> Any:
        return self.source.model

    def logits(self, *, keep: int, append: list[int]) -> np.ndarray:
        row = np.array(self.source.logits(keep=keep, append=append))
        if self._fails:
            self._fails = False
            self.failed += 1
            raise OSError("the device is gone, after it has changed its cache")
        self._fails = self.failing
        self.rows.append(row)
        return row


def replies(source: LogitsSource | TokenServer, settings: SamplingConfig) -> list[tuple[int, ...]]:
    chat = Chat(source, settings, context=CONTEXT)
    results = [chat.begin([{"role": "user", "content": question}]).result() for question in QUESTIONS]
    sampled_by = "server" if isinstance(source, TokenServer) else "sampling2"
    assert {result.sampled_by for result in results} == {sampled_by}
    assert {result.to_dict()["sampled_by"] for result in results} == {sampled_by}
    return [result.ids for result in results]


def test_greedy_replies_are_the_same_everywhere(back_ends: dict) -> None:
    recorded = {kind: Recorded(back_ends[kind]) for kind in LOGITS}
    told = {kind: replies(source, config()) for kind, source in recorded.items()}
    # Along the whole conversation; the second greatest is further away than the error is.
    for rows in zip(*(source.rows for source in recorded.values()), strict=True):
        assert max(np.abs(row - rows[0]).max() for row in rows) < CLOSE
        assert np.diff(np.sort(rows[0])[-2:])[0] > CLOSE
    served = replies(back_ends["openai"], config())
    assert all(ids == served for ids in told.values())
    assert sum(map(len, served)) > 20


def test_one_seed_draws_the_same_everywhere(back_ends: dict) -> None:
    told = [replies(back_ends[kind], config(**DRAWN)) for kind in LOGITS]
    assert all(ids == told[0] for ids in told)
    assert len(set(told[0][0])) > 4


@pytest.mark.parametrize("kind", LOGITS)
def test_a_model_that_fails_once_at_every_step(back_ends: dict, kind: str) -> None:
    settings = config(**DRAWN)
    undisturbed = replies(back_ends[kind], settings)
    source = Recorded(back_ends[kind], failing=True)
    failing_conversation(source, settings, undisturbed, "model_failed")
    assert source.failed == sum(map(len, undisturbed))


@pytest.mark.parametrize(("fault", "code"), [("cut", "server_unreachable"), ("no ids", "server_reply")])
def test_a_server_that_fails_after_every_id(back_ends: dict, server: CompletionsServer, fault: str, code: str) -> None:
    """The request of each step fails after the one id that it brought; the next one goes on from there."""
    undisturbed = replies(back_ends["openai"], config())
    server.fault, server.after = fault, 1
    try:
        failing_conversation(back_ends["openai"], config(), undisturbed, code)
    finally:
        server.fault = ""
    assert server.mistakes == []


def failing_conversation(source: LogitsSource | TokenServer, settings: SamplingConfig, wanted: list[tuple[int, ...]], code: str) -> None:
    """Each step fails, is tried again and then gives what it gives without failures; the session is the one of before all the while."""
    chat = Chat(source, settings, context=CONTEXT)
    for question, ids in zip(QUESTIONS, wanted, strict=True):
        before = chat.session.save()
        turn = chat.begin([{"role": "user", "content": question}])
        # A server's first request fails at its second id, and its last one brings what it was asked for.
        steps = range(1, len(ids)) if isinstance(source, TokenServer) else range(len(ids))
        for step in steps:
            error = failure(turn)
            assert error is not None
            assert error.code == code
            assert chat.session.save() == before
            assert turn.ids == ids[:step]
        assert failure(turn) is None
        assert turn.result().ids == ids
        assert chat.session.save() != before


def failure(turn: Iterator[object]) -> slm2.Slm2Error | None:
    """What ends the events: an error, or None where it is the end of the reply."""
    try:
        deque(turn, maxlen=0)
    except slm2.Slm2Error as error:
        return error
    return None


def test_weights_of_another_contract_begin_no_chat(tmp_path: Path) -> None:
    source = OnnxSource.open(onnx_checkpoint.write(tmp_path / "model.onnx", checkpoints.model(vocab_size=1000)))
    with pytest.raises(slm2.Slm2Error) as other:
        Chat(source, config(), context=CONTEXT)
    assert (other.value.code, other.value.fields["found"]) == ("model_mismatch", 1000)
