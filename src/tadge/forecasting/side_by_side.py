"""Pieces of learning that know nothing of each other, side by side: each computes in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event
from typing import Any

from tadge.arrays import Report


def side_by_side(jobs: Sequence[tuple[Callable[[Report], Any], Report]]) -> list[Any]:
    """Do jobs at the same time, each with the function that it reports its progress to; give what they return.

    Where one fails, or Ctrl-C is pressed, the others stop when they report next.
    """
    stopped = Event()

    def until_stopped(report: Report) -> Report:
        def tell(done: int, total: int) -> None:
            if stopped.is_set():
                raise CancelledError
            report(done, total)

        return tell

    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(work, until_stopped(report)) for work, report in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stopped.set()
            raise
