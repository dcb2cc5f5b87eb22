"""Runs that are stopped: at every operation on the folder, in the journal's last line, under other settings (``slm2.corpus``)."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil

import pytest

import slm2
from corpora import Stopped, StoppingStorage, UnsyncedStorage, folder, options, run_on, texts, write_lines
from slm2.contract import Contract, embedded
from slm2.corpus import encode_corpus
from slm2.corpus.storage import Storage
from slm2.engine import select
from slm2.errors import Slm2Error

CONTRACT = slm2.load(engine="native")
SKIPPING = options(on_error="skip", batch_bytes=1_000, shard_ids=1_500)
SEED = 20261130


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two inputs with a broken line in each, and the folder of an undisturbed run over them."""
    path = tmp_path_factory.mktemp("corpus")
    inputs = [write_lines(path / f"{number}.txt", texts(number, 30)) for number in (1, 2)]
    for file in inputs:
        file.write_bytes(file.read_bytes() + b"ill \xff formed\n" + "naïve\n".encode() * 20)
    encode_corpus(CONTRACT, inputs, path / "undisturbed", SKIPPING)
    return inputs, folder(path / "undisturbed")


def run(inputs, output, *, storage=UnsyncedStorage, threads=1, chosen=SKIPPING, contract=CONTRACT):
    return run_on(storage, contract, inputs, output, chosen, threads=threads)


def operations(inputs, output) -> list[str]:
    """Every operation of an undisturbed run."""
    counting = StoppingStorage.at(10**9)
    run(inputs, output, storage=counting)
    return counting.log


def test_a_run_stopped_at_any_operation_ends_as_an_undisturbed_one(corpus, tmp_path):
    inputs, undisturbed = corpus
    log = operations(inputs, tmp_path / "counted")
    assert {"write", "sync", "sync the folder", "unlink journal.jsonl", "rename shard-000002.bin.part", "rename manifest.json.part"} <= set(
        log
    )
    assert len(log) > 80
    for number in range(len(log)):
        output = tmp_path / str(number)
        with pytest.raises(Stopped):
            run(inputs, output, storage=StoppingStorage.at(number), threads=1 + number % 3)
        report = run(inputs, output, threads=1 + number % 2)
        assert folder(output) == undisturbed, log[: number + 1]
        assert report.total.skipped == 2
        shutil.rmtree(output)


def test_a_shard_is_on_the_disk_before_it_is_named_and_named_before_the_journal_tells_it(corpus, tmp_path):
    """What no stopped process can show, only a machine that lost its power."""
    inputs, _ = corpus
    log = operations(inputs, tmp_path / "out")
    told = [at for at, name in enumerate(log) if name == "open journal.jsonl"]
    assert len(told) > 4
    for number, at in enumerate(told):
        name = f"shard-{number:06}"
        files = [f"{name}.{end}" for end in ("bin", "offsets", "skipped.jsonl") if f"open {name}.{end}.part" in log]
        renamed = [f"rename {file}.part" for file in files]
        assert log[at - 1 - len(files) : at] == [*renamed, "sync the folder"]
        begun = log.index(f"open {name}.bin.part")
        assert log[begun : at - 1 - len(files)].count("sync") == len(files)
        assert log[at : at + 3] == ["open journal.jsonl", "write", "sync"]
    assert log[-6:] == ["write", "sync", "rename manifest.json.part", "sync the folder", "unlink journal.jsonl", "sync the folder"]


def test_runs_stopped_again_and_again_end_as_an_undisturbed_one(corpus, tmp_path):
    inputs, undisturbed = corpus
    print(f"seed {SEED}")
    source = random.Random(SEED)
    for number in range(20):
        output = tmp_path / str(number)
        stops = 0
        while True:
            try:
                run(inputs, output, storage=StoppingStorage.at(source.randrange(60)), threads=source.randrange(1, 4))
                break
            except Stopped:
                stops += 1
        assert stops > 0
        assert folder(output) == undisturbed


def stopped_before_the_end(inputs, output, skip=3) -> None:
    """A run that has some shards and no manifest."""
    log = operations(inputs, output)
    shutil.rmtree(output)
    at = [number for number, name in enumerate(log) if name == "open journal.jsonl"][skip]
    with pytest.raises(Stopped):
        run(inputs, output, storage=StoppingStorage.at(at))


def test_a_torn_last_line_of_the_journal_is_cut_and_told(corpus, tmp_path):
    inputs, undisturbed = corpus
    stopped_before_the_end(inputs, tmp_path / "out")
    journal = (tmp_path / "out" / "journal.jsonl").read_bytes()
    last = journal[:-1].rfind(b"\n") + 1
    for path in (tmp_path / "out").glob("shard-000003.*"):  # none was begun when the last line was being written
        path.unlink()
    for size in range(last + 1, len(journal), 7):
        shutil.copytree(tmp_path / "out", tmp_path / "cut")
        (tmp_path / "cut" / "journal.jsonl").write_bytes(journal[:size])
        report = run(inputs, tmp_path / "cut")
        assert report.cut == size - last
        assert folder(tmp_path / "cut") == undisturbed
        shutil.rmtree(tmp_path / "cut")


@pytest.mark.parametrize("ended", [False, True])
def test_nothing_is_mended_in_a_folder_that_is_refused(corpus, tmp_path, ended):
    """Neither a torn line of the journal is cut, nor a journal removed that the manifest has taken the place of."""
    inputs, _ = corpus
    output = tmp_path / "out"
    stopped_before_the_end(inputs, output)
    journal = (output / "journal.jsonl").read_bytes()[:-5]
    for path in output.glob("shard-000003.*"):  # none was begun when the last line was being written
        path.unlink()
    if ended:
        shutil.rmtree(output)
        run(inputs, output)
    (output / "journal.jsonl").write_bytes(journal)
    for name, data in {"notes.txt": b"mine", "shard-000000.bin": (output / "shard-000000.bin").read_bytes()[::-1]}.items():
        kept = (output / name).read_bytes() if (output / name).exists() else None
        (output / name).write_bytes(data)
        before = folder(output)
        assert refusal(inputs, output).code == "corpus_output"
        assert folder(output) == before
        (output / name).unlink() if kept is None else (output / name).write_bytes(kept)
    run(inputs, output)


def test_a_run_that_ended_is_left_as_it_is(corpus, tmp_path):
    inputs, undisturbed = corpus
    first = run(inputs, tmp_path / "out")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    second = run(inputs, tmp_path / "out", threads=2)
    assert second.total == first.total
    assert (second.here.documents, second.here.shards) == (0, 0)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()} == before
    assert folder(tmp_path / "out") == undisturbed


def refusal(*arguments, **settings) -> Slm2Error:
    with pytest.raises(Slm2Error) as caught:
        run(*arguments, **settings)
    return caught.value


@pytest.mark.parametrize("ended", [False, True])
def test_another_run_is_refused_and_changes_nothing(corpus, tmp_path, ended):
    inputs, _ = corpus
    output = tmp_path / "out"
    if ended:
        run(inputs, output)
    else:
        stopped_before_the_end(inputs, output)
    before = folder(output)
    small = slm2.load(embedded(), engine="native", profile="publisher")
    others = [
        ({"chosen": options(on_error="skip", batch_bytes=1_000, shard_ids=1_501)}, "options.shard_ids"),
        ({"chosen": options(on_error="refuse", batch_bytes=1_000, shard_ids=1_500)}, "options.on_error"),
        ({"chosen": options(on_error="skip", batch_bytes=1_000, shard_ids=1_500, append="none")}, "options.append"),
        ({"contract": small}, "profile"),
        ({"contract": Contract(select("native", embedded(), 4096), "contract")}, "max_pretoken"),
    ]
    for settings, field in others:
        error = refusal(inputs, output, **settings)
        assert (error.code, error.fields["field"]) == ("corpus_differs", field)
    for given, field in ((inputs[:1], "inputs"), (inputs[::-1], "inputs[0].path")):
        error = refusal(given, output)
        assert (error.code, error.fields["field"]) == ("corpus_differs", field)
    assert folder(output) == before


def test_another_artifact_is_refused(corpus, tmp_path):
    inputs, _ = corpus
    stopped_before_the_end(inputs, tmp_path / "out")

    class OfAnotherArtifact(Contract):
        digest = "0" * 64

    other = OfAnotherArtifact(CONTRACT.engine, "contract")
    error = refusal(inputs, tmp_path / "out", contract=other)
    assert error.fields == {"field": "artifact", "expected": CONTRACT.digest, "found": "0" * 64}


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_shard_of_the_same_size_with_other_bytes_is_refused(corpus, tmp_path, ended, threads):
    inputs, _ = corpus
    output = tmp_path / "out"
    if ended:
        run(inputs, output)
    else:
        stopped_before_the_end(inputs, output)
    for name in ("shard-000000.bin", "shard-000001.offsets"):
        written = (output / name).read_bytes()
        (output / name).write_bytes(written[:-1] + bytes([written[-1] ^ 1]))
        before = folder(output)
        error = refusal(inputs, output, threads=threads)
        assert error.code == "corpus_output"
        assert error.fields["reason"].startswith(f"{name} is not as it was written: its SHA-256 is ")
        assert folder(output) == before
        (output / name).write_bytes(written)
    run(inputs, output)


def test_what_no_run_left_there_is_refused_and_kept(corpus, tmp_path):
    inputs, _ = corpus
    stopped_before_the_end(inputs, tmp_path / "stopped")
    journal = (tmp_path / "stopped" / "journal.jsonl").read_bytes()
    lines = journal.splitlines(keepends=True)
    flipped = bytearray(journal)
    flipped[len(lines[0]) + 40] ^= 1
    shard = json.loads(lines[1])["record"]["files"][0]
    changes = {
        "notes.txt": b"mine",
        "shard-000099.bin": b"",
        "journal.jsonl": bytes(flipped),
        "journal.jsonl ": b"",
        shard["name"]: (tmp_path / "stopped" / shard["name"]).read_bytes()[:-1],
    }
    for name, data in changes.items():
        shutil.copytree(tmp_path / "stopped", tmp_path / "out")
        (tmp_path / "out" / name).write_bytes(data)
        before = folder(tmp_path / "out")
        assert refusal(inputs, tmp_path / "out").code == "corpus_output", name
        assert folder(tmp_path / "out") == before
        shutil.rmtree(tmp_path / "out")
    for wrong in (
        b"",
        b"{}\n",
        lines[1],
        lines[0] + lines[2],
        lines[0] + b"\n",
        lines[0] + lines[0],
        lines[0][:-1],
        b"[" * 100_000 + b"\n",
    ):
        shutil.copytree(tmp_path / "stopped", tmp_path / "out")
        (tmp_path / "out" / "journal.jsonl").write_bytes(wrong)
        assert refusal(inputs, tmp_path / "out").code in ("corpus_output", "corpus_differs"), wrong
        assert (tmp_path / "out" / "journal.jsonl").read_bytes() == wrong
        shutil.rmtree(tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_bytes(b"years of work")
    assert refusal(inputs, tmp_path / "mine").fields["reason"] == "it holds thesis.txt, which no run with this journal wrote"
    assert folder(tmp_path / "mine") == {"thesis.txt": b"years of work"}
    (tmp_path / "file").write_bytes(b"")
    assert refusal(inputs, tmp_path / "file").code == "file_unwritable"


def test_two_runs_do_not_write_to_one_folder(corpus, tmp_path):
    inputs, undisturbed = corpus
    with Storage(tmp_path / "out").opened():
        assert refusal(inputs, tmp_path / "out").fields["reason"] == "another run is writing to it"
    run(inputs, tmp_path / "out")
    assert folder(tmp_path / "out") == undisturbed


@pytest.mark.skipif(os.name == "nt", reason="Windows has no flock")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO])
def test_a_file_system_without_locks_is_written_to(corpus, tmp_path, monkeypatch, number):
    inputs, undisturbed = corpus

    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    if number == errno.EIO:
        assert refusal(inputs, tmp_path / "out").code == "file_unwritable"
    else:
        run(inputs, tmp_path / "out")
        assert folder(tmp_path / "out") == undisturbed


def test_a_folder_that_the_system_does_not_open_is_written_to(tmp_path, monkeypatch):
    # Windows opens no folder; it has no flock either.
    opened = os.open

    def refusing(path, flags, mode=0o777):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, mode)

    storage = Storage(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        storage.write_whole("a", b"whole")
        storage.remove("a")
    assert storage.names() == set()


def test_a_full_disk_is_a_refusal_and_the_run_goes_on_later(corpus, tmp_path):
    inputs, undisturbed = corpus

    class Full(UnsyncedStorage):
        left = 0

        def _write(self, descriptor, data):
            type(self).left -= 1
            if type(self).left < 0:
                raise OSError(28, "No space left on device")
            super()._write(descriptor, data)

    for number in (0, 1, 2, 5, 11):
        Full.left = number
        error = refusal(inputs, tmp_path / str(number), storage=Full)
        assert (error.code, error.fields["reason"]) == ("file_unwritable", "No space left on device")
        run(inputs, tmp_path / str(number))
        assert folder(tmp_path / str(number)) == undisturbed
