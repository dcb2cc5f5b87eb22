"""Progress bars on stderr, for work of several stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

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


@contextmanager
def byte_bar(stage: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function ``(done, total)`` that moves a bar of bytes, with their speed and the time left; on a terminal alone."""
    screen = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as shown:
        task = shown.add_task(stage, total=None)

        def progress(done: int, total: int) -> None:
            shown.update(task, completed=done, total=total)

        yield progress
