"""Rules for the probability of a link within a given time: rates of pairs, a table by recency, and boosted trees.

All learn from pairs drawn from the latest part of what `fit` is given in the way in which they are asked; see
`drawn_pairs`. Where the history ends before a link has come, it counts only for as long as it was looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints
from tadge.baselines.base import Baseline
from tadge.baselines.drawn_pairs import DrawnPairs, draw_pairs
from tadge.features.plain import plain_columns
from tadge.features.tables import Scales
from tadge.forecasting.curves import Curves, bin_of, bins_of, exposure
from tadge.graph import TemporalGraph
from tadge.graph.past import NUM_KINDS, find_pair_ends, past_of
from tadge.seeding import stream
from tadge.validation import latest_from

MOST_MOMENTS = 5_000  # that a rule learns from
MOST_QUESTIONS = 30_000  # that boosted trees learn from, for each horizon
STRENGTHS = tuple(10.0**power for power in np.arange(-3.0, 3.5, 0.5))  # of the prior: parts of a month
SCALES = (1.0, 0.5, 0.25, 0.1, 0.05)  # by which all priors may be multiplied
PRIOR_LINKS = 1.0  # links of a kind, as the mean of all kinds expects them, added to those that came
CELL_LINKS = 5.0  # links of a cell of the table, as its kind expects them, added to those that came
RECENCY_BINS = 12  # of the time since the last link in either direction, and one for never
HORIZONS_BACK = 3.0  # so many horizons before the end are learned from, where the latest part is shorter
BURN_IN = 0.1  # of the history, that moments are not drawn from
BOOSTING = {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 10.0}
MAX_TREES = 100
LEAST_QUESTIONS = 100  # fewer, or links that all came or none: the fraction of them is all there is to say
SMALLEST, LARGEST = 1e-9, 1 - 1e-9  # probabilities are kept off 0 and 1, of which logarithms are taken


class WithinRule(Baseline, ABC):
    """Give the probability of a link within some days: the frame of all rules below."""

    def fit(self, graph: TemporalGraph) -> Self:
        """Learn from pairs of the latest part of a graph."""
        self.scales_ = Scales.of(graph)
        self._learn(graph)
        return self

    def within(
        self, src: npt.ArrayLike, dst: npt.ArrayLike, days: npt.ArrayLike, at: npt.ArrayLike, *, graph: TemporalGraph
    ) -> Days:
        """Give the probability that src links to dst within so many days of a moment, (n, H).

        Args:
            src: (n,) node numbers.
            dst: (n,) node numbers.
            days: (H,) horizons.
            at: (n,) days: nothing later is looked at.
            graph: what happened.
        """
        pairs = np.asarray(src, np.int64), np.asarray(dst, np.int64), np.asarray(at, np.float64)
        return self._within(graph, *pairs, np.atleast_1d(np.asarray(days, np.float64)))

    @abstractmethod
    def _learn(self, graph: TemporalGraph) -> None:
        """Learn whatever the rule needs."""

    @abstractmethod
    def _within(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, days: Days) -> Days:
        """Give probabilities, (n, H)."""

    def _drawn(self, graph: TemporalGraph, horizon: float, until: float | None = None) -> DrawnPairs:
        """Draw pairs from the latest fifth of the events, or a few horizons back where that is shorter.

        Args:
            graph: what happened.
            horizon: in days, one that is asked about.
            until: the last moment, in days; the end of the graph by default.
        """
        if not graph.num_events:
            return draw_pairs(graph, self.seed, "pairs to learn from", 0, 0.0, 0.0)
        first, end = float(graph.time[0]), float(graph.time[-1])
        begin = float(graph.time[min(latest_from(graph.num_events), graph.num_events - 1)])
        begin = max(min(begin, end - HORIZONS_BACK * horizon), first + BURN_IN * (end - first))
        last = end if until is None or until <= begin else until
        return draw_pairs(graph, self.seed, "pairs to learn from", min(MOST_MOMENTS, graph.num_events), begin, last)


class PairRates(WithinRule):
    """Take each pair for a Poisson process, whose rate has a gamma distribution around that of its kind of edge.

    After `count` links in `time` days the rate has a gamma distribution with the shape count + a prior and the rate
    time + a; so a link comes within h with the probability 1 - ((time + a) / (time + a + h)) ** (count + a prior). The
    time is counted from the first link between the two, in either direction, or from when src was first seen. How many
    days `a` the prior is worth, and by what all priors are multiplied (links come in bursts, which no constant rate
    knows), is chosen by the Brier scores of all horizons on pairs of the latest part.

    Attributes:
        prior_: (NUM_KINDS,) links per day of a pair, by the kind of edge.
        strength_: the days that the prior is worth.
    """

    name = "pair rates"

    def _learn(self, graph: TemporalGraph) -> None:
        month = self.scales_.decay_days[-1]
        drawn = self._drawn(graph, month)
        self.prior_, self.strength_ = np.full(NUM_KINDS, SMALLEST / month), month
        if not drawn.passed.sum() > 0:
            return
        kinds = past_of(graph).kinds(drawn.src, drawn.dst, drawn.at)
        mean = max(np.count_nonzero(drawn.came), 0.5) / drawn.passed.sum()
        for kind in range(NUM_KINDS):
            here = kinds == kind
            came = np.count_nonzero(drawn.came[here]) + PRIOR_LINKS
            self.prior_[kind] = came / (drawn.passed[here].sum() + PRIOR_LINKS / mean)
        settings = [(part * month, scale) for scale in SCALES for part in STRENGTHS]
        prior, (count, time) = self.prior_[kinds], _history(graph, drawn.src, drawn.dst, drawn.at)

        def error(setting: tuple[float, float]) -> float:
            strength, scale = setting
            total = 0.0
            for horizon in self.scales_.decay_days:
                seen, comes = drawn.left >= horizon, drawn.wait <= horizon
                if comes[seen].any():
                    said = _gamma_poisson(count + strength * scale * prior, time + strength, horizon)
                    total += float(np.mean((said - comes)[seen] ** 2) / np.mean(comes[seen]))
            return total

        self.strength_, scale = min(settings, key=error)
        self.prior_ *= scale

    def _within(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, days: Days) -> Days:
        count, time = _history(graph, src, dst, at)
        shape = count + self.strength_ * self.prior_[past_of(graph).kinds(src, dst, at)]
        return _gamma_poisson(shape[:, None], (time + self.strength_)[:, None], days)


def _gamma_poisson(shape: Days, rate: Days, days: Days | float) -> Days:
    """Give the probability of an event within so many days where the rate of events is gamma distributed."""
    return np.asarray(-np.expm1(-shape * np.log1p(days / rate)))


def _history(graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> tuple[Ints, Days]:
    """Count the links of pairs, and the days since the first between the two, or since src was seen, (n,) each."""
    past, since, counts = past_of(graph), np.full(src.size, np.inf), []
    for one, other in ((src, dst), (dst, src)):
        end, count = find_pair_ends(past.pairs, at, one, other)
        some = count > 0
        since[some] = np.minimum(since[some], past.pairs.time[(end - count)[some]])
        counts.append(count)
    since = np.where(np.isfinite(since), since, past.first[src])
    return counts[0], np.where(since <= at, at - since, 0.0)


class RecencyTable(WithinRule):
    """Look up how often links came, by the kind of edge and the time since the last link in either direction.

    A life table: of each cell the hazard of every bin of time, drawn to that of its kind where little was seen.

    Attributes:
        ages_: (A,) days, edges of the bins of the time since the last link.
        curves_: the curve of every cell, in order of kind and then of that time; the last bin is for never.
        horizon_: the longest time that can be asked about, in days.
    """

    name = "recency table"

    def _learn(self, graph: TemporalGraph) -> None:
        edges, drawn = bins_of(graph), self._drawn(graph, self.scales_.decay_days[-1])
        self.horizon_ = float(edges[-1])
        self.ages_ = np.geomspace(edges[0], edges[-1], RECENCY_BINS)
        width = self.ages_.size + 2
        looked_at = exposure(edges, drawn.passed)
        came = np.zeros(looked_at.shape)
        soon = np.flatnonzero(drawn.wait <= edges[-1])
        came[soon, bin_of(edges, drawn.wait[soon])] = 1.0
        hazard = (came.sum(axis=0) + SMALLEST) / (looked_at.sum(axis=0) + 1.0)
        cells = self._cells(graph, drawn.src, drawn.dst, drawn.at)
        by_kind = _hazards(came, looked_at, hazard, cells // width, NUM_KINDS)
        parents = np.repeat(by_kind, width, axis=0)
        self.curves_ = Curves(edges, _hazards(came, looked_at, parents, cells, NUM_KINDS * width))

    def _cells(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Ints:
        past = past_of(graph)
        last = np.maximum(past.last_link(src, dst, at), past.last_link(dst, src, at))
        age = np.where(np.isfinite(last), np.searchsorted(self.ages_, at - last), self.ages_.size + 1)
        return past.kinds(src, dst, at) * (self.ages_.size + 2) + age

    def _within(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, days: Days) -> Days:
        return self.curves_.within(days)[self._cells(graph, src, dst, at)]


def _hazards(came: Days, looked_at: Days, prior: Days, group: Ints, count: int) -> Days:
    """Divide what came in each bin by what was looked at, (n, K) each, group by group: (count, K).

    Args:
        came: 1 where a link came in a bin.
        looked_at: the fraction of each bin that was looked at.
        prior: (K,) or (count, K) hazards; they count as many rows as are expected to bring CELL_LINKS links.
        group: (n,) of each row.
        count: of the groups.
    """
    sums = np.zeros((2, count, came.shape[1]))
    np.add.at(sums[0], group, came)
    np.add.at(sums[1], group, looked_at)
    expected = np.broadcast_to(prior, sums[0].shape)
    weight = CELL_LINKS / np.maximum(expected.sum(axis=1, keepdims=True), SMALLEST)
    return np.asarray((sums[0] + weight * expected) / (sums[1] + weight))


class BoostedTreesWithin(WithinRule):
    """Predict whether a link comes within a horizon by boosted trees on the columns of the baselines, one per horizon.

    They learn an hour, a day, a week and a month (or what takes their place, see `Scales`), or what they are given. In
    between and beyond, the cumulative hazard is a power of time. The number of trees is the best on the latest fifth of
    the questions.

    Attributes:
        horizons: at least two, in days, ascending, to learn instead; None: those above.
    """

    name = "boosted trees (within)"
    horizons: tuple[float, ...] | None = None

    def _learn(self, graph: TemporalGraph) -> None:
        self.trees_: list[tuple[Any, float]] = []
        for horizon in self._known:
            pairs, comes = self._questions(graph, horizon)
            fraction = float((comes.sum() + 0.5) / (comes.size + 1))
            some = comes.size >= LEAST_QUESTIONS and 0 < comes.sum() < comes.size
            self.trees_.append((self._fit(graph, pairs, comes) if some else None, fraction))

    @property
    def _known(self) -> tuple[float, ...]:
        return self.scales_.decay_days if self.horizons is None else self.horizons

    def _questions(self, graph: TemporalGraph, horizon: float) -> tuple[DrawnPairs, Flags]:
        """Draw pairs that could be looked at for the whole horizon, in order of time, and whether the link came."""
        end = float(graph.time[-1]) if graph.num_events else 0.0
        drawn = self._drawn(graph, horizon, end - horizon)
        drawn = drawn.take(drawn.left >= horizon)
        size = drawn.src.size
        rng = np.random.default_rng(int(stream(self.seed, f"questions of {horizon}")))
        chosen = rng.choice(size, MOST_QUESTIONS, replace=False) if size > MOST_QUESTIONS else np.arange(size)
        drawn = drawn.take(chosen[np.argsort(drawn.at[chosen], kind="stable")])
        return drawn, drawn.wait <= horizon

    def _fit(self, graph: TemporalGraph, pairs: DrawnPairs, comes: Flags) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        state = int(stream(self.seed, "boosted trees (within)") >> np.uint64(32))

        def trees(count: int) -> Any:
            options: dict[str, Any] = {"max_iter": count, "early_stopping": False, "random_state": state}
            return HistGradientBoostingClassifier(**options, **BOOSTING)

        x, cut, best = plain_columns(graph, pairs.src, pairs.dst, pairs.at), latest_from(comes.size), MAX_TREES // 4
        with threadpool_limits(1, "openmp"):  # the same sums on any machine; see `forecasting.trees`
            if 0 < comes[:cut].sum() < cut:
                early = trees(MAX_TREES).fit(x[:cut], comes[:cut])
                errors = [np.mean((p[:, 1] - comes[cut:]) ** 2) for p in early.staged_predict_proba(x[cut:])]
                best = int(np.argmin(errors)) + 1
            return trees(best).fit(x, comes)

    def _within(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, days: Days) -> Days:
        probability = np.empty((src.size, len(self.trees_)))
        x = plain_columns(graph, src, dst, at) if src.size else np.empty((0, 1))
        for column, (trees, fraction) in enumerate(self.trees_):
            known = trees is not None and src.size
            probability[:, column] = trees.predict_proba(x)[:, 1] if known else fraction
        hazard = -np.log1p(-np.clip(np.maximum.accumulate(probability, axis=1), SMALLEST, LARGEST))
        return np.asarray(-np.expm1(-_powers(np.array(self._known), hazard, days)))


def _powers(known: Days, hazard: Days, days: Days) -> Days:
    """Find cumulative hazards at days, (H,), from those at known ones, (K,) and (n, K): a power of time in between.

    Before the first and after the last known one the nearest power goes on; none is above 1: hazards never grow.
    """
    powers = np.diff(np.log(hazard), axis=1) / np.diff(np.log(known))
    piece = np.clip(np.searchsorted(known, days) - 1, 0, known.size - 2)
    late, outside = days > known[-1], (days < known[0]) | (days > known[-1])
    base = np.where(late, known.size - 1, piece)
    power = np.where(outside, np.minimum(powers[:, piece], 1.0), powers[:, piece])
    return np.asarray(hazard[:, base] * (days / known[base]) ** power)
