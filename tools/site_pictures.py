"""Write the pictures of docs/explanation/ that show data: who has other ids, sums of the same weights, merges of a word.

python tools/site_pictures.py           write them
python tools/site_pictures.py --check   exit 1 where a committed file differs

Colours follow the reader's scheme, light or dark. boundary.svg and windows.svg beside them are drawn by hand.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from slm2.artifact import Artifact, read
from slm2.contract import embedded
from slm2.reference.sampling.portable_math import exp
from slm2.reference.sampling.recipe import Recipe

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "explanation"
STYLE = """<style>
svg { --ink: #1f2328; --faint: #57606a; --line: #c8ccd1; --good: #2da44e; --bad: #cf222e; --some: #bf8700;
--fill: #dbeafe; --edge: #3457d5 }
@media (prefers-color-scheme: dark) {
svg { --ink: #e6edf3; --faint: #9198a1; --line: #444c56; --good: #3fb950; --bad: #f85149; --some: #d29922;
--fill: #1c2d55; --edge: #7aa2ff } }
text { font-family: sans-serif; font-size: 13px; fill: var(--ink) }
.faint { fill: var(--faint); font-size: 12px } .code { font-family: monospace } .mid { text-anchor: middle } .end { text-anchor: end }
.line { stroke: var(--line); fill: none } .box { fill: var(--fill); stroke: var(--edge) }
</style>"""


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """A whole picture."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, *parts, "</svg>", ""])


def text(x: float, y: float, words: str, style: str = "") -> str:
    """A line of text."""
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:g}" y="{y:g}"{kind} xml:space="preserve">{escape(words)}</text>'


# Kinds of text of the benchmark, and how they are called here.
KINDS = {
    "english": "English",
    "code": "code",
    "json_log": "JSON",
    "european": "European",
    "chinese": "Chinese",
    "ja_ko": "Jap., Kor.",
    "ar_he_hi_th": "Arab. to Thai",
    "chat": "chat",
    "hostile": "hostile",
}


def other_ids() -> str:
    """How many documents have other ids than the publisher's program, by tokenizer and kind of text, of the committed benchmark."""
    run = json.loads((ROOT / "docs" / "benchmarks.json").read_bytes())
    checks = {(check["subject"], check["input"]): check for check in run["checks"]}
    subjects = [name for name in run["subjects"] if name not in ("tokenizers", "slm2-contract") and (name, "english") in checks]
    left, top, cell, row = 170, 46, 78, 30
    parts = [text(left + cell * (place + 0.5), top - 12, name, "faint mid") for place, name in enumerate(KINDS.values())]
    for line, subject in enumerate(subjects):
        y = top + line * row
        about = run["subjects"][subject]
        parts.append(
            text(left - 10, y + 20, f"{about['title']} {about['version']}" if subject != "tokenizers-1" else about["version"], "end")
        )
        for place, kind in enumerate(KINDS):
            check = checks[subject, kind]
            wrong, pieces = check["differing"], check["pieces"]
            colour = "good" if wrong == 0 and check["whole"] else "bad" if wrong > pieces / 10 else "some"
            x = left + place * cell
            parts.append(
                f'<rect x="{x + 2}" y="{y + 2}" width="{cell - 4}" height="{row - 4}" rx="4" style="fill: var(--{colour}); opacity: 0.25"/>'
            )
            parts.append(text(x + cell / 2, y + 20, f"{wrong} of {pieces}" if wrong else "0", "mid"))
    foot = f"Documents of 2 kB with other ids than tokenizers 0.23.3; run of {run['made'][:10]}"
    parts.append(text(left, top + len(subjects) * row + 22, foot, "faint"))
    return svg(left + cell * len(KINDS) + 10, top + len(subjects) * row + 36, "Who has other ids, and on what", parts)


@dataclass(frozen=True)
class Sum:
    """The same weights, added in one order."""

    order: str
    value: np.float32


def sums() -> list[Sum]:
    """Of the weights of one row of 151,936 logits, in float32 as pipelines do it."""
    logits = Recipe(seed=21, step=0, scale=1.0, head=9.0).logits(151_936)
    weights = exp(logits.astype(np.float64) - float(logits.max())).astype(np.float32)

    def one_by_one(row: np.ndarray) -> np.float32:
        return np.float32(np.add.accumulate(row, dtype=np.float32)[-1])

    def lanes(count: int) -> np.float32:
        width = len(weights) // count * count
        held = np.add.accumulate(weights[:width].reshape(-1, count), axis=0, dtype=np.float32)[-1]
        while len(held) > 1:
            held = held[: len(held) // 2] + held[len(held) // 2 :]
        return np.float32(held[0])

    return [
        Sum("by id, one after the other", one_by_one(weights)),
        Sum("by id, from the end", one_by_one(weights[::-1])),
        Sum("the greatest first", one_by_one(np.sort(weights)[::-1])),
        Sum("in 4 lanes (SSE, NEON)", lanes(4)),
        Sum("in 8 lanes (AVX2)", lanes(8)),
        Sum("in 16 lanes (AVX-512)", lanes(16)),
    ]


def sums_picture() -> str:
    """Where the sums lie, and their bits."""
    found = sums()
    values = [float(one.value) for one in found]
    least, most = min(values), max(values)
    left, width, top, row = 210, 360, 40, 30
    parts = [text(left, 20, "one sum, six orders", "faint"), text(left + width + 40, 20, "float32, and its bits", "faint")]
    for line, one in enumerate(found):
        y = top + line * row
        x = left + (float(one.value) - least) / (most - least) * width
        parts += [
            text(left - 14, y + 14, one.order, "end"),
            f'<path class="line" d="M{left} {y + 10}H{left + width}"/>',
            f'<circle cx="{x:.1f}" cy="{y + 10}" r="5" style="fill: var(--edge)"/>',
            text(left + width + 40, y + 14, f"{float(one.value):.6f}  {one.value.view(np.uint32):08x}", "code"),
        ]
    return svg(820, top + len(found) * row + 6, "The same 151,936 weights, added in six orders", parts)


def merges_of(artifact: Artifact, piece: bytes) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, int]]]:
    """Each merge as (rank, begin, joint, end) in bytes, and the tokens as (begin, end)."""
    tokens = [(at, at + 1) for at in range(len(piece))]
    ids = [artifact.byte_ids[byte] for byte in piece]
    steps: list[tuple[int, int, int, int]] = []
    while True:
        possible = [(found[0], at, found[1]) for at in range(len(ids) - 1) if (found := artifact.merges.find(ids[at], ids[at + 1]))]
        if not possible:
            return steps, tokens
        rank, at, merged = min(possible)
        steps.append((rank, tokens[at][0], tokens[at][1], tokens[at + 1][1]))
        ids[at : at + 2] = [merged]
        tokens[at : at + 2] = [(tokens[at][0], tokens[at + 1][1])]


def merges_picture(piece: str = "displays") -> str:
    """Each merge one line lower, with its rank; below, what is left."""
    steps, tokens = merges_of(read(embedded()), piece.encode())
    left, cell, top, row = 120, 62, 30, 34
    parts = [text(left + cell * (at + 0.5), top, letter, "code mid") for at, letter in enumerate(piece)]
    for line, (rank, begin, joint, end) in enumerate(steps):
        y = top + 16 + line * row
        x = left + begin * cell
        parts += [
            f'<rect class="box" x="{x + 3}" y="{y}" width="{(end - begin) * cell - 6}" height="{row - 8}" rx="5" style="opacity: 0.6"/>',
            text(x + (joint - begin) * cell - 4, y + 18, piece[begin:joint], "code end"),
            text(x + (joint - begin) * cell + 4, y + 18, piece[joint:end], "code"),
            text(left - 14, y + 18, f"rank {rank:,}", "faint end"),
        ]
    y = top + 24 + len(steps) * row
    parts.append(text(left - 14, y + 18, "tokens", "end"))
    for begin, end in tokens:
        x = left + begin * cell
        parts.append(
            f'<rect x="{x + 3}" y="{y}" width="{(end - begin) * cell - 6}" height="26" rx="5" style="fill: var(--good); opacity: 0.3"/>'
        )
        parts.append(text(x + (end - begin) * cell / 2, y + 18, piece[begin:end], "code mid"))
    return svg(left + cell * len(piece) + 20, y + 36, f"The merges of {piece}, lowest rank first", parts)


PICTURES = {"ids.svg": other_ids, "sums.svg": sums_picture, "merges.svg": merges_picture}


def main() -> int:
    """Write or compare; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    check = parser.parse_args().check
    stale = []
    for name, draw in PICTURES.items():
        drawn, file = draw(), FOLDER / name
        if check and (not file.exists() or file.read_text(encoding="utf-8") != drawn):
            stale.append(name)
        elif not check:
            file.write_text(drawn, encoding="utf-8")
    if stale:
        print(f"{', '.join(stale)}: other than what is drawn now; run python tools/site_pictures.py")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
