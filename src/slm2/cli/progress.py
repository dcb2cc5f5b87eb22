"""Progress bars on stderr, for work of several stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from slm2.screen import console


@contextmanager
def bars() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function ``(stage, done, total)`` that moves the bar of a stage; nothing is shown where stderr is no terminal."""
    screen = console(stderr=True)
    columns = (TextColumn("{task.description:20}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as shown:

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = shown.add_task(stage, total=total)
            shown.update(tasks[stage], completed=done, total=total)

        yield progress
