"""The latest part on which settings are chosen, and ranks with ties."""

from __future__ import annotations

import numpy as np
import pytest

from tadge.baselines import BASELINES, make
from tadge.protocols import Method
from tadge.validation import latest_from, mean_ranks, mean_reciprocal_rank, smallest_error


def test_the_latest_fifth_begins_after_four():
    assert [latest_from(count) for count in (0, 1, 5, 10, 1000)] == [0, 1, 4, 8, 800]


def test_the_smallest_error_is_found_and_of_equals_the_first():
    target = np.array([1.0, 2.0])
    predictions = (np.array(values) for values in ([0.0, 0.0], [1.0, 2.5], [1.5, 2.0], [9.0, 9.0]))
    assert smallest_error(predictions, target) == 1


@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
def test_ranks_among_those_that_count(fraction):
    rng = np.random.default_rng(0)
    scores, counts = rng.integers(0, 4, (50, 8)).astype(float), rng.random((50, 8)) < fraction
    scores[0, :2] = -np.inf
    for rank, row, among in zip(mean_ranks(scores, counts), scores, counts, strict=True):
        others = [other for other, one in zip(row[1:], among[1:], strict=True) if one]
        assert rank == 1 + sum(other > row[0] for other in others) + sum(other == row[0] for other in others) / 2


def test_ties_share_the_mean_rank():
    scores = np.array([[1.0, 2.0, 0.0], [3.0, 3.0, 3.0], [5.0, 1.0, 2.0]])
    assert mean_reciprocal_rank(scores) == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_a_method(name):
    method: Method = make(name, 3)
    assert isinstance(method, Method)
    assert method.name == name
    assert method.seed == 3
