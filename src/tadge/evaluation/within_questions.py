"""What is asked about time: does src link to dst within an hour, a day, a week, a month; and whom to first.

Pairs and moments of the test period are chosen by the past alone, never by what comes later; see `draw_pairs`. A
horizon is asked about only where the history goes on for so long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.baselines.drawn_pairs import DrawnPairs, draw_pairs
from tadge.features.tables import Scales
from tadge.forecasting.waits import candidates_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.split import TimeSplit
from tadge.seeding import stream

MOST_MOMENTS = 4_000  # of the test period, of which each has up to fourteen pairs
MOST_RANKED = 300  # events of the test period of which the first targets are asked for
MOST_TIMED = 4_000  # links that came, whose time is set beside the curves
NAMES = {1 / 24: "1 hour", 1.0: "1 day", 7.0: "7 days", 30.0: "30 days"}


@dataclass(frozen=True, eq=False)
class WithinQuestions:
    """Ask within which time links come, and who the first targets are.

    Attributes:
        pairs: Q pairs as of moments, in order of the moments.
        horizons: (H,) days.
        timed: (T,) places of pairs whose link came, all or a sample of them.
        num_came: how many links came in all.
        ranked: (R,) events of the test period whose target had joined.
        begin: when the test period begins, in days.
        end: when the history ends, in days.
    """

    pairs: DrawnPairs
    horizons: Days
    timed: Ints
    num_came: int
    ranked: Ints
    begin: float
    end: float

    def __len__(self) -> int:
        return int(self.pairs.src.size)

    def asked(self, horizon: float) -> Flags:
        """Tell for which pairs the history goes on for so long, (Q,)."""
        return self.pairs.left >= horizon


def within_questions(graph: TemporalGraph, split: TimeSplit, seed: int) -> WithinQuestions:
    """Make the questions of the test period; horizons are those that the training part suggests."""
    begin, end = split.test_from, float(graph.time[-1])
    count = min(MOST_MOMENTS, split.test.num_events)
    pairs = draw_pairs(graph, seed, "pairs asked about", count, begin, end)
    pairs = pairs.take(np.argsort(pairs.at, kind="stable"))
    rng = np.random.default_rng(int(stream(seed, "events and links asked about")))
    came = np.flatnonzero(pairs.came)
    timed = np.sort(rng.choice(came, MOST_TIMED, replace=False)) if came.size > MOST_TIMED else came
    ranked = _rankable(graph, split)
    ranked = np.sort(rng.choice(ranked, MOST_RANKED, replace=False)) if ranked.size > MOST_RANKED else ranked
    horizons = np.array(Scales.of(split.train).decay_days)
    return WithinQuestions(pairs, horizons, timed, came.size, ranked, begin, end)


def _rankable(graph: TemporalGraph, split: TimeSplit) -> Ints:
    """List the events of the test period whose target could be foreseen: it had joined."""
    events = np.arange(graph.num_events - split.test.num_events, graph.num_events)
    candidates, before = candidates_of(graph), np.nextafter(graph.time[events], -np.inf)
    joined = candidates.first[graph.dst[events]] <= before
    possible: Flags = joined & (candidates.with_self(before) | (graph.src[events] != graph.dst[events]))
    return events[possible]


def in_words(horizon: float) -> str:
    """Write a horizon, in days, as people do."""
    return next((name for days, name in NAMES.items() if np.isclose(days, horizon)), f"{horizon:.3g} days")
