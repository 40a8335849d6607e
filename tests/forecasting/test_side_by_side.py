"""Pieces of learning at the same time: what they return, and how they stop."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from tadge.forecasting.side_by_side import part_of, side_by_side


def never():
    pytest.fail("nobody has pressed Ctrl-C")


def test_results_come_in_order_and_progress_is_told():
    told = []
    both_run = threading.Barrier(2, timeout=30)  # passes only if both are under way at once

    def work(name):
        def job(report):
            both_run.wait()
            report(1, 2)
            return name

        return job

    results = side_by_side([(work(name), lambda done, total: told.append((done, total))) for name in "ab"], never)
    assert results == ["a", "b"]
    assert told == [(1, 2), (1, 2)]


def test_a_failure_stops_the_others_when_they_report_next():
    failed, steps = threading.Event(), []

    def fails(report):
        failed.set()
        raise ValueError("no")

    def endless(report):
        failed.wait(30)
        for step in range(10**9):
            report(step, 10**9)
            steps.append(step)

    with pytest.raises(ValueError, match="no"):
        side_by_side([(fails, lambda done, total: None), (endless, lambda done, total: None)], never)
    assert len(steps) < 10**9


@pytest.mark.parametrize("deaf", [False, True])
def test_ctrl_c_stops_all_soon(deaf):
    """Also those that do not report: they are left behind."""
    told, free = [], threading.Event()

    def presses(report):
        time.sleep(0.1)
        signal.raise_signal(signal.SIGINT)
        free.wait(30)

    def works(report):
        while not free.wait(0.01):
            if not deaf:
                report(1, 2)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        side_by_side([(presses, lambda *_: None), (works, lambda *_: None)], lambda: told.append("stopping"))
    assert told == ["stopping"]
    assert time.monotonic() - began < 10
    free.set()


def test_parts_of_a_whole_never_go_back():
    told = []
    outer = part_of(lambda *step: told.append(step), 0.5, 1.0)
    for first, last in ((0.0, 0.2), (0.2, 1.0)):
        inner = part_of(outer, first, last)
        for step in range(11):
            inner(step, 10)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[0] == (50, 100)
    assert told[-1] == (100, 100)
