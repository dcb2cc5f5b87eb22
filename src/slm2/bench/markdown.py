"""The tables of a run in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    """All of it: who was measured, the ratios in one table, ids, and a table for each figure."""
    sections = ["\n".join(_who(summary)), _ratios(summary), _ids(summary), *(_figures(summary, table) for table in summary.tables())]
    return "\n\n".join(section for section in sections if section) + "\n"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _who(summary: Summary) -> Iterator[str]:
    machine, settings = summary.raw["machine"], summary.raw["settings"]
    yield (
        f"{summary.raw['made']}, {machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}; "
        f"{settings['rounds']} rounds, texts of up to {settings['megabytes']:g} MB."
    )
    yield ""
    for profile, oracle in summary.raw["oracles"].items():
        part = "" if oracle["limit"] is None else f", on the first {oracle['limit']:,} bytes of each text"
        yield f"- Ids of profile `{profile}` are compared with {oracle['subject']} {oracle['version']}{part}."
    for name, told in summary.subjects.items():
        yield f"- `{name}`: {told['title']}, version {told['version']}, hands back {told['output']}."
    for name, reason in summary.absent.items():
        yield f"- Not measured: `{name}` ({reason})."


def _ratios(summary: Summary) -> str:
    """The one table: slm2 over the best exact peer, whatever the unit, so that above 1 slm2 is ahead."""
    lines = []
    for table in summary.tables():
        ratios = {column: summary.ratio(table, column) for column in table.columns}
        if table.described.told or not any(ratios.values()):
            continue
        for column, ratio in ratios.items():
            if ratio is not None:
                ours, theirs = table.rows["slm2"][column].value, table.rows[ratio.peer][column].value
                assert ours is not None
                assert theirs is not None
                unit = table.described.unit
                lines.append(
                    [table.title, column, f"**{ratio.times:.2f}x**", f"{number(ours)} {unit}", f"{number(theirs)} {unit}", summary.title(ratio.peer)]
                )
    if not lines:
        return ""
    head = ["measure", "text", "ratio", "slm2", "best exact peer", "which"]
    return "## slm2 and the best exact peer\n\nAbove 1 slm2 is ahead, in whatever unit.\n\n" + _grid(head, lines)


def _ids(summary: Summary) -> str:
    """Who gives which ids: how many documents differ from the oracle, and whether the whole text does."""
    groups = [group for group in ("texts", "giants", "special", "messages") if summary.columns(group)]
    columns = [(group, column) for group in groups for column in summary.columns(group)]
    rows = [[summary.title(subject), *(_compared(summary, subject, *column) for column in columns)] for subject in summary.subjects]
    legend = f"How many of the documents (or messages) differ; {WRONG} where the text in one call does, {_UNCHECKED} where nothing was compared."
    return f"## Ids\n\n{legend}\n\n" + _grid(["", *(column for _, column in columns)], rows)


def _compared(summary: Summary, subject: str, group: str, column: str) -> str:
    check = summary.check(subject, group, column)
    if check is None:
        return _UNCHECKED
    if "failure" in check:
        return f"{_UNCHECKED} {check['failure']}"
    differing, pieces = check["differing"], check["pieces"]
    said = "equal" if differing == 0 else f"{differing:,} of {pieces:,}"
    return said if check["whole"] or group == "messages" else f"{said} {WRONG}"


def _figures(summary: Summary, table: Table) -> str:
    columns = list(table.columns)
    best = {column: table.best_peer(column) for column in columns}
    rows = []
    for subject, cells in table.rows.items():
        rows.append([summary.title(subject), *(_cell(cells.get(column), subject == best[column]) for column in columns)])
    if not table.described.told:
        ratios = [summary.ratio(table, column) for column in columns]
        if any(ratios):
            rows.append(["*slm2 / best exact peer*", *("" if ratio is None else f"*{ratio.times:.2f}x*" for ratio in ratios)])
    unit = f", {table.described.unit}" if table.described.unit else ""
    return f"## {table.title[0].upper()}{table.title[1:]}{unit}\n\n" + _grid(["", *columns], rows)


def _cell(cell: Cell | None, best: bool) -> str:
    if cell is None:
        return "-"
    if cell.value is None:
        return cell.failure or "-"
    shown = number(cell.value)
    if cell.verdict != "right":
        return f"{shown} {WRONG if cell.verdict == 'wrong' else _UNCHECKED}"
    return f"**{shown}**" if best else shown
