from __future__ import annotations

import itertools

import numpy as np
import pytest
from decode import decode
from exact import CENTRALITIES, DIRECTIONS, REACHES, candidates, exact_shares, relative_error
from graphs import graphs, hub_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.walks import walk_probabilities
from tadge.walks.index import walk_index

KINDS = st.tuples(st.sampled_from(REACHES), st.sampled_from(CENTRALITIES), st.sampled_from(DIRECTIONS))


def has_links(graph):
    reverse = graph.toe_reverse
    return bool(np.any(~np.isnan(graph.toe))) or (reverse is not None and bool(np.any(~np.isnan(reverse))))


@settings(max_examples=400)
@given(graphs(), KINDS)
def test_probabilities_and_index_agree_with_exact_arithmetic(graph, kind):
    reach, centrality, direction = kind
    index = walk_index(graph, reach, direction, centrality) if has_links(graph) else None
    occurrence = 0
    for node in range(graph.num_nodes):
        for t in graph.tov(node).tolist():
            expected = candidates(graph, node, t, *kind)
            step = walk_probabilities(graph, node, t, *kind)
            keys = list(zip(step.events.tolist(), step.nodes.tolist(), step.tov.tolist(), strict=True))
            assert sorted(keys) == sorted(expected)
            exact = np.array([float(expected[key]) for key in keys])
            assert relative_error(step.probability, exact) <= 1e-9
            assert step.toe.tolist() == [abs(when - t) for when in step.tov.tolist()]
            if index is not None:
                used = dict(zip(*_keys(decode(index, occurrence)), strict=True))
                by_event = {(event, when): float(p) for (event, _, when), p in expected.items()}
                assert used.keys() == by_event.keys()
                assert (
                    relative_error(np.array([used[key] for key in by_event]), np.array(list(by_event.values()))) <= 1e-9
                )
            occurrence += 1


def _keys(decoded):
    events, time, probability = decoded
    return list(zip(events.tolist(), time.tolist(), strict=True)), probability.tolist()


@pytest.fixture(scope="module")
def hub():
    return hub_graph(1_000_000)


@pytest.mark.parametrize("reach", REACHES)
def test_a_hub_of_a_million_events_is_exact(hub, reach):
    index = walk_index(hub, reach, "forward", "degree")
    for place in range(hub.tov(0).size):
        t = hub.tov(0)[place]
        step = walk_probabilities(hub, 0, t, reach)
        expected = exact_shares(hub.degree[step.nodes], step.tov, t) if len(step) > 1 else np.ones(1)
        assert relative_error(step.probability, expected) <= 1e-9
        events, _, used = decode(index, place)
        assert events.tolist() == step.events.tolist()
        assert relative_error(used, expected) <= 1e-9


def test_backward_from_a_million_occurrences_is_exact():
    num = 1_000_000
    time = 1_289_241_911 + np.sort(np.random.default_rng(0).choice(200_000_000, num, replace=False)).astype(float)
    graph = TemporalGraph.from_arrays(
        np.append(np.zeros(num, np.int64), [1, 1]), np.append(np.full(num, 2), [0, 2]), np.append(time, [2e9, 2e9])
    )
    t = graph.tov(1)[-1]
    step = walk_probabilities(graph, 1, t, "future", "degree", "backward")
    expected = exact_shares(graph.degree[step.nodes], step.tov, t)
    assert len(step) == num + 1
    assert relative_error(step.probability, expected) <= 1e-9
    place = int(graph.tov_start[1]) + graph.tov(1).size - 1
    _, _, used = decode(walk_index(graph, "future", "backward", "degree"), place)
    assert relative_error(used, expected) <= 1e-9


@pytest.mark.parametrize("time", [[1_289_241_911.0, 1_289_241_911.001, 1_789_241_911.0], [0.0, 1e-5, 1e9 / 3]])
def test_a_delta_that_dwarfs_the_others_is_exact(time):
    graph = TemporalGraph.from_arrays([0, 1, 2], [3, 0, 0], time)
    t = graph.tov(0)[0]
    for reach in REACHES:
        step = walk_probabilities(graph, 0, t, reach)
        exact = np.array([float(p) for p in candidates(graph, 0, t, reach).values()])
        assert exact[1] < 1e-11
        assert relative_error(step.probability, exact) <= 1e-9
        assert relative_error(decode(walk_index(graph, reach, "forward", "degree"), 0)[2], exact) <= 1e-9


def test_the_papers_example():
    graph = TemporalGraph.from_arrays([0, 1, 2, 1, 2], [9, 0, 0, 5, 6], [0, 1, 3, 9, 9], unit="days")
    step = walk_probabilities(graph, 0, 0.0)
    assert step.nodes.tolist() == [1, 2]
    assert step.toe.tolist() == [1.0, 3.0]
    assert step.probability.tolist() == pytest.approx([3 / 4, 1 / 4])
    assert len(walk_probabilities(graph, 9, 0.0)) == 0


def test_bad_arguments_are_one_sentence():
    graph = TemporalGraph.from_arrays([0, 1], [1, 0], [0, 1], unit="days")
    with pytest.raises(InputError, match=r"unknown start; expected a ToV of node 0; found 0\.5"):
        walk_probabilities(graph, 0, 0.5)
    with pytest.raises(InputError, match="unknown node"):
        walk_probabilities(graph, 7, 0.0)
    for name, value in itertools.product(("reach", "centrality", "direction"), ("past",)):
        with pytest.raises(ConfigError, match=f"{name}: unknown choice"):
            walk_probabilities(graph, 0, 0.0, **{name: value})
