"""What users ask: ids, moments and pairs at the door."""

from __future__ import annotations

import numpy as np
import pytest

import tadge
from tadge.graph import TemporalGraph
from tadge.graph.inputs import last_moment, moments_of, node_numbers, one_node, pairs_of
from tadge.graph.views import both_directions

GRAPH = TemporalGraph.from_arrays([1, 2, 3], [2, 3, 5], [10.0, 20.0, 30.0], unit="days")
SHOP = TemporalGraph.from_arrays([1, 2, 1], [1, 1, 7], [1.0, 2.0, 3.0], unit="days", bipartite=True)


def test_ids_and_numbers_cannot_be_confused():
    assert node_numbers(GRAPH, 3, "nodes").tolist() == [2]
    assert node_numbers(GRAPH, [5, 1], "nodes").tolist() == [3, 0]
    assert node_numbers(GRAPH, tadge.NodeNumbers([3, 0]), "nodes").tolist() == [3, 0]
    assert node_numbers(GRAPH, tadge.NodeNumbers(2), "nodes").tolist() == [2]
    assert node_numbers(GRAPH, None, "nodes").tolist() == [0, 1, 2, 3]
    assert one_node(GRAPH, 5, "src") == 3
    with pytest.raises(tadge.InputError, match=r"src: unknown node; .*found 4"):
        one_node(GRAPH, 4, "src")
    for several in (None, [1, 2], []):
        with pytest.raises(tadge.InputError, match="src: not a node; expected one id"):
            one_node(GRAPH, several, "src")


def test_columns_of_other_libraries_are_lists_of_ids():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (pandas.Series([5, 1]), polars.Series([5, 1])):
        assert node_numbers(GRAPH, column, "nodes").tolist() == [3, 0]
    names = TemporalGraph.from_arrays(["ann", "bob"], ["bob", "eve"], [1.0, 2.0])
    assert node_numbers(names, pandas.Series(["eve", "ann"]), "nodes").tolist() == [2, 0]


def test_pairs_look_on_their_own_side():
    src, dst, at = pairs_of(SHOP, [1, 2], [1, 7], None)
    assert (src.tolist(), dst.tolist(), at.tolist()) == ([0, 1], [2, 3], [3.0, 3.0])
    with pytest.raises(tadge.InputError, match=r"src: unknown source node; .*found 7"):
        pairs_of(SHOP, 7, 1, None)
    with pytest.raises(tadge.InputError, match="nodes: an id is on both sides"):
        node_numbers(SHOP, [1], "nodes")


def test_one_end_stands_for_all():
    src, dst, _ = pairs_of(GRAPH, 1, [2, 3, 5], None)
    assert (src.tolist(), dst.tolist()) == ([0, 0, 0], [1, 2, 3])
    with pytest.raises(tadge.InputError, match="src and dst differ in length"):
        pairs_of(GRAPH, [1, 2], [2, 3, 5], None)
    assert [part.size for part in pairs_of(GRAPH, [], [], None)] == [0, 0, 0]


def test_at_is_inclusive_and_before_is_not():
    assert moments_of(GRAPH, 20.0, 2).tolist() == [20.0, 20.0]
    assert moments_of(GRAPH, None, 2, before=20.0).tolist() == [np.nextafter(20.0, 0)] * 2
    assert moments_of(GRAPH, None, 2, before=[20.0, 30.0])[1] == np.nextafter(30.0, 0)
    assert moments_of(GRAPH, None, 1).tolist() == moments_of(GRAPH, np.inf, 1).tolist() == [30.0]
    with pytest.raises(tadge.ConfigError, match="before: two moments; expected at or before; found both"):
        moments_of(GRAPH, 20.0, 1, before=20.0)
    with pytest.raises(tadge.InputError, match="before: nothing had happened by then"):
        moments_of(GRAPH, None, 1, before=10.0)


def test_moments_far_after_the_end_are_a_mistake():
    assert moments_of(GRAPH, 390.0, 1).tolist() == [390.0]
    with pytest.raises(tadge.InputError, match=r"at: a moment far after the last event; .*found 400"):
        moments_of(GRAPH, 400.0, 1)
    unix = TemporalGraph.from_arrays([1, 2], [2, 3], [1_300_000_000, 1_300_900_000])
    with pytest.raises(
        tadge.InputError, match=r"as Unix time in s it is 2011-03-13 07:06:40: say at='2011-03-13 07:06:40'"
    ):
        moments_of(unix, 1_300_000_000, 1)
    assert moments_of(unix, "2011-03-13 07:06:40", 1)[0] == pytest.approx(unix.time[0])


def test_the_end_of_a_graph():
    assert last_moment(GRAPH) == 30.0
    assert last_moment(TemporalGraph.from_arrays([], [], [])) == 0.0
    assert last_moment(GRAPH.between(25.0, 28.0)) == 20.0  # no event, but joinings before


def test_users_and_items_are_read_in_both_directions():
    assert both_directions(GRAPH) is GRAPH
    both = both_directions(SHOP)
    assert not both.directed
    assert both.bipartite
    assert both is both_directions(SHOP)
    assert both.tov(tadge.NodeNumbers(2)).tolist() == [1.0, 2.0]
    assert np.array_equal(both.src, SHOP.src)


def test_an_id_of_the_other_side_is_no_stranger():
    sides = TemporalGraph.from_arrays(["ann", "bob"], ["x", "y"], [1.0, 2.0], unit="days", bipartite=True)
    assert node_numbers(sides, ["ann", "zoe"], "src", "source", unknown=True).tolist() == [0, -1]
    with pytest.raises(tadge.InputError, match=r"^src: this node never acts; .*the target 'x'; .*bipartite=False"):
        node_numbers(sides, ["ann", "x"], "src", "source", unknown=True)
    with pytest.raises(tadge.InputError, match=r"^dst: nobody acts on this node; .* found the source 'ann'"):
        node_numbers(sides, "ann", "dst", "target", unknown=True)


def test_moments_from_pandas():
    pandas = pytest.importorskip("pandas")
    unix = TemporalGraph.from_arrays([1, 2], [2, 3], [1_300_000_000, 1_400_900_000])
    for written in (["2012-01-01", "2013-01-01"], ["2012", "2013-01"]):
        assert moments_of(unix, pandas.Series(written), 2).tolist() == [15340.0, 15706.0]
    for zone in (None, "UTC"):
        dates = pandas.Series(pandas.to_datetime(["2012-01-01", "2013-01-01"])).dt.tz_localize(zone)
        assert moments_of(unix, dates, 2).tolist() == [15340.0, 15706.0]
