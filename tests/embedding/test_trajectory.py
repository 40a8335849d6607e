"""How nodes move: by links of their own alone, beside others, from what had happened by then."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from futures import other_futures
from small import forum, network, training, walking
from tadge import TADGE, InputError


@cache
def fitted():
    return TADGE(walking(), network(), training(epochs=1)).fit(forum(500), progress=False)


def cosines(model, vectors, at):
    whole = model.embed(at=at)
    unit = vectors - whole.mean(axis=0)
    return unit / np.linalg.norm(unit, axis=-1, keepdims=True)


def test_distances_are_those_of_vectors_as_of_moments():
    model = fitted()
    graph = model.graph_
    node, last = int(np.argmax(graph.degree)), float(graph.time[-1])
    found = model.trajectory(graph.ids[node], 6, k=3)
    first = min(graph.time[graph.src == node].min(initial=np.inf), graph.time[graph.dst == node].min(initial=np.inf))
    moments = np.linspace(first, last, 6)
    path = cosines(model, model.embed([graph.ids[node]] * 6, at=moments), last)
    expected = 1 - (path[1:] * path[:-1]).sum(axis=1)
    np.testing.assert_allclose(found.steps["moved"][1:], expected, atol=1e-5)
    np.testing.assert_allclose(found.steps["from_start"], 1 - path @ path[0], atol=1e-5)
    joined = graph.tov(graph.ids[node])
    assert found.steps["joinings"].sum() == (joined <= last).sum()
    near = model.similar(graph.ids[node], 3)
    listed = found.neighbours.set_index("neighbour")
    for neighbour, similarity in zip(near["neighbour"], near["similarity"], strict=True):
        assert listed.loc[neighbour, "now"] == pytest.approx(similarity, abs=1e-5)
    change = found.neighbours["change"].dropna()
    assert (np.diff(change) <= 0).all()


def test_a_node_without_links_does_not_move():
    model = fitted()
    graph = model.graph_
    last = np.array([graph.tov(node).max(initial=-np.inf) for node in graph.ids])
    quiet = graph.ids[int(np.argmin(np.where(np.isfinite(last), last, np.inf)))]
    steps = model.trajectory(quiet, 5, since=float(last[np.isfinite(last)].min()) + 1e-3).steps
    assert (steps["moved"][1:] == 0).all() and (steps["joinings"][1:] == 0).all()
    assert (steps["typical"].dropna() > 0.001).all() and (steps["surpassed"].dropna() == 0).all()


def test_no_future_changes_a_trajectory_and_many_are_as_each():
    model = fitted()
    graph = model.graph_
    cut = float(np.quantile(graph.time, 0.7))
    nodes = graph.ids[np.argsort(-graph.degree)[:2]].tolist()
    both = model.trajectory(nodes, 4, k=2, at=cut)
    for node in nodes:
        alone = model.trajectory(node, 4, k=2, at=cut)
        for table in ("steps", "neighbours"):
            rows = getattr(both, table)
            expected = getattr(alone, table)
            assert rows[rows["id"] == node].reset_index(drop=True).equals(expected)
    future = other_futures(graph, cut, np.random.default_rng(0))[2]
    steps = model.trajectory(nodes, 4, k=2, at=cut, graph=future).steps
    np.testing.assert_allclose(steps["moved"], both.steps["moved"], atol=1e-6)
    assert "Trajectory(8 steps" in repr(both) and "<table" in both._repr_html_()


def test_what_has_no_trajectory_is_one_sentence():
    model = fitted()
    with pytest.raises(InputError, match="nodes: unknown node"):
        model.trajectory(10**6)
    with pytest.raises(InputError, match=r"since: .* has no past to look at; expected before"):
        model.trajectory(3, since=float(model.graph_.time[-1]))
    with pytest.raises(ValueError, match="steps: value too small"):
        model.trajectory(3, 1)
