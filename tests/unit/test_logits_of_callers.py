"""Rows as callers bring them: an exact result or a typed error, after which nothing has changed (contract/sampling.md, S-10)."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from sampling_cases import config, engine, heavy_tailed
from slm2.errors import Slm2Error
from slm2.reference.sampling.recipe import Recipe, round_to_bfloat16
from slm2.sampling import WIDTH, Sampler, sample_batch, widen

ENGINES = ("native", "reference")
every_engine = pytest.mark.parametrize("choice", ENGINES)
ROW = Recipe(9, 0, 1.0, 9.0).logits(WIDTH)


def sampler(choice, **changes) -> Sampler:
    return Sampler(engine(choice), config(**changes), [1, 2, 3])


def code(made: Sampler, row, **options) -> str:
    before = made.state()
    with pytest.raises(Slm2Error) as caught:
        made.sample(row, **options)
    assert made.state() == before
    return caught.value.code


@every_engine
def test_what_is_no_row_is_refused(choice) -> None:
    made = sampler(choice)
    for row in (ROW.tolist(), None, "logits", ROW.tobytes(), memoryview(ROW), ROW[None], ROW.reshape(2, -1), np.float32(1.0)):
        assert code(made, row) == "invalid_type"
    for dtype in (np.float64, np.int32, np.complex64, np.bool_, object, "S4", np.longdouble, np.uint16):
        assert code(made, np.zeros(WIDTH, dtype)) == "invalid_type"
    for length in (0, 1, WIDTH - 1, WIDTH + 1, 2 * WIDTH):
        assert code(made, np.zeros(length, np.float32)) == "logits_length"
    assert made.sample(ROW) == sampler(choice).sample(ROW)


@every_engine
@pytest.mark.parametrize("at", [0, 77_777, 151_668, 151_669, WIDTH - 1])
def test_what_no_model_may_give_is_refused_at_every_id(choice, at) -> None:
    for rng in ("pcg32", "mt19937-torch"):
        made = sampler(choice, rng=rng)
        for value, name in ((np.nan, "NaN"), (-np.nan, "NaN"), (np.inf, "Infinity")):
            row = ROW.copy()
            row[at] = value
            row[WIDTH - 1] = value  # a later one: the first is told
            with pytest.raises(Slm2Error) as caught:
                made.sample(row)
            assert (caught.value.code, caught.value.fields) == ("logits_invalid", {"id": at, "found": name})


@every_engine
def test_nothing_to_draw_from(choice) -> None:
    nothing = np.full(WIDTH, -np.inf, np.float32)
    for rng in ("pcg32", "mt19937-torch"):
        for temperature in (0, 0.6):
            made = sampler(choice, rng=rng, temperature=temperature)
            assert code(made, nothing) == "logits_excluded"
            assert code(made, ROW, allowed=bytes(WIDTH // 8)) == "logits_excluded"
            one = nothing.copy()
            one[5] = -3e38 if temperature == 0 else -3.0
            drawn = made.sample(one, top=3)
            assert (drawn.id, drawn.probability, drawn.log_probability, drawn.kept) == (5, 1.0, 0.0, 1)
            assert [token for token, *_ in drawn.top] == [5]
    padding = nothing.copy()
    padding[151_669:] = 1.0
    assert code(sampler(choice), padding) == "logits_excluded"
    assert sampler(choice, rng="mt19937-torch").sample(padding).id >= 151_669


@every_engine
@pytest.mark.parametrize(
    ("changes", "operation"),
    [
        ({"temperature": 1e-3}, "temperature"),
        ({"repetition_penalty": 1e-3}, "repetition_penalty"),
        ({"logit_bias": {1: 3e38}}, "logit_bias"),
    ],
)
def test_finite_logits_that_become_infinite_are_refused(choice, changes, operation) -> None:
    row = ROW.copy()
    row[1] = 3e38
    made = sampler(choice, **changes)
    with pytest.raises(Slm2Error) as caught:
        made.sample(row)
    assert (caught.value.code, caught.value.fields) == ("logits_overflow", {"id": 1, "operation": operation})
    row[1] = -3e38
    if operation != "logit_bias":
        if operation == "repetition_penalty":
            made = sampler(choice, repetition_penalty=1e3)
        assert code(made, row) == "logits_overflow"
        # torch goes on with -inf there.
        assert sampler(choice, **(changes | {"rng": "mt19937-torch"})).sample(row).kept > 0


@every_engine
def test_views_of_every_kind_give_what_their_copy_gives(choice) -> None:
    wide = np.zeros((WIDTH, 3), np.float32)
    wide[:, 1] = ROW
    unaligned = np.frombuffer(b"\0" + ROW.tobytes(), np.uint8)[1:].view(np.float32)
    read_only = ROW.copy()
    read_only.flags.writeable = False
    swapped = ROW.astype(ROW.dtype.newbyteorder())
    expected = sampler(choice).sample(ROW)
    for row in (wide[:, 1], unaligned, read_only, swapped, ROW[::-1].copy()[::-1], np.asfortranarray(ROW), ROW.view(np.ndarray)):
        assert sampler(choice).sample(row) == expected

    class Subclass(np.ndarray):
        @property
        def __array_interface__(self):
            raise AssertionError("nobody asks a subclass where its memory is")

    assert sampler(choice).sample(ROW.view(Subclass)) == expected


@every_engine
def test_half_precision_is_widened_exactly(choice) -> None:
    half = ROW.astype(np.float16)
    assert sampler(choice).sample(half) == sampler(choice).sample(half.astype(np.float32))
    assert sampler(choice).sample(widen(half.view(np.uint16), "float16")) == sampler(choice).sample(half)
    rounded = round_to_bfloat16(ROW)
    bits = (rounded.view(np.uint32) >> 16).astype(np.uint16)
    assert np.array_equal(widen(bits, "bfloat16").view(np.uint32), rounded.view(np.uint32))
    every_pattern = np.arange(2**16, dtype=np.uint16)
    assert np.array_equal(widen(every_pattern, "bfloat16").view(np.uint32), every_pattern.astype(np.uint32) << 16)
    for bits, dtype in ((ROW, "bfloat16"), ([1], "float16"), (every_pattern, "float8")):
        with pytest.raises(Slm2Error):
            widen(bits, dtype)


def test_native_takes_nothing_but_contiguous_float32() -> None:
    """The face converts; the engine itself refuses what it cannot read in place."""
    native = engine("native").sampler(config(), [], WIDTH)
    for row in (ROW.astype(np.float64), ROW[::2], ROW[None], ROW.tolist(), ROW.astype(ROW.dtype.newbyteorder()), object()):
        with pytest.raises(Slm2Error) as caught:
            native.sample(row, None, 0)
        assert caught.value.code == "invalid_type"


@every_engine
def test_masks(choice) -> None:
    allowed = np.zeros(WIDTH, np.bool_)
    allowed[[5, 9, 100_000]] = True
    packed = np.packbits(allowed, bitorder="little")
    for mask in (allowed, packed.tobytes(), bytearray(packed), memoryview(packed), packed.view(np.uint32), packed.view(np.int32)):
        made = sampler(choice)
        assert {made.sample(ROW, allowed=mask).id for _ in range(5)} <= {5, 9, 100_000}
        assert made.kept().tolist() == sorted(set(made.kept().tolist()) & {5, 9, 100_000})
    for mask in (packed[:-1].tobytes(), allowed[:-1], packed.view(np.uint32)[:-1]):
        assert code(sampler(choice), ROW, allowed=mask) == "allowed_length"
    for mask in (packed, "all", [True], allowed[None]):
        assert code(sampler(choice), ROW, allowed=mask) == "invalid_type"


def test_other_arguments() -> None:
    made = sampler("native")
    for top in (-1, WIDTH + 1):
        assert code(made, ROW, top=top) == "invalid_value"
    assert code(made, ROW, top="all") == "invalid_type"
    for ids in ([WIDTH], [-1]):
        with pytest.raises(Slm2Error) as caught:
            made.extend(ids)
        assert caught.value.code == "token_id_out_of_range"
    for words in (-1, 2**64):
        with pytest.raises(Slm2Error):
            made.advance(words)
    with pytest.raises(Slm2Error):
        made.restore("state")
    with pytest.raises(Slm2Error):
        Sampler(engine("native"), {"temperature": 1})
    with pytest.raises(Slm2Error):
        Sampler(engine("native"), config(), width=0)
    with pytest.raises(Slm2Error):
        made.trace()
    with pytest.raises(Slm2Error):
        sample_batch([made], np.stack([ROW, ROW]))
    for leave in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError):
            leave(made)


def test_the_row_is_never_changed() -> None:
    row = ROW.copy()
    for choice in ENGINES:
        sampler(choice, repetition_penalty=1.5, banned_ids=(4,), logit_bias={5: 2.0}).sample(row)
    assert np.array_equal(row, ROW)


def test_threads_share_neither_state_nor_time() -> None:
    """Samplers of their own in threads of their own draw what they draw alone."""
    rng = np.random.default_rng(1)
    rows = [heavy_tailed(rng) for _ in range(6)]

    def draws(seed: int) -> list[int]:
        made = sampler("native", seed=seed, top_k=0)
        return [made.sample(row).id for row in rows]

    alone = [draws(seed) for seed in range(6)]
    together: dict[int, list[int]] = {}
    threads = [threading.Thread(target=lambda seed=seed: together.__setitem__(seed, draws(seed))) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(6)] == alone


@every_engine
def test_the_distribution_of_a_step_is_told_as_it_is_drawn_from(choice) -> None:
    made = sampler(choice, top_k=50, min_p=0.01)
    drawn = made.sample(ROW, top=WIDTH)
    assert drawn.kept == len(drawn.top) == made.kept().size
    assert sorted(token for token, *_ in drawn.top) == made.kept().tolist()
    assert sum(probability for _, probability, _ in drawn.top) == pytest.approx(1.0)
    assert [p for _, p, _ in drawn.top] == sorted((p for _, p, _ in drawn.top), reverse=True)
    assert all(np.exp(log) == pytest.approx(probability) for _, probability, log in drawn.top)
    assert (drawn.id, drawn.probability, drawn.log_probability) in drawn.top
    assert drawn.words == 2
    assert made.position == 2
    assert list(drawn.sizes) == sorted(drawn.sizes, reverse=True)


def test_a_batch_of_another_kind_is_refused() -> None:
    sampler = Sampler(engine("native"), config(), width=8)
    rows = np.zeros((1, 8), np.float32)
    for samplers, logits in (
        (None, rows),
        ([5], rows),
        ([sampler], 5),
        ([sampler], None),
        ([sampler], np.float32(3)),
        ([sampler], rows[0, 0]),
    ):
        with pytest.raises(Slm2Error) as caught:
            sample_batch(samplers, logits)
        assert caught.value.code == "invalid_type"
