"""Rules for how long it takes until src links to dst, and boosted trees on their history.

All learn squashed ToEs from events as they would have been asked: as of the moment at which the target joined.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.features.pairs import Pairs, timed_pairs
from tadge.features.plain import joined_to, plain_columns
from tadge.graph import TemporalGraph
from tadge.protocols import Statistic, Unit
from tadge.seeding import check_seed, stream
from tadge.units import unsquash

LATEST = 0.2  # the share of what is learned from, its latest, on which something is chosen
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
TREES = {"learning_rate": 0.05, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 10.0}
MOST_TREES = 300
NOTHING = 0.5  # squashed: the guess of one day, where no edge had a ToE


class ToeRule:
    """Answer how long edges take: the frame of all rules below.

    Args:
        seed: the same seed gives the same answers.
    """

    name: str

    def __init__(self, seed: int = 0) -> None:
        self.seed = check_seed(seed)

    def fit(self, graph: TemporalGraph, events: npt.ArrayLike | None = None) -> Self:
        """Learn from a graph.

        Args:
            graph: what happened.
            events: (n,) numbers of the events to learn from, as often as they stand there, such as the steps of
                walks; all by default.
        """
        asked = timed_pairs(graph, events=events)
        self.mean_ = float(asked.toe.mean()) if asked.toe.size else NOTHING
        self.longest_ = float(asked.toe.max(initial=NOTHING))
        self._learn(graph, asked)
        return self

    def predict_toe(
        self,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        graph: TemporalGraph,
        unit: Unit = "days",
        statistic: Statistic = "mean",
    ) -> Days:
        """Guess how long it takes until src links to dst, (n,) days since dst last joined.

        Args:
            src: (n,) node numbers.
            dst: (n,) node numbers.
            at: (n,) days: nothing later is looked at.
            graph: what happened, with the nodes of the graph it was fitted to.
            unit: "days", or "squashed": 2 arctan(days) / pi.
            statistic: these have one prediction, and give it for both.
        """
        one, other = np.asarray(src, np.int64), np.asarray(dst, np.int64)
        guess = np.clip(self._guess(graph, one, other, np.asarray(at, np.float64)), 0.0, self.longest_)
        return guess if unit == "squashed" else unsquash(guess)

    def _learn(self, graph: TemporalGraph, asked: Pairs) -> None:
        """Learn more than the mean, where a rule has more."""

    def _guess(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        """Guess squashed ToEs, (n,): the mean, where a rule has no more."""
        return np.full(src.size, self.mean_)


class Mean(ToeRule):
    """Guess the mean."""

    name = "mean"


class Median(ToeRule):
    """Guess the median."""

    name = "median"

    def _learn(self, graph: TemporalGraph, asked: Pairs) -> None:
        self.median_ = float(np.median(asked.toe)) if asked.toe.size else NOTHING

    def _guess(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        return np.full(src.size, self.median_)


class NodeMean(ToeRule):
    """Guess the mean of the ToEs that dst received, drawn to the mean of all where these are few."""

    name = "node mean"

    def _learn(self, graph: TemporalGraph, asked: Pairs) -> None:
        self.effects_ = _choose(asked.toe, [asked.dst], graph.num_nodes)

    def _guess(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        return self.mean_ + self.effects_[dst]


class Additive(ToeRule):
    """Guess the mean, plus an effect of src, plus an effect of dst, both drawn to 0 (ridge regression)."""

    name = "additive"

    def _learn(self, graph: TemporalGraph, asked: Pairs) -> None:
        effects = _choose(asked.toe, [asked.src, graph.num_nodes + asked.dst], 2 * graph.num_nodes)
        self.source_, self.target_ = effects[: graph.num_nodes], effects[graph.num_nodes :]

    def _guess(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        return self.mean_ + self.source_[src] + self.target_[dst]


class Reciprocity(ToeRule):
    """Guess one of two constants: was it by a link to src that dst joined?"""

    name = "reciprocity"

    def _learn(self, graph: TemporalGraph, asked: Pairs) -> None:
        joined = joined_to(graph, asked.src, asked.dst, asked.at)
        self.answer_, self.other_ = (
            float(asked.toe[which].mean()) if which.any() else self.mean_ for which in (joined, ~joined)
        )

    def _guess(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        return np.where(joined_to(graph, src, dst, at), self.answer_, self.other_)


class BoostedTrees(ToeRule):
    """Guess by gradient boosted trees on what is known of both nodes; see `features`.

    The number of trees is the best on the latest fifth of what is learned from; then all is learned with as many. The
    other settings were chosen once, by the error on the validation events of known data sets.
    """

    name = "boosted trees"

    def _learn(self, graph: TemporalGraph, asked: Pairs) -> None:
        self.trees_ = None
        cut = _cut(asked.toe.size)
        if not 1 < cut < asked.toe.size:
            return  # too few to learn from: the mean remains
        x = plain_columns(graph, asked.src, asked.dst, asked.at)
        early = self._trees(MOST_TREES).fit(x[:cut], asked.toe[:cut])
        errors = [np.mean((guess - asked.toe[cut:]) ** 2) for guess in early.staged_predict(x[cut:])]
        self.trees_ = self._trees(int(np.argmin(errors)) + 1).fit(x, asked.toe)

    def _trees(self, count: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        state = int(stream(self.seed, "boosted trees") >> np.uint64(32))
        return HistGradientBoostingRegressor(max_iter=count, early_stopping=False, random_state=state, **TREES)

    def _guess(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        if self.trees_ is None or not src.size:
            return super()._guess(graph, src, dst, at)
        return np.asarray(self.trees_.predict(plain_columns(graph, src, dst, at)), np.float64)


def _cut(count: int) -> int:
    """Find where the latest part of what is learned from begins."""
    return round(count * (1 - LATEST))


def _choose(toe: Days, groups: list[Ints], num_groups: int) -> Days:
    """Learn effects, (num_groups,), with the penalty that is best on the latest part."""
    cut, penalty = _cut(toe.size), PENALTIES[-1]
    if 0 < cut < toe.size:
        early = [group[:cut] for group in groups]
        found = [_effects(toe[:cut], early, num_groups, penalty) for penalty in PENALTIES]
        guesses = (toe[:cut].mean() + sum(effects[group[cut:]] for group in groups) for effects in found)
        penalty = PENALTIES[int(np.argmin([np.mean((guess - toe[cut:]) ** 2) for guess in guesses]))]
    return _effects(toe, groups, num_groups, penalty)


def _effects(toe: Days, groups: list[Ints], num_groups: int, penalty: float) -> Days:
    """Solve the ridge regression of what lies off the mean on the groups of each row, (num_groups,)."""
    from scipy import sparse
    from scipy.sparse.linalg import cg

    if not toe.size:
        return np.zeros(num_groups)
    rows, columns = np.tile(np.arange(toe.size), len(groups)), np.concatenate(groups)
    x = sparse.csr_matrix((np.ones(rows.size), (rows, columns)), shape=(toe.size, num_groups))
    left, right = x.T @ x + penalty * sparse.identity(num_groups), x.T @ (toe - toe.mean())
    return np.asarray(cg(left.tocsr(), right, rtol=1e-10, atol=0.0)[0], np.float64)
