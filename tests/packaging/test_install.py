"""The README's first command on a machine without Rust, and an install whose cargo reaches no crates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from machine import Machine, programs, rust_programs

pytestmark = pytest.mark.xdist_group("packaging")

EXPLAINED = ("<|im_start|>", "Can I still send it back", "Ids (986)", "151644 8948 198", "Budget", "of 4,096 tokens")


def warnings_in(text: str) -> list[dict[str, object]]:
    return [json.loads(line)["warning"] for line in text.splitlines() if line.startswith('{"warning"')]


def engine_of(machine: Machine) -> dict[str, object]:
    """What `slm2 info` says of the engines."""
    said = machine.run(".venv/bin/slm2", "info", "--json")
    assert said.returncode == 0, said.stderr
    report = json.loads(said.stdout)
    return {"engine": report["engine"], **report["native"]}


def test_first_command_ends_with_the_assembled_prompt(first_run: subprocess.CompletedProcess[str]) -> None:
    assert first_run.returncode == 0, first_run.stdout + first_run.stderr
    picture = first_run.stdout[first_run.stdout.index("examples/support.json  engine reference") :]
    assert [part for part in EXPLAINED if part not in picture] == []


def test_one_warning_names_the_reference(first_run: subprocess.CompletedProcess[str]) -> None:
    (warning,) = warnings_in(first_run.stderr)
    assert warning["code"] == "reference_engine"
    assert "reference engine" in str(warning["message"])


def test_nothing_native_was_installed(first_run: subprocess.CompletedProcess[str], machine: Machine) -> None:
    assert first_run.returncode == 0
    (package,) = (machine.checkout / ".venv").glob("lib/python3*/site-packages/slm2")
    assert [path.name for path in package.glob("_engine*")] == ["_engine.pyi"]
    said = engine_of(machine)
    assert (said["engine"], said["available"]) == ("reference", False)
    assert said["reason"]


@pytest.mark.usefixtures("first_run")
def test_native_by_name_is_refused(machine: Machine) -> None:
    refused = machine.run(".venv/bin/slm2", "encode", "--engine", "native", "examples/support.json")
    assert refused.returncode == 3
    assert json.loads(refused.stderr)["error"]["code"] == "engine_unavailable"
    assert refused.stdout == ""


@pytest.mark.usefixtures("first_run")
def test_cargo_without_crates_still_installs(machine: Machine, tmp_path: Path) -> None:
    """cargo is on the PATH and must be tried; no crate index is in reach and nothing is in its home."""
    path = programs(tmp_path / "programs", python3=Path(machine.environment["PATH"]) / "python3", **rust_programs())
    offline = machine.having(PATH=path, CARGO_HOME=str(tmp_path / "cargo"), CARGO_NET_OFFLINE="true")
    assert offline.run("cargo", "--version").returncode == 0
    installed = offline.run(".venv/bin/pip", "install", "--verbose", "--force-reinstall", "--no-deps", ".")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert "optional Rust extension slm2._engine failed" in installed.stdout + installed.stderr  # so it was tried
    said = engine_of(offline)
    assert (said["engine"], said["available"]) == ("reference", False)
    assert said["reason"]
