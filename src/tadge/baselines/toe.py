"""Rules for how long it takes until src links to dst, and boosted trees on their history.

All learn squashed ToEs from events as they would have been asked: as of the moment at which the target joined. Asked
later, while the link is still open, they know that shorter ToEs are ruled out.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.baselines.base import Baseline, NodeRows
from tadge.features.pairs import Pairs, timed_pairs
from tadge.features.plain import joined_to, plain_columns
from tadge.graph import TemporalGraph
from tadge.graph.chains import as_of_joining
from tadge.protocols import Statistic, Unit
from tadge.seeding import stream
from tadge.units import squash, unsquash
from tadge.validation import latest_from, smallest_error

EFFECT_PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
BOOSTING = {"learning_rate": 0.05, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 10.0}
MAX_TREES = 300
ONE_DAY = 0.5  # squashed: the prediction where no edge had a ToE


class LongerToes:
    """Look up how long edges took that took longer than what has passed.

    Args:
        toe: (n,) squashed ToEs that were learned from, in any order.
    """

    def __init__(self, toe: Days) -> None:
        self.toe = np.sort(toe)
        self.sums = np.append(np.cumsum(self.toe[::-1])[::-1], 0.0)  # (n + 1,) of each and all that are longer

    def mean(self, passed: Days) -> Days:
        """Average those that are longer, (Q,) squashed; where none is, what has passed, (Q,) squashed."""
        first = np.searchsorted(self.toe, passed, side="right")
        count = self.toe.size - first
        return np.where(count > 0, np.maximum(self.sums[first] / np.maximum(count, 1), passed), passed)

    def median(self, passed: Days) -> Days:
        """Take the median of those that are longer, (Q,) squashed; where none is, what has passed, (Q,) squashed."""
        first, size = np.searchsorted(self.toe, passed, side="right"), self.toe.size
        if not size:
            return passed
        low, high = ((first + size + k) // 2 for k in (-1, 0))  # the same one where their number is odd
        middle = (self.toe[np.minimum(low, size - 1)] + self.toe[np.minimum(high, size - 1)]) / 2
        return np.where(first < size, middle, passed)


class ToeRule(Baseline):
    """Answer how long edges take: the frame of all rules below."""

    def fit(self, graph: TemporalGraph, events: npt.ArrayLike | None = None) -> Self:
        """Learn from a graph.

        Args:
            graph: what happened.
            events: (n,) numbers of the events to learn from, as often as they stand there, such as the steps of
                walks; all by default.
        """
        pairs = timed_pairs(graph, events=events)
        self.mean_ = float(pairs.toe.mean()) if pairs.toe.size else ONE_DAY
        self.longest_ = float(pairs.toe.max(initial=ONE_DAY))
        self.longer_ = LongerToes(pairs.toe)
        self._learn(graph, pairs)
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
        """Predict how long it takes until src links to dst, (n,) days since dst last joined.

        It is the prediction that could be made when dst joined. Where time has passed since then, it is at least the
        mean of the ToEs that were learned from and are longer than that time.

        Args:
            src: (n,) node numbers.
            dst: (n,) node numbers.
            at: (n,) days: nothing later is looked at.
            graph: what happened; nodes are found by their ids.
            unit: "days", or "squashed": 2 arctan(days) / pi.
            statistic: these have one prediction, and give it for both.
        """
        sources, targets = np.asarray(src, np.int64), np.asarray(dst, np.int64)
        joined, passed = as_of_joining(graph, targets, np.asarray(at, np.float64))
        squashed = np.clip(self._predict(graph, sources, targets, joined), 0.0, self.longest_)
        is_open = passed > 0
        if is_open.any():
            longer = self._longer(graph, sources[is_open], targets[is_open], joined[is_open], squash(passed[is_open]))
            squashed[is_open] = np.maximum(squashed[is_open], longer)
        return squashed if unit == "squashed" else unsquash(squashed)

    def _learn(self, graph: TemporalGraph, pairs: Pairs) -> None:
        """Learn more than the mean, where a rule has more."""

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        """Predict squashed ToEs, (n,): the mean, where a rule has no more."""
        return np.full(src.size, self.mean_)

    def _longer(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, passed: Days) -> Days:
        """Give what a ToE is at least that is longer than what has passed, (n,) squashed: the mean of all such."""
        return self.longer_.mean(passed)


class Mean(ToeRule):
    """Predict the mean."""

    name = "mean"


class Median(ToeRule):
    """Predict the median."""

    name = "median"

    def _learn(self, graph: TemporalGraph, pairs: Pairs) -> None:
        self.median_ = float(np.median(pairs.toe)) if pairs.toe.size else ONE_DAY

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        return np.full(src.size, self.median_)

    def _longer(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, passed: Days) -> Days:
        return self.longer_.median(passed)


class NodeMean(ToeRule):
    """Predict the mean of the ToEs that dst received, drawn to the mean of all where these are few."""

    name = "node mean"

    def _learn(self, graph: TemporalGraph, pairs: Pairs) -> None:
        self.effects_, self.rows_ = _choose(pairs.toe, [pairs.dst], graph.num_nodes), NodeRows(graph)

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        return self.mean_ + _of_known(self.effects_, self.rows_.of(graph, dst))


class Additive(ToeRule):
    """Predict the mean, plus an effect of src, plus an effect of dst, both drawn to 0 (ridge regression)."""

    name = "additive"

    def _learn(self, graph: TemporalGraph, pairs: Pairs) -> None:
        effects = _choose(pairs.toe, [pairs.src, graph.num_nodes + pairs.dst], 2 * graph.num_nodes)
        self.source_, self.target_ = effects[: graph.num_nodes], effects[graph.num_nodes :]
        self.rows_ = NodeRows(graph)

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        of_src, of_dst = (self.rows_.of(graph, ends) for ends in (src, dst))
        return self.mean_ + _of_known(self.source_, of_src) + _of_known(self.target_, of_dst)


class Reciprocity(ToeRule):
    """Predict one of two constants: was it by a link to src that dst joined?"""

    name = "reciprocity"

    def _learn(self, graph: TemporalGraph, pairs: Pairs) -> None:
        joined = joined_to(graph, pairs.src, pairs.dst, pairs.at)
        self.answer_, self.other_ = (
            float(pairs.toe[which].mean()) if which.any() else self.mean_ for which in (joined, ~joined)
        )
        self.longer_answers_, self.longer_others_ = LongerToes(pairs.toe[joined]), LongerToes(pairs.toe[~joined])

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        return np.where(joined_to(graph, src, dst, at), self.answer_, self.other_)

    def _longer(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, passed: Days) -> Days:
        answers, others = self.longer_answers_.mean(passed), self.longer_others_.mean(passed)
        return np.where(joined_to(graph, src, dst, at), answers, others)


class BoostedTrees(ToeRule):
    """Predict by gradient boosted trees on what is known of both nodes; see `features`.

    The number of trees is the best on the latest fifth of what is learned from; then all is learned with as many. The
    other settings were chosen once, by the error on the validation events of known data sets.
    """

    name = "boosted trees"

    def _learn(self, graph: TemporalGraph, pairs: Pairs) -> None:
        self.trees_ = None
        cut = latest_from(pairs.toe.size)
        if not 1 < cut < pairs.toe.size:
            return  # too few to learn from: the mean remains
        from threadpoolctl import threadpool_limits

        x = plain_columns(graph, pairs.src, pairs.dst, pairs.at)
        with threadpool_limits(1, "openmp"):  # the same sums on any machine; see `forecasting.trees`
            early = self._trees(MAX_TREES).fit(x[:cut], pairs.toe[:cut])
            best = smallest_error(early.staged_predict(x[cut:]), pairs.toe[cut:])
            self.trees_ = self._trees(best + 1).fit(x, pairs.toe)

    def _trees(self, count: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        state = int(stream(self.seed, "boosted trees") >> np.uint64(32))
        return HistGradientBoostingRegressor(max_iter=count, early_stopping=False, random_state=state, **BOOSTING)

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        if self.trees_ is None or not src.size:
            return super()._predict(graph, src, dst, at)
        return np.asarray(self.trees_.predict(plain_columns(graph, src, dst, at)), np.float64)


def _of_known(effects: Days, rows: Ints) -> Days:
    """Give the effects of rows, (n,); 0 where a row is -1."""
    return np.where(rows >= 0, effects[rows], 0.0)


def _choose(toe: Days, groups: list[Ints], num_groups: int) -> Days:
    """Learn effects, (num_groups,), with the penalty that is best on the latest part; 0 for groups without a row."""
    some, numbers = np.unique(np.concatenate(groups), return_inverse=True)
    effects = np.zeros(num_groups)
    if some.size:
        effects[some] = _chosen(toe, np.split(numbers, len(groups)), some.size)
    return effects


def _chosen(toe: Days, groups: list[Ints], num_groups: int) -> Days:
    cut, penalty = latest_from(toe.size), EFFECT_PENALTIES[-1]
    if 0 < cut < toe.size:
        early = [group[:cut] for group in groups]
        learned = (_effects(toe[:cut], early, num_groups, penalty) for penalty in EFFECT_PENALTIES)
        predictions = (toe[:cut].mean() + sum(effects[group[cut:]] for group in groups) for effects in learned)
        penalty = EFFECT_PENALTIES[smallest_error(predictions, toe[cut:])]
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
