"""The tables of a run in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slm2.bench.measures import MEASURES
from slm2.bench.summary import Cell, Summary, Table

__all__ = ["markdown", "number"]

WRONG = "✗"
_UNCHECKED = "?"


def number(value: float) -> str:
    """Three figures, as far as they matter."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def markdown(summary: Summary) -> str:
    """All of it: who was measured, the ratios, ids, a table for each figure or each measure of one input, and what failed."""
    by_measure: dict[str, list[Table]] = {}
    for table in summary.tables():
        by_measure.setdefault(table.measure, []).append(table)
    details = []
    for tables in by_measure.values():
        details += (
            [_figures_of_one_input(summary, tables)] if len(tables[0].columns) == 1 else [_figure(summary, table) for table in tables]
        )
    sections = ["\n".join(_who(summary)), *_ratios(summary), _ids(summary), *details, _failures(summary)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _who(summary: Summary) -> Iterator[str]:
    machine, settings = summary.raw["machine"], summary.raw["settings"]
    rounds = f"{settings['rounds']} round{'s' * (settings['rounds'] > 1)}"
    yield (
        f"{summary.raw['made']}, {machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}; "
        f"{rounds}, texts of up to {settings['megabytes']:g} MB."
    )
    yield (
        f"**Bold** is the best peer whose ids are right on that input; {WRONG} stands where ids (or the decoded text) are wrong, "
        f"{_UNCHECKED} where nothing was compared. MB/s are 10^6 bytes of UTF-8 over CPU time of the process unless wall time is named."
    )
    yield ""
    for profile, oracle in summary.raw["oracles"].items():
        part = "" if oracle["limit"] is None else f", on the first {oracle['limit']:,} bytes of each text"
        yield f"- Ids of profile `{profile}` are compared with {oracle['subject']} {oracle['version']}{part}."
    if settings["tokenizer_json"] is not None:
        yield f"- The publisher's file: tokenizer.json with SHA-256 `{settings['tokenizer_json']}`."
    for name, told in summary.subjects.items():
        yield f"- `{name}`: {told['title']}, version {told['version']}, hands back {told['output']}."
    for name, reason in summary.absent.items():
        yield f"- Not measured: `{name}` ({reason})."


def _ratios(summary: Summary) -> Iterator[str]:
    """slm2 over the best exact peer, whatever the unit: measures by texts, and what has one input alone."""
    tables = [table for table in summary.tables() if not table.described.told]
    sections = []
    for columns in dict.fromkeys(table.columns for table in tables if len(table.columns) > 1):
        rows = [[table.title, *_ratio_cells(summary, table)] for table in tables if table.columns == columns]
        sections.append((["", *columns], [row for row in rows if any(row[1:])]))
    singles = [_ratio_row(summary, table) for table in tables if len(table.columns) == 1]
    sections.append((["", "ratio", "slm2", "best exact peer", ""], [row for row in singles if row]))
    found = [_grid(head, rows) for head, rows in sections if rows]
    if found:
        yield "## slm2 over the best exact peer\n\nHow many times better, whatever the unit: above 1 slm2 is ahead. The peer is named."
        yield from found


def _ratio_cells(summary: Summary, table: Table) -> list[str]:
    ratios = [summary.ratio(table, column) for column in table.columns]
    return ["" if ratio is None else f"**{number(ratio.times)}** {summary.title(ratio.peer)}" for ratio in ratios]


def _ratio_row(summary: Summary, table: Table) -> list[str]:
    (column,) = table.columns
    ratio, ours = summary.ratio(table, column), summary.ours
    if ratio is None or ours is None:
        return []
    values = [table.rows[subject][column].value for subject in (ours, ratio.peer)]
    return [
        table.title,
        f"**{number(ratio.times)}**",
        *("" if value is None else f"{number(value)} {table.described.unit}" for value in values),
        summary.title(ratio.peer),
    ]


def _ids(summary: Summary) -> str:
    """Who gives which ids: how many documents differ from the oracle, and whether the whole text does."""
    groups = [group for group in ("texts", "giants", "special", "messages") if summary.columns(group)]
    columns = [(group, column) for group in groups for column in summary.columns(group)]
    rows = [[summary.title(subject), *(_compared(summary, subject, *column) for column in columns)] for subject in summary.subjects]
    legend = f"How many of the documents (or messages) differ; {WRONG} where the text in one call does."
    return f"## Ids\n\n{legend}\n\n" + _grid(["", *(column for _, column in columns)], rows)


def _compared(summary: Summary, subject: str, group: str, column: str) -> str:
    check = summary.check(subject, group, column)
    if check is None:
        return _UNCHECKED
    if "failure" in check:
        return "failed"
    differing, pieces = check["differing"], check["pieces"]
    said = "equal" if differing == 0 else f"{differing:,} of {pieces:,}"
    return said if check["whole"] or group == "messages" else f"{said} {WRONG}"


def _figure(summary: Summary, table: Table) -> str:
    """Subjects by texts."""
    best = {column: table.best_peer(column) for column in table.columns}
    rows = [
        [summary.title(subject), *(_cell(cells.get(column), subject == best[column]) for column in table.columns)]
        for subject, cells in table.rows.items()
    ]
    unit = f", {table.described.unit}" if table.described.unit else ""
    return f"## {_heading(table.title)}{unit}\n\n" + _grid(["", *table.columns], rows)


def _figures_of_one_input(summary: Summary, tables: Sequence[Table]) -> str:
    """Subjects by figures."""
    (column,) = tables[0].columns
    rows = []
    for subject in tables[0].rows:
        cells = [(table, table.rows.get(subject, {}).get(column)) for table in tables]
        rows.append([summary.title(subject), *(_cell(cell, subject == table.best_peer(column)) for table, cell in cells)])
    head = [f"{table.described.title}, {table.described.unit}".removesuffix(", ") for table in tables]
    return f"## {_heading(MEASURES[tables[0].measure].title)}\n\n" + _grid(["", *head], rows)


def _failures(summary: Summary) -> str:
    lines = [f"- {summary.title(subject)}, {measure}, {one}: `{_plain(reason)}`" for subject, measure, one, reason in summary.failures]
    return "## What failed\n\n" + "\n".join(lines) if lines else ""


def _plain(reason: str) -> str:
    """On one line, and without what would end it in Markdown."""
    return " ".join(reason.replace("`", "'").split())


def _heading(text: str) -> str:
    return text[0].upper() + text[1:]


def _cell(cell: Cell | None, best: bool) -> str:
    if cell is None:
        return "-"
    if cell.value is None:
        return "-" if cell.failure is None else "failed"
    shown = number(cell.value)
    if cell.verdict != "right":
        return f"{shown} {WRONG if cell.verdict == 'wrong' else _UNCHECKED}"
    return f"**{shown}**" if best else shown
