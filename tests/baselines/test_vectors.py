"""DeepWalk as a rival: static vectors, and ToE by an elastic net on sums of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet
from sklearn.preprocessing import StandardScaler

from small import forum
from tadge.baselines.vectors import BALANCE, NET_PENALTIES, DeepWalk, elastic_net
from tadge.deepwalk.initialise import initial_vectors
from tadge.features.pairs import timed_pairs


def test_vectors_are_those_of_the_static_graph():
    graph = forum()
    view = graph.before(graph.time[300])
    model = DeepWalk(2, dim=16).fit(view)
    nodes, seen = np.arange(graph.num_nodes), view.degree > 0
    assert 0 < seen.sum() < graph.num_nodes
    vectors = model.embed(nodes, np.zeros(nodes.size), graph=graph)
    np.testing.assert_array_equal(vectors[seen], initial_vectors(view, "deepwalk", 16, 2)[seen])
    assert (vectors[~seen] == 0).all()
    scores = model.score_links(nodes, nodes[::-1], np.zeros(nodes.size), graph=graph)
    np.testing.assert_allclose(scores, (vectors * vectors[::-1]).sum(1), rtol=1e-4, atol=1e-6)


def test_scores_come_in_blocks(monkeypatch):
    graph = forum()
    model = DeepWalk(dim=8).fit(graph)
    pairs = np.random.default_rng(0).integers(0, graph.num_nodes, (2, 1_000))
    whole = model.score_links(*pairs, np.zeros(1_000), graph=graph)
    monkeypatch.setattr("tadge.baselines.vectors.PAIRS_PER_BLOCK", 7)
    np.testing.assert_allclose(model.score_links(*pairs, np.zeros(1_000), graph=graph), whole, rtol=1e-5, atol=1e-7)


def test_toe_is_that_of_scikit_learns_elastic_net():
    """On standardised sums, with the penalty that is best on the latest fifth."""
    graph = forum()
    model, asked = DeepWalk(dim=8).fit(graph), timed_pairs(graph)
    x, y = model.vectors_[asked.src] + model.vectors_[asked.dst].astype(np.float64), asked.toe
    cut, errors = round(y.size * 0.8), []
    solver = {"l1_ratio": BALANCE, "max_iter": 100_000, "tol": 1e-8}
    for penalty in NET_PENALTIES:
        scale = StandardScaler().fit(x[:cut])
        net = ElasticNet(penalty, **solver).fit(scale.transform(x[:cut]), y[:cut])
        errors.append(np.mean((net.predict(scale.transform(x[cut:])) - y[cut:]) ** 2))
    scale = StandardScaler().fit(x)
    net = ElasticNet(NET_PENALTIES[int(np.argmin(errors))], **solver).fit(scale.transform(x), y)
    expected = np.clip(net.predict(scale.transform(x)), 0, 1)
    found = model.predict_toe(asked.src, asked.dst, asked.at, graph=graph, unit="squashed")
    np.testing.assert_allclose(found, expected, atol=2e-3)
    days = model.predict_toe(asked.src, asked.dst, asked.at, graph=graph)
    np.testing.assert_allclose(np.arctan(days) * 2 / np.pi, found, atol=1e-9)


def test_a_line_is_found():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2_000, 3)).astype(np.float32) * [1, 5, 0] + [0, 2, 1]
    head = elastic_net(x.astype(np.float32), 0.3 + 0.1 * x[:, 0] - 0.02 * x[:, 1])
    assert head == pytest.approx([0.1, -0.02, 0, 0.3], abs=2e-3)


def test_without_a_constant_all_is_in_the_weights():
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((2_000, 3)) * [1, 5, 0] + [0, 2, 1]).astype(np.float32)
    head = elastic_net(x, 0.3 + 0.1 * x[:, 0] - 0.02 * x[:, 1], constant=False)
    assert head == pytest.approx([0.1, -0.02, 0.3, 0], abs=2e-3)  # the column of ones takes the constant's place
    target = rng.uniform(0, 1, 2_000)
    net, scale = (
        elastic_net(x[:, :2], target, constant=False),
        np.sqrt(np.mean(x[:, :2].astype(np.float64) ** 2, axis=0)),
    )
    errors = []
    for penalty in NET_PENALTIES:
        solved = ElasticNet(penalty, l1_ratio=BALANCE, fit_intercept=False, max_iter=100_000, tol=1e-8)
        early = np.sqrt(np.mean(x[:1_600, :2].astype(np.float64) ** 2, axis=0))
        solved.fit(x[:1_600, :2] / early, target[:1_600])
        errors.append(np.mean((solved.predict(x[1_600:, :2] / early) - target[1_600:]) ** 2))
    solved = ElasticNet(NET_PENALTIES[int(np.argmin(errors))], l1_ratio=BALANCE, fit_intercept=False, tol=1e-8)
    assert net == pytest.approx([*solved.fit(x[:, :2] / scale, target).coef_ / scale, 0], abs=1e-4)


def test_hardly_anything_to_learn_from():
    assert elastic_net(np.ones((0, 2), np.float32), np.empty(0)).tolist() == [0, 0, 0.5]
    assert elastic_net(np.ones((1, 2), np.float32), np.array([0.3])).tolist() == [0, 0, 0.3]
    assert elastic_net(np.ones((1, 2), np.float32), np.array([0.3]), constant=False).tolist() == [0, 0, 0]
    graph = forum()
    empty = DeepWalk(dim=4).fit(graph.before(graph.time[0]))
    assert empty.predict_toe([0], [1], [0.0], graph=graph, unit="squashed").tolist() == [0.5]
    assert empty.score_links([0], [1], [0.0], graph=graph).tolist() == [0]
