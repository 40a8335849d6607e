"""Vectors that know next to nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graphs import graphs
from hypothesis import given
from hypothesis import strategies as st

from small import forum
from tadge.baselines import make


def test_majority_tells_nodes_apart_by_nothing():
    vectors = make("majority").fit(forum()).embed([3, 1, 2], [0.0, 1.0, 2.0], graph=forum())
    assert vectors.shape == (3, 1)
    assert (vectors == vectors[0]).all()


@given(graphs(max_events=25), st.floats(-1, 14))
def test_degree_and_age_are_those_of_a_plain_loop(graph, day):
    at = day if graph.clock == "own" else float(graph.time[0] + day)
    found = make("degree + age").fit(graph).embed(np.arange(6), np.full(6, at), graph=graph)
    rows = zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True)
    past = [row for row in rows if row[2] <= at]
    if not graph.directed:
        past += [(v, u, t) for u, v, t in past if u != v]
    for node in range(6):
        acts, received = [t for u, _, t in past if u == node], [t for _, v, t in past if v == node]
        first = min(acts + received, default=at)
        expected = [len(acts), len(received), at - first, at - max(acts, default=first)]
        assert found[node] == pytest.approx([math.log1p(one) for one in expected], abs=1e-12)
