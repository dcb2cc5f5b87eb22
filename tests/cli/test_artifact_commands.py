"""``slm2 inspect`` and ``slm2 compile``."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from cli.runner import ROOT, run
from slm2 import compiler
from slm2.artifact import Dfa, read
from slm2.artifact.pretokenizer import DEAD, START
from slm2.contract import EMBEDDED, embedded

ARTIFACT = ROOT / "src" / "slm2" / "data" / EMBEDDED


def test_inspect_shows_what_is_in_it():
    data = ARTIFACT.read_bytes()
    artifact = read(data)
    text = run("inspect", ARTIFACT).out.decode()
    joined = re.sub(r"\s+", "", text)
    for fact in (artifact.file_digest, artifact.semantic_digest, "<|im_start|>=151644", *artifact.provenance.values()):
        assert re.sub(r"\s+", "", fact) in joined
    for section in artifact.sections:
        digest = hashlib.sha256(data[section.offset : section.offset + section.length]).hexdigest()
        assert re.search(rf"0x{section.kind:02X} .* {section.offset:,} +{section.length:,} +(yes|no) +{digest[:32]}", text)
    assert artifact.facts is not None
    assert f"{len(artifact.facts.not_merged):,} of 151,643 entries" in text
    assert f"{len(artifact.facts.not_encoded):,} of 151,643 entries" in text
    assert max(map(len, text.splitlines())) <= 100


def parse_dot(text: str) -> tuple[dict[int, bool], dict[tuple[int, int], int], dict[int, int]]:
    """Accepting states, next state for each state and byte, next state at the end of the text."""
    accepts: dict[int, bool] = {}
    moves: dict[tuple[int, int], int] = {}
    ends: dict[int, int] = {}
    for line in text.splitlines():
        if edge := re.fullmatch(r'  (\d+) -> (\d+) \[(style=dashed, )?label="(.*)"\];', line):
            source, target = int(edge[1]), int(edge[2])
            if edge[3]:
                ends[source] = target
                continue
            for stretch in edge[4].split():
                low, _, high = stretch.partition("-")
                for byte in range(int(low, 16), int(high or low, 16) + 1):
                    assert (source, byte) not in moves
                    moves[source, byte] = target
        elif node := re.fullmatch(r'  (\d+) \[label="\d+(\\n-\d+)?"(.*)\];', line):
            accepts[int(node[1])] = "doublecircle" in node[3]
    return accepts, moves, ends


def test_the_drawing_is_the_automaton():
    dfa: Dfa = read(ARTIFACT.read_bytes()).dfa
    text = run("inspect", ARTIFACT, "--dfa-dot").out.decode()
    assert text.startswith("digraph pretokenizer {\n")
    assert text.endswith("}\n")
    accepts, moves, ends = parse_dot(text)
    states = range(START, len(dfa.accept))
    assert accepts == {state: dfa.accept[state] > 0 for state in states}
    rows = {state: dfa.row(state) for state in states}
    expected = {(state, byte): rows[state][dfa.classes[byte]] for state in states for byte in range(256)}
    assert moves == {move: target for move, target in expected.items() if target != DEAD}
    assert ends == {state: rows[state][dfa.end_of_input] for state in states if rows[state][dfa.end_of_input] != DEAD}


def test_compile_writes_the_file_in_one_step(monkeypatch, tmp_path):
    stages: list[str] = []

    def compile_sources(source_dir: Path, progress, template) -> bytes:
        assert template is None
        assert source_dir == tmp_path / "sources"
        for stage in ("read", "merges"):
            progress(stage, 1, 2)
            stages.append(stage)
        assert not target.exists()
        return embedded()

    monkeypatch.setattr(compiler, "compile_sources", compile_sources)
    target = tmp_path / "out.slm2"
    result = run("compile", tmp_path / "sources", "-o", target)
    artifact = read(embedded())
    assert (result.status, result.err) == (0, b"")
    assert result.out.decode() == f"{artifact.file_digest} {artifact.semantic_digest} {target}\n"
    assert target.read_bytes() == embedded()
    assert [path.name for path in tmp_path.iterdir()] == ["out.slm2"]
    assert stages == ["read", "merges"]


def test_compile_refuses_a_folder_without_sources(tmp_path):
    result = run("compile", tmp_path, "-o", tmp_path / "out.slm2")
    assert (result.status, result.error["code"]) == (3, "source_missing")
    assert list(tmp_path.iterdir()) == []


def test_compile_leaves_the_old_file_where_the_new_one_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "compile_sources", lambda _source_dir, _progress, _template: embedded())
    result = run("compile", tmp_path, "-o", tmp_path / "no" / "folder" / "out.slm2")
    assert (result.status, result.error["code"]) == (3, "file_unwritable")
    folder = tmp_path / "taken"
    folder.mkdir()
    result = run("compile", tmp_path, "-o", folder)
    assert (result.status, result.error["code"]) == (3, "file_unwritable")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    for target in (".", "/", ".."):
        result = run("compile", tmp_path, "-o", target)
        assert (result.status, result.error["code"]) == (3, "file_unwritable")
