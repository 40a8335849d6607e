"""What people see of an evaluation while it runs: a bar for what is under way, a line for what took a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

A_WHILE = 1.0  # seconds; what is quicker leaves no line


class Show:
    """Show one piece of work after the other on stderr.

    Args:
        progress: whether to; None: where stderr is a terminal, or in a notebook. `TADGE.fit` takes the same.
    """

    def __init__(self, progress: bool | None = None) -> None:
        self.progress = progress

    @contextmanager
    def part(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """Show a piece of work while it lasts; it reports what is done of how much."""
        console = Console(stderr="ipykernel" not in sys.modules)
        visible = console.is_terminal or console.is_jupyter
        if not (visible if self.progress is None else self.progress):
            yield lambda done, total: None
            return
        columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        began = time.perf_counter()
        with Progress(*columns, console=console, transient=True, disable=not visible) as bars:
            task = bars.add_task(title, total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
        took = time.perf_counter() - began
        if took >= A_WHILE or not visible:
            console.print(f"{title}: {took:,.1f} s", highlight=False, markup=False)
