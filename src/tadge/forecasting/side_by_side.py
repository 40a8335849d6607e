"""Pieces of learning that know nothing of each other, side by side: each computes in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, wait
from threading import Event, Thread
from typing import Any

from tadge.arrays import Report

PATIENCE = 1.5  # seconds for which those who are to stop are waited for
OFTEN = 0.2  # seconds between two looks: some systems tell of Ctrl-C only then
WHOLE = 100  # what is done is told in percent


def side_by_side(jobs: Sequence[tuple[Callable[[Report], Any], Report]], stopping: Callable[[], None]) -> list[Any]:
    """Do jobs at the same time, each with the function that it reports its progress to; give what they return.

    Where one fails, or Ctrl-C is pressed, the others stop when they report next; who does not soon, is left behind.

    Args:
        jobs: what is to be done, and who is told how far it is.
        stopping: is called when Ctrl-C is pressed, before the others are waited for.
    """
    stopped = Event()

    def until_stopped(report: Report) -> Report:
        def tell(done: int, total: int) -> None:
            if stopped.is_set():
                raise CancelledError
            report(done, total)

        return tell

    def begin(work: Callable[[Report], Any], report: Report) -> Future[Any]:
        future: Future[Any] = Future()

        def job() -> None:
            try:
                future.set_result(work(until_stopped(report)))
            except BaseException as error:
                future.set_exception(error)

        Thread(target=job, name="tadge learning", daemon=True).start()
        return future

    futures = [begin(work, report) for work, report in jobs]
    try:
        return [_result(future) for future in futures]
    except BaseException as error:
        stopped.set()
        if isinstance(error, KeyboardInterrupt):
            stopping()
        wait(futures, PATIENCE)
        raise


def _result(future: Future[Any]) -> Any:
    while not future.done():
        wait([future], OFTEN)
    return future.result()


def part_of(report: Report, first: float, last: float) -> Report:
    """Tell of work that is a part of a whole: from one fraction of it to another."""
    return lambda done, total: report(round(WHOLE * (first + (last - first) * done / max(total, 1))), WHOLE)


def silent(done: int, total: int) -> None:
    """Take no notice of how far a piece of work is."""
