"""Which files the inputs of a corpus are: noticed are one that was edited, by its times or its bytes, and one that is given twice."""

from __future__ import annotations

import os

import pytest

import slm2
from corpora import Stopped, StoppingStorage, UnsyncedStorage, folder, options, run_on, texts, write_lines
from slm2.corpus import encode_corpus
from slm2.errors import Slm2Error

CONTRACT = slm2.load(engine="native")


def run(path, output, *, chosen, storage=UnsyncedStorage, threads=1):
    return run_on(storage, CONTRACT, [path], output, chosen, threads=threads)


def refused(inputs, output, chosen, **settings) -> Slm2Error:
    with pytest.raises(Slm2Error) as caught:
        encode_corpus(CONTRACT, inputs, output, chosen, **settings)
    return caught.value


NAMED_BY = {"mtime_ns": (False, 10**9), "ctime_ns": (False, 0), "sha256": (True, 0)}


@pytest.mark.parametrize("member", NAMED_BY)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of change")
def test_an_input_that_changed_is_refused(tmp_path, member):
    digest, later = NAMED_BY[member]
    chosen = options(batch_bytes=1_000, shard_ids=1_500, input_digest=digest)
    path = write_lines(tmp_path / "a.txt", texts(3, 40))
    with pytest.raises(Stopped):
        run(path, tmp_path / "out", storage=StoppingStorage.at(60), chosen=chosen)
    data = path.read_bytes()
    status = path.stat()
    write_in_place(path, data.replace(b"a", b"b", 1), status, later)
    error = refused([path], tmp_path / "out", chosen)
    assert (error.code, error.fields["field"]) == ("corpus_differs", f"inputs[0].{member}")
    write_in_place(path, data, status)
    if digest:
        run(path, tmp_path / "out", chosen=chosen)
        run(path, tmp_path / "undisturbed", chosen=chosen)
        assert folder(tmp_path / "out") == folder(tmp_path / "undisturbed")
    else:  # the time of change alone tells what was done to it
        assert refused([path], tmp_path / "out", chosen).fields["field"] == "inputs[0].ctime_ns"


def write_in_place(path, data, status, later=0) -> None:
    """Other bytes, and the times that the file had, or a later one."""
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + later))


@pytest.mark.parametrize("digest", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of change")
def test_an_input_that_was_edited_while_it_was_read_and_put_back_is_in_no_shard(tmp_path, digest, threads):
    chosen = options(batch_bytes=1_000, shard_ids=1_500, input_digest=digest)
    block = 1 << 20  # is read at once
    path = write_lines(tmp_path / "a.txt", ["as it was"] * (2 * block // 10))
    data, status = path.read_bytes(), path.stat()
    edited = data[:block] + data[block:].replace(b"was", b"saw")

    def edit(done, _all):
        if done >= block and path.read_bytes() == data:
            write_in_place(path, edited, status)

    error = refused([path], tmp_path / "out", chosen, threads=threads, progress=edit)
    assert (error.code, error.fields["field"]) == ("corpus_differs", f"the input {path}")
    write_in_place(path, data, status)
    if digest:
        run(path, tmp_path / "out", chosen=chosen, threads=threads)
        run(path, tmp_path / "undisturbed", chosen=chosen)
        assert folder(tmp_path / "out") == folder(tmp_path / "undisturbed")
    else:
        assert refused([path], tmp_path / "out", chosen).fields["field"] == "inputs[0].ctime_ns"


@pytest.mark.parametrize("other", ["./{}", "../{folder}/{}", "{absolute}", "symbolic.txt", "hard.txt"])
def test_one_file_by_two_paths_is_one_input(tmp_path, monkeypatch, other):
    path = write_lines(tmp_path / "a.txt", ["a"])
    (tmp_path / "symbolic.txt").symlink_to(path)
    (tmp_path / "hard.txt").hardlink_to(path)
    monkeypatch.chdir(tmp_path)
    second = other.format("a.txt", folder=tmp_path.name, absolute=path)
    error = refused(["a.txt", second], tmp_path / "out", options())
    assert (error.code, error.fields["field"]) == ("invalid_value", "inputs")
    assert error.fields["found"] == f"{second}, which is the file a.txt too"
    assert not (tmp_path / "out").exists()


def test_an_input_that_changes_while_it_is_read_is_refused(tmp_path):
    path = write_lines(tmp_path / "a.txt", texts(3, 400))

    def touch(_done, _all):
        os.utime(path, ns=(1, 1))

    error = refused([path], tmp_path / "out", options(), progress=touch)
    assert (error.code, error.fields["field"]) == ("corpus_differs", f"the input {path}")
    assert "manifest.json" not in folder(tmp_path / "out")
