"""The harness of ``slm2 bench``: its texts, its verdicts, its tables, and processes that end badly. Nothing here is timed."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import slm2
from cli.runner import run
from publisher import TOKENIZER_JSON, missing
from slm2.bench import corpus, sources, worker
from slm2.bench.markdown import markdown, number
from slm2.bench.measures import MEASURES, Request, check, write_answers
from slm2.bench.subjects import SUBJECTS, Subject, absent, has
from slm2.bench.summary import Summary
from slm2.bench.texts import documents, messages

SMALL = Path(__file__).resolve().parents[1] / "data" / "small-v1.slm2"
TINY = ("--megabytes", "0.02", "--rounds", "1", "--subject", "slm2")
# SHA-256, the first 16 digits.
SEEDED = {
    "json": "602c59ebc902fe06",
    "chat": "149c7c7bf55cb713",
    "letters": "1438f408e6d9e4c9",
    "base64": "796baad3523411e6",
    "punctuation": "1ae221598127b1c9",
    "cjk": "db1a5fb93d3cdb21",
    "marks": "528868eb3d415f93",
}
SEEDED_MESSAGES = "1176c5caef0d0faf"
forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(scope="module")
def vocabulary() -> list[bytes]:
    tokenizer = slm2.load(engine="native").tokenizer
    return [tokenizer.token_bytes(number) for number in range(tokenizer.vocabulary_size)]


# ---- texts


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def test_what_is_made_is_the_same_every_time(vocabulary):
    once, again = (corpus.made_texts(vocabulary, 20_000) for _ in range(2))
    assert once == again
    assert [text.name for text in once] == ["english", "code", "json", "european", "chinese", "ja_ko", "ar_he_hi_th", "chat", "decomposed"]
    assert all(20_000 <= len(text.data) < 20_004 for text in once)
    assert len({text.data for text in once}) == len(once)


def test_what_depends_on_seeds_alone_is_the_same_everywhere():
    made = {text.name: text.data for text in corpus.made_texts([], 20_000)}
    assert set(made) == {"english", "code", "json", "chat"}
    giants = {text.name: text.data for text in corpus.giants(20_000)}
    found = {name: digest(made.get(name) or giants[name]) for name in SEEDED}
    assert found == SEEDED
    assert digest("\n".join(messages()).encode()) == SEEDED_MESSAGES


def test_giants_are_one_script_and_their_size():
    giants = {text.name: text.data for text in corpus.giants(9_000)}
    assert {name: len(data) for name, data in giants.items()} == {**dict.fromkeys(giants, 9_000), "marks": 9_001}
    assert giants["letters"].decode().isalpha()
    assert set(giants["newlines"]) == {0x0A}


def test_documents_are_cut_between_characters_and_lose_nothing():
    data = "aé中😀".encode() * 1_000
    pieces = documents(data)
    assert b"".join(pieces) == data
    assert all(2_000 <= len(piece) <= 2_003 and piece.decode() for piece in pieces[:-1])
    assert documents(b"") == []


def test_special_lines_hold_16_000_texts_of_special_tokens():
    lines = corpus.special_lines(["<|a|>", "<b>"]).data.decode().split("\n")
    assert (len(lines), lines[0], lines[1], lines[-1]) == (16_001, "<|a|>word", "<b>word", "")


def test_messages_are_short_and_differ():
    texts = messages()
    assert len(set(texts)) == len(texts) == 240
    assert max(map(len, texts)) <= 62


def test_a_folder_gives_a_text_for_each_file_and_for_each_folder_in_it(tmp_path):
    (tmp_path / "zulu.txt").write_bytes("Sawubona é".encode() + b"\xff")
    (tmp_path / "english.txt.xz").write_bytes(lzma.compress(b"Hello " * 10))
    (tmp_path / ".hidden").write_bytes(b"x")
    (tmp_path / "code" / "deep").mkdir(parents=True)
    (tmp_path / "code" / "a.py").write_bytes(b"a")
    (tmp_path / "code" / "deep" / "b.py").write_bytes(b"b")
    (tmp_path / "empty").mkdir()
    texts = corpus.read_texts(tmp_path, 12)
    assert [(text.name, text.data) for text in texts] == [("english", b"Hello Hello "), ("code", b"ab"), ("zulu", "Sawubona é".encode())]


def test_a_folder_without_text_and_a_broken_file_are_refused(tmp_path):
    with pytest.raises(slm2.Slm2Error) as refused:
        corpus.read_texts(tmp_path, 9)
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_value", "corpus")
    (tmp_path / "a.xz").write_bytes(b"no xz")
    with pytest.raises(slm2.Slm2Error) as refused:
        corpus.read_texts(tmp_path, 9)
    assert (refused.value.code, refused.value.fields["path"]) == ("file_unreadable", str(tmp_path / "a.xz"))


def test_many_files_are_one_text(tmp_path):
    for place in range(corpus.MANY_FILES + 1):
        (tmp_path / f"{place:02}.txt").write_bytes(b"x")
    assert corpus.read_texts(tmp_path, 1_000) == [corpus.Input(tmp_path.name, b"x" * 17)]


# ---- ids compared


class Bytes(Subject):
    """Ids are the bytes."""

    title = "bytes"

    def encode_list(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode()


class Wrong(Bytes):
    """Wrong from the first z on, and cannot encode a whole text; decodes well."""

    def encode_list(self, text: str) -> list[int]:
        if len(text) > 2_500:
            raise RuntimeError("too long")
        return [255 if byte == ord("z") else byte for byte in text.encode()]


@pytest.fixture
def request_with_answers(tmp_path) -> Request:
    path = tmp_path / "text"
    path.write_bytes(b"a" * 3_000 + b"z" + b"a" * 2_999)
    request = Request("check", str(path), answers=str(tmp_path / "answers"))
    assert write_answers(Bytes(), request) == {"bytes": 6_000, "pieces": 3, "ids": 6_000}
    return request


def test_the_oracle_agrees_with_itself(request_with_answers):
    found = check(Bytes(), request_with_answers)
    assert found == {"pieces": 3, "differing": 0, "whole": True, "decoded": True, "first": None}


def test_differences_are_counted_and_the_first_is_shown(request_with_answers):
    found = check(Wrong(), request_with_answers)
    assert (found["differing"], found["whole"], found["decoded"]) == (1, False, True)
    assert (found["first"]["at"], found["first"]["expected"][1], found["first"]["found"][1]) == (1_000, ord("z"), 255)


def test_a_limit_bounds_what_is_compared(tmp_path, request_with_answers):
    limited = Request("check", request_with_answers.path, answers=str(tmp_path / "limited"), limit=2_000)
    write_answers(Bytes(), limited)
    assert check(Wrong(), limited)["differing"] == 0


# ---- verdicts, ratios, tables


def row(subject: str, measure: str, one: str, **figures: float) -> dict:
    return {"subject": subject, "measure": measure, "input": one, "round": 0, "figures": figures}


def compared(subject: str, one: str, differing: int) -> dict:
    right = differing == 0
    return {"subject": subject, "group": "texts", "input": one, "pieces": 9, "differing": differing, "whole": right, "decoded": True}


@pytest.fixture
def raw() -> dict:
    """slm2; a peer that is right; one that is wrong on code and fast; one that is wrong on hostile text alone; one that fails."""
    titles = {"slm2": "slm2", "tokenizers": "right", "tokie": "wrong", "gigatoken": "nearly", "quicktok": "failing"}
    told = {name: {"title": title, "version": "1", "output": "list"} for name, title in titles.items()}
    speeds = {"slm2": 300.0, "tokenizers": 100.0, "tokie": 900.0, "gigatoken": 150.0}
    differing = {("tokie", "code"): 2, ("gigatoken", "hostile"): 9}
    return {
        "form": 1,
        "made": "2026-01-01",
        "machine": {"processor": "p", "cores": 2, "system": "s", "python": "3"},
        "settings": {"rounds": 1, "threads": 2, "megabytes": 1.0, "timeout": 1.0, "tokenizer_json": None},
        "oracles": {"publisher": {"subject": "tokenizers", "version": "0.23.3", "limit": None}},
        "subjects": {**told, "tiktoken": {"title": "tiktoken", "absent": "not here"}},
        "inputs": [{"name": name, "group": "texts", "bytes": 1} for name in ("code", "hostile")]
        + [{"name": "all", "group": "all", "bytes": 1}],
        "checks": [compared(name, one, differing.get((name, one), 0)) for name in speeds for one in ("code", "hostile")],
        "results": [
            *(row(name, "unseen", one, unseen=speed) for name, speed in speeds.items() for one in ("code", "hostile")),
            *(row(name, "load", "all", load=1000 / speed) for name, speed in speeds.items()),
            {"subject": "quicktok", "measure": "unseen", "input": "code", "round": 0, "failure": "no end in 1 s"},
        ],
    }


def table_of(summary: Summary, measure: str, figure: str):
    return next(table for table in summary.tables() if (table.measure, table.figure) == (measure, figure))


def test_a_wrong_peer_is_marked_and_is_nobodys_best(raw):
    summary = Summary(raw)
    table = table_of(summary, "unseen", "unseen")
    assert {name: cells["code"].verdict for name, cells in table.rows.items() if name != "quicktok"} == {
        "slm2": "right",
        "tokenizers": "right",
        "tokie": "wrong",
        "gigatoken": "right",
    }
    assert (table.best_peer("code"), table.best_peer("hostile")) == ("gigatoken", "tokie")
    ratio = summary.ratio(table, "code")
    assert ratio is not None
    assert (ratio.times, ratio.peer) == (2.0, "gigatoken")


def test_where_ids_have_no_part_hostile_text_does_not_count(raw):
    summary = Summary(raw)
    table = table_of(summary, "load", "load")
    assert {name: cells["all"].verdict for name, cells in table.rows.items()} == {
        "slm2": "right",
        "tokenizers": "right",
        "tokie": "wrong",
        "gigatoken": "right",
    }
    ratio = summary.ratio(table, "all")
    assert ratio is not None
    assert (ratio.times, ratio.peer) == (2.0, "gigatoken")  # less time is better


def test_ours_has_no_ratio_where_it_is_wrong(raw):
    raw["checks"][0]["differing"] = 1
    summary = Summary(raw)
    assert raw["checks"][0]["subject"] == "slm2"
    assert summary.ratio(table_of(summary, "unseen", "unseen"), "code") is None


def test_ratios_are_medians_of_each_round(raw):
    speeds = {"slm2": (10.0, 40.0, 90.0), "tokenizers": (10.0, 10.0, 30.0)}
    raw["results"] = [
        {**row(name, "unseen", "code", unseen=speed), "round": place} for name in speeds for place, speed in enumerate(speeds[name])
    ]
    summary = Summary(raw)
    ratio = summary.ratio(table_of(summary, "unseen", "unseen"), "code")
    assert ratio is not None
    assert ratio.times == 3.0  # of 1, 4 and 3; the medians alone would say 4


def test_the_page(raw):
    page = markdown(Summary(raw))
    lines = page.splitlines()
    assert "| wrong | 900 ✗ | **900** |" in lines
    assert "| nearly | **150** | 150 ✗ |" in lines
    assert "| failing | failed | - |" in lines
    assert "| wrong | 2 of 9 ✗ | equal |" in lines
    assert "- failing, unseen, code: `no end in 1 s`" in lines
    assert "- Not measured: `tiktoken` (not here)." in lines
    assert any(line.startswith("| 2 kB documents never seen") and "**2.00** nearly" in line for line in lines)
    cells = {line.count("|") for line in lines if line.startswith("| ") and "code" in line}
    assert cells == {4}


@pytest.mark.parametrize(("value", "shown"), [(1234.5, "1,234"), (99.96, "100.0"), (12.34, "12.3"), (1.239, "1.24"), (0.0123, "0.01")])
def test_numbers(value, shown):
    assert number(value) == shown


def test_measures_name_calls_that_subjects_have():
    assert has(SUBJECTS["slm2"], "decode")
    assert not has(Bytes, "encode_batch")
    assert {measure.call for measure in MEASURES.values()} <= {None, *(name for name in dir(Subject) if not name.startswith("_"))}


def test_absent_subjects_say_why(tmp_path):
    assert absent(SUBJECTS["slm2"], tmp_path) is None
    assert "tokenizer.json" in str(absent(SUBJECTS["tokenizers"], tmp_path))
    assert "not 1.*" in str(absent(SUBJECTS["tokenizers-1"], tmp_path))


# ---- processes


class Ending(Bytes):
    """Ends as the text says."""

    def encode(self, text: str) -> object:
        if "sleep" in text:
            time.sleep(60)
        if "kill" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "exit" in text:
            os._exit(7)
        raise ValueError(text)


@forks
@pytest.mark.parametrize(
    ("text", "failure"),
    [("sleep", "no end in 0.2 s"), ("kill", "ended by signal 9"), ("exit", "exit status 7"), ("other", "ValueError: other")],
)
def test_whatever_ends_a_measure_is_its_result(tmp_path, text, failure):
    path = tmp_path / "text"
    path.write_text(text, encoding="utf-8")
    timeout = 0.2 if text == "sleep" else 30
    assert worker.in_child(Ending(), Request("giant", str(path)), timeout) == {"failure": failure}


# ---- the command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--subject", "nobody"), "tokenizers-1"),
        (("--measure", "luck"), "documents"),
        (("--python", "slm2"), "SUBJECT=PYTHON"),
        (("--megabytes", "0"), "--megabytes"),
        (("--corpus", "no such folder"), "--corpus"),
    ],
)
def test_wrong_usage(arguments, words):
    result = run("bench", *arguments)
    assert (result.status, result.error["code"]) == (2, "usage")
    assert words in result.error["message"]


def test_a_file_that_is_no_tokenizer_json_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"{")
    result = run("bench", *TINY, "--tokenizer-json", path)
    assert (result.status, result.error["code"], result.error["path"]) == (3, "file_unreadable", str(path))


def test_a_tiny_run_without_peers():
    result = run("bench", *TINY, "--measure", "documents", "--measure", "load", "--format", "json")
    assert (result.status, result.err) == (0, b"")
    raw = json.loads(result.out)
    assert raw["oracles"] == {"publisher": {"subject": "slm2-reference", "version": slm2.__version__, "limit": 20_000}}
    assert {(row["differing"], row["whole"], row["decoded"]) for row in raw["checks"]} == {(0, True, True)}
    figures = {(row["measure"], row["input"]): row.get("figures") for row in raw["results"]}
    assert len(figures) == 10
    assert set(figures["documents", "chinese"]) == {"cold", "warm"}
    assert set(figures["load", "all"]) == set(MEASURES["load"].figures)
    assert all(value > 0 for name in figures for value in figures[name].values() if name[0] == "documents")


def test_another_vocabulary_is_found_wrong_by_the_oracle(tmp_path):
    if not TOKENIZER_JSON.exists():
        missing("the publisher's tokenizer.json is not here: run tools/fetch_sources.py")
    (tmp_path / "english.txt").write_bytes(b"Hello, world. " * 50)
    arguments = ("--corpus", tmp_path, "--artifact", SMALL, "--tokenizer-json", TOKENIZER_JSON, "--subject", "tokenizers")
    result = run("bench", *TINY, *arguments, "--measure", "messages")
    assert (result.status, result.err) == (0, b"")
    page = result.out.decode()
    assert "compared with tokenizers 0.23.3." in page
    ids = page.partition("## Ids")[2].splitlines()
    assert "| slm2 | 1 of 1 ✗ | 10 of 10 ✗ | 240 of 240 |" in ids
    assert "| tokenizers 0.23 | equal | equal | equal |" in ids
    assert "over the best exact peer" not in page  # for ours is wrong


def test_the_files_that_peers_load(tmp_path):
    settings = {
        "normalizer": {"type": "NFC"},
        "added_tokens": [{"id": 3, "content": "<|x|>", "special": True}],
        "model": {"vocab": {"a": 0, "Ġ": 1, "aĠ": 2}, "merges": [["a", "Ġ"]]},
    }
    path = tmp_path / "source.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    folder = tmp_path / "files"
    folder.mkdir()
    sources.write(path, folder)
    assert (folder / "tokenizer.json").read_bytes() == path.read_bytes()
    assert json.loads((folder / "tokenizer-contract.json").read_bytes()) == {**settings, "normalizer": None}
    assert (folder / "qwen.tiktoken").read_bytes() == b"YQ== 0\nIA== 1\nYSA= 2\n"
    assert (folder / "bpe-qwen" / "merges.txt").read_text(encoding="utf-8") == "#version: 0.2\na Ġ\n"
    assert json.loads((folder / "special.json").read_bytes()) == {"<|x|>": 3}


def test_a_worker_has_not_imported_what_it_will_time(tmp_path):
    folder = Path(worker.__file__).parent
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import start; start.main(); print('slm2' in sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, "serve", "tokenizers", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == {"absent": "it needs the publisher's tokenizer.json"}
    assert done.stderr == "False\n"
