"""Boosted trees as plain arrays: learned by scikit-learn, kept and asked without it.

What scikit-learn learned is copied into arrays, so that a saved model is data, not code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.config import ForecastConfig
from tadge.features.toe_columns import TOE_WIDTH

BINS = 255  # at most, of the values of a column
MOST_LEAVES = 31  # of a tree, where a config does not say


@dataclass(frozen=True, eq=False)
class Trees:
    """Hold trees whose answers are summed.

    Attributes:
        base: what is added to the sum, (1,).
        start: (T,) the first node of each tree.
        column: (n,) which column a node looks at; -1 in a leaf.
        threshold: (n,) up to which value it goes left.
        left: (n,) the node that follows then; `right` else.
        value: (n,) what a leaf answers.
    """

    base: Days
    start: Ints
    column: Ints
    threshold: Days
    left: Ints
    right: Ints
    value: Days

    @classmethod
    def none(cls) -> Trees:
        """Make trees that answer one half, where there is nothing to learn from."""
        whole, real = np.zeros(0, np.int64), np.zeros(0)
        return cls(np.full(1, 0.5), whole, whole, real, whole, whole, real)

    @classmethod
    def learn(
        cls,
        columns: Vectors,
        target: Days,
        weight: Days,
        config: ForecastConfig,
        seed: int,
        losses: Sequence[str] = ("squared_error",),
    ) -> tuple[Trees, ...]:
        """Learn from columns, (n, F), without NaN, a target, (n,), and row weights, (n,), once for each loss.

        The loss "squared_error" makes them predict the mean, "absolute_error" the median. Columns are binned here:
        scikit-learn would bin them by weight, which takes long. One thread learns: sums of several are rounded
        otherwise, and they wait for each other longer than they work.
        """
        from sklearn.ensemble import HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits

        edges = [bin_edges(column) for column in columns.T]
        rows = np.empty(columns.shape)  # float64, which scikit-learn would make of anything else
        for number, values in enumerate(edges):
            rows[:, number] = np.searchsorted(values, columns[:, number])
        settings = {
            "max_iter": config.trees,
            "learning_rate": config.tree_lr,
            "max_leaf_nodes": config.leaves or MOST_LEAVES,
            "min_samples_leaf": config.leaf_samples,
            "l2_regularization": config.leaf_penalty,
            "max_features": config.tree_columns,
            "early_stopping": False,
            "random_state": seed,
        }
        models = [HistGradientBoostingRegressor(loss=loss, **settings) for loss in losses]
        with threadpool_limits(1, "openmp"):
            return tuple(cls._copied(model.fit(rows, target, sample_weight=weight), edges) for model in models)

    @classmethod
    def _copied(cls, model: Any, edges: list[Vectors]) -> Trees:
        """Copy what scikit-learn learned from the bins of columns, back to their values."""
        nodes = [each[0].nodes for each in model._predictors]
        start = np.cumsum([0, *(len(each) for each in nodes)])[:-1]
        shift = np.repeat(start, [len(each) for each in nodes])
        every = np.concatenate(nodes)
        leaf = every["is_leaf"].astype(np.bool_)
        column = np.where(leaf, -1, every["feature_idx"]).astype(np.int64)
        left, right = (every[side].astype(np.int64) + shift for side in ("left", "right"))
        base = np.asarray(model._baseline_prediction, np.float64).reshape(1)
        threshold = np.zeros(column.size)  # "up to bin 3.5" is "up to the upper edge of bin 3"
        for node in np.flatnonzero(~leaf):
            threshold[node] = edges[column[node]][int(every["num_threshold"][node])]
        return cls(base, start, column, threshold, left, right, every["value"].copy())

    @property
    def leaves(self) -> int:
        """Count the leaves of the tree that has most; 0 without trees."""
        sizes = np.diff(np.append(self.start, self.column.size))
        return int((sizes.max(initial=-1) + 1) // 2)

    def checked(self) -> Trees:
        """Return these trees; a ValueError where they would lead astray: what is read from a file may be anything."""
        size = self.column.size
        whole, real = (self.start, self.column, self.left, self.right), (self.base, self.threshold, self.value)
        if any(each.dtype != np.int64 for each in whole) or any(each.dtype != np.float64 for each in real):
            raise ValueError("not the numbers of trees")
        if any(each.shape != (size,) for each in whole[1:] + real[1:]):
            raise ValueError("not all nodes of the trees")
        if self.base.shape != (1,) or self.start.ndim != 1:
            raise ValueError("not trees")
        nodes = np.flatnonzero(self.column >= 0)
        for side in (self.left, self.right):
            if not ((side[nodes] > nodes) & (side[nodes] < size)).all():
                raise ValueError("a tree has no end")
        if (self.column >= TOE_WIDTH).any() or ((self.start < 0) | (self.start >= size)).any():
            raise ValueError("a tree leads elsewhere")
        if not all(np.isfinite(each).all() for each in real):
            raise ValueError("a tree has no answer")
        return self

    def predict(self, columns: Vectors) -> Days:
        """Predict for rows of columns, (n, F), as (n,)."""
        found = np.full(len(columns), self.base[0])
        predict_into(self.start, self.column, self.threshold, self.left, self.right, self.value, columns, found)
        return found


def bin_edges(column: Vectors) -> Vectors:
    """Find at most BINS values, the largest among them, that split a column into parts of about equal size."""
    values = np.unique(column)
    if values.size <= BINS:
        return values
    return np.unique(np.quantile(column, np.arange(1, BINS + 1) / BINS, method="inverted_cdf"))


@numba.njit(cache=True, nogil=True)
def predict_into(
    start: Ints, column: Ints, threshold: Days, left: Ints, right: Ints, value: Days, columns: Vectors, found: Days
) -> None:
    """Add every tree's answer for every row."""
    for row in range(found.size):
        for root in start:
            node = root
            while column[node] >= 0:
                node = left[node] if columns[row, column[node]] <= threshold[node] else right[node]
            found[row] += value[node]
