"""Examples in docstrings do what they show, and so do the README's commands; pages are run by test_page_examples.py."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slm2
from machine import ROOT

# It is made of a class of torch's, which is not among these tools; it has no examples, and tests/adapters imports it.
ELSEWHERE = {"slm2.adapters.transformers.sampler"}
MODULES = ["slm2", *(module.name for module in pkgutil.walk_packages(slm2.__path__, "slm2.") if module.name not in ELSEWHERE)]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_doctest(test: doctest.DocTest) -> doctest.TestResults:
    report: list[str] = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.failed == 0, "".join(report)
    return results


def test_readme_uses_every_part_with_the_native_engine() -> None:
    source = "\n".join(blocks("README.md", "pycon"))
    used = ('engine="native"', "tokenizer.encode", "tokenizer.decode", "template.render", "prompt.assemble", "stream_decoder")
    assert [part for part in used if part not in source] == []


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        run_doctest(test)


def test_docstrings_have_examples() -> None:
    assert any(test.examples for test in doctest.DocTestFinder().find(slm2, "slm2"))


@pytest.mark.parametrize("command", [line for line in blocks("README.md", "sh")[1].splitlines() if line])
def test_shell_examples_succeed(command: str) -> None:
    """In the README's second block; its first is tested in tests/packaging, its last is what runs this test."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_continuous_integration_runs_the_readme_command() -> None:
    (command,) = blocks("README.md", "sh")[-1].splitlines()
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == command
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_readme_counts_the_vectors() -> None:
    told = re.search(r"more than ([\d,]+) vectors", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert told is not None
    assert json.loads((ROOT / "contract" / "vectors" / "manifest.json").read_bytes())["vectors"] > int(told[1].replace(",", ""))
