"""Corpora out of and into Parquet and Arrow, and tables with a column of ids (``slm2.corpus``, with pyarrow)."""

from __future__ import annotations

import json
import pickle
import random
import shutil

import pyarrow
import pytest
from pyarrow import parquet

import slm2
from corpora import END, Stopped, StoppingStorage, UnsyncedStorage, folder, options, shard_documents, texts, write_lines
from slm2.corpus import TableEncoder, encode_corpus
from slm2.errors import Slm2Error

CONTRACT = slm2.load(engine="native")
ROWS = texts(5, 120)
IDS = [[*CONTRACT.tokenizer.encode(text), END] for text in ROWS]
KINDS = {
    "string": pyarrow.string(),
    "large_string": pyarrow.large_string(),
    "binary": pyarrow.binary(),
    "dictionary": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
}


def read(path, write):
    """All tables of a run, in order."""
    files = sorted(path.glob(f"*.{write}"))
    load = parquet.read_table if write == "parquet" else lambda file: pyarrow.ipc.open_file(file).read_all()
    return pyarrow.concat_tables([load(file) for file in files])


@pytest.mark.parametrize("write", ["parquet", "arrow"])
@pytest.mark.parametrize("sizes", [False, True])
def test_tables_have_ids_sources_and_rows(tmp_path, write, sizes):
    inputs = [write_lines(tmp_path / "a.txt", ROWS[:50]), write_lines(tmp_path / "b.txt", ROWS[50:])]
    for threads in (1, 3):
        encode_corpus(CONTRACT, inputs, tmp_path / str(threads), options(write=write, text_bytes=sizes), threads=threads)
    assert folder(tmp_path / "1") == folder(tmp_path / "3")
    table = read(tmp_path / "1", write)
    assert len(list((tmp_path / "1").iterdir())) > 5
    assert table.schema.field("ids").type == pyarrow.list_(pyarrow.field("item", pyarrow.uint32(), nullable=False))
    assert table.column("ids").to_pylist() == IDS
    assert table.column("source").to_pylist() == [str(inputs[0])] * 50 + [str(inputs[1])] * 70
    assert table.column("row").to_pylist() == [*range(50), *range(70)]
    assert table.column_names[3:] == (["text_bytes"] if sizes else [])
    if sizes:
        assert table.column("text_bytes").to_pylist() == [len(text.encode()) for text in ROWS]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_parquet_are_read_from_any_row(tmp_path, kind):
    column = pyarrow.array([text.encode() if kind == "binary" else text for text in ROWS]).cast(KINDS[kind])
    parquet.write_table(pyarrow.table({"n": range(len(ROWS)), "body": column}), tmp_path / "a.parquet", row_group_size=37)
    chosen = options(read="parquet", field="body", batch_bytes=900)
    encode_corpus(CONTRACT, [tmp_path / "a.parquet"], tmp_path / "out", chosen)
    assert shard_documents(tmp_path / "out") == IDS
    # From each place where a shard ends.
    for number in range(len(json.loads((tmp_path / "out" / "manifest.json").read_bytes())["shards"])):
        with pytest.raises(Stopped):
            run([tmp_path / "a.parquet"], tmp_path / "stopped", chosen, storage_that_stops_after_shard(number))
        run([tmp_path / "a.parquet"], tmp_path / "stopped", chosen)
        assert folder(tmp_path / "stopped") == folder(tmp_path / "out")
        shutil.rmtree(tmp_path / "stopped")


def run(inputs, output, chosen, storage=UnsyncedStorage):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slm2.corpus.run.Storage", storage)
        encode_corpus(CONTRACT, inputs, output, chosen)


def storage_that_stops_after_shard(number):
    class AfterShard(UnsyncedStorage):
        def append(self, name, data):
            super().append(name, data)
            if f'{{"record":{{"shard":{number},'.encode() in data:
                raise Stopped

    return AfterShard


def test_columns_that_hold_no_text_are_refused(tmp_path):
    table = pyarrow.table({"n": [1, 2], "text": ["a", "b"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-10])
    for name, field, code in (("a", "n", "invalid_type"), ("a", "body", "invalid_value"), ("b", "text", "file_unreadable")):
        with pytest.raises(Slm2Error) as caught:
            encode_corpus(CONTRACT, [tmp_path / f"{name}.parquet"], tmp_path / f"{name}-{field}", options(read="parquet", field=field))
        assert caught.value.code == code


def test_a_column_is_its_own_and_not_what_lies_within_another(tmp_path):
    table = pyarrow.table({"text": [{"x": "in a struct"}], "text.x": ["Hello"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    encode_corpus(CONTRACT, [tmp_path / "a.parquet"], tmp_path / "out", options(read="parquet", field="text.x"))
    assert shard_documents(tmp_path / "out") == [[9707, END]]


def test_a_column_of_nulls_alone_is_one_of_broken_rows(tmp_path):
    parquet.write_table(pyarrow.table({"text": pyarrow.nulls(3)}), tmp_path / "a.parquet")
    report = encode_corpus(CONTRACT, [tmp_path / "a.parquet"], tmp_path / "out", options(read="parquet", field="text", on_error="skip"))
    assert (report.total.documents, report.total.skipped) == (0, 3)


def test_broken_rows_of_parquet(tmp_path):
    ill = pyarrow.array([b"good", b"ill \xff", None, b"x" * 5000, b"good"])
    strings = pyarrow.Array.from_buffers(pyarrow.string(), 5, ill.buffers())  # as a careless writer makes them
    parquet.write_table(pyarrow.table({"text": strings}), tmp_path / "a.parquet")
    chosen = options(read="parquet", field="text", on_error="skip", max_document=1000)
    report = encode_corpus(CONTRACT, [tmp_path / "a.parquet"], tmp_path / "out", chosen)
    assert (report.total.documents, report.total.skipped) == (2, 3)
    listed = [json.loads(line) for line in folder(tmp_path / "out")["shard-000000.skipped.jsonl"].splitlines()]
    assert [(row["row"], row["code"]) for row in listed] == [(1, "invalid_value"), (2, "missing_field"), (3, "invalid_value")]


def test_zstandard_is_unpacked(tmp_path):
    plain = write_lines(tmp_path / "a.txt", ROWS).read_bytes() + random.Random(1).randbytes(1_000_000).hex().encode()
    packed = bytes(pyarrow.compress(plain, "zstd", asbytes=True))
    (tmp_path / "a.zst").write_bytes(packed)
    encode_corpus(CONTRACT, [tmp_path / "a.zst"], tmp_path / "out", options())
    assert shard_documents(tmp_path / "out")[:-1] == IDS
    for name, data in (("short.zst", packed[:-20]), ("wrong.zst", packed[:40] + b"xxxxxxxx" + packed[48:]), ("none.zst", b"no zstandard")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(Slm2Error) as caught:
            encode_corpus(CONTRACT, [tmp_path / name], tmp_path / f"{name}.out", options())
        assert caught.value.code == "file_unreadable", name


@pytest.mark.parametrize("write", ["parquet", "arrow"])
def test_a_run_stopped_at_any_operation_ends_as_an_undisturbed_one(tmp_path, write):
    inputs = [write_lines(tmp_path / "a.txt", ROWS[:40])]
    inputs[0].write_bytes(inputs[0].read_bytes() + b"ill \xff formed\n")
    chosen = options(write=write, on_error="skip")

    counting = StoppingStorage.at(10**9)
    run(inputs, tmp_path / "undisturbed", chosen, counting)
    undisturbed = folder(tmp_path / "undisturbed")
    assert len(counting.log) > 25
    for number in range(len(counting.log)):
        with pytest.raises(Stopped):
            run(inputs, tmp_path / "out", chosen, StoppingStorage.at(number))
        run(inputs, tmp_path / "out", chosen)
        assert folder(tmp_path / "out") == undisturbed, counting.log[: number + 1]
        shutil.rmtree(tmp_path / "out")


@pytest.mark.parametrize("write", ["parquet", "arrow"])
def test_a_full_disk_is_a_refusal_and_the_run_goes_on_later(tmp_path, monkeypatch, write):
    monkeypatch.setattr("slm2.corpus.storage._HELD", 64)  # many writes of one table
    inputs = [write_lines(tmp_path / "a.txt", ROWS)]

    class Full(UnsyncedStorage):
        left = 0

        def _write(self, descriptor, data):
            type(self).left -= 1
            if type(self).left < 0:
                view = memoryview(data)  # which the error holds on to, as that of the system's own write does
                raise OSError(28, "No space left on device" if view else "")
            super()._write(descriptor, data)

    for number in range(8):
        Full.left = number
        with pytest.raises(Slm2Error) as caught:
            run(inputs, tmp_path / "out", options(write=write), Full)
        assert (caught.value.code, caught.value.fields["reason"]) == ("file_unwritable", "No space left on device")
    run(inputs, tmp_path / "out", options(write=write))
    assert read(tmp_path / "out", write).column("ids").to_pylist() == IDS


def test_another_pyarrow_does_not_go_on(tmp_path, monkeypatch):
    path = write_lines(tmp_path / "a.txt", ROWS)
    encode_corpus(CONTRACT, [path], tmp_path / "out", options(write="parquet"))
    monkeypatch.setattr(pyarrow, "__version__", "1.0")
    with pytest.raises(Slm2Error) as caught:
        encode_corpus(CONTRACT, [path], tmp_path / "out", options(write="parquet"))
    assert (caught.value.code, caught.value.fields["field"]) == ("corpus_differs", "pyarrow")


@pytest.mark.parametrize("kind", KINDS)
def test_tables_get_a_column_of_the_ids_that_corpora_get(kind):
    column = pyarrow.array([text.encode() if kind == "binary" else text for text in ROWS]).cast(KINDS[kind])
    table = pyarrow.table({"n": range(len(ROWS)), "text": column})
    encoder = pickle.loads(pickle.dumps(TableEncoder("text", append="endoftext", engine="native")))
    got = encoder(table)
    assert got.column_names == ["n", "text", "ids"]
    assert got.column("ids").to_pylist() == IDS
    assert got.drop_columns("ids").equals(table)
    assert encoder(table.slice(0, 0)).schema == got.schema
    sliced = encoder(table.slice(7, 20))
    assert sliced.column("ids").to_pylist() == IDS[7:27]
    signed = TableEncoder("text", append="none", ids="tokens", item="int32")(table)
    assert signed.schema.field("tokens").type.value_type == pyarrow.int32()
    assert signed.column("tokens").to_pylist() == [ids[:-1] for ids in IDS]


def test_broken_rows_of_a_table():
    table = pyarrow.table({"text": ["a", None, "x" * 50, "b"]})
    with pytest.raises(Slm2Error) as caught:
        TableEncoder("text", append="none")(table)
    assert caught.value.fields["row"] == 1
    marked = TableEncoder("text", append="none", on_error="null", max_document=40)(table)
    assert marked.column("ids").to_pylist() == [[64], None, None, [65]]
    reasons = marked.column("refused").to_pylist()
    assert [reason and reason.split(":")[0] for reason in reasons] == [None, "missing_field", "invalid_value", None]
    # As Ray infers a block in which every text is null.
    nulls = TableEncoder("text", append="none", on_error="null")(pyarrow.table({"text": pyarrow.nulls(2)}))
    assert nulls.column("ids").to_pylist() == [None, None]
    assert nulls.schema.field("ids") == marked.schema.field("ids")


def test_what_an_encoder_of_tables_refuses():
    table = pyarrow.table({"text": ["a"], "n": [1]})
    for settings, code in (
        ({"append": "eos"}, "invalid_value"),
        ({"on_error": "skip"}, "invalid_value"),
        ({"item": "int64"}, "invalid_value"),
        ({"digest": "0" * 64}, "corpus_differs"),
        ({"artifact": "absent"}, "file_unreadable"),
    ):
        with pytest.raises(Slm2Error) as caught:
            TableEncoder("text", **{"append": "none", **settings})
        assert caught.value.code == code
    for column, settings, code in (
        ("n", {}, "invalid_type"),
        ("body", {}, "invalid_value"),
        ("text", {"ids": "n"}, "invalid_value"),
        ("text", {"ids": "refused", "on_error": "null"}, "invalid_value"),
    ):
        with pytest.raises(Slm2Error) as caught:
            TableEncoder(column, append="none", **settings)(table)
        assert caught.value.code == code
