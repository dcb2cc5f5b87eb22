"""The page and the picture of a run: reads benchmarks.json, writes benchmarks.md and benchmarks.svg beside it.

python bench/report.py docs/benchmarks.json
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from slm2.bench.markdown import markdown
from slm2.bench.summary import Cell, Summary, Table

HEAD = """# Benchmarks

Written by `python3 bench/run.py`; do not edit. All of it is from one run, in which the subjects took turns.
[bench/README.md](../bench/README.md) says how to repeat it and what each measure is.

![Throughput of slm2 and its peers on 2 kB documents of each kind of text](benchmarks.svg)

"""
# What the picture shows, from the top: measure and figure.
PANELS = (("unseen", "unseen"), ("documents", "cold"), ("documents", "warm"))
OUR_COLOUR = "#c1121f"
COLOURS = ("#003049", "#f77f00", "#2a9d8f", "#8d99ae", "#6a4c93", "#bc6c25", "#4a7c59", "#adb5bd", "#219ebc", "#e9c46a")


def draw(summary: Summary, path: Path) -> None:
    """A panel for each figure: a group of bars for each kind of text; a hatched bar is a peer with wrong ids there."""
    # The same numbers give the same file: fixed names of its parts, no date, letters as text.
    mpl.rcParams.update({"svg.hashsalt": "slm2", "svg.fonttype": "none", "font.size": 9})
    tables = {(table.measure, table.figure): table for table in summary.tables()}
    shown = [tables[panel] for panel in PANELS if panel in tables]
    if not shown:
        raise SystemExit("this run has none of the measures that the picture shows")
    figure, axes = pyplot.subplots(len(shown), 1, figsize=(11, 3.2 * len(shown)), squeeze=False, layout="constrained")
    subjects = [name for name in summary.subjects if name == summary.ours or not name.startswith("slm2")]
    palette = itertools.cycle(COLOURS)
    colours = {subject: OUR_COLOUR if subject == summary.ours else next(palette) for subject in subjects}
    for axis, table in zip(axes[:, 0], shown, strict=True):
        draw_panel(axis, table, colours)
    handles = [Patch(color=colour, label=summary.title(subject)) for subject, colour in colours.items()]
    columns = len(subjects) if len(subjects) < 6 else -(-len(subjects) // 2)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def draw_panel(axis: Axes, table: Table, colours: Mapping[str, str]) -> None:
    """One figure of one measure."""
    width = 0.86 / len(colours)
    for place, (subject, colour) in enumerate(colours.items()):
        cells = [table.rows.get(subject, {}).get(column, Cell(None, "unknown")) for column in table.columns]
        places = [column + (place - len(colours) / 2 + 0.5) * width for column in range(len(cells))]
        bars = axis.bar(places, [cell.value or 0 for cell in cells], width, color=colour)
        for bar, cell in zip(bars, cells, strict=True):
            if cell.verdict == "wrong":
                bar.set(hatch="//////", facecolor="white", edgecolor=colour, linewidth=0.5)
    axis.set_title(f"{table.title}, MB/s of CPU time (hatched: wrong ids)", loc="left", fontsize=9)
    axis.set_xticks(range(len(table.columns)), [column.replace("_", " ") for column in table.columns])
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", linewidth=0.4)
    axis.set_axisbelow(True)


def main() -> int:
    """Write both; the exit status."""
    raw = Path(sys.argv[1])
    summary = Summary(json.loads(raw.read_bytes()))
    raw.with_suffix(".md").write_text(HEAD + markdown(summary), encoding="utf-8")
    draw(summary, raw.with_suffix(".svg"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
