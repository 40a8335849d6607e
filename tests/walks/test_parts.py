from __future__ import annotations

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given, settings

from tadge.config import WalkConfig
from tadge.errors import InputError
from tadge.walks import PAD
from tadge.walks.parts import PART_NAMES, mean_rows, walk_parts


@pytest.mark.parametrize("directed", [True, False])
def test_every_edge_keeps_the_toe_it_has_in_the_whole_graph(directed):
    graph = random_graph(60, 5_000, span=4_000, directed=directed)
    parts = walk_parts(graph, WalkConfig(num_walks=300), 1)
    changed = 0
    for name in PART_NAMES:
        walks = parts[name].walks
        for walk, step in zip(*parts[name].steps, strict=True):
            event, target, source = walks.events[walk, step + 1], walks.nodes[walk, step], walks.nodes[walk, step + 1]
            assert {graph.src[event], graph.dst[event]} == {target, source}
            moment = graph.time[event]
            acts = (graph.src == target) | (np.zeros(graph.num_events, bool) if directed else graph.dst == target)
            first = graph.time[(graph.src == target) | (graph.dst == target)].min()
            joined = max([first, *graph.time[acts & (graph.time < moment)]])
            assert walks.toe[walk, step + 1] == pytest.approx(moment - joined, abs=1e-9)
            changed += walks.toe[walk, step + 1] != walks.tov[walk, step + 1] - walks.tov[walk, step]
        assert np.array_equal(np.isnan(walks.toe), walks.events == PAD)
    assert changed > 0  # some targets had joined by an event of the test


@settings(max_examples=30)
@given(graphs(max_events=80))
def test_parts_share_no_walk_and_test_events_are_in_no_other(graph):
    try:
        parts = walk_parts(graph, WalkConfig(num_walks=200, min_length=2))
    except InputError:
        return
    events = {name: set(parts[name].walks.events[parts[name].walks.events >= 0].tolist()) for name in PART_NAMES}
    assert not events["test"] & (events["learn"] | events["choose"])
    for name in PART_NAMES:
        assert parts[name].graph.num_events == len(events[name])
        assert parts[name].graph.num_nodes == graph.num_nodes
        assert parts[name].steps[0].size == (parts[name].walks.lengths - 1).sum()
    assert len(parts["learn"].walks) + len(parts["choose"].walks) == len(parts.split.train)


def test_a_shortfall_is_said():
    parts = walk_parts(random_graph(60, 5_000, span=4_000), WalkConfig(num_walks=100_000))
    assert "test walks of 20,000" in parts.shortfall
    assert not walk_parts(random_graph(60, 5_000, span=4_000), WalkConfig(num_walks=300)).shortfall


def test_too_few_walks_are_one_sentence():
    with pytest.raises(InputError, match="too few walks with an edge to choose"):
        walk_parts(random_graph(60, 5_000, span=4_000), WalkConfig(num_walks=60))


def test_rows_are_averaged_by_node():
    parts = walk_parts(random_graph(60, 5_000, span=4_000), WalkConfig(num_walks=300))
    part = parts["test"]
    rows = np.random.default_rng(0).standard_normal((*part.walks.nodes.shape, 3)).astype(np.float32)
    rows[part.walks.nodes < 0] = np.nan
    means = mean_rows(part, rows)
    assert means.shape == (parts.graph.num_nodes, 3)
    for node in range(parts.graph.num_nodes):
        at = part.walks.nodes == node
        expected = rows[at].mean(0) if at.any() else np.zeros(3)
        np.testing.assert_allclose(means[node], expected, rtol=1e-4, atol=1e-5)
