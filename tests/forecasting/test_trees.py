"""Boosted trees as arrays, against scikit-learn's own answers; and that no file of them can lead astray."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tadge.config import ForecastConfig
from tadge.features.toe_columns import TOE_WIDTH
from tadge.forecasting.trees import Trees

NAMES = [one.name for one in fields(Trees)]


def some(n, seed=0, width=TOE_WIDTH):
    """Columns with ties, one that never varies and one with two values; a target with jumps."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n, width)).astype(np.float32)
    columns[:, 0] = np.round(columns[:, 0])
    columns[:, 1] = 20.0
    columns[:, 2] = columns[:, 2] > 0
    target = np.where(columns[:, 0] > 0, 0.2, 0.8) * np.where(columns[:, 2] > 0, columns[:, 3] ** 2, 0.1)
    return columns, target.astype(np.float64), rng.uniform(0.1, 1.0, n)


@pytest.fixture(scope="module")
def known():
    return Trees.learn(*some(800, width=12), ForecastConfig(trees=5), 0)[0]


def in_steps(columns, asked):
    """Tell values apart only as far as the parts of a column, at most 255 of equal size, end in different ones."""
    found = np.empty(asked.shape)
    for k, column in enumerate(np.sort(columns, axis=0).T):
        largest = sorted(set(column.tolist()))
        if len(largest) > 255:
            n = column.size
            largest = sorted({column[-(-n * part // 255) - 1] for part in range(1, 256)})
        found[:, k] = [sum(value > one for one in largest) for value in asked[:, k].tolist()]
    return found


def settings_of(config):
    """Name the settings of a config as scikit-learn does."""
    names = {"max_iter": "trees", "learning_rate": "tree_lr", "max_leaf_nodes": "leaves"}
    names |= {"min_samples_leaf": "leaf_samples", "l2_regularization": "leaf_penalty", "max_features": "tree_columns"}
    return {theirs: getattr(config, ours) for theirs, ours in names.items()}


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize(("n", "leaf"), [(2000, 50), (700, 3), (40, 1), (40, 50), (2, 1), (1, 50)])
def test_predictions_are_those_of_scikit_learn(n, leaf, loss):
    from sklearn.ensemble import HistGradientBoostingRegressor

    config = ForecastConfig(trees=40, leaves=31, leaf_samples=leaf)
    columns, target, weight = some(n, width=8)
    options = {"early_stopping": False, "random_state": 5, "loss": loss} | settings_of(config)
    model = HistGradientBoostingRegressor(**options)
    model.fit(in_steps(columns, columns), target, sample_weight=weight)
    learned = Trees.learn(columns, target, weight, config, 5, (loss,))[0].checked()
    for asked in (columns, some(3000, 1, width=8)[0], 100 * some(50, 2, width=8)[0]):
        expected = model.predict(in_steps(columns, asked))
        assert np.array_equal(learned.predict(asked), expected), LAYOUT  # to the last bit
    assert learned.start.size == 40
    if n > 500:
        assert np.unique(learned.column).size >= 3


LAYOUT = (
    "scikit-learn's private layout of boosted trees has changed: `Trees._copied` in forecasting/trees.py reads "
    "`_predictors`, `_baseline_prediction` and the fields of their nodes. Adapt it, or pin an older version."
)


def test_the_private_layout_of_scikit_learn_is_the_one_that_is_copied():
    """Nothing public gives the nodes of boosted trees, so this is where a new version is noticed first."""
    import sklearn
    from sklearn.ensemble import HistGradientBoostingRegressor

    columns, target, _ = some(300, width=4)
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5).fit(columns, target)
    reason = f"{LAYOUT} (found {sklearn.__version__})"
    assert len(model._predictors) == 3, reason
    assert all(len(stage) == 1 for stage in model._predictors), reason  # one tree per stage: a regression
    nodes = model._predictors[0][0].nodes
    needed = {
        "value": "f8",
        "feature_idx": "i8",
        "num_threshold": "f8",
        "left": "u4",
        "right": "u4",
        "is_leaf": "u1",
    }
    found = {name: nodes.dtype[name].str[1:] for name in needed if name in nodes.dtype.names}
    assert found == needed, reason
    assert np.asarray(model._baseline_prediction).size == 1, reason
    inner = nodes[nodes["is_leaf"] == 0]
    assert inner.size, reason
    assert (inner["left"] > 0).all(), reason
    rows = columns[:, inner["feature_idx"][0]] <= inner["num_threshold"][0]  # the root goes left up to its threshold
    assert rows.sum() == nodes["count"][inner["left"][0]], reason


@pytest.mark.parametrize("leaves", [2, 5, 31, None])
def test_trees_tell_how_large_they_are(leaves):
    """Where there is enough to split they are as large as they may be; by default that is 31."""
    columns, target, weight = some(2000, width=8)
    trees = Trees.learn(columns, target, weight, ForecastConfig(trees=5, leaves=leaves, leaf_samples=5), 0)[0]
    ends = np.append(trees.start, trees.column.size)
    assert trees.leaves == max(np.sum(trees.column[a:b] < 0) for a, b in pairwise(ends))
    assert trees.leaves == (leaves or 31)
    assert Trees.none().leaves == 0


def test_weights_count():
    """A row that counts for nothing is not learned from."""
    columns, target, weight = some(1000, width=4)
    weight[500:] = 0.0
    other = np.concatenate([target[:500], target[500:] + 100.0])
    config = ForecastConfig(trees=10)
    first, second = (Trees.learn(columns, values, weight, config, 0)[0] for values in (target, other))
    np.testing.assert_allclose(first.predict(columns), second.predict(columns))


def test_trees_survive_as_tensors(known):
    tensors = {name: torch.from_numpy(getattr(known, name)) for name in NAMES}
    again = Trees(**{name: tensor.clone().numpy() for name, tensor in tensors.items()}).checked()
    columns = some(500, seed=3)[0]
    assert again.predict(columns).tobytes() == known.predict(columns).tobytes()


def test_no_trees_answer_one_half():
    none = Trees.none().checked()
    assert none.predict(np.zeros((3, TOE_WIDTH), np.float32)).tolist() == [0.5] * 3
    assert none.predict(np.zeros((0, TOE_WIDTH), np.float32)).shape == (0,)


def test_a_tree_by_hand():
    """0.1 + (0.5 where column 2 is at most 1, else 0.25 where column 0 is at most -1, else 0.75) + 1."""
    whole, real = (lambda *values: np.array(values, np.int64)), (lambda *values: np.array(values, np.float64))
    tree = Trees(
        base=real(0.1),
        start=whole(0, 5),
        column=whole(2, -1, 0, -1, -1, -1),
        threshold=real(1.0, 0, -1.0, 0, 0, 0),
        left=whole(1, 0, 3, 0, 0, 0),
        right=whole(2, 0, 4, 0, 0, 0),
        value=real(9, 0.5, 9, 0.25, 0.75, 1.0),
    )
    rows = np.array([[0, 0, 1], [0, 0, -9], [-1, 0, 1.5], [0, 0, 1.5]], np.float32)
    assert tree.checked().predict(rows) == pytest.approx([1.6, 1.6, 1.35, 1.85])


# -- what is read from a file ------------------------------------------------------------------------------------------


def put(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


def first_inner(known, place=0):
    return int(np.flatnonzero(known.column >= 0)[place])


DAMAGES = {
    "a loop": lambda k: {"left": put(k.left, first_inner(k), first_inner(k))},
    "a way back": lambda k: {"right": put(k.right, first_inner(k, 3), 0)},
    "beyond the end": lambda k: {"left": put(k.left, first_inner(k), k.column.size)},
    "before the beginning": lambda k: {"right": put(k.right, first_inner(k), -1)},
    "a column that is not there": lambda k: {"column": put(k.column, first_inner(k), TOE_WIDTH)},
    "a start that is not there": lambda k: {"start": put(k.start, 1, k.column.size)},
    "a negative start": lambda k: {"start": put(k.start, 1, -1)},
    "no nodes": lambda k: {name: getattr(k, name)[:0] for name in ("column", "threshold", "left", "right", "value")},
    "fewer lefts": lambda k: {"left": k.left[:-1]},
    "fewer rights": lambda k: {"right": k.right[:-1]},
    "fewer thresholds": lambda k: {"threshold": k.threshold[:-1]},
    "fewer values": lambda k: {"value": k.value[:-1]},
    "more columns": lambda k: {"column": np.append(k.column, 3)},
    "two bases": lambda k: {"base": np.zeros(2)},
    "no base": lambda k: {"base": np.zeros(())},
    "two dimensions": lambda k: {"column": k.column[:, None]},
    "starts in two dimensions": lambda k: {"start": k.start[:, None]},
    "all in two dimensions": lambda k: {n: getattr(k, n)[:, None] for n in NAMES if n not in ("base", "start")},
    "fractions": lambda k: {"left": k.left.astype(np.float64)},
    "truths": lambda k: {"column": k.column > 0},
    "complex": lambda k: {"value": k.value.astype(np.complex128)},
    "no number": lambda k: {"value": put(k.value, 0, np.nan)},
    "an infinite base": lambda k: {"base": np.full(1, np.inf)},
}


@pytest.mark.parametrize("case", DAMAGES)
def test_what_would_lead_astray_is_refused(known, case):
    with pytest.raises(ValueError, match="tree"):
        replace(known, **DAMAGES[case](known)).checked()


SHAPES = {
    "first": lambda a: a[:1],
    "none": lambda a: a[:0],
    "most": lambda a: a[:-1],
    "more": lambda a: np.append(a, a[:1]),
    "turned": lambda a: a[::-1].copy(),
    "deeper": lambda a: a[None],
    "flat": lambda a: a.reshape(-1)[:1].reshape(()),
    "halves": lambda a: a.astype(np.float16),
    "whole": lambda a: np.nan_to_num(a).astype(np.int64),
    "short": lambda a: np.nan_to_num(a).astype(np.int32),
}
NUMBERS = st.sampled_from([-(2**63), -2, -1, 0, 1, 5, 300, TOE_WIDTH - 1, TOE_WIDTH, 2**31, 2**63 - 1])


@settings(max_examples=300)
@given(st.data())
def test_random_damage_is_refused_or_does_no_harm(known, data):
    """No loop without end, no look beyond an array: a ValueError, or answers."""
    changes = {}
    for name in data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)):
        array = getattr(known, name)
        if data.draw(st.booleans()):
            number = data.draw(NUMBERS if array.dtype == np.int64 else st.floats())
            changes[name] = put(array, data.draw(st.integers(0, array.size - 1)), number)
        else:
            changes[name] = SHAPES[data.draw(st.sampled_from(sorted(SHAPES)))](array)
    damaged = replace(known, **changes)
    try:
        damaged.checked()
    except ValueError:
        return
    found = damaged.predict(some(20, seed=4)[0])
    assert found.shape == (20,)
    assert not np.isnan(found).any()
