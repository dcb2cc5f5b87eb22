"""Arrays of ids, which the engine makes by NumPy's C interface: as NumPy itself makes them."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import slm2
from documents import generated
from slm2.contract import Contract, embedded
from slm2.engine import select

ENGINES = {name: Contract(select(name, embedded()), "publisher") for name in ("native", "reference")}
TEXTS = ["", "a", "Hello, world", "<|im_end|>", *generated(41, 30), "long text " * 3000]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_an_array_is_one_of_numpys_own(name, text):
    contract = ENGINES[name]
    twin = np.frombuffer(contract.engine.encode_u32(text, "publisher"), np.dtype("<u4"))
    if name == "native":  # it has memory of its own
        twin = np.empty(twin.shape, twin.dtype)
        twin[:] = contract.tokenizer.encode(text)
        twin.flags.writeable = False
    (batch,) = contract.tokenizer.encode_batch_arrays([text])
    trusted = contract.tokenizer.encode_trusted_array(text)
    assert trusted.tolist() == contract.tokenizer.encode_trusted(text)
    for array in (contract.tokenizer.encode_array(text), batch, trusted):
        assert type(array) is np.ndarray
        assert (array.dtype, array.ndim, array.strides) == (twin.dtype, twin.ndim, twin.strides)
        assert str(array.flags) == str(twin.flags)
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    assert contract.tokenizer.encode_array(text).tolist() == batch.tolist() == twin.tolist()


def test_an_array_holds_its_memory_and_nothing_else():
    tokenizer = slm2.load(engine="native").tokenizer
    counted = (np.ndarray, np.dtype("uint32"))
    before = [sys.getrefcount(value) for value in counted]
    part = tokenizer.encode_array("Hello, world")[1:]
    arrays = [tokenizer.encode_array("x y") for _ in range(1000)]
    gc.collect()
    assert part.tolist() == [11, 1879]
    assert {array.base for array in arrays} == {None}
    assert {sys.getrefcount(array) for array in arrays} == {3}
    del part, arrays
    gc.collect()
    assert [sys.getrefcount(value) for value in counted] == before
