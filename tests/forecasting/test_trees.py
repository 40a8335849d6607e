"""Boosted trees as arrays, against scikit-learn's own answers; and that no file of them can lead astray."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tadge.features.timing import TOE_WIDTH

from tadge.forecasting import trees
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 5)
        return Trees.learn(*some(800, width=12), 0)


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


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize(("n", "leaf"), [(2000, 50), (700, 3), (40, 1), (40, 50), (2, 1), (1, 50)])
def test_guesses_are_those_of_scikit_learn(n, leaf, loss, monkeypatch):
    from sklearn.ensemble import HistGradientBoostingRegressor

    settings_ = trees.SETTINGS | {"min_samples_leaf": leaf, "max_leaf_nodes": 31}
    monkeypatch.setattr(trees, "SETTINGS", settings_)
    monkeypatch.setattr(trees, "TREES", 40)
    columns, target, weight = some(n, width=8)
    model = HistGradientBoostingRegressor(max_iter=40, early_stopping=False, random_state=5, loss=loss, **settings_)
    model.fit(in_steps(columns, columns), target, sample_weight=weight)
    found = Trees.learn(columns, target, weight, 5, loss).checked()
    for asked in (columns, some(3000, 1, width=8)[0], 100 * some(50, 2, width=8)[0]):
        assert np.array_equal(found.guess(asked), model.predict(in_steps(columns, asked)))  # to the last bit
    assert found.start.size == 40
    if n > 500:
        assert np.unique(found.column).size >= 3


def test_weights_count():
    """A row that counts for nothing is not learned from."""
    columns, target, weight = some(1000, width=4)
    weight[500:] = 0.0
    other = np.concatenate([target[:500], target[500:] + 100.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 10)
        one, two = (Trees.learn(columns, each, weight, 0) for each in (target, other))
    np.testing.assert_allclose(one.guess(columns), two.guess(columns))


def test_trees_survive_as_tensors(known):
    tensors = {name: torch.from_numpy(getattr(known, name)) for name in NAMES}
    again = Trees(**{name: tensor.clone().numpy() for name, tensor in tensors.items()}).checked()
    columns = some(500, seed=3)[0]
    assert again.guess(columns).tobytes() == known.guess(columns).tobytes()


def test_no_trees_answer_one_half():
    none = Trees.none().checked()
    assert none.guess(np.zeros((3, TOE_WIDTH), np.float32)).tolist() == [0.5] * 3
    assert none.guess(np.zeros((0, TOE_WIDTH), np.float32)).shape == (0,)


def test_a_tree_by_hand():
    """0.1 + (0.5 where column 2 is at most 1, else 0.25 where column 0 is at most -1, else 0.75) + 1."""
    whole, real = (lambda *values: np.array(values, np.int64)), (lambda *values: np.array(values, np.float64))
    tree = Trees(
        base=real(0.1),
        start=whole(0, 5),
        column=whole(2, -1, 0, -1, -1, -1),
        least=real(1.0, 0, -1.0, 0, 0, 0),
        left=whole(1, 0, 3, 0, 0, 0),
        right=whole(2, 0, 4, 0, 0, 0),
        value=real(9, 0.5, 9, 0.25, 0.75, 1.0),
    )
    rows = np.array([[0, 0, 1], [0, 0, -9], [-1, 0, 1.5], [0, 0, 1.5]], np.float32)
    assert tree.checked().guess(rows) == pytest.approx([1.6, 1.6, 1.35, 1.85])


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
    "no nodes": lambda k: {name: getattr(k, name)[:0] for name in ("column", "least", "left", "right", "value")},
    "fewer lefts": lambda k: {"left": k.left[:-1]},
    "fewer rights": lambda k: {"right": k.right[:-1]},
    "fewer thresholds": lambda k: {"least": k.least[:-1]},
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
    found = damaged.guess(some(20, seed=4)[0])
    assert found.shape == (20,)
    assert not np.isnan(found).any()
