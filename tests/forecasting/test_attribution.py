"""Parts of a forecast: exact, they add up, and what changes nothing has none."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from futures import other_futures
from small import forum
from tadge.features.columns import LINK_COLUMNS
from tadge.forecasting.attribution import attribute, column_groups, typical_questions
from tadge.forecasting.waits import targets_of
from tadge.graph.past import past_of


def by_orders(forecast, row, typical, weight, groups):
    """Let groups join in every order, and take the mean of what each adds."""
    parts = np.zeros(len(groups))
    orders = list(permutations(range(len(groups))))
    for order in orders:
        rows = typical.copy()
        for group in order:
            before = forecast(rows) @ weight
            rows[:, groups[group]] = row[groups[group]]
            parts[group] += forecast(rows) @ weight - before
    return parts / len(orders)


@given(st.integers(0, 2**32 - 1))
def test_parts_are_the_mean_over_all_orders_and_add_up(seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(6, 3))
    weights[4] = 0.0  # the last group is looked at by nobody

    def forecast(rows):
        return np.tanh(rows @ weights).prod(axis=1) + (rows[:, 0] * rows[:, 2])

    row, typical = rng.normal(size=6).astype(np.float32), rng.normal(size=(5, 6)).astype(np.float32)
    weight = rng.dirichlet(np.ones(5))
    groups = [np.array([0, 1]), np.array([2]), np.array([3, 5]), np.array([4])]
    parts = attribute(forecast, row, typical, weight, groups)
    np.testing.assert_allclose(parts, by_orders(forecast, row, typical, weight, groups), atol=1e-6)
    assert parts.sum() == pytest.approx(forecast(row[None])[0] - forecast(typical) @ weight, abs=1e-6)
    assert parts[3] == 0.0


@pytest.mark.parametrize(("directed", "bipartite"), [(True, False), (False, False), (True, True)])
def test_every_column_is_in_one_group(directed, bipartite):
    places = np.concatenate(list(column_groups(directed, bipartite).values()))
    assert np.array_equal(np.sort(places), np.arange(len(LINK_COLUMNS)))


@pytest.mark.parametrize("directed", [True, False])
def test_typical_questions_are_of_the_past_and_stand_for_all_targets(directed):
    graph = forum(directed=directed)
    cut = float(np.quantile(graph.time, 0.6))
    typical = typical_questions(graph, cut, 0)
    assert typical.weight.sum() == pytest.approx(1.0) and (typical.weight > 0).all()
    assert (typical.at <= cut).all() and (past_of(graph).first[typical.dst] <= typical.at).all()
    strange = np.array(
        [
            past_of(graph).count_links(u, v, t)[0] + past_of(graph).count_links(v, u, t)[0] == 0
            for u, v, t in zip(typical.src, typical.dst, typical.at, strict=True)
        ]
    )
    fraction = []
    for source, at in set(zip(typical.src.tolist(), typical.at.tolist(), strict=True)):
        targets = targets_of(graph, source, at)
        met = past_of(graph).count_links(source, targets, at) + past_of(graph).count_links(targets, source, at)
        fraction.append((met == 0).mean())
    assert typical.weight[strange].sum() == pytest.approx(np.mean(fraction), abs=0.05)
    for future in other_futures(graph, cut, np.random.default_rng(0)):
        assert all(np.array_equal(a, b) for a, b in zip(typical, typical_questions(future, cut, 0), strict=True))
