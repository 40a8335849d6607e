"""How large trees should be: as a plain comparison on the latest fifth says, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from tadge.config import ForecastConfig
from tadge.forecasting import tree_size
from tadge.forecasting.tree_size import choose_leaves

CONFIG = ForecastConfig(leaf_samples=5, tree_columns=1.0)


def edges(n, depth, noise, seed=0):
    """Squashed ToEs by the parity of the signs of `depth` columns, with noise; columns of few values."""
    rng = np.random.default_rng(seed)
    columns = np.round(rng.standard_normal((n, 6)), 1).astype(np.float32)
    parity = (columns[:, :depth] > 0).sum(1) % 2
    return columns, np.clip(0.3 + 0.4 * parity + noise * rng.standard_normal(n), 0, 1), np.ones(n)


def errors(columns, toe, weight):
    """Measure on the latest fifth what scikit-learn's own trees learn from the rest, for each size."""
    cut = round(0.8 * toe.size)
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in columns.T], 1).astype(np.float32)
    options = {"max_iter": 60, "learning_rate": 0.1, "min_samples_leaf": 5, "l2_regularization": 10.0}
    found = {}
    for leaves in (31, 8, 4):
        model = HistGradientBoostingRegressor(max_leaf_nodes=leaves, early_stopping=False, random_state=0, **options)
        model.fit(codes[:cut], toe[:cut], sample_weight=weight[:cut])
        found[leaves] = np.mean((model.predict(codes[cut:]) - toe[cut:]) ** 2)
    return found


@pytest.mark.parametrize(("depth", "noise"), [(1, 0.5), (3, 0.02), (4, 0.02), (2, 0.3)])
def test_the_size_with_the_smallest_error_is_chosen(depth, noise):
    rows = edges(1000, depth, noise)
    expected = errors(*rows)
    found = choose_leaves(*rows, 1000, CONFIG, 0)
    assert expected[found] <= min(expected.values()) * 1.02  # columns are binned otherwise


def test_both_sizes_occur():
    assert choose_leaves(*edges(1000, 4, 0.02), 1000, CONFIG, 0) == 31
    assert choose_leaves(*edges(300, 1, 0.5), 300, CONFIG, 0) < 31


def test_what_the_user_says_is_not_chosen(monkeypatch):
    monkeypatch.setattr(tree_size.Trees, "learn", lambda *_: pytest.fail("trees are compared"))
    rows = edges(100, 1, 0.5)
    assert choose_leaves(*rows, 100, ForecastConfig(leaves=17), 0) == 17
    for count in (0, 1, 49, 20_001):  # too few to judge, or so many that it would take long
        assert choose_leaves(*rows, count, ForecastConfig(), 0) == 31


def test_the_latest_fifth_at_other_speeds_is_not_learned_from(monkeypatch):
    """Rows behind the first `count` are the same edges again: they would show what is asked for."""
    columns, toe, weight = edges(200, 1, 0.1)
    seen, learn = [], tree_size.Trees.learn
    monkeypatch.setattr(tree_size.Trees, "learn", lambda *rows: seen.append(rows[1]) or learn(*rows))
    choose_leaves(np.tile(columns, (2, 1)), np.tile(toe, 2), np.tile(weight, 2), 200, CONFIG, 0)
    assert len(seen) == 3
    assert all(np.array_equal(early, np.tile(toe[:160], 2)) for early in seen)
