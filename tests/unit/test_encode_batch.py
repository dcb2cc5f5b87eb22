"""Many texts and many files at once: order, equality, the first refusal (``Tokenizer.encode_batch``, ``encode_files``)."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy
import pytest

import slm2
from documents import generated
from slm2.contract import Contract, embedded
from slm2.engine import select
from slm2.errors import Slm2Error

ENGINES = {name: Contract(select(name, embedded(), 4096), "contract").tokenizer for name in ("native", "reference")}
every_engine = pytest.mark.parametrize("name", ENGINES)
TEXTS = [*generated(23, 120), "", "a" * 4096, "\ud800", "x" * 3000]
TOO_LONG = "b" * 5000


@every_engine
@pytest.mark.parametrize("threads", [1, 2, 3, 8, None])
def test_batches_are_in_order_and_equal(name, threads):
    encoder = ENGINES[name]
    want = [ENGINES["native"].encode(text) for text in TEXTS]
    assert encoder.encode_batch(TEXTS, threads=threads) == want
    arrays = encoder.encode_batch_arrays(iter(TEXTS), threads=threads)
    assert [array.tolist() for array in arrays] == want
    assert {(array.dtype, array.ndim, array.flags.writeable) for array in arrays} == {(numpy.dtype("uint32"), 1, False)}
    assert encoder.encode_batch([], threads=threads) == []


@every_engine
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_first_refused_text_is_the_one_that_is_told(name, threads):
    texts = [*TEXTS[:40], " " + TOO_LONG, *TEXTS[:40], TOO_LONG, "c d " + TOO_LONG]
    for _ in range(10 if name == "native" else 1):
        with pytest.raises(Slm2Error) as caught:
            ENGINES[name].encode_batch(texts, threads=threads)
        assert (caught.value.code, caught.value.fields) == ("pretoken_too_long", {"start": 0, "limit": 4096})
        with pytest.raises(Slm2Error) as caught:
            ENGINES[name].encode_batch_arrays([*TEXTS, "c d " + TOO_LONG, TOO_LONG], threads=threads)
        assert caught.value.fields == {"start": 3, "limit": 4096}


@every_engine
def test_arguments_of_a_batch(name):
    encoder = ENGINES[name]
    for texts in ("text", b"text", bytearray(b"text"), memoryview(b"text"), {"text"}, {"text": 1}):
        with pytest.raises(Slm2Error) as caught:
            encoder.encode_batch(texts)
        assert caught.value.fields == {"field": "texts", "expected": "several texts", "found": type(texts).__name__}
    for threads, code in ((0, "invalid_value"), (-1, "invalid_value"), (1.5, "invalid_type"), ("2", "invalid_type")):
        with pytest.raises(Slm2Error) as caught:
            encoder.encode_batch(["a"], threads=threads)
        assert caught.value.code == code
    with pytest.raises(Slm2Error) as caught:
        encoder.encode_batch(["a", 5])
    assert caught.value.code == "invalid_type"
    assert encoder.encode_batch(["a"], threads=2**40) == [[64]]


@pytest.fixture
def paths(tmp_path):
    """Files of different sizes, one of several blocks."""
    texts = [*(text.encode("utf-8", "surrogatepass") for text in TEXTS[:30]), b"", b"\xff\xe4\xbd", "é1 \n".encode() * 500_000]
    for number, text in enumerate(texts):
        (tmp_path / f"{number:02}.txt").write_bytes(text)
    return sorted(tmp_path.iterdir())


@pytest.mark.parametrize("threads", [1, 2, 8, None])
def test_files_come_in_order(paths, threads):
    encoder = ENGINES["native"]
    encoded = list(encoder.encode_files(paths, threads=threads))
    assert [file.path for file in encoded] == [str(path) for path in paths]
    for file, path in zip(encoded, paths, strict=True):
        data = path.read_bytes()
        assert file.size == len(data)
        assert file.ids.dtype == numpy.uint32
        assert file.ids.tolist() == encoder.encode(data)


def test_files_on_the_reference_are_those_of_the_engine(paths):
    small = paths[:-1]
    told = [[file.ids.tolist() for file in encoder.encode_files(map(str, small), threads=2)] for encoder in ENGINES.values()]
    assert told[0] == told[1]


def test_an_error_comes_at_the_place_of_its_file(paths, tmp_path):
    (tmp_path / "long").write_bytes(b"ab " + TOO_LONG.encode())
    for wrong, code in ((tmp_path / "none", "file_unreadable"), (tmp_path, "file_unreadable"), (tmp_path / "long", "pretoken_too_long")):
        files = ENGINES["native"].encode_files([*paths[:5], wrong, *paths[5:]], threads=2)
        assert [next(files).path for _ in range(5)] == [str(path) for path in paths[:5]]
        with pytest.raises(Slm2Error) as caught:
            next(files)
        assert caught.value.code == code
        if code == "file_unreadable":
            assert caught.value.fields["path"] == str(wrong)
        with pytest.raises(StopIteration):
            next(files)


def test_leaving_early_ends_the_threads(paths):
    before = threading.active_count()
    files = ENGINES["native"].encode_files(paths, threads=4)
    next(files)
    files.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_drawn_on_standard_error(paths, capsys, progress):
    encoded = list(ENGINES["native"].encode_files(paths[:4], threads=2, progress=progress))
    shown = capsys.readouterr()
    assert len(encoded) == 4
    assert shown.out == ""
    assert ("files" in shown.err and "100%" in shown.err) == progress
    assert progress or shown.err == ""


def test_paths_of_each_kind_and_none(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"Hello")
    told = list(ENGINES["native"].encode_files([str(path), Path(path)]))
    assert [file.ids.tolist() for file in told] == [[9707], [9707]]
    assert list(ENGINES["native"].encode_files([])) == []
    with pytest.raises(Slm2Error):
        list(ENGINES["native"].encode_files(["a\0b"]))


@pytest.mark.parametrize("texts", [5, None])
def test_a_batch_of_no_texts_is_refused(texts):
    with pytest.raises(slm2.Slm2Error) as caught:
        slm2.load(engine="native").tokenizer.encode_batch(texts)
    assert caught.value.code == "invalid_type"
    assert caught.value.fields["field"] == "texts"


@pytest.mark.parametrize("names", [5, None, "file", b"file", [5], [None], ["file", b"file"]], ids=str)
def test_what_is_no_list_of_paths_is_refused(names):
    with pytest.raises(slm2.Slm2Error) as caught:
        list(slm2.load(engine="native").tokenizer.encode_files(names))
    assert caught.value.code == "invalid_type"
    assert caught.value.fields["field"].startswith("paths")
