from __future__ import annotations

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given, settings
from test_sampler import check_walks

from tadge.config import WalkConfig
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.io.readers import read_events
from tadge.walks import PAD, split_by_walks


@pytest.mark.parametrize("directed", [True, False])
def test_no_test_event_is_in_training(directed):
    graph = random_graph(60, 5_000, span=4_000, directed=directed)
    split = split_by_walks(graph, WalkConfig(num_walks=300), 1)
    assert len(split.test) == 60
    assert len(split.train) == 240
    used = np.unique(split.test.events[split.test.events != PAD])
    assert split.test_events.tolist() == used.tolist()
    assert sorted([*split.test_events, *split.train_events]) == list(range(graph.num_events))
    assert not np.isin(split.original_events(), split.test_events).any()
    check_walks(graph, split.test)
    check_walks(split.train_graph, split.train)
    for name in ("src", "dst", "time"):
        assert np.array_equal(getattr(split.train_graph, name), getattr(graph, name)[split.train_events])
    assert np.array_equal(split.train_graph.ids, graph.ids)
    assert split.train_graph.directed == directed
    originals = split.original_events()
    assert np.array_equal(originals == PAD, split.train.events == PAD)
    begun = {
        (graph.tov_times[place], int(np.searchsorted(graph.tov_start, place, "right")) - 1)
        for place in split.test.starts
    }
    trained = split.train_graph
    for place in split.train.starts:
        node = int(np.searchsorted(trained.tov_start, place, "right")) - 1
        assert (trained.tov_times[place], node) not in begun


@settings(max_examples=40)
@given(graphs(max_events=60))
def test_the_split_holds_on_any_graph_or_says_why_not(graph):
    try:
        split = split_by_walks(graph, WalkConfig(num_walks=40, min_length=2))
    except InputError as error:
        assert any(
            word in str(error) for word in ("leaves a part empty", "nothing to walk on", "no walk is long", "is empty")
        )
        return
    assert not np.isin(split.original_events(), split.test_events).any()


def test_the_same_seed_gives_the_same_split():
    graph = random_graph()
    one, two, other = (split_by_walks(graph, seed=seed, threads=threads) for seed, threads in ((1, 1), (1, 2), (2, 1)))
    assert np.array_equal(one.train.events, two.train.events)
    assert one.test_events.tolist() == two.test_events.tolist() != other.test_events.tolist()


def test_bad_shares_are_one_sentence():
    graph = random_graph()
    for share in (0.0, 1.0, 0.00001):
        with pytest.raises(InputError, match="the split leaves a part empty"):
            split_by_walks(graph, test_fraction=share)
    with pytest.raises(ConfigError, match="test_fraction: value too large"):
        split_by_walks(graph, test_fraction=1.5)


def test_tov_and_toe_of_the_training_graph_are_those_of_its_events():
    graph = random_graph(40, 1_500, span=600, seed=2)
    kept = split_by_walks(graph, WalkConfig(num_walks=200)).train_graph
    alone = TemporalGraph.from_arrays(kept.src, kept.dst, kept.time, unit="days", ids=range(40))
    np.testing.assert_array_equal(kept.toe, alone.toe)
    np.testing.assert_array_equal(kept.tov_times, alone.tov_times)


def test_real_data(data_dir):
    graph = read_events(data_dir / "bitcoin-otc.csv.gz", quiet=True)
    split = split_by_walks(graph)
    assert 1_500 <= len(split.test) <= 2_000  # a fifth of the starts holds about 2,080 that are long enough
    assert split.train_graph.num_events + split.test_events.size == graph.num_events
    assert (split.train.lengths >= 3).all()
