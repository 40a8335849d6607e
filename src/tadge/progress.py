"""The progress bar of a single piece of work, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str, wanted: bool, in_bytes: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar where it is wanted and standard error is a terminal; yield the function to report to.

    The function takes how much is done and how much there is in all, None where that is not known.

    Args:
        title: what is under way.
        wanted: whether to show anything.
        in_bytes: show bytes and their speed instead of counts.
    """
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich import progress as rich
    from rich.console import Console

    counts = (rich.DownloadColumn(), rich.TransferSpeedColumn()) if in_bytes else (rich.MofNCompleteColumn(),)
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), *counts, rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
