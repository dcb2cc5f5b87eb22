"""Write docs/prompt.svg: the window of examples/tight.json after each step of the passes and the sweep.

python tools/prompt_picture.py           write it
python tools/prompt_picture.py --check   exit 1 where the committed file differs
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any

import slm2
from slm2.prompt import Assembly
from slm2.prompt_html import COLOURS

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "prompt.svg"
LEFT, WIDTH, HEIGHT, BAR = 270, 900, 26, 16
TEXT = 'font-family="sans-serif" font-size="12" fill="#57606a"'


def assemblies(request: dict[str, Any]) -> list[tuple[str, Assembly]]:
    """The whole request, and the prompt after one step more each time."""
    prompt = slm2.load(engine="reference").prompt

    def within(tokens: int) -> Assembly:
        return prompt.assemble({**request, "budget": {"context": tokens, "reserve": 0}})

    least = within(80).ledger.steps
    rows = [("the whole request", within(least[0].before))]
    return rows + [(f"{step.pass_name}: {step.action.replace('_', ' ')} {step.source}", within(step.after)) for step in least]


def picture(rows: list[tuple[str, Assembly]]) -> str:
    """A bar for each row, its stretches the parts of the request."""
    most = len(rows[0][1].input_ids)
    scale = (WIDTH - LEFT - 50) / most
    out = []
    for number, (label, assembly) in enumerate(rows):
        top = 10 + number * HEIGHT
        at: float = LEFT
        out.append(f'<text x="{LEFT - 10}" y="{top + 12}" text-anchor="end" {TEXT}>{escape(label)}</text>')
        for part in assembly.ledger.parts:
            size = part.after * scale
            if size:
                title = f"<title>{part.part}: {part.after} tokens</title>"
                out.append(f'<rect x="{at:.1f}" y="{top}" width="{size:.1f}" height="{BAR}" fill="{COLOURS[part.part]}">{title}</rect>')
            at += size
        out.append(f'<text x="{at + 8:.1f}" y="{top + 12}" {TEXT}>{len(assembly.input_ids)}</text>')
    bottom = 10 + len(rows) * HEIGHT + 18
    for number, (name, colour) in enumerate(COLOURS.items()):
        place = 10 + 105 * number
        out.append(f'<rect x="{place}" y="{bottom - 10}" width="10" height="10" fill="{colour}"/>')
        out.append(f'<text x="{place + 15}" y="{bottom}" {TEXT}>{name.replace("_", " ")}</text>')
    frame = f'width="{WIDTH}" height="{bottom + 12}" viewBox="0 0 {WIDTH} {bottom + 12}"'
    ground = f'<rect width="{WIDTH}" height="{bottom + 12}" fill="#ffffff"/>'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {frame} role="img">', "<title>What is given up, step by step</title>", ground, *out]
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    """Write or compare; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    request = json.loads((ROOT / "examples" / "tight.json").read_text(encoding="utf-8"))
    content = picture(assemblies(request))
    if parser.parse_args().check:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == content
        print("the picture is what the program draws" if same else "docs/prompt.svg is not what the program draws")
        return 0 if same else 1
    TARGET.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
