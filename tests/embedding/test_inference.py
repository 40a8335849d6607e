"""Nodes as of a moment: what they are made of, and that nothing later is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from graphs import graphs, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import joining_times
from small import network, rebuilt
from tadge.embedding import inference as asof
from tadge.embedding.inference import AsOf
from tadge.network.network import Network
from tadge.network.packing import Packing
from tadge.network.training_model import as_input
from tadge.units import squash

VARIANTS = [
    ("next", True),
    ("self", True),
    ("next", False),
    ("self", False),
    ("next", True, True),
    ("self", True, True),
]


def embedder(graph, queries="self", structure=True, skip=False, window=4, max_length=4, dim=4):
    """A random network with a random row for every node."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = Network(network(dim=dim, heads=2, queries=queries, structure=structure, skip=skip), max_length).eval()
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))  # at their initial values some test nothing
        table = torch.randn(graph.num_nodes + 2, dim)
    return AsOf(made, table, np.arange(graph.num_nodes), graph, window)


@pytest.fixture(autouse=True, params=[1, 3])
def share(request, monkeypatch):
    """Graphs are small here: let few occurrences share what they are compared with."""
    monkeypatch.setattr(asof, "SHARED_WINDOW", request.param)


class Plain:
    """Occurrences and chains from the events alone; every window in a forward pass of its own."""

    def __init__(self, of):
        graph, self.of = of.graph, of
        self.events = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True))
        self.tov = joining_times(self.events, graph.num_nodes, graph.tov_rule, graph.directed)
        self.all = sorted(((t, node) for node, times in enumerate(self.tov) for t in times))

    def chain(self, t, node):
        found = [(t, node)]
        while len(found) < self.of.network.max_length:
            t, node = found[0]
            for u, v, when in self.events:
                both = [(u, v)] if self.of.graph.directed else [(u, v), (v, u)]
                parents = [
                    (max(earlier), other)
                    for own, other in both
                    if when == t and own == node and (earlier := [one for one in self.tov[other] if one < t])
                ]
                if parents:
                    found.insert(0, parents[0])
                    break
            else:
                break
        return found

    def occurrence(self, t, node):
        before = [one for one in self.all if one[0] < t]
        before = before[: len(before) // asof.SHARED_WINDOW * asof.SHARED_WINDOW][-(self.of.window - 1) :]
        chains = [self.chain(*one) for one in [*before, (t, node)]]
        order = sorted(range(len(chains)), key=lambda k: -len(chains[k]))
        packing = Packing.of(torch.tensor([len(chains[k]) for k in order]))
        rows, toe = [], []
        for k in order:
            for step, (t, node) in enumerate(chains[k]):
                rows.append(node)
                toe.append(float(squash(t - chains[k][step - 1][0] if step else 0.0)))
        place = [order.index(k) for k in range(len(chains))]
        x = as_input(self.of.table)
        with torch.no_grad():
            made = self.of.network(x[rows], torch.tensor(toe), x[-2], packing, torch.tensor([place]))
        return made.nodes[packing.last_rows[place[-1]]].double().numpy()

    def node(self, node, at, count):
        times = [t for t in self.tov[node] if t <= at][-count:]
        return np.mean([self.occurrence(t, node) for t in times], axis=0) if times else None


@settings(max_examples=25)
@given(graphs(max_events=12), st.sampled_from(VARIANTS), st.data())
def test_a_node_is_the_mean_over_its_latest_occurrences(graph, variant, data):
    of = embedder(graph, *variant)
    plain, count = Plain(of), data.draw(st.integers(1, 3))
    moments = st.sampled_from([*graph.time.tolist(), graph.time[0] + 0.5, graph.time[-1] + 1])
    queries = data.draw(st.lists(st.tuples(st.integers(0, 5), moments), min_size=1, max_size=6))
    found = of.nodes(np.array([q[0] for q in queries]), np.array([q[1] for q in queries], np.float64), count)
    for vector, (node, at) in zip(found, queries, strict=True):
        expected = plain.node(node, at, count)
        if expected is None:
            expected = of._unknown()[0]
        np.testing.assert_allclose(vector, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("queries", "structure"), VARIANTS[:4])
def test_what_has_not_joined_is_one_unknown_vertex(queries, structure):
    of = embedder(random_graph(), queries, structure)
    with torch.no_grad():
        x, packing = as_input(of.table), Packing.of(torch.tensor([1]))
        alone = of.network(x[-1:], torch.zeros(1), x[-2], packing, torch.tensor([[0]])).nodes[0].numpy()
    early = np.full(30, of.graph.time[0] - 1)
    found = of.nodes(np.arange(30), early, 5)
    np.testing.assert_allclose(found, np.tile(alone, (30, 1)), rtol=1e-5, atol=1e-6)
    assert of.nodes(np.empty(0, np.int64), np.empty(0), 5).shape == (0, 4)


# -- the future is shut ------------------------------------------------------------------------------------------------


def later_is_other(graph, at, rng):
    """Keep what happened until `at`; let something else happen after it."""
    past = graph.time <= at
    more = int(rng.integers(0, 2 * graph.num_events))
    ends = rng.integers(0, graph.num_nodes, (2, more))
    after = np.maximum(np.nextafter(at, np.inf), at + rng.exponential(3.0, more) * (rng.random(more) < 0.9))
    columns = zip((graph.src[past], graph.dst[past], graph.time[past]), (*ends, after), strict=True)
    return rebuilt(graph, *(np.concatenate(each) for each in columns))


@settings(max_examples=60)
@given(graphs(max_events=30), st.sampled_from(VARIANTS), st.data())
def test_whatever_happens_later_changes_no_bit(graph, variant, data):
    at = data.draw(st.sampled_from(sorted({*graph.time.tolist(), graph.time[0] + 0.5})))
    count, seed = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 1000))
    nodes, moments = np.arange(6), np.full(6, at)
    whole = embedder(graph, *variant)
    expected = whole.nodes(nodes, moments, count)
    others = graph.before(np.nextafter(at, np.inf)), later_is_other(graph, at, np.random.default_rng(seed))
    for other in others:
        found = AsOf(whole.network, whole.table, whole.rows, other, whole.window).nodes(nodes, moments, count)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("queries", ["next", "self"])
def test_a_larger_graph_in_many_blocks(directed, queries, monkeypatch):
    """The result does not depend on the blocks, nor on who else is asked."""
    of = embedder(random_graph(directed=directed), queries)
    nodes, at = np.arange(30), np.full(30, np.inf)
    whole = of.nodes(nodes, at, 5)
    alone = np.concatenate([of.nodes(nodes[k : k + 1], at[:1], 5) for k in range(30)])
    np.testing.assert_allclose(alone, whole, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(asof, "EMBEDDED_AT_ONCE", 7)
    np.testing.assert_allclose(of.nodes(nodes, at, 5), whole, rtol=1e-4, atol=1e-5)
    twice = of.nodes(np.concatenate([nodes, nodes[::-1]]), np.concatenate([at, at]), 5)
    np.testing.assert_allclose(twice[30:][::-1], whole, rtol=1e-4, atol=1e-5)


def test_it_does_look_at_the_past():
    """The property above would hold of a constant: here it is what is not constant."""
    graph = random_graph()
    of, nodes = embedder(graph), np.arange(30)
    cuts = np.quantile(graph.time, [0.2, 0.5, 0.8])
    vectors = [of.nodes(nodes, np.full(30, cut), 3) for cut in cuts]
    for one, other in pairwise(vectors):
        assert (np.abs(one - other).max(axis=1) > 1e-3).mean() > 0.8
    past = later_is_other(graph, graph.time[0], np.random.default_rng(0))
    other = AsOf(of.network, of.table, of.rows, past, of.window).nodes(nodes, np.full(30, cuts[1]), 3)
    assert (np.abs(other - vectors[1]).max(axis=1) > 1e-3).mean() > 0.8
