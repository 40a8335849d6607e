"""Pieces of learning at the same time: what they return, and how they stop."""

from __future__ import annotations

import threading

import pytest

from tadge.forecasting.side_by_side import side_by_side


def test_results_come_in_order_and_progress_is_told():
    told = []
    both_run = threading.Barrier(2, timeout=30)  # passes only if both are under way at once

    def work(name):
        def job(report):
            both_run.wait()
            report(1, 2)
            return name

        return job

    results = side_by_side([(work(name), lambda done, total: told.append((done, total))) for name in "ab"])
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
        side_by_side([(fails, lambda done, total: None), (endless, lambda done, total: None)])
    assert len(steps) < 10**9
