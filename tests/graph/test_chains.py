"""Chains back in time, against plain loops over events and joining times."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given
from hypothesis import strategies as st

from brute import joining_times
from tadge.arrays import PAD
from tadge.graph.chains import chains_of, latest


def back(chains, occurrences, max_length):
    """Nodes and times of chains, padded at the end."""
    path, lengths = chains.paths(occurrences, max_length)
    there = path != PAD
    return np.where(there, chains.node[path], PAD), np.where(there, chains.time[path], np.nan), lengths


def views(graph, draw):
    """The whole graph, what was before a moment, or what was between two."""
    times = [-1, 0, 2, 5, 9, 13]
    if graph.clock == "unix":
        low, high = graph.time[0], graph.time[-1]
        times = [low - 1, low, low + (high - low) / 3, high, high + 1]
    a, b = sorted((draw(st.sampled_from(times)), draw(st.sampled_from(times))))
    return draw(st.sampled_from([(graph, np.inf), (graph.before(b), b), (graph.between(a, b), b)]))


class Plain:
    """Occurrences are pairs (node, time), found from the events of the whole graph."""

    def __init__(self, whole, view, end):
        events = list(zip(whole.src.tolist(), whole.dst.tolist(), whole.time.tolist(), strict=True))
        tov = joining_times(events, whole.num_nodes, whole.tov_rule, whole.directed)
        self.tov = [[t for t in times if t < end] for times in tov]
        self.events = list(zip(view.src.tolist(), view.dst.tolist(), view.time.tolist(), strict=True))
        self.directed = whole.directed
        self.all = [(node, t) for node, times in enumerate(self.tov) for t in times]  # in order of number

    def parent(self, node, t):
        """The first event of this instant that leads here and whose other end had joined before."""
        for u, v, when in self.events:
            ends = [(u, v)] if self.directed or u == v else [(u, v), (v, u)]
            for own, other in ends:
                earlier = [one for one in self.tov[other] if one < t]
                if when == t and own == node and earlier:
                    return other, max(earlier)
        return None

    def chain(self, occurrence, most):
        found = [occurrence]
        while len(found) < most and (before := self.parent(*found[0])):
            found.insert(0, before)
        return found


@given(graphs(max_events=25), st.data(), st.integers(1, 6))
def test_chains_are_those_of_a_plain_loop(graph, data, most):
    view, end = views(graph, data.draw)
    plain, chains = Plain(graph, view, end), chains_of(view)
    assert list(zip(chains.node.tolist(), chains.time.tolist(), strict=True)) == plain.all
    nodes, times, lengths = back(chains, np.arange(len(plain.all)), most)
    for k, occurrence in enumerate(plain.all):
        n = lengths[k]
        expected = plain.chain(occurrence, most)
        assert list(zip(nodes[k, :n].tolist(), times[k, :n].tolist(), strict=True)) == expected
        assert (nodes[k, n:] == -1).all()
        assert np.isnan(times[k, n:]).all()
        assert (np.diff(times[k, :n]) > 0).all()


@given(graphs(max_events=25), st.data(), st.integers(1, 5))
def test_before_gives_what_is_strictly_earlier(graph, data, count):
    view, end = views(graph, data.draw)
    plain, chains = Plain(graph, view, end), chains_of(view)
    found = chains.before(np.arange(len(plain.all)), count)
    for k, (_, t) in enumerate(plain.all):
        earlier = sorted((one for one in plain.all if one[1] < t), key=lambda one: (one[1], one[0]))[-count:]
        assert [plain.all[place] for place in found[k] if place >= 0] == earlier
        assert (found[k][: count - len(earlier)] == -1).all()


@given(graphs(max_events=25), st.data(), st.integers(1, 4))
def test_latest_is_that_of_a_plain_loop(graph, data, count):
    view, end = views(graph, data.draw)
    plain = Plain(graph, view, end)
    moments = st.sampled_from(
        [*graph.time.tolist(), graph.time[0] - 1, graph.time[-1] + 1, graph.time[0] + 0.5, np.inf]
    )
    queries = data.draw(st.lists(st.tuples(st.integers(0, 5), moments), max_size=8))
    nodes, at = np.array([q[0] for q in queries], np.int64), np.array([q[1] for q in queries], np.float64)
    places, query = latest(view, nodes, at, count)
    expected = [
        ((node, t), q)
        for q, (node, when) in enumerate(queries)
        for t in [one for one in plain.tov[node] if one <= when][-count:]
    ]
    assert [(plain.all[place], q) for place, q in zip(places, query.tolist(), strict=True)] == expected


@pytest.mark.parametrize("directed", [True, False])
def test_a_larger_graph(directed):
    """Every step of a chain is an event that has just this ToE."""
    graph = random_graph(directed=directed)
    chains = chains_of(graph)
    nodes, times, lengths = back(chains, np.arange(graph.num_occurrences), 6)
    rows = zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True)
    toe = {}
    for k, (u, v, t) in enumerate(rows):
        toe.setdefault((u, v, t), graph.toe[k])
        if not directed:
            toe.setdefault((v, u, t), graph.toe_reverse[k])
    steps = 0
    for k in range(graph.num_occurrences):
        for i in range(1, lengths[k]):
            assert toe[nodes[k, i], nodes[k, i - 1], times[k, i]] == times[k, i] - times[k, i - 1]
            steps += 1
    assert steps > 1000
