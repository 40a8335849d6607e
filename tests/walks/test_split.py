from __future__ import annotations

import numpy as np
import pytest
from graphs import random_graph

import tadge
from tadge import WalkConfig, split_by_walks
from tadge.walks import PAD


@pytest.mark.parametrize("directed", [True, False])
def test_no_test_event_is_left_in_training(directed):
    graph = random_graph(num_nodes=60, num_events=3000, span=900, directed=directed, seed=1)
    split = split_by_walks(graph, WalkConfig(num_walks=300), seed=0)
    assert len(split.test) == 60
    test = set(split.test.events[split.test.events != PAD].tolist())
    assert test == set(split.test_events.tolist())
    assert not test & set(split.train_events.tolist())
    assert test | set(split.train_events.tolist()) == set(range(graph.num_events))
    original = split.original_events()
    assert not test & set(original[original != PAD].tolist())
    # as rows, not as numbers: undirected events must be gone in both directions
    rows = {(*sorted((int(graph.src[e]), int(graph.dst[e]))), float(graph.time[e])) for e in test}
    kept = split.train_graph
    left = [(*sorted((int(u), int(v))), float(t)) for u, v, t in zip(kept.src, kept.dst, kept.time, strict=True)]
    everything = [
        (*sorted((int(u), int(v))), float(t)) for u, v, t in zip(graph.src, graph.dst, graph.time, strict=True)
    ]
    for row in rows:
        gone = sum(everything[e] == row for e in test)
        assert left.count(row) == everything.count(row) - gone
    np.testing.assert_array_equal(kept.time, graph.time[split.train_events])
    np.testing.assert_array_equal(kept.ids, graph.ids)


def test_the_split_is_seeded_and_starts_are_apart():
    graph = random_graph(num_nodes=60, num_events=3000, span=900, seed=1)
    one, two = (split_by_walks(graph, WalkConfig(num_walks=300), seed=4, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.test.nodes, two.test.nodes)
    np.testing.assert_array_equal(one.train.nodes, two.train.nodes)
    other = split_by_walks(graph, WalkConfig(num_walks=300), seed=5)
    assert not np.array_equal(one.test_events, other.test_events)

    def begun(walks):
        return set(zip(walks.nodes[:, 0].tolist(), walks.tov[:, 0].tolist(), strict=True))

    assert not begun(one.test) & begun(one.train)


def test_tov_and_toe_of_the_training_graph_are_those_of_its_events():
    graph = random_graph(num_nodes=40, num_events=1500, span=600, seed=2)
    kept = split_by_walks(graph, WalkConfig(num_walks=200), seed=0).train_graph
    alone = tadge.TemporalGraph.from_arrays(kept.src, kept.dst, kept.time, unit="days", ids=range(40))
    np.testing.assert_array_equal(kept.toe, alone.toe)
    np.testing.assert_array_equal(kept.tov_times, alone.tov_times)


def test_real_data_split(data_dir):
    graph = tadge.read_events(data_dir / "bitcoin-otc.csv.gz", quiet=True)
    split = split_by_walks(graph, WalkConfig(num_walks=10_000), seed=0)
    assert 1_500 <= len(split.test) <= 2_000  # a fifth of the starts holds about 2,080 long enough
    assert split.train_graph.num_events + split.test_events.size == graph.num_events
    assert (split.train.lengths >= 3).all()


def test_an_impossible_split_is_refused():
    graph = random_graph()
    for share in (0.0, 1.0, 1e-9):
        with pytest.raises(tadge.InputError, match="leaves a part empty"):
            split_by_walks(graph, test_share=share)
    with pytest.raises(tadge.ConfigError, match="too large"):
        split_by_walks(graph, test_share=1.5)
