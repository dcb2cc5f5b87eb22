"""The report of a verification as one page: no script, nothing from elsewhere, light and dark (contract/conformance.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["page"]

Json = Mapping[str, Any]

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #c9d1d9; --good: #0b6b3a; --bad: #b3261e; --soft: #f3f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #14181d; --line: #3a424c; --good: #6cd39b; --bad: #ff9a92; --soft: #1d232a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.2rem 0.7rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
thead th { background: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
code { font-family: ui-monospace, monospace; font-size: 0.85em; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
"""


def page(report: Json) -> str:
    """The page of :func:`slm2.conformance.report.report`."""
    shown = [host for host in report["hosts"] if "missing" not in host]
    body = "\n".join(_body(report, shown))
    verdict = "passed" if report["passed"] else "failed"
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>SLM2 verification, tier {report['tier']}: {verdict}</title>\n<style>{_STYLE}</style>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(report: Json, shown: Sequence[Json]) -> Iterator[str]:
    passed = report["passed"]
    yield f"<h1>SLM2 verification, tier {report['tier']}: {_word(passed)}</h1>"
    yield f"<p>{report['vectors']['count']:,} vectors, {len(shown) - 1} hosts. A cell tells how many things were compared.</p>"
    yield from _table(shown)
    yield from _failures(report["hosts"])
    yield from _notes(shown)
    yield from _hosts(report["hosts"])
    yield from _digests(report, shown)


def _word(passed: bool) -> str:
    return f'<span class="{"good" if passed else "bad"}">{"passed" if passed else "failed"}</span>'


def _table(hosts: Sequence[Json]) -> Iterator[str]:
    parts: dict[tuple[int, str], None] = {}
    for tier in (1, 2, 3):
        for host in hosts:
            parts |= {(check["tier"], check["part"]): None for check in host["checks"] if check["tier"] == tier}
    found = [{(check["tier"], check["part"]): check for check in host["checks"]} for host in hosts]
    yield '<div class="wide"><table><thead><tr><th scope="col">tier</th><th scope="col">part</th>'
    yield "".join(f'<th scope="col">{escape(host["title"])}</th>' for host in hosts) + "</tr></thead><tbody>"
    for tier, part in parts:
        cells = "".join(_cell(checks.get((tier, part))) for checks in found)
        yield f'<tr><td class="number">{tier}</td><th scope="row">{escape(part)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _cell(check: Json | None) -> str:
    if check is None:
        return "<td></td>"
    if check["passed"]:
        mark = '<a href="#notes">*</a>' if "note" in check else ""
        return f'<td class="number good">{check["compared"]:,}{mark}</td>'
    return f'<td class="number bad">{check["differences"]:,} of {check["compared"]:,} differ</td>'


def _failures(hosts: Sequence[Json]) -> Iterator[str]:
    rows = [(host["title"], "", host["missing"]) for host in hosts if "missing" in host]
    rows += [
        (host["title"], check["part"], check["first"] or "nothing was compared")
        for host in hosts
        for check in host.get("checks", ())
        if not check["passed"]
    ]
    if rows:
        yield "<h2>First differences, and what is not there</h2><table><tbody>"
        for title, part, first in rows:
            yield f'<tr><th scope="row">{escape(title)}</th><td>{escape(part)}</td><td><code>{escape(first)}</code></td></tr>'
        yield "</tbody></table>"


def _notes(hosts: Sequence[Json]) -> Iterator[str]:
    rows = [(host["title"], check["part"], check["note"]) for host in hosts for check in host["checks"] if "note" in check]
    if rows:
        yield '<h2 id="notes">Notes</h2><table><tbody>'
        for row in rows:
            yield "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>"
        yield "</tbody></table>"


def _hosts(hosts: Sequence[Json]) -> Iterator[str]:
    yield '<h2>Hosts</h2><table><thead><tr><th scope="col">host</th><th scope="col">what it says of itself</th></tr></thead><tbody>'
    for host in hosts:
        facts = host.get("facts") or {"not verified": host["missing"]} if "missing" in host else host["facts"]
        told = ", ".join(f"{name} {value}" for name, value in facts.items())
        yield f'<tr><th scope="row">{escape(host["title"])}</th><td>{escape(told)}</td></tr>'
    yield "</tbody></table>"


def _digests(report: Json, hosts: Sequence[Json]) -> Iterator[str]:
    yield "<h2>What was verified, and by what</h2><table><tbody>"
    rows = {f"artifact, {name.replace('_', ' ')}": value for name, value in report["artifact"].items()}
    rows |= {f"vectors, {name}": value for name, value in report["vectors"]["digests"].items()}
    rows |= {f"oracle, {name}": value for name, value in report["oracle"].items()}
    rows |= {f"machine, {name.replace('_', ' ')}": value for name, value in report["machine"].items()} | {"slm2": report["slm2"]}
    for name, value in rows.items():
        yield f'<tr><th scope="row">{escape(name)}</th><td><code>{escape(str(value))}</code></td></tr>'
    yield "</tbody></table>"
    yield "<h2>Digests of the answers</h2>"
    yield "<p>SHA-256 over all answers of a part. Hosts that were asked the same and answered the same have the same.</p>"
    yield '<div class="wide"><table><thead><tr><th scope="col">part</th><th scope="col">answers</th><th scope="col">hosts</th></tr></thead>'
    yield "<tbody>"
    by_part: dict[str, dict[str, list[str]]] = {}
    for host in hosts:
        for check in host["checks"]:
            if check["sha256"]:
                by_part.setdefault(check["part"], {}).setdefault(check["sha256"], []).append(host["title"])
    for part, digests in by_part.items():
        for digest, titles in digests.items():
            yield f"<tr><td>{escape(part)}</td><td><code>{digest[:32]}…</code></td><td>{escape(', '.join(titles))}</td></tr>"
    yield "</tbody></table></div>"
