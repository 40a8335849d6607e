"""Hours of the week: how much likelier events are at some than at others, learned from all of a graph.

A curve that knows of them multiplies the hazard of each of its bins of time by the mean rate over that bin, from the
moment asked: at night little comes within an hour, over a weekend little within a day.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.graph.graph import TemporalGraph

HOURS_A_DAY, DAYS_A_WEEK = 24, 7
HOURS_A_WEEK = HOURS_A_DAY * DAYS_A_WEEK
FEWEST_WEEKS = 3  # of a history that can tell days of the week apart
MOST_AT_ONE_TIME = 0.5  # of the events; where more have one time of the day, dates were given without it
EVEN_EVENTS = 2.0  # a cell, added to the counts of the hours of the day, and of the weekdays
PARENT_EVENTS = 10.0  # a cell, added to those of the hours of the week in the proportions of hour * weekday
SMALLEST_RATE = 0.01  # of a bin: a logarithm is taken


@dataclass(frozen=True, eq=False)
class Season:
    """Hold the rate of events by the hour of the week, to that of all hours.

    Attributes:
        rate: (HOURS_A_WEEK,) from Thursday 0 h UTC on, as day 0 of the Unix clock is one; 1 in the mean.
    """

    rate: Days

    @classmethod
    def of(cls, graph: TemporalGraph, recency: float) -> Season | None:
        """Find the rates of a graph; None where its clock does not tell them, or its history is too short.

        A source counts once an hour, so that one who does much at a time counts little more than another; and counts
        that vary more from week to week than chance explains are worth less, as `dispersion` says.

        Args:
            graph: what happened.
            recency: later events count more: by a factor of e within this fraction of the history.
        """
        times = graph.time
        span = float(times[-1] - times[0])
        if graph.clock != "unix" or span < FEWEST_WEEKS * DAYS_A_WEEK or _without_hours(times):
            return None
        hour = np.floor(times * HOURS_A_DAY).astype(np.int64)
        hour = np.unique(np.stack([hour, graph.src.astype(np.int64)], axis=1), axis=0)[:, 0]
        weight = np.exp((hour / HOURS_A_DAY - times[-1]) / (recency * span))
        weighted: Days = np.bincount(hour % HOURS_A_WEEK, weight, HOURS_A_WEEK) / dispersion(hour)
        counts = weighted.reshape(DAYS_A_WEEK, HOURS_A_DAY)
        weekday, of_day = counts.sum(axis=1) + EVEN_EVENTS, counts.sum(axis=0) + EVEN_EVENTS
        parent = np.outer(weekday / weekday.sum(), of_day / of_day.sum())
        counts = counts + PARENT_EVENTS * HOURS_A_WEEK * parent
        return cls(counts.reshape(-1) / counts.mean())

    def columns(self, at: Days, edges: Days) -> Vectors:
        """Give logarithms of rates, (n, 1 + K): at moments, (n,), and in the mean of each bin from then on.

        Args:
            at: days on the Unix clock.
            edges: (K,) days, upper edges of the bins.
        """
        moments = at[:, None] + np.concatenate([[0.0], edges])
        mean = np.diff(self._passed(moments), axis=1) / np.diff(moments, axis=1)
        now = self.rate[np.floor(at * HOURS_A_DAY).astype(np.int64) % HOURS_A_WEEK]
        rates = np.concatenate([now[:, None], mean], axis=1)
        return np.log(np.maximum(rates, SMALLEST_RATE)).astype(np.float32)  # type: ignore[no-any-return]

    def _passed(self, moments: Days) -> Days:
        """Integrate the rate from day 0 on to moments, of any shape, in days."""
        weeks, hours = np.divmod(moments * HOURS_A_DAY, HOURS_A_WEEK)
        passed = np.concatenate([[0.0], np.cumsum(self.rate)])
        within = np.interp(hours, np.arange(HOURS_A_WEEK + 1), passed)
        return (weeks * passed[-1] + within) / HOURS_A_DAY  # type: ignore[no-any-return]


def dispersion(hour: Ints) -> float:
    """Tell by which factor counts vary more from week to week than chance explains, at least 1 (Pearson's).

    Args:
        hour: (n,) hours since day 0 of counted events.
    """
    week = hour // HOURS_A_WEEK - hour.min() // HOURS_A_WEEK
    counts = np.zeros((int(week.max()) + 1, HOURS_A_WEEK))
    np.add.at(counts, (week, hour % HOURS_A_WEEK), 1.0)
    counts = counts[1:-1]  # whole weeks
    counts = counts[:, counts.sum(axis=0) > 0]
    if not counts.size or len(counts) < 2 or counts.shape[1] < 2:
        return 1.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    squares = np.divide((counts - expected) ** 2, expected, out=np.zeros(counts.shape), where=expected > 0)
    return max(1.0, float(squares.sum() / ((len(counts) - 1) * (counts.shape[1] - 1))))


def _without_hours(times: Days) -> bool:
    """Tell whether most events have one time of the day."""
    _, count = np.unique(np.round(np.modf(times)[0] * 1440), return_counts=True)
    return bool(count.max() > MOST_AT_ONE_TIME * times.size)
