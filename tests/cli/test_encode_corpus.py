"""``slm2 encode-corpus``: what it prints, how it refuses, and that kills leave no trace."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from hashlib import sha256

import pytest

import slm2
from cli.runner import command, run, run_process
from corpora import END, folder, shard_documents, texts, write_jsonl, write_lines

KILLS = 10
SEED = random.SystemRandom().randrange(2**32)


def arguments(*inputs, output, to="shards", read="lines", more=()):
    return ("encode-corpus", *inputs, "--output", output, "--from", read, "--to", to, "--append", "endoftext", "--engine", "native", *more)


def test_a_line_of_text_or_a_report(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", ["Hello", " naïve"])
    result = run(*arguments(path, output=tmp_path / "out", read="jsonl", more=("--field", "text", "--report", tmp_path / "report.json")))
    assert (result.status, result.out, result.err) == (0, b"2 documents, 5 ids, 0 skipped, 1 shards\n", b"")
    assert shard_documents(tmp_path / "out") == [[9707, END], [94880, 586, END]]
    report = json.loads((tmp_path / "report.json").read_bytes())
    counts = {"documents": 2, "ids": 5, "text_bytes": 12, "skipped": 0, "shards": 1}
    assert report["total"] == counts
    told = report["this_run"]
    assert {name: told[name] for name in counts} == counts
    assert told["seconds"] > 0
    assert told["ids_per_second"] > 0
    assert report["artifact"]["semantic_digest"] == slm2.load(engine="native").digest
    again = run(*arguments(path, output=tmp_path / "out", read="jsonl", more=("--field", "text", "--report", "-")))
    assert json.loads(again.out)["total"] == counts
    assert json.loads(again.out)["this_run"]["documents"] == 0


def test_what_was_left_out_is_told(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\nill \xff\n")
    result = run(*arguments(tmp_path / "a.txt", output=tmp_path / "out", more=("--on-error", "skip")))
    assert (result.status, result.out) == (0, b"1 documents, 2 ids, 1 skipped, 1 shards\n")
    assert [line["warning"]["code"] for line in result.messages] == ["documents_skipped"]
    refused = run(*arguments(tmp_path / "a.txt", output=tmp_path / "other"))
    assert refused.status == 3
    assert (refused.error["code"], refused.error["row"], refused.error["reason_code"]) == ("document_refused", 1, "invalid_value")
    assert run(*arguments(tmp_path / "a.txt", output=tmp_path / "out")).error["code"] == "corpus_differs"


def test_a_torn_line_of_the_journal_is_told(tmp_path):
    path = write_lines(tmp_path / "a.txt", ["one", "two"])
    assert run(*arguments(path, output=tmp_path / "out")).status == 0
    identity = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    (tmp_path / "out" / "manifest.json").unlink()
    record = json.dumps({name: value for name, value in identity.items() if name not in ("totals", "shards")}, separators=(",", ":"))
    line = f'{{"record":{record},"sha256":"{sha256(record.encode()).hexdigest()}"}}\n'
    (tmp_path / "out" / "journal.jsonl").write_text(line + '{"record":{"sha')
    result = run(*arguments(path, output=tmp_path / "out"))
    assert [message["warning"]["code"] for message in result.messages] == ["journal_cut"]
    assert shard_documents(tmp_path / "out") == [[603, END], [19789, END]]


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        (("--append", "eos"), 3, "invalid_value"),
        (("--shard-ids", "0"), 3, "invalid_value"),
        (("--field", "text"), 3, "invalid_value"),
        (("--text-bytes",), 3, "invalid_value"),
        (("--max-pretoken", "1"), 3, "limit_out_of_range"),
        (("--threads", "0"), 2, "usage"),
        (("--on-error", "ignore"), 2, "usage"),
    ],
)
def test_wrong_options(tmp_path, more, status, code):
    result = run(*arguments(write_lines(tmp_path / "a.txt", ["a"]), output=tmp_path / "out", more=more))
    assert (result.status, result.error["code"]) == (status, code)


def test_a_report_within_the_output_is_refused(tmp_path):
    path = write_lines(tmp_path / "a.txt", ["a"])
    within = arguments(path, output=tmp_path / "out", more=("--report", tmp_path / "out" / "report.json"))
    assert run(*within).error["code"] == "usage"
    assert not (tmp_path / "out").exists()


def test_nothing_is_assumed(tmp_path):
    path = write_lines(tmp_path / "a.txt", ["a"])
    for left_out in ("--output", "--from", "--to", "--append"):
        given = list(map(str, arguments(path, output=tmp_path / "out")))
        at = given.index(left_out)
        result = run(*given[:at], *given[at + 2 :])
        assert (result.status, result.error["code"]) == (2, "usage")
        assert left_out in result.error["message"]


def test_tables_need_pyarrow(tmp_path):
    """Its absence is made here, so that it does not matter whether it is installed."""
    path = write_lines(tmp_path / "a.txt", ["a"])
    program = "import sys; sys.modules['pyarrow'] = None; from slm2.cli import main; main()"
    for to, read, more in (("parquet", "lines", ()), ("arrow", "lines", ()), ("shards", "parquet", ("--field", "text"))):
        words = map(str, arguments(path, output=tmp_path / "out", to=to, read=read, more=more))
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, check=False)
        assert done.returncode == 3
        error = json.loads(done.stderr)["error"]
        assert (error["code"], error["package"], error["extra"]) == ("dependency_missing", "pyarrow", "corpus")
    assert not (tmp_path / "out").exists()


def test_a_run_killed_ten_times_at_random_ends_as_an_undisturbed_one(tmp_path):
    """SIGKILL at moments that a seed decides, which is printed; every run but the last is killed before it can end."""
    print(f"seed {SEED}")
    source = random.Random(SEED)
    inputs = [write_lines(tmp_path / f"{number}.txt", texts(number, 1000)) for number in (1, 2)]
    inputs[1].write_bytes(inputs[1].read_bytes() + b"ill \xff formed\n")
    more = ("--batch-bytes", "4000", "--shard-ids", "2000", "--on-error", "skip", "--threads", "2")
    assert run_process(*arguments(*inputs, output=tmp_path / "undisturbed", more=more)).status == 0
    undisturbed = folder(tmp_path / "undisturbed")
    shards = len(json.loads(undisturbed["manifest.json"])["shards"])
    assert shards > 8 * KILLS
    words = arguments(*inputs, output=tmp_path / "out", more=more)
    done = [killed(words, tmp_path / "out", source, shards // (2 * KILLS)) for _ in range(KILLS)]
    print(f"shards that were whole at the kills: {done} of {shards}")
    assert done == sorted(done)
    assert run_process(*words).status == 0
    assert folder(tmp_path / "out") == undisturbed


def killed(words, output, source, most):
    """Kill a run some shards and some moments after it began; how many shards were whole then."""
    journal = output / "journal.jsonl"
    enough = (journal.read_bytes().count(b"\n") if journal.exists() else 0) + source.randrange(most)
    moment = source.random() * 0.02
    process = subprocess.Popen(command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    limit = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= enough):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < limit
        time.sleep(0.001)
    time.sleep(moment)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stderr.close()
    return journal.read_bytes().count(b"\n") - 1
