"""Sources of logits: the same weights give nearly the same logits wherever they run, and a reused cache those of a computed one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import slm2
from adapters import checkpoints
from slm2.adapters.llama_cpp import LlamaCppSource
from slm2.adapters.onnxruntime import OnnxSource
from slm2.adapters.transformers.source import TransformersSource
from slm2.logits_source import LogitsSource, check_model

# Of logits whose standard deviation is 2.7. Orders of addition differ between one id at a time and many, and between programs: the
# most in 200 random steps was 0.00003, and float32 at this size has steps of 0.000001.
TOLERANCE = 1e-4
# llama.cpp's own default rounds keys, values and what attention computes to float16: 0.12 was the most in these steps.
TOLERANCE_FLOAT16 = 0.3
KINDS = ("transformers", "onnxruntime", "llama-cpp", "llama-cpp float16")
LONGEST = 700


@pytest.fixture(scope="module")
def open_source(checkpoint: Path, onnx_file: Path, gguf_file: Path) -> Iterator[Callable[[str], LogitsSource]]:
    """Each kind of source, made once."""
    made: dict[str, LogitsSource] = {}
    makers: dict[str, Callable[[], LogitsSource]] = {
        "transformers": lambda: TransformersSource.from_pretrained(checkpoint),
        "onnxruntime": lambda: OnnxSource.open(onnx_file, threads=1),
        "llama-cpp": lambda: LlamaCppSource.open(gguf_file, context=1024, threads=1, cache="float32"),
        "llama-cpp float16": lambda: LlamaCppSource.open(gguf_file, context=1024, threads=1),
    }

    def get(kind: str) -> LogitsSource:
        if kind not in made:
            made[kind] = makers[kind]()
        return made[kind]

    yield get
    for source in made.values():
        if isinstance(source, LlamaCppSource):
            source.close()


@pytest.fixture(scope="module")
def expected() -> Callable[[list[int]], np.ndarray]:
    """The last row by transformers, without a cache."""
    model = checkpoints.model()

    def row(ids: list[int]) -> np.ndarray:
        with torch.no_grad():
            return model(torch.tensor([ids]), use_cache=False, logits_to_keep=1).logits[0, -1].numpy()

    return row


def tolerance(kind: str) -> float:
    return TOLERANCE_FLOAT16 if kind == "llama-cpp float16" else TOLERANCE


def difference(left: np.ndarray, right: np.ndarray) -> float:
    assert left.dtype == right.dtype == np.float32
    assert left.shape == right.shape == (151_936,)
    return float(np.abs(left - right).max())


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_random_steps(open_source: Callable, expected: Callable, kind: str) -> None:
    """Of every step, against transformers from scratch; cuts, appends of one id and of many, and whole prompts in pieces."""
    source, seed = open_source(kind), 20261130
    choose = random.Random(seed)
    held: list[int] = []
    source.logits(keep=0, append=[1])
    held, margins_seen = [1], 0
    for step in range(25):
        keep = choose.choice([len(held), len(held), choose.randint(0, len(held))])
        most = choose.choice([1, 1, 8, 300, LONGEST])
        append = [choose.randrange(151_936) for _ in range(choose.randint(1, max(1, min(most, LONGEST - keep))))]
        held = held[:keep] + append
        row, wanted = source.logits(keep=keep, append=append), expected(held)
        assert difference(row, wanted) < tolerance(kind), f"seed {seed}, step {step}"
        first, second = np.sort(wanted)[-2:][::-1]
        if first - second > 2 * tolerance(kind):
            margins_seen += 1
            assert row.argmax() == wanted.argmax()
    assert margins_seen > 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_cache_gives_what_a_new_one_gives(open_source: Callable, kind: str) -> None:
    source = open_source(kind)
    ids = [151_644, 872, 198, 13_048, 151_645, 198, 151_644, 77_091, 198]
    whole = np.array(source.logits(keep=0, append=ids))
    for keep in range(1, len(ids)):
        assert difference(source.logits(keep=keep, append=ids[keep:]), whole) < TOLERANCE
    source.logits(keep=3, append=[5] * 40)
    assert difference(source.logits(keep=3, append=ids[3:]), whole) < TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("keep", "append", "field"),
    [(4, [1], "keep"), (-1, [1], "keep"), (3, [], "append"), (3, [1, 151_936], "append"), (0, [-1], "append"), (3, [1] * 50_000, "append")],
)
def test_a_step_that_cannot_be_is_refused_and_changes_nothing(
    open_source: Callable, kind: str, keep: int, append: list[int], field: str
) -> None:
    source = open_source(kind)
    before = np.array(source.logits(keep=0, append=[7, 8, 9]))
    with pytest.raises(slm2.Slm2Error) as refused:
        source.logits(keep=keep, append=append)
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_value", field)
    assert difference(source.logits(keep=2, append=[9]), before) < TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("keep", "append", "field"),
    [
        (1.0, [9], "keep"), (np.float32(1), [9], "keep"), (True, [9], "keep"), ("1", [9], "keep"), (None, [9], "keep"),
        (3, [9.0], "append[0]"), (3, [9, np.float64(1)], "append[1]"), (3, [9, True], "append"), (3, [np.True_], "append[0]"),
        (3, [None], "append[0]"), (3, np.array([1.0]), "append[0]"), (3, np.array([[1]]), "append[0]"), (3, "9", "append"),
        (3, 9, "append"), (3, b"9", "append"), (3, {9}, "append"),
    ],
)  # fmt: skip
def test_what_is_no_integer_is_refused_and_changes_nothing(
    open_source: Callable, kind: str, keep: object, append: object, field: str
) -> None:
    source = open_source(kind)
    before = np.array(source.logits(keep=0, append=[7, 8, 9]))
    with pytest.raises(slm2.Slm2Error) as refused:
        source.logits(keep=keep, append=append)
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_type", field)
    assert difference(source.logits(keep=np.int64(2), append=np.array([9])), before) < TOLERANCE


def test_numbers_of_an_opened_model_are_integers(onnx_file: Path, gguf_file: Path) -> None:
    opening: dict[str, Callable[[], object]] = {
        "context": lambda: LlamaCppSource.open(gguf_file, context=64.0),
        "gpu_layers": lambda: LlamaCppSource.open(gguf_file, context=64, gpu_layers=0.5),
        "threads": lambda: LlamaCppSource.open(gguf_file, context=64, threads=1.0),
        "threads ": lambda: OnnxSource.open(onnx_file, threads=1.0),
    }
    for field, call in opening.items():
        with pytest.raises(slm2.Slm2Error) as refused:
            call()
        assert (refused.value.code, refused.value.fields["field"]) == ("invalid_type", field.strip())


@pytest.mark.parametrize("kind", ["onnxruntime", "llama-cpp"])
def test_a_failure_at_any_call_leaves_an_empty_cache(open_source: Callable, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The prompt goes in in pieces; each fails once, before and after the library has done its work."""
    source = open_source(kind)
    ids = list(range(1000, 1600))
    whole = np.array(source.logits(keep=0, append=ids))
    calls = 3 if kind == "onnxruntime" else 2
    for fail_at, works_first in itertools.product(range(calls), (False, True)):
        with monkeypatch.context() as patch:
            break_call(patch, source, fail_at, works_first=works_first)
            with pytest.raises((OSError, RuntimeError)):
                source.logits(keep=300, append=[5] * 600)
        with pytest.raises(slm2.Slm2Error, match="from 0 to 0"):
            source.logits(keep=1, append=[1])
        assert difference(source.logits(keep=0, append=ids), whole) < TOLERANCE


def break_call(patch: pytest.MonkeyPatch, source: LogitsSource, fail_at: int, *, works_first: bool) -> None:
    """Let one of the calls into the library fail."""
    calls = iter(range(100))

    def called(function: Callable, failure: Callable[[], object], *arguments: object) -> object:
        failing = next(calls) == fail_at
        answer = function(*arguments) if works_first or not failing else None
        return failure() if failing else answer

    def gone() -> object:
        raise OSError("the device is gone")

    if isinstance(source, OnnxSource):
        patch.setattr(source._session, "run", partial(called, source._session.run, gone))
    else:
        patch.setattr(source._library, "llama_decode", partial(called, source._library.llama_decode, lambda: 2))


def test_facts_and_the_contract(onnx_file: Path, open_source: Callable) -> None:
    contract = slm2.load()
    special = {text.decode(): token for token, text in contract.engine.special_tokens}
    model = open_source("onnxruntime").model
    assert (model.name, model.width, model.special_ids, model.end_ids) == (str(onnx_file), 151_936, special, (151_645, 151_643))
    assert model.context == 40_960
    check_model(contract, model)
    model = open_source("llama-cpp").model
    assert (model.width, model.special_ids, model.context) == (151_936, special, 1024)
    assert 151_645 in model.end_ids
    check_model(contract, model)
    assert all(isinstance(open_source(kind), LogitsSource) for kind in KINDS)
