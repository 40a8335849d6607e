"""The linear head for forecasts, against scikit-learn; the pairs it learns from, against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given
from hypothesis import strategies as st

from brute import joining_times
from tadge.embedding.toe_head import PENALTIES, apply_toe_head, learn_toe_head
from tadge.features.pairs import Pairs, timed_pairs


def some(n, f, noise, seed=0):
    """Features of very different scales, one of them constant, in float32; a linear target."""
    rng = np.random.default_rng(seed)
    features = (rng.standard_normal((n, f)) * 10.0 ** rng.integers(-3, 3, f) + rng.uniform(-5, 5, f)).astype(np.float32)
    features[:, 1] = 3.0
    target = features[:, 0] / features[:, 0].std() * 0.2 + 0.5 + noise * rng.standard_normal(n)
    return features, target


@pytest.mark.parametrize(("n", "noise"), [(400, 0.01), (400, 1.0), (30, 5.0), (12, 0.1)])
def test_ridge_is_that_of_scikit_learn(n, noise):
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, target = some(n, 10, noise)
    cut = round(0.8 * n)

    def fitted(x, y, penalty):
        """Learn on standardised features; a function of raw ones."""
        spread = x.std(axis=0, dtype=np.float64)
        mean, spread = x.mean(axis=0, dtype=np.float64), np.where(spread > 0, spread, 1.0)
        model = linear_model.Ridge(alpha=penalty, solver="svd").fit((x - mean) / spread, y)
        return lambda raw: model.predict((raw - mean) / spread)

    def error(penalty):
        guess = fitted(features[:cut], target[:cut], penalty)(features[cut:])
        return np.mean((guess - target[cut:]) ** 2)

    best = min(PENALTIES, key=error)
    found = learn_toe_head(features, target)
    others = some(50, 10, noise, seed=1)[0]
    np.testing.assert_allclose(
        apply_toe_head(others, found), fitted(features, target, best)(others), rtol=1e-6, atol=1e-7
    )
    assert found[1] == 0.0  # what does not vary tells nothing


def test_ridge_minimises_its_objective():
    features, target = some(200, 6, 0.3)
    x = (features - features.mean(0, dtype=np.float64)) / np.maximum(features.std(0, dtype=np.float64), 1e-9)
    found = learn_toe_head(features, target)
    weight = found[:-1] * features.std(0, dtype=np.float64)

    def objective(w, penalty):
        return np.sum((x @ w + target.mean() - target) ** 2) + penalty * np.sum(w**2)

    rng = np.random.default_rng(0)
    wins = [
        all(objective(weight, p) <= objective(weight + 1e-3 * rng.standard_normal(6), p) for _ in range(50))
        for p in PENALTIES
    ]
    assert sum(wins) >= 1
    assert np.mean(apply_toe_head(features, found)) == pytest.approx(target.mean())


def test_few_pairs_and_none():
    features, target = some(9, 4, 0.1)
    features, target = features[:1], target[:1]
    assert apply_toe_head(features, learn_toe_head(features, target)) == pytest.approx(target)
    assert learn_toe_head(features[:0], target[:0]).tolist() == [0.0] * 5
    features, target = some(3, 40, 0.1)  # fewer pairs than features
    assert np.isfinite(learn_toe_head(features, target)).all()
    assert apply_toe_head(features * 0 + 3, learn_toe_head(features * 0 + 3, target)) == pytest.approx(target.mean())


def plain_pairs(graph):
    """All (src, dst, at, toe, time) from the events alone."""
    events = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True))
    tov = joining_times(events, graph.num_nodes, graph.tov_rule, graph.directed)
    found = []
    for u, v, t in events:
        for src, dst in [(u, v)] if graph.directed or u == v else [(u, v), (v, u)]:
            earlier = [one for one in tov[dst] if one < t]
            if earlier:
                found.append((src, dst, max(earlier), 2 * np.arctan(t - max(earlier)) / np.pi))
    return found


def as_rows(pairs: Pairs):
    return list(zip(pairs.src.tolist(), pairs.dst.tolist(), pairs.at.tolist(), pairs.toe.tolist(), strict=True))


@given(graphs(), st.integers(0, 100))
def test_pairs_are_those_of_a_plain_loop(graph, seed):
    expected = plain_pairs(graph)
    found = as_rows(timed_pairs(graph, 10_000, seed))
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected])
    if graph.directed:
        toe = graph.toe[~np.isnan(graph.toe)]
        np.testing.assert_allclose([np.tan(row[3] * np.pi / 2) for row in found], toe, rtol=1e-6)


def test_some_of_the_pairs_are_drawn_in_order_of_time():
    graph = random_graph()
    every = plain_pairs(graph)
    place = {}
    for k, row in enumerate(every):
        place.setdefault(row[:3], []).append(k)
    draws = [as_rows(timed_pairs(graph, 50, seed)) for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]
    for drawn in draws:
        assert len(drawn) == 50
        last = -1
        for row in drawn:  # a subsequence of all
            last = next(k for k in place[row[:3]] if k > last)
