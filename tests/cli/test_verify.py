"""``slm2 verify``: which hosts are asked, what is written, and the exit status (contract/conformance.md)."""

from __future__ import annotations

import html
import json
import sys

import pytest

from cli.runner import ROOT, run
from slm2.conformance import hosts, verification
from slm2.conformance.verdict import Check, HostVerdict
from slm2.contract import embedded

ARTIFACT = HostVerdict("artifact", "the artifact itself", {}, (Check("sealed facts", 1, 10, 0, None),))
GOOD = (Check("vocabulary", 1, 10, 0, None, "ab" * 32), Check("vectors: x", 1, 5, 0, None, "cd" * 32, "3 of 8 not asked"))
BAD = (Check("vocabulary", 1, 10, 0, None), Check("vectors: x", 1, 5, 2, "T-x-001: U+0041 \x1b[0m <b>"))
NOTHING = (Check("vocabulary", 1, 0, 0, None),)


@pytest.fixture
def verdicts(monkeypatch):
    """What a verification finds; the names of the hosts that were asked for come back."""
    found: dict[str, tuple[Check, ...] | str] = {}
    asked: list[str] = []

    def verify(plan, chosen, progress):
        assert plan.artifact == embedded()
        progress("rust", "vocabulary", 1, 10)
        asked.extend(host.name for host in chosen)
        made = [ARTIFACT]
        for host in chosen:
            result = found.get(host.name, "it is not there")
            told = {"missing": result} if isinstance(result, str) else {"checks": result, "facts": {"name": host.name}}
            made.append(HostVerdict(host.name, host.title, **told))
        return made

    monkeypatch.setattr(verification, "verify", verify)
    monkeypatch.setattr(verification, "parts", lambda *_: [])
    return found, asked


def test_without_a_name_all_are_asked_that_are_there(verdicts):
    found, asked = verdicts
    found |= {"python-engine": GOOD, "rust": GOOD}
    result = run("verify")
    assert (result.status, asked) == (0, list(hosts.HOSTS))
    text = result.out.decode()
    assert "Python, engine" in text
    assert "C: not verified: it is not there" in text
    assert [line["warning"]["check"] for line in result.messages] == ["python-engine: vectors: x", "rust: vectors: x"]


@pytest.mark.parametrize(("checks", "status"), [(GOOD, 0), (BAD, 1), (NOTHING, 1), ("it is not there", 1)])
def test_the_exit_status_is_the_verdict(verdicts, checks, status):
    found, asked = verdicts
    found["rust"] = checks
    result = run("verify", "--tier", "1", "--host", "rust")
    assert (result.status, asked) == (status, ["rust"])
    assert b"\x1b" not in result.out + result.err
    errors = [line["error"] for line in result.messages if "error" in line]
    if isinstance(checks, str):
        assert [(error["code"], error["host"], error["reason"]) for error in errors] == [("host_unavailable", "rust", checks)]
    else:
        wanted = [("verification_failed", f"rust: {check.part}", check.differences) for check in checks if not check.passed]
        assert [(error["code"], error["check"], error["differences"]) for error in errors] == wanted


def test_all_means_that_none_may_be_missing(verdicts):
    found, asked = verdicts
    found |= dict.fromkeys(hosts.HOSTS, GOOD)
    assert run("verify", "--host", "all").status == 0
    assert asked == list(hosts.HOSTS)
    found["dotnet"] = "it is not there"
    assert run("verify", "--host", "all").status == 1


def test_an_unknown_host_is_refused():
    result = run("verify", "--host", "basic")
    assert (result.status, result.error["code"], result.error["field"], result.error["found"]) == (3, "invalid_value", "--host", "basic")


def test_the_report_is_data_and_a_page(verdicts, tmp_path):
    found, _ = verdicts
    found |= {"rust": BAD, "node": GOOD}
    page = tmp_path / "report.html"
    result = run("verify", "--host", "rust", "--host", "node", "--json", "-", "--html", page)
    report = json.loads(result.out)
    assert (result.status, report["passed"], report["tier"]) == (1, False, 1)
    assert [(host["name"], host["passed"]) for host in report["hosts"]] == [("artifact", True), ("rust", False), ("node", True)]
    assert report["hosts"][1]["checks"][1]["first"] == BAD[1].first
    text = page.read_text(encoding="utf-8")
    assert html.escape("U+0041 \x1b[0m <b>") in text
    assert "<script" not in text
    assert str(ROOT) not in text + result.out.decode()
    again = tmp_path / "again.json"
    run("verify", "--host", "rust", "--host", "node", "--json", again)
    assert again.read_bytes() == result.out


def test_a_program_of_another_project_is_verified(tmp_path):
    """The whole way, with the Python testee as the other program, and an artifact of the caller's."""
    command = f"{sys.executable} -m slm2.conformance.testee --engine native"
    report = tmp_path / "report.json"
    result = run("verify", "--host", f"mine={command}", "--json", report)
    assert (result.status, result.err) == (0, b"")
    checks = {check["part"]: check for check in json.loads(report.read_bytes())["hosts"][1]["checks"]}
    assert checks["vocabulary"]["compared"] == 151_669
    assert checks["scalar values"]["compared"] == 544
    assert checks["vectors: artifacts"]["compared"] > 200
    assert "mine" in result.out.decode()


def test_a_program_that_is_none_is_told():
    result = run("verify", "--host", f"broken={sys.executable} -c pass")
    assert result.status == 1
    assert result.error["code"] == "host_unavailable"
    assert "it ended at hello" in result.error["reason"]
