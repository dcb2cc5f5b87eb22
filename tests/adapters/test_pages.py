"""Examples of pages that need the libraries of the adapters; the models that they name are the tiny ones."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adapters import checkpoints
from adapters.completions_server import running
from machine import ROOT
from publisher import publisher_tokenizer

BLOCK = re.compile(r"^```(pycon|sh) adapters\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ("docs/back-ends.md",)
ADDRESS = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize("page", PAGES)
def test_examples(page: str, tmp_path: Path, onnx_file: Path, gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other in one folder, with a checkpoint, its ONNX and its GGUF; the server's address alone is another."""
    shutil.copytree(onnx_file.parent.parent, tmp_path / "qwen3-0.6b")
    checkpoints.write(tmp_path / "qwen3-0.6b")
    (tmp_path / "qwen3-0.6b.gguf").symlink_to(gguf_file)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    with running(checkpoints.model(), publisher_tokenizer()) as server:
        for language, text in blocks:
            example = text.replace(ADDRESS, server.url)
            names = run_python(example, names) if language == "pycon" else run_shell(example, names)


def run_python(text: str, names: dict[str, object]) -> dict[str, object]:
    """A session; the names that it leaves behind."""
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, names, "example", None, 0)
    assert doctest.DocTestRunner().run(test, out=report.append, clear_globs=False).failed == 0, "".join(report)
    return test.globs


def run_shell(text: str, names: dict[str, object]) -> dict[str, object]:
    """A command, with the programs of this environment first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["/bin/sh", "-ec", text], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return names
