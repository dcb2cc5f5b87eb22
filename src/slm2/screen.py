"""Consoles, and text made safe and visible for a terminal: nothing that a caller wrote can move the cursor or hide itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from slm2.reference.utf8 import scalars

# Where output is no terminal and COLUMNS says nothing: what fits beside a margin on common screens and in documents.
_PIPED_WIDTH = 100

# Scalar values that show nothing, or change how what is beside them shows: controls, format characters, variation selectors, tags.
_INVISIBLE = (
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
_SHORT = {0x0A: "⏎", 0x0D: "␍", 0x09: "⇥"}
_BLANK = "␣"


class _Console(Console):
    """rich ends the process where the reader of stdout goes away; the group of commands does that for all output alike."""

    def on_broken_pipe(self) -> None:
        """Let the error go on; it is the one being handled."""
        raise  # noqa: PLE0704


def console(*, stderr: bool = False) -> Console:
    """A console that shows caller's text as it is: no markup, no emoji codes, no highlighting.

    rich itself minds NO_COLOR, FORCE_COLOR and COLUMNS.
    """
    stream = sys.stderr if stderr else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _PIPED_WIDTH
    return _Console(file=stream, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)


def print_on(screen: Console, picture: RenderableType) -> None:
    """Print; without the blanks that rich fills its lines with where the output is no terminal."""
    if screen.is_terminal:
        screen.print(picture)
        return
    with screen.capture() as captured:
        screen.print(picture)
    screen.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))
    screen.file.flush()


def shown(scalar: int | None, data: bytes) -> str | None:
    """What stands for a unit of text that a terminal would not show; None where it can be shown as it is.

    Args:
        scalar: the scalar value, None for an ill-formed byte.
        data: its bytes.
    """
    if scalar is None:
        return f"⟨{data.hex().upper()}⟩"
    if scalar in _SHORT:
        return _SHORT[scalar]
    if any(low <= scalar <= high for low, high in _INVISIBLE):
        return f"⟨U+{scalar:04X}⟩"
    return None


def safe(text: str) -> str:
    """Text for a terminal: lines and tabs as they are, and what would steer it or hide by name."""
    return "".join(char if char in "\n\t" else shown(ord(char), b"") or char for char in text)


def visible(data: bytes, style: str = "", *, blanks: bool = True) -> Text:
    """Text of bytes on one line, with ``blanks`` made visible too; what stands for something else is dim."""
    text = Text(style=style, no_wrap=False)
    for start, end, scalar in scalars(data):
        mark = _BLANK if blanks and scalar == 0x20 else shown(scalar, data[start:end])
        text.append(data[start:end].decode("utf-8") if mark is None else mark, None if mark is None else "dim")
    return text


def bar(stretches: Sequence[tuple[str, str, int]], width: int) -> Text:
    """A bar of ``width`` columns; each stretch, ``(letter, style, size)``, that is not empty has at least one."""
    total = sum(size for _, _, size in stretches)
    text = Text(no_wrap=True, overflow="crop")
    before = 0
    for letter, style, size in stretches:
        if size:
            columns = round(width * (before + size) / total) - round(width * before / total)
            text.append(letter * max(columns, 1), style)
        before += size
    return text


def facts(report: Mapping[str, object]) -> Table:
    """Names and values, two columns; of an object inside, one line for each member."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("value", overflow="fold")
    for name, value in report.items():
        members = value if isinstance(value, Mapping) else {"": value}
        for member, content in members.items():
            label = f"{name}.{member}" if member else name
            text = "none" if content is None else str(content)
            table.add_row(Text(label.replace("_", " "), "bold"), visible(text.encode("utf-8", "backslashreplace"), blanks=False))
    return table
