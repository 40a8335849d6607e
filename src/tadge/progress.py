"""What people see of work under way: bars on stderr where somebody looks, lines for what took a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

A_WHILE = 1.0  # seconds; what is quicker leaves no line


class Bars:
    """Show pieces of work on stderr while they last.

    Args:
        wanted: whether to; None: where stderr is a terminal, or in a notebook.
        lines: leave a line with the seconds behind each piece of work that took a while.
        in_bytes: show bytes and their speed instead of counts.
    """

    def __init__(self, wanted: bool | None = None, *, lines: bool = False, in_bytes: bool = False) -> None:
        self.console = Console(stderr="ipykernel" not in sys.modules)
        self.visible = self.console.is_terminal or self.console.is_jupyter
        self.wanted = self.visible if wanted is None else wanted
        self.asked, self.lines = wanted, lines
        counts = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)
        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), *counts]
        columns += [TextColumn("{task.fields[figures]}"), TimeElapsedColumn(), TimeRemainingColumn()]
        shown = self.wanted and self.visible
        self.bars = Progress(*columns, console=self.console, disable=not shown, transient=lines)
        self.depth = 0

    def __enter__(self) -> Self:
        if self.depth == 0:
            self.bars.start()
        self.depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.bars.stop()

    def say(self, line: str) -> None:
        """Write a line above the bars."""
        if self.wanted:
            self.console.print(line, highlight=False, markup=False)

    @contextmanager
    def part(self, title: str) -> Iterator[Callable[[int, int | None], None]]:
        """Show one piece of work while it lasts; gives the function that is told how much is done, of how much."""
        began = time.perf_counter()
        with self:
            task = self.bars.add_task(title, total=None, figures="")
            try:
                yield lambda done, total: self.bars.update(task, completed=done, total=total)
            finally:
                self.bars.remove_task(task)
        seconds = time.perf_counter() - began
        if self.lines and (seconds >= A_WHILE or not self.visible):
            self.say(f"{title}: {seconds:,.1f} s")
