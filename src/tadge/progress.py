"""What people see of work under way: bars on stderr where somebody looks; lines in the log, whoever reads it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

A_WHILE = 1.0  # seconds; what is quicker leaves no line
LOG_EVERY = 30.0  # seconds between two lines of the log about one piece of work
BAR_WIDTH = 16
FIXED_WIDTH = BAR_WIDTH + len("0:00:00 0:00:00 left") + 6  # bar, times, and blanks around them
COUNTS = 2 * len("10000000") + 1  # as wide as counts get

_log = logging.getLogger(__name__)


def is_seen() -> bool:
    """Tell whether somebody looks at stderr: a terminal, or a notebook."""
    console = _console()
    return console.is_terminal or console.is_jupyter


def _console() -> Console:
    return Console(stderr="ipykernel" not in sys.modules)


class Bars:
    """Show pieces of work on stderr while they last, and tell the log how far they are.

    Bar, elapsed time and time left come first, and fit into 80 columns; figures have what room is left. The log is told
    at level INFO, whether bars are shown or not: what is said, every now and then how far the work is, and how long it
    took.

    Args:
        wanted: whether to show bars; None: where stderr is a terminal, or in a notebook.
        log: who is told; "tadge.progress" by default.
        lines: leave a line with the seconds behind each piece of work that took a while.
        in_bytes: show bytes and their speed instead of counts.

    Attributes:
        log_every: seconds between two lines of the log, of all bars.
    """

    log_every: ClassVar[float] = LOG_EVERY

    def __init__(
        self,
        wanted: bool | None = None,
        *,
        log: logging.Logger = _log,
        lines: bool = False,
        in_bytes: bool = False,
    ) -> None:
        self.console = _console()
        self.visible = self.console.is_terminal or self.console.is_jupyter
        self.wanted = self.visible if wanted is None else wanted
        self.asked, self.lines, self.log = wanted, lines, log
        counts = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)
        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(BAR_WIDTH), TimeElapsedColumn()]
        columns += [_TimeLeft(), *counts, TextColumn("{task.fields[figures]}")]
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
        """Write a line above the bars, and into the log."""
        if self.wanted:
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)
        self.log.info("%s", line)

    def title(self, words: str) -> str:
        """Cut a title to what fits beside a bar."""
        room = max(self.console.width - FIXED_WIDTH - COUNTS, 12)
        return words if len(words) <= room else f"{words[: room - 1]}…"

    def figures(self, title: str, total: int, parts: Sequence[str]) -> str:
        """Join as many figures, the first ones, as fit beside a bar of this title and total."""
        room, text = self.console.width - FIXED_WIDTH - len(f"{title}{total}/{total}"), ""
        for part in parts:
            longer = f"{text} {part}".strip()
            if len(longer) > room:
                break
            text = longer
        return text

    @contextmanager
    def part(self, title: str) -> Iterator[Callable[[int, int | None], None]]:
        """Show one piece of work while it lasts; gives the function that is told how much is done, of how much."""
        work = Work(title, self.log)
        with self, watched(work):
            task = self.bars.add_task(self.title(title), total=None, figures="")

            def report(done: int, total: int | None) -> None:
                work.done, work.total = done, total
                self.bars.update(task, completed=done, total=total)

            try:
                yield report
            finally:
                self.bars.remove_task(task)
        seconds, line = work.seconds, f"{title}: {work.seconds:,.1f} s"
        if self.lines and (seconds >= A_WHILE or not self.visible):
            self.say(line)
        else:
            self.log.log(logging.INFO if seconds >= A_WHILE else logging.DEBUG, "%s", line)


class _TimeLeft(TimeRemainingColumn):
    """Time left, said as such."""

    def render(self, task: Task) -> Text:
        """Write it."""
        return Text() if task.total is None else super().render(task).append(" left")


# -- the log ----------------------------------------------------------------------------------------------------------


class Work:
    """Hold how far a piece of work is.

    Args:
        title: what it is.
        log: who is told.
        done: how much was done before.
    """

    def __init__(self, title: str, log: logging.Logger, done: int = 0) -> None:
        self.title, self.log, self.figures = title, log, ""
        self.began, self.first, self.done = time.monotonic(), done, done
        self.total: int | None = None

    @property
    def seconds(self) -> float:
        """Tell how long it has taken so far."""
        return time.monotonic() - self.began

    def line(self) -> str:
        """Say how far it is, and how long the rest will take at the pace so far."""
        words, seconds = [], self.seconds
        if self.total:
            words.append(f"{self.done / self.total:.0%}")
        words.append(f"{duration(seconds)} so far")
        if self.total and self.first < self.done < self.total:
            left = seconds * (self.total - self.done) / (self.done - self.first)
            words.append(f"about {duration(left)} left")
        return f"{self.title}: {', '.join(words + ([self.figures] if self.figures else []))}"


def duration(seconds: float) -> str:
    """Write a time span as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


class _Watch:
    """Tell the log now and then how far the latest piece of work is."""

    def __init__(self) -> None:
        self.works: list[Work] = []
        self.lock = threading.Lock()
        self.stop: threading.Event | None = None

    def add(self, work: Work) -> None:
        """Begin to look at a piece of work."""
        with self.lock:
            self.works.append(work)
            if self.stop is None and work.log.isEnabledFor(logging.INFO):
                self.stop = threading.Event()
                threading.Thread(target=self._tell, args=(self.stop,), name="tadge log", daemon=True).start()

    def remove(self, work: Work) -> None:
        """Look at it no longer."""
        with self.lock:
            self.works.remove(work)
            if not self.works and self.stop is not None:
                self.stop.set()
                self.stop = None

    def _tell(self, stop: threading.Event) -> None:
        while not stop.wait(Bars.log_every):
            with self.lock:
                work = self.works[-1] if self.works else None
            if work is not None:
                work.log.info("%s", work.line())


_watch = _Watch()


@contextmanager
def watched(work: Work) -> Iterator[Work]:
    """Tell the log now and then how far a piece of work is, while it lasts."""
    _watch.add(work)
    try:
        yield work
    finally:
        _watch.remove(work)
