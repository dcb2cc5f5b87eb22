"""Ids in memory of the caller, and text in buffers of the caller (``Tokenizer.encode_into``, ``Text``)."""

from __future__ import annotations

import mmap
from array import array

import numpy
import pytest

from slm2.contract import Contract, embedded
from slm2.engine import select
from slm2.errors import Slm2Error

ENGINES = {name: Contract(select(name, embedded(), 2**20), "contract").tokenizer for name in ("native", "reference")}
every_engine = pytest.mark.parametrize("name", ENGINES)
TEXT, IDS = "Hello, world", [9707, 11, 1879]
UNTOUCHED = 7


def memories(length: int):
    """Writable memory of uint32, of each kind."""
    whole = numpy.full(length + 4, UNTOUCHED, dtype="<u4")
    return {
        "array": array("I", [UNTOUCHED] * length),
        "numpy": numpy.full(length, UNTOUCHED, dtype=numpy.uint32),
        "part of an array": whole[2 : 2 + length],
        "memoryview": memoryview(bytearray(UNTOUCHED.to_bytes(4, "little") * length)).cast("I"),
    }


@every_engine
@pytest.mark.parametrize("kind", memories(0))
@pytest.mark.parametrize("room", [3, 5])
def test_ids_go_to_the_beginning_and_nothing_else_is_touched(name, kind, room):
    out = memories(room)[kind]
    assert ENGINES[name].encode_into(TEXT, out) == 3
    assert list(out) == IDS + [UNTOUCHED] * (room - 3)
    assert ENGINES[name].encode_into("", out) == 0
    assert list(out)[:3] == IDS


@every_engine
@pytest.mark.parametrize("room", [0, 1, 2])
def test_too_little_room_says_how_much_is_needed(name, room):
    with pytest.raises(Slm2Error) as caught:
        ENGINES[name].encode_into(TEXT, array("I", [0] * room))
    assert (caught.value.code, caught.value.fields) == ("output_too_small", {"needed": 3, "found": room})


@every_engine
def test_a_long_text_and_its_exact_room(name):
    text = "a 1 \n" * 3000
    ids = ENGINES[name].encode(text)
    out = numpy.zeros(len(ids), dtype=numpy.uint32)
    assert ENGINES[name].encode_into(text.encode(), out) == len(ids)
    assert out.tolist() == ids
    with pytest.raises(Slm2Error) as caught:
        ENGINES[name].encode_into(text, out[:-1])
    assert caught.value.fields == {"needed": len(ids), "found": len(ids) - 1}


READ_ONLY = numpy.zeros(8, dtype=numpy.uint32)
READ_ONLY.flags.writeable = False


@every_engine
@pytest.mark.parametrize(
    "out",
    [
        bytes(32),
        bytearray(32),
        READ_ONLY,
        memoryview(array("I", [0] * 8)).toreadonly(),
        numpy.zeros(8, dtype=numpy.int32),
        numpy.zeros(8, dtype=numpy.uint64),
        numpy.zeros(8, dtype=numpy.float32),
        numpy.zeros(8, dtype=">u4"),
        numpy.zeros((4, 2), dtype=numpy.uint32),
        numpy.zeros(8, dtype=numpy.uint32)[::2],
        numpy.zeros(8, dtype=numpy.uint32)[::-1],
        array("Q", [0] * 8),
        [0] * 8,
        None,
        "text",
    ],
    ids=lambda out: f"{type(out).__name__}-{getattr(out, 'dtype', '')}",
)
def test_memory_that_is_none(name, out):
    with pytest.raises(Slm2Error) as caught:
        ENGINES[name].encode_into(TEXT, out)
    assert caught.value.code == "invalid_type"
    assert caught.value.fields["field"] == "out"


def buffers(tmp_path):
    """Text in each kind of memory."""
    path = tmp_path / "text"
    path.write_bytes(TEXT.encode())
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    pixels = numpy.frombuffer(TEXT.encode(), dtype=numpy.uint8)
    return [
        TEXT.encode(),
        bytearray(TEXT.encode()),
        memoryview(TEXT.encode()),
        memoryview(mapped),
        memoryview(pixels),
        memoryview(numpy.repeat(pixels, 2))[::2],
    ]


@every_engine
def test_text_in_buffers(name, tmp_path):
    encoder = ENGINES[name]
    for text in buffers(tmp_path):
        out = array("I", [0] * 3)
        assert encoder.encode(text) == IDS
        assert encoder.encode_array(text).tolist() == IDS
        assert encoder.encode_into(text, out) == encoder.count(text) == encoder.count_until(text, 3) == 3
        assert list(out) == IDS
        assert encoder.encode_batch([text, text], threads=2) == [IDS, IDS]
        assert [token_id for token_id, _, _ in encoder.encode_spans(text, unit="utf16")] == IDS
        chunks = encoder.chunks()
        assert chunks.push(text) + chunks.finish() == IDS
        assert encoder.encoded_text(text).ids == IDS
