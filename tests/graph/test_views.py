"""A graph with and without the nodes that have no event: the same to whoever learns from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from futures import all_kinds
from small import forum, network, training, walking
from tadge import TADGE, ForecastConfig, Forecaster
from tadge.arrays import NodeNumbers
from tadge.baselines import BASELINES, make
from tadge.deepwalk.initialise import METHODS, initial_vectors
from tadge.graph import TemporalGraph
from tadge.graph.views import only_seen, seen_nodes, seen_targets


@given(all_kinds())
def test_only_nodes_with_an_event_remain(graph):
    small, nodes = only_seen(graph), seen_nodes(graph)
    assert set(nodes.tolist()) == {*graph.src.tolist(), *graph.dst.tolist()}
    assert set(seen_targets(graph).tolist()) == {v for v in nodes.tolist() if v >= graph.num_sources}
    assert small.ids.tolist() == graph.ids[nodes].tolist()
    for side in ("src", "dst"):
        assert small.ids[getattr(small, side)].tolist() == graph.ids[getattr(graph, side)].tolist()
    assert np.array_equal(small.toe, graph.toe, equal_nan=True) and np.array_equal(small.time, graph.time)
    for place, node in enumerate(nodes.tolist()):
        assert small.tov(NodeNumbers(place)).tolist() == graph.tov(NodeNumbers(node)).tolist()
        assert (place < small.num_sources) == (node < graph.num_sources)


def past(kind: str) -> TemporalGraph:
    """A view of the past of a graph whose later nodes stand among the earlier ones."""
    if kind == "shop":
        rng = np.random.default_rng(5)
        ends = rng.integers(0, 60, 500), rng.integers(0, 80, 500)
        graph = TemporalGraph.from_arrays(*ends, rng.integers(0, 150, 500), unit="days", bipartite=True)
        return graph.before(float(graph.time[60]))
    graph, rng = forum(directed=kind == "forum"), np.random.default_rng(0)
    number = rng.permutation(graph.num_nodes)
    columns = number[graph.src], number[graph.dst], graph.time
    turned = TemporalGraph.from_arrays(*columns, unit="days", clock=graph.clock, directed=graph.directed)
    return turned.before(float(turned.time[300]))


def questions(view, small, count=200):
    """Ask about nodes that were seen, by the numbers of both graphs, (n,) each."""
    rng, nodes = np.random.default_rng(1), seen_nodes(view)
    low = small.num_sources
    src, dst = rng.integers(0, low or nodes.size, count), rng.integers(low, nodes.size, count)
    at = np.sort(rng.choice(view.time, count))
    return [(NodeNumbers(nodes[src]), NodeNumbers(nodes[dst]), at), (NodeNumbers(src), NodeNumbers(dst), at)]


@pytest.mark.parametrize("kind", ["forum", "shop"])
def test_a_forecaster_learns_the_same_with_and_without_nodes_of_the_future(kind):
    view = past(kind)
    small = only_seen(view)
    assert small.num_nodes < view.num_nodes
    config = ForecastConfig(steps=4, batch_events=64, trees=3, leaf_samples=5)
    one, other = (Forecaster(config).fit(graph, progress=False) for graph in (view, small))
    asked = questions(view, small)
    for call in ("score_links", "predict_toe"):
        answers = [getattr(model, call)(*each) for model, each in zip((one, other), asked, strict=True)]
        assert np.array_equal(*answers), call
    horizons = [one.horizon_ / 3]
    within = [model.within(src, dst, horizons, at) for model, (src, dst, at) in zip((one, other), asked, strict=True)]
    assert np.array_equal(*within)


@pytest.mark.parametrize("negatives", [20, -1])
def test_tadge_learns_the_same_with_and_without_nodes_of_the_future(negatives):
    view = past("forum")
    small = only_seen(view)
    config = training(epochs=1, init="deepwalk", negatives=negatives)
    one, other = (TADGE(walking(num_walks=100), network(), config).fit(g, progress=False) for g in (view, small))
    rows = seen_nodes(view)
    assert torch.equal(one.table_[rows], other.table_[:-2]) and torch.equal(one.table_[-2:], other.table_[-2:])
    assert np.array_equal(one.embed(NodeNumbers(rows)), other.embed())
    asked = questions(view, small)
    assert np.array_equal(*(model.predict_toe(*each) for model, each in zip((one, other), asked, strict=True)))


@pytest.mark.parametrize("method", METHODS)
def test_initial_vectors_are_the_same_with_and_without_nodes_of_the_future(method):
    view = past("forum")
    vectors, rows = initial_vectors(view, method, 6, 3), seen_nodes(view)
    assert np.array_equal(vectors[rows], initial_vectors(only_seen(view), method, 6, 3))


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_learn_the_same_with_and_without_nodes_of_the_future(name):
    view = past("forum")
    small = only_seen(view)
    models, asked = [make(name, 0).fit(graph) for graph in (view, small)], questions(view, small)
    for call in ("embed", "score_links", "predict_toe", "within"):
        if not hasattr(models[0], call):
            continue
        answers = []
        for model, graph, (src, dst, at) in zip(models, (view, small), asked, strict=True):
            ends = (dst,) if call == "embed" else (src, dst, [3.0]) if call == "within" else (src, dst)
            answers.append(getattr(model, call)(*ends, at, graph=graph))
        assert np.array_equal(*answers), call
