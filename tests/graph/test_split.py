from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.graph.split import split_by_time

rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 30)), min_size=1, max_size=60)


def graph_of(events, **options):
    src, dst, time = (np.array(column) for column in zip(*events, strict=True))
    return TemporalGraph.from_arrays(src, dst, time, unit="days", ids=range(6), **options)


@given(rows, st.booleans(), st.sampled_from([(0.7, 0.15), (0.5, 0.25), (0.1, 0.8)]))
def test_parts_follow_each_other_and_see_nothing_later(events, directed, shares):
    graph = graph_of(events, directed=directed)
    try:
        split = split_by_time(graph, *shares)
    except InputError as error:
        assert "the split leaves a part empty" in str(error)
        return
    parts = split.train, split.validation, split.test
    assert np.concatenate([part.time for part in parts]).tolist() == graph.time.tolist()
    assert np.array_equal(np.concatenate([part.toe for part in parts]), graph.toe, equal_nan=True)
    assert split.train.time[-1] < split.validation_from == split.validation.time[0]
    assert split.validation.time[-1] < split.test_from == split.test.time[0]
    assert split.train.tov_times.max() < split.validation_from
    assert split.validation.tov_times.max() < split.test_from
    assert split.train.num_events <= shares[0] * graph.num_events + 1
    assert all(part.num_nodes == graph.num_nodes for part in parts)


def test_shares_are_kept():
    graph = graph_of([(i % 5, (i + 1) % 5, i) for i in range(1_000)])
    split = split_by_time(graph)
    assert [part.num_events for part in (split.train, split.validation, split.test)] == [700, 150, 150]


def test_an_instant_goes_to_the_later_part():
    graph = graph_of([(0, 1, t) for t in (0, 1, 2, 3, 3, 3, 4, 5, 6, 7)])
    split = split_by_time(graph, 0.5, 0.3)
    assert split.train.time.tolist() == [0, 1, 2]
    assert split.validation.time.tolist() == [3, 3, 3, 4, 5]


def test_bad_shares_are_one_sentence():
    graph = graph_of([(0, 1, t) for t in range(10)])
    for shares in ((0.7, 0.3), (0.0, 0.5), (0.5, 0.0), (0.9, 0.9)):
        with pytest.raises(InputError, match="the shares do not fit; expected shares above 0"):
            split_by_time(graph, *shares)
    with pytest.raises(ConfigError, match="train: value too large"):
        split_by_time(graph, 7, 0.1)
    with pytest.raises(
        InputError, match="the split leaves a part empty; expected events in all three parts; found 0, 0 and 3 of 3"
    ):
        split_by_time(graph_of([(0, 1, 4)] * 3))
    with pytest.raises(InputError, match="the split leaves a part empty"):
        split_by_time(TemporalGraph.from_arrays([], [], [], ids=[0]))
