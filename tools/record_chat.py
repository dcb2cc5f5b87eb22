"""Record `slm2 chat` on a tiny model: docs/chat.cast, for `asciinema play`, and docs/chat.svg, the whole of it as a picture.

    python tools/record_chat.py          about two minutes; needs torch and transformers, and no file of the publisher

A Qwen3 of two layers learns a conversation by heart (tools/recording/tiny_model.py). Then `slm2 chat` runs on a pseudo-terminal, and is
typed at. The bytes are the terminal's own; in the asciicast long pauses are shortened. Speeds in it are those of the machine.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console

import slm2

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tools/ is imported by that name, also where this runs as a script

from tools.recording.terminal import Terminal, write_cast  # noqa: E402
from tools.recording.tiny_model import learn, lessons  # noqa: E402

COLUMNS, ROWS = 100, 34
TITLE = "slm2 chat"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "time",
            "description": "The time in a zone.",
            "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]},
        },
    }
]
QUESTION, RESULT, LONG, THANKS = "What time is it in Lisbon?", "12:04", "Count to sixty, please.", "Never mind. Thank you!"
TURNS: list[tuple[dict[str, object], str, bool]] = [
    (
        {"role": "user", "content": QUESTION},
        "<think>\nI have no clock of my own, but there is a tool that knows the time in a zone.\n</think>\n\n"
        '<tool_call>\n{"name": "time", "arguments": {"zone": "Europe/Lisbon"}}\n</tool_call><|im_end|>',
        True,
    ),
    (
        {"role": "tool", "content": RESULT},
        "<think>\nFour minutes past noon. Keep it short.\n</think>\n\nIt is 12:04 in Lisbon, which is lunchtime 🐟<|im_end|>",
        True,
    ),
    (
        {"role": "user", "content": LONG},
        "<think>\n\n</think>\n\n" + " ".join(str(number) for number in range(1, 61)) + "<|im_end|>",
        False,
    ),
    ({"role": "user", "content": THANKS}, "<think>\nPoliteness.\n</think>\n\nYou are welcome! 👋🏽<|im_end|>", True),
]


def main() -> int:
    """Teach, record, draw."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        loss = learn(directory / "tiny-qwen3", lessons(slm2.load(), TOOLS, TURNS))
        print(f"learnt, {loss:.4f} nats an id")
        (directory / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
        terminal = record(directory)
    write_cast(ROOT / "docs" / "chat.cast", terminal.shown, columns=COLUMNS, rows=ROWS, title=TITLE)
    (ROOT / "docs" / "chat.svg").write_text(picture(terminal.text), encoding="utf-8")
    print(terminal.text)
    return 0


def record(directory: Path) -> Terminal:
    """The chat, typed at.

    Raises:
        RuntimeError: it did not end well.
    """
    command = [sys.executable, "-m", "slm2", "chat", "--model", "transformers:tiny-qwen3", "--tools", "tools.json"]
    command += ["--preset", "thinking", "--seed", "7", "--max-tokens", "256", "--context", "2048"]
    shown_command = "slm2 " + " ".join(command[3:])
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    before = Path.cwd()
    os.chdir(directory)
    try:
        terminal = Terminal(command, environment, columns=COLUMNS, rows=ROWS)
    finally:
        os.chdir(before)
    terminal.shown.append((0.0, f"$ {shown_command}\r\n"))
    terminal.until("› ")
    for line in (QUESTION, f"/tool {RESULT}", "/reasoning", "/reasoning"):
        _say(terminal, line)
    here = len(terminal.text)
    terminal.type(LONG)
    terminal.until(" 7", after=here)
    terminal.interrupt()
    terminal.until("› ", after=here)
    terminal.rest()
    _say(terminal, THANKS)
    terminal.type("/quit")
    if status := terminal.close():
        raise RuntimeError(f"slm2 chat ended with status {status}: {terminal.text}")
    return terminal


def _say(terminal: Terminal, line: str) -> None:
    """Type a line, and wait until the next one can be typed."""
    here = len(terminal.text)
    terminal.type(line)
    terminal.until("› ", after=here)
    terminal.rest()


def picture(text: str) -> str:
    """All that the terminal showed, as SVG; of a line that was written over, what stood there in the end."""
    console = Console(width=COLUMNS, record=True, file=StringIO(), color_system="truecolor", force_terminal=True, highlight=False)
    for line in AnsiDecoder().decode(text.replace("\r\n", "\n")):
        console.print(line)
    svg = console.export_svg(title=TITLE, unique_id="slm2-chat")
    # A picture of the documentation fetches no font; what is there beside Fira Code is monospace too.
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    sys.exit(main())
