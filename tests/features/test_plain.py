"""Questions and features, against plain loops over the events."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given
from hypothesis import strategies as st

from brute import joining_times, toe_of
from tadge.features.columns import PLAIN_COLUMNS
from tadge.features.pairs import timed_pairs
from tadge.features.plain import NEVER, joined_to, plain_columns


class Plain:
    """A graph as plain rows (src, dst, time, squashed ToE or None), in both directions where it has none."""

    def __init__(self, graph):
        events = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True))
        self.tov = joining_times(events, graph.num_nodes, graph.tov_rule, graph.directed)
        self.rows = []
        for number, (u, v, t) in enumerate(events):
            for one, other in [(u, v)] if graph.directed or u == v else [(u, v), (v, u)]:
                toe = toe_of(other, t, self.tov)
                self.rows.append((one, other, t, None if toe is None else 2 * math.atan(toe) / math.pi, number))

    def questions(self):
        return [
            (u, v, max(x for x in self.tov[v] if x < t), toe, k) for u, v, t, toe, k in self.rows if toe is not None
        ]

    def joined_to(self, u, v, at):
        """Did v link to u at the latest of its joining times?"""
        joined = [t for t in self.tov[v] if t <= at]
        return bool(joined) and any((a, b, t) == (v, u, joined[-1]) for a, b, t, _, _ in self.rows)

    def features(self, u, v, at):
        past = [row for row in self.rows if row[2] <= at]

        def since(rows):
            return at - max(row[2] for row in rows) if rows else NEVER

        def mean_and_last(rows):
            toes = [row[3] for row in rows if row[3] is not None]
            return [sum(toes) / len(toes), toes[-1]] if toes else [NEVER, NEVER]

        def gaps(rows):
            times = [row[2] for row in rows]
            steps = [b - a for a, b in pairwise(times)]
            return [steps[-1], sum(steps) / len(steps)] if steps else [NEVER, NEVER]

        acts, received = ([[row for row in past if row[end] == node] for node in (u, v)] for end in (0, 1))
        found = []
        for one, other in zip(acts, received, strict=True):
            found += [since(one), since(other), *gaps(one), *mean_and_last(one), *mean_and_last(other)]
        counts = [[len(rows) for rows in kind] for kind in (acts, received)]
        found += [(a + 1) / (a + r + 2) for a, r in zip(*counts, strict=True)]
        found += [(one + 1) / (other + 1) for one, other in counts]
        back, forth = ([row for row in past if row[:2] == pair] for pair in ((v, u), (u, v)))
        return [*found, self.joined_to(u, v, at), since(back), since(forth), len(back), len(forth)]


@st.composite
def asked(draw):
    graph = draw(graphs(max_events=25))
    times = [*graph.time.tolist(), graph.time[0] - 1, graph.time[-1] + 1, graph.time[0] + 0.5]
    rows = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from(times)), max_size=12))
    src, dst = (np.array([row[k] for row in rows], np.int64) for k in (0, 1))
    return graph, src, dst, np.array([row[2] for row in rows], np.float64)


@given(asked())
def test_features_are_those_of_a_plain_loop(given_):
    graph, src, dst, at = given_
    plain = Plain(graph)
    found = plain_columns(graph, src, dst, at)
    assert found.shape == (src.size, len(PLAIN_COLUMNS))
    for q, pair in enumerate(zip(src.tolist(), dst.tolist(), at.tolist(), strict=True)):
        expected = plain.features(*pair)
        for name, one, other in zip(PLAIN_COLUMNS, found[q], expected, strict=True):
            assert one == pytest.approx(float(other), rel=1e-9, abs=1e-12), name
        assert joined_to(graph, src, dst, at)[q] == plain.joined_to(*pair)


@given(graphs(max_events=25))
def test_questions_are_those_of_a_plain_loop(graph):
    expected = Plain(graph).questions()
    found = timed_pairs(graph)
    assert found.src.tolist() == [row[0] for row in expected]
    assert found.dst.tolist() == [row[1] for row in expected]
    assert found.at.tolist() == [row[2] for row in expected]
    np.testing.assert_allclose(found.toe, [row[3] for row in expected], rtol=1e-12)


@given(graphs(max_events=15, unix=False), st.data())
def test_questions_of_chosen_events_stand_as_often_as_they_are_named(graph, data):
    events = data.draw(st.lists(st.integers(0, graph.num_events - 1), max_size=10))
    expected = [row[:3] for row in Plain(graph).questions() for _ in range(events.count(row[4]))]
    found = timed_pairs(graph, events=np.array(events, np.int64))
    assert list(zip(found.src.tolist(), found.dst.tolist(), found.at.tolist(), strict=True)) == expected


def test_nothing_has_happened():
    graph = random_graph()
    nodes, at = np.arange(graph.num_nodes), np.full(graph.num_nodes, graph.time[0])
    empty = graph.before(graph.time[0])
    assert timed_pairs(empty).toe.size == 0
    assert not joined_to(empty, nodes, nodes, at).any()
    found = dict(zip(PLAIN_COLUMNS, plain_columns(empty, nodes, nodes, at).T, strict=True))
    assert (found["since src acted"] == NEVER).all()
    assert (found["share of acts of dst"] == 0.5).all()
    assert (found["links src to dst"] == 0).all()
