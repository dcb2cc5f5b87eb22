"""Corpora to shards of uint32: which documents, which ids, what becomes of broken ones (``slm2.corpus``; docs/corpus.md)."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import random
import tracemalloc
from itertools import pairwise

import numpy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import slm2
from corpora import END, folder, options, shard_documents, texts, write_jsonl, write_lines
from slm2.contract import Contract, embedded
from slm2.corpus import encode_corpus, read_shards
from slm2.corpus.inputs import split_lines
from slm2.corpus.json_lines import text_of_line
from slm2.engine import select
from slm2.errors import Slm2Error
from slm2.reference.json_text import read_json

CONTRACT = slm2.load(engine="native")
ROWS = texts(1, 150)


def ids_of(rows, end=(END,)):
    return [[*CONTRACT.tokenizer.encode(text), *end] for text in rows]


def test_documents_in_lines_members_and_files_have_the_ids_of_their_texts(tmp_path):
    files = [tmp_path / f"{number}.txt" for number in range(len(ROWS))]
    for file, text in zip(files, ROWS, strict=True):
        file.write_bytes(text.encode("utf-8"))
    runs = {
        "lines": ([write_lines(tmp_path / "a.txt", ROWS[:70]), write_lines(tmp_path / "b.txt", ROWS[70:])], {}),
        "jsonl": ([write_jsonl(tmp_path / "a.jsonl", ROWS)], {"field": "text"}),
        "files": (files, {}),
    }
    for read, (inputs, more) in runs.items():
        report = encode_corpus(CONTRACT, inputs, tmp_path / read, options(read=read, **more))
        want = ids_of(ROWS)
        assert shard_documents(tmp_path / read) == want
        sizes = sum(len(text.encode()) for text in ROWS)
        assert (report.total.documents, report.total.ids, report.total.text_bytes) == (len(ROWS), sum(map(len, want)), sizes)
        assert report.total == report.here
        assert report.total.shards > 5


def test_a_run_logs_what_it_came_to_and_no_text(tmp_path, caplog):
    rows = ["The word is xylophone.", "And another."]
    inputs = [write_lines(tmp_path / "a.txt", rows)]
    with caplog.at_level(logging.DEBUG, logger="slm2"):
        for _ in range(2):
            encode_corpus(CONTRACT, inputs, tmp_path / "out", options())
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert [line.split(" in ")[0] for line in said] == [
        f"corpus: 2 documents, {sum(map(len, ids_of(rows)))} ids, 0 skipped, 1 shards",
        "corpus: 0 documents, 0 ids, 0 skipped, 0 shards",
    ]
    assert not any("xylophone" in record.getMessage() for record in caplog.records)


def test_engines_and_threads_write_the_same_bytes(tmp_path):
    inputs = [write_lines(tmp_path / "a.txt", ROWS[:40])]
    reference = Contract(select("reference", embedded()), "contract")
    encode_corpus(CONTRACT, inputs, tmp_path / "1", options())
    for name, contract, threads in (("2", CONTRACT, 2), ("3", CONTRACT, 5), ("4", reference, 2)):
        encode_corpus(contract, inputs, tmp_path / name, options(), threads=threads)
        assert folder(tmp_path / name) == folder(tmp_path / "1")


def test_the_layout_is_read_by_numpy_alone(tmp_path):
    inputs = [write_lines(tmp_path / "a.txt", ROWS)]
    encode_corpus(CONTRACT, inputs, tmp_path / "out", options(append="none"))
    found = []
    for path in sorted((tmp_path / "out").glob("*.bin")):
        ids = numpy.memmap(path, dtype="<u4", mode="r")
        offsets = numpy.memmap(path.with_suffix(".offsets"), dtype="<u8", mode="r")
        assert offsets[0] == 0
        assert offsets[-1] == len(ids)
        found += [ids[begin:end].tolist() for begin, end in pairwise(offsets)]
    assert found == ids_of(ROWS, end=())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["totals"]["documents"] == len(ROWS)
    for shard in manifest["shards"]:
        for file in shard["files"]:
            data = (tmp_path / "out" / file["name"]).read_bytes()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (file["size"], file["sha256"])


def test_shards_of_a_reader_are_sequences(tmp_path):
    encode_corpus(CONTRACT, [write_lines(tmp_path / "a.txt", ["a", "b c", ""])], tmp_path / "out", options())
    (shard,) = read_shards(tmp_path / "out")
    assert len(shard) == 3
    assert shard[-1].tolist() == [END]
    assert [document.tolist() for document in shard] == ids_of(["a", "b c", ""])
    with pytest.raises(IndexError):
        shard[3]
    (tmp_path / "out" / "shard-000000.bin").write_bytes(b"")
    with pytest.raises(Slm2Error) as caught:
        next(read_shards(tmp_path / "out"))
    assert caught.value.code == "corpus_output"
    for wrong in (b"", b"\xff", b"5", b"{}", b'{"shards": 5}', b'{"shards": [{}]}', b'{"shards": [{"files": [5]}]}', b"[" * 100_000):
        (tmp_path / "out" / "manifest.json").write_bytes(wrong)
        with pytest.raises(Slm2Error) as caught:
            next(read_shards(tmp_path / "out"))
        assert (caught.value.code, caught.value.fields["reason"]) == ("corpus_output", "manifest.json is not as it was written")


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n\n"])
def test_no_documents_and_no_ids(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    report = encode_corpus(CONTRACT, [tmp_path / "a.txt"], tmp_path / "out", options(append="none"))
    assert (report.total.documents, report.total.ids) == (content.count(b"\n"), 0)
    assert shard_documents(tmp_path / "out") == [[]] * content.count(b"\n")


def test_a_line_ends_with_a_line_feed_alone_and_the_last_need_not(tmp_path):
    (tmp_path / "a.txt").write_bytes("one\r\n\u2028two\x85\n\nthree".encode())
    encode_corpus(CONTRACT, [tmp_path / "a.txt"], tmp_path / "out", options())
    assert shard_documents(tmp_path / "out") == ids_of(["one\r", "\u2028two\x85", "", "three"])


def test_gzip_is_unpacked(tmp_path):
    plain = write_lines(tmp_path / "a.txt", ROWS)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(plain.read_bytes()))
    encode_corpus(CONTRACT, [tmp_path / "a.txt.gz"], tmp_path / "out", options(), threads=2)
    assert shard_documents(tmp_path / "out") == ids_of(ROWS)
    packed = (tmp_path / "a.txt.gz").read_bytes()
    for name, data in (("short.gz", packed[:-20]), ("wrong.gz", packed[:200] + b"xxxx" + packed[204:]), ("none.gz", b"no gzip")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(Slm2Error) as caught:
            encode_corpus(CONTRACT, [tmp_path / name], tmp_path / f"{name}.out", options())
        assert (caught.value.code, caught.value.fields["path"]) == ("file_unreadable", str(tmp_path / name))


def test_text_of_special_tokens_is_text(tmp_path):
    encode_corpus(CONTRACT, [write_lines(tmp_path / "a.txt", ["<|endoftext|>"])], tmp_path / "out", options(append="im_end"))
    assert shard_documents(tmp_path / "out") == [[*CONTRACT.tokenizer.encode("<|endoftext|>"), 151645]]


BROKEN_LINES = {
    b'{"text": "a\xff"}': "json_invalid",
    b"": "json_invalid",
    b'{"text": "a"': "json_invalid",
    b'{"text": "a", "text": "b"}': "json_duplicate_key",
    b'{"n": NaN, "text": "a"}': "json_number",
    b'{"n": 1e400, "text": "a"}': "json_number",
    b'{"other": "a"}': "missing_field",
    b'{"text": 1}': "invalid_type",
    b'{"text": null}': "invalid_type",
    b'["text"]': "invalid_type",
    b'{"text": "a", "n": ' + b"[" * 200 + b"]" * 200 + b"}": "json_invalid",
    b'{"text": "a", "n": ' + b"[" * 5000 + b"]" * 5000 + b"}": "invalid_value",
    b'{"text": "' + b"x" * 5000 + b'"}': "invalid_value",
}


def test_broken_documents_are_left_out_counted_and_listed(tmp_path):
    good = b'{"text": "good", "n": 1e300, "braces": "' + b"{[" * 300 + b'"}'
    rows = [row for line in BROKEN_LINES for row in (good, line)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(rows) + b"\n")
    chosen = options(read="jsonl", field="text", on_error="skip", max_document=4000, batch_bytes=20, shard_ids=5)
    report = encode_corpus(CONTRACT, [path], tmp_path / "out", chosen, threads=2)
    assert (report.total.documents, report.total.skipped) == (len(BROKEN_LINES), len(BROKEN_LINES))
    assert shard_documents(tmp_path / "out") == ids_of(["good"] * len(BROKEN_LINES))
    listed = b"".join(data for name, data in sorted(folder(tmp_path / "out").items()) if name.endswith(".skipped.jsonl"))
    told = [json.loads(line) for line in listed.splitlines()]
    assert [(row["source"], row["row"]) for row in told] == [(str(path), 2 * number + 1) for number in range(len(BROKEN_LINES))]
    assert [row["code"] for row in told] == list(BROKEN_LINES.values())


def test_the_first_broken_document_ends_the_run_whatever_the_threads(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\n" * 50 + b"ill \xc0\xaf\n" + b"good\n" * 50 + b"x" * 300 + b"\n")
    small = Contract(select("native", embedded(), 256), "contract")
    for threads in (1, 2, 4):
        with pytest.raises(Slm2Error) as caught:
            encode_corpus(small, [path], tmp_path / f"out{threads}", options(batch_bytes=16), threads=threads)
        found = "the document must be UTF-8; the byte 0xc0 at 4 came"
        assert caught.value.code == "document_refused"
        assert caught.value.fields == {"source": str(path), "row": 50, "reason_code": "invalid_value", "reason": found}
    report = encode_corpus(small, [path], tmp_path / "skip", options(on_error="skip", batch_bytes=16), threads=2)
    assert (report.total.documents, report.total.skipped) == (100, 2)
    listed = [json.loads(line) for line in (tmp_path / "skip" / "shard-000000.skipped.jsonl").read_bytes().splitlines()]
    assert [(row["row"], row["code"]) for row in listed] == [(50, "invalid_value"), (101, "pretoken_too_long")]


def test_an_input_that_cannot_be_read_is_told_after_what_was_read_before_it(tmp_path):
    """Threads read ahead; a broken document in a batch before the failure is what is told, on any number of them."""
    later = random.Random(1).randbytes(3_000_000).hex().encode()  # read in blocks of 1 MiB
    whole = gzip.compress(b"good\n" * 5000 + b"ill \xff\n" + b"good\n" * 100 + later, compresslevel=1)
    path = tmp_path / "a.gz"
    path.write_bytes(whole[:-12])
    for threads in (1, 3):
        with pytest.raises(Slm2Error) as caught:
            encode_corpus(CONTRACT, [path], tmp_path / f"out{threads}", options(batch_bytes=64), threads=threads)
        assert caught.value.fields["row"] == 5000


def test_options_that_have_no_meaning_are_refused(tmp_path):
    wrong = [
        ({"read": "text"}, "invalid_value"),
        ({"write": "csv"}, "invalid_value"),
        ({"on_error": "ignore"}, "invalid_value"),
        ({"read": "jsonl"}, "missing_field"),
        ({"field": "text"}, "invalid_value"),
        ({"text_bytes": True}, "invalid_value"),
        ({"shard_ids": 0}, "invalid_value"),
        ({"batch_bytes": 2**28 + 1}, "invalid_value"),
        ({"max_document": True}, "invalid_type"),
        ({"read": "jsonl", "field": 5}, "invalid_type"),
    ]
    for changes, code in wrong:
        with pytest.raises(Slm2Error) as caught:
            options(**changes)
        assert caught.value.code == code
    path = write_lines(tmp_path / "a.txt", ["a"])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for inputs, more, code in (
        ([path, path], {}, "invalid_value"),
        (str(path), {}, "invalid_type"),
        (path, {}, "invalid_type"),
        ([path], {"append": "eos"}, "invalid_value"),
        ([tmp_path / "absent"], {}, "file_unreadable"),
        ([tmp_path], {}, "file_unreadable"),
        ([pipe], {}, "file_unreadable"),
    ):
        with pytest.raises(Slm2Error) as caught:
            encode_corpus(CONTRACT, inputs, tmp_path / "out", options(**more))
        assert caught.value.code == code
        assert not (tmp_path / "out").exists()
    with pytest.raises(Slm2Error) as caught:
        encode_corpus(CONTRACT, [path], tmp_path / "out", options(), threads="2")
    assert caught.value.code == "invalid_type"


@pytest.mark.parametrize("limit", [1, 5, 100])
def test_lines_are_split_wherever_blocks_end(limit):
    data = b"\nab\n\nabcdefgh\n" + b"z" * 250 + b"\nlast"
    want = [(line if len(line) <= limit else None, len(line) + 1) for line in data.split(b"\n")]
    want[-1] = (want[-1][0], 4)
    for size in range(1, 20):
        blocks = iter([data[at : at + size] for at in range(0, len(data), size)])
        assert list(split_lines(lambda _, blocks=blocks: next(blocks, b""), limit)) == want


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside)
)


def read(line):
    """The contract's reader: a value, or a refusal."""
    try:
        return read_json(line), None
    except Slm2Error as error:
        return None, error


@given(
    line=st.binary(max_size=30)
    | st.text('{}[]":,\\ u0dtext18nul', max_size=40).map(str.encode)
    | JSON.map(lambda value: json.dumps(value).encode())
)
@example(b'{"text": "\\ud83d\\ude00 \\ud800"}')
@example(b'{"text": "a", "n": ' + b"9" * 700 + b"}")
@example(b'{"text": "a", "n": 123456789e301}')
@example(b'\xef\xbb\xbf{"text": "a"}')
def test_json_is_read_as_the_contract_has_it(line):
    found = text_of_line(line, "text")
    value, refusal = read(line)
    if refusal is not None:
        assert isinstance(found, Slm2Error)
        assert found.to_dict() == refusal.to_dict()
    elif isinstance(value, dict) and isinstance(value.get("text"), str):
        assert found == value["text"].encode()
    else:
        assert isinstance(found, Slm2Error)


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    line = "the quick brown fox jumps over the lazy dog " * 20
    peaks = []
    for count in (3_000, 12_000):
        path = write_lines(tmp_path / f"{count}.txt", [line] * count)
        tracemalloc.start()
        encode_corpus(CONTRACT, [path], tmp_path / f"out{count}", options(batch_bytes=100_000, shard_ids=10**9), threads=2)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert path.stat().st_size > 10_000_000
    assert peaks[1] < peaks[0] + 1_500_000 < 8_000_000, peaks  # 8 MB more of text
