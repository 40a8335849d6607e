from __future__ import annotations

import dataclasses
import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from brute import joining_times, toe_of
from tadge import TemporalGraph

events = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 8)), max_size=40)


def same(toe, expected):
    return all((np.isnan(a) and b is None) or a == b for a, b in zip(toe, expected, strict=True))


@given(events, st.sampled_from(["source", "any"]), st.booleans())
def test_tov_and_toe_follow_definition_1(rows, rule, directed):
    src, dst, time = (
        np.array(column, dtype=np.int64) for column in (zip(*rows, strict=True) if rows else ([], [], []))
    )
    graph = TemporalGraph.from_arrays(src, dst, time, unit="days", ids=range(6), tov=rule, directed=directed)
    tov = joining_times(rows, 6, rule, directed)
    in_order = sorted(rows, key=lambda row: row[2])  # stable: rows of one instant keep their order
    assert [tuple(row) for row in zip(graph.src, graph.dst, graph.time, strict=True)] == in_order
    assert [graph.tov(node).tolist() for node in range(6)] == tov
    assert same(graph.toe, [toe_of(v, t, tov) for _, v, t in in_order])
    if directed:
        assert graph.toe_reverse is None
    else:
        assert same(graph.toe_reverse, [toe_of(u, t, tov) for u, _, t in in_order])
    assert graph.degree.tolist() == [sum(node in row[:2] for row in rows) for node in range(6)]
    assert graph.num_occurrences == sum(map(len, tov))


@given(events, st.integers(-1, 9), st.integers(0, 10), st.sampled_from(["source", "any"]), st.booleans())
def test_views_keep_tov_and_toe_as_they_were_then(rows, a, width, rule, directed):
    graph = TemporalGraph.from_arrays(
        *(np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)),
        unit="days",
        ids=range(6),
        tov=rule,
        directed=directed,
    )
    view = graph.between(a, a + width)
    kept = [k for k in range(graph.num_events) if a <= graph.time[k] < a + width]
    assert view.num_nodes == 6
    assert view.time.tolist() == graph.time[kept].tolist()
    np.testing.assert_array_equal(view.toe, graph.toe[kept])
    if not directed:
        np.testing.assert_array_equal(view.toe_reverse, graph.toe_reverse[kept])
    for node in range(6):
        assert view.tov(node).tolist() == [t for t in graph.tov(node) if t < a + width]
    # what is known before t is what a graph of the earlier rows alone would hold
    earlier = [row for row in rows if row[2] < a]
    alone = TemporalGraph.from_arrays(
        *(np.array([row[i] for row in earlier], dtype=np.int64) for i in range(3)),
        unit="days",
        ids=range(6),
        tov=rule,
        directed=directed,
    )
    past = graph.before(a)
    np.testing.assert_array_equal(past.toe, alone.toe)
    np.testing.assert_array_equal(past.tov_times, alone.tov_times)
    np.testing.assert_array_equal(past.tov_start, alone.tov_start)
    np.testing.assert_array_equal(past.degree, alone.degree)


@pytest.mark.parametrize(
    ("name", "separator", "time", "weight", "expected"),
    [
        ("bitcoin-otc.csv.gz", ",", 3, 2, (5881, 35592, 30402, 31.427, 112.459, 40782)),
        ("sx-mathoverflow.txt.gz", " ", 2, None, (24818, 506550, 489883, 27.875, 128.127, 522793)),
        ("college-msg.txt.gz", " ", 2, None, (1899, 59835, 58538, 1.862, 8.722, None)),
    ],
)
def test_published_graphs_give_the_figures_of_a_plain_loop(data_dir, name, separator, time, weight, expected):
    table = pl.read_csv(data_dir / name, has_header=False, separator=separator)
    src, dst, stamps = (table.to_series(i).to_list() for i in (0, 1, time))
    graph = TemporalGraph.from_arrays(src, dst, stamps, None if weight is None else table.to_series(weight))
    found = graph.describe()
    nodes, num_events, with_toe, mean, std, occurrences = expected
    assert (found["nodes"], found["events"], found["events_with_toe"]) == (nodes, num_events, with_toe)
    assert round(found["mean_toe_days"], 3) == mean
    assert round(found["std_toe_days"], 3) == std
    # one pass over plain Python dictionaries, instant by instant
    last, tov, toe = {}, set(), []
    rows = sorted(zip(stamps, src, dst, strict=True), key=lambda row: row[0])
    i = 0
    while i < len(rows):
        j = i
        while j < len(rows) and rows[j][0] == rows[i][0]:
            t, u, v = rows[j]
            toe.append(t / 86400 - last[v] / 86400 if v in last else np.nan)
            j += 1
        for t, u, v in rows[i:j]:
            for node in (u,) if v in last else (u, v):
                last[node] = t
                tov.add((node, t))
        i = j
    np.testing.assert_array_equal(graph.toe, toe)
    assert graph.num_occurrences == len(tov) == (occurrences or len(tov))
    if name.startswith("bitcoin"):
        assert round(found["squashed_toe_std"], 4) == 0.4242
        assert round(found["mean_degree"], 3) == 3.654
        assert found["self_links"] == found["tied_events"] == found["repeated_events"] == 0


def test_describe_counts_what_is_there():
    graph = TemporalGraph.from_arrays(
        ["a", "b", "a", "b", "c"], ["b", "a", "b", "b", "a"], [1.0, 2.0, 3.0, 3.0, 9.0], unit="days"
    )
    found = graph.describe()
    assert found["distinct_pairs"] == 3  # a-b, b-b, a-c
    assert found["mean_degree"] == 1.0
    assert found["distinct_ordered_pairs"] == 4
    assert found["repeated_events"] == 1
    assert found["self_links"] == 1
    assert found["tied_events"] == 2
    # toe: b new; a joined at 1; b acted at 2; b->b also since 2; a acted at 3
    np.testing.assert_array_equal(graph.toe, [np.nan, 1, 1, 1, 6])
    assert found["mean_toe_days"] == 9 / 4
    assert found["squashed_toe_mean"] == pytest.approx((3 * 2 * np.arctan(1) / np.pi + 2 * np.arctan(6) / np.pi) / 4)
    assert found["max_degree"] == 4
    assert found["span_days"] == 8.0


def test_an_empty_graph_is_legal_and_describes_itself():
    graph = TemporalGraph.from_arrays([], [], [])
    assert (graph.num_nodes, graph.num_events) == (0, 0)
    assert graph.describe()["mean_toe_days"] is None
    assert graph.before(5).num_events == 0


def test_nothing_can_be_changed():
    graph = TemporalGraph.from_arrays([1, 2], [2, 3], [1, 2], [1.0, 2.0])
    for array in (graph.src, graph.dst, graph.time, graph.toe, graph.weight, graph.ids, graph.degree, graph.tov(1)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.src = graph.dst


def test_the_callers_arrays_stay_theirs():
    src, time, weight = np.array([1, 2]), np.array([2.0, 1.0]), np.array([1.0, 2.0])
    graph = TemporalGraph.from_arrays(src, src[::-1], time, weight, unit="days")
    src[0], time[0], weight[0] = 7, 7, 7  # neither frozen nor shared
    assert graph.time.tolist() == [1, 2]
    assert graph.weight.tolist() == [2, 1]


def test_the_fingerprint_tells_graphs_apart():
    def build(src=("a", "b"), time=(1, 2), **options):
        return TemporalGraph.from_arrays(list(src), ["b", "c"], list(time), **options).fingerprint

    others = [build(("x", "b")), build(time=(1, 3)), build(weight=[1, 2]), build(directed=False), build(tov="any")]
    assert len({build(), *others}) == 6
    assert build() == build(("b", "a")[::-1])
    assert build() == TemporalGraph.from_arrays(["b", "a"], ["c", "b"], [2, 1]).fingerprint


def test_ids_are_the_users_in_order_of_node_number():
    texts = TemporalGraph.from_arrays(["zoe", "bob"], ["bob", "ann"], [1, 2])
    assert texts.ids.tolist() == ["ann", "bob", "zoe"]
    assert texts.numbers(texts.ids).tolist() == [0, 1, 2]
    assert texts.tov("bob").size == 2
    numbers = TemporalGraph.from_arrays([10**12, -5], [-5, 3], [1, 2])
    assert numbers.ids.tolist() == [-5, 3, 10**12]
    assert int(numbers.numbers(10**12)) == 2
    assert numbers.numbers(np.array([3, -5])).tolist() == [1, 0]
    assert isinstance(numbers.numbers(3), tadge.NodeNumbers)
    assert numbers.tov(3).tolist() == numbers.tov(tadge.NodeNumbers(1)).tolist()
    with pytest.raises(
        tadge.InputError, match=r"unknown node; expected one of the graph's 3 ids; found 4; did you mean 3"
    ):
        numbers.numbers(4)
    for unknown, cure in (("3", "did you mean 3"), ("x", "such as -5"), (2.5, "did you mean 3")):
        with pytest.raises(tadge.InputError, match=f"an id of another type; expected ids that are integers.*{cure}"):
            numbers.numbers(unknown)
    for unknown, cure in ((3, "did you mean"), ("bib", "did you mean 'bob'")):
        with pytest.raises(tadge.InputError, match=f"(another type|unknown node).*{cure}"):
            texts.numbers(unknown)
    given_order = TemporalGraph.from_arrays([0, 1], [1, 0], [1, 2], ids=["z", "a", "m"])
    assert given_order.numbers(["z", "a", "m"]).tolist() == [0, 1, 2]
    assert given_order.describe()["isolated_nodes"] == 1


def test_bipartite_sides_are_separate_ranges():
    graph = TemporalGraph.from_arrays([0, 1, 0], [0, 0, 5], [1, 2, 3], bipartite=True)
    assert graph.num_nodes == 4
    assert graph.num_sources == 2
    assert graph.ids.tolist() == [0, 1, 0, 5]
    assert graph.src.tolist() == [0, 1, 0]
    assert graph.dst.tolist() == [2, 2, 3]
    assert (int(graph.numbers(0, "source")), int(graph.numbers(0, "target")), int(graph.numbers(5))) == (0, 2, 3)
    with pytest.raises(tadge.InputError, match="unknown source node"):
        graph.numbers(5, "source")
    with pytest.raises(
        tadge.InputError, match=r"an id is on both sides of this graph; found 0; say which: graph.numbers"
    ):
        graph.numbers([5, 0])
    mixed = TemporalGraph.from_arrays([0, 1], ["x", "y"], [1, 2], bipartite=True)
    assert mixed.ids.tolist() == ["0", "1", "x", "y"]


def test_units_and_clocks():
    unix = TemporalGraph.from_arrays([1], [2], [1_300_000_000])
    assert unix.time[0] == 1_300_000_000 / 86400
    assert unix.clock == "unix"
    assert TemporalGraph.from_arrays([1], [2], [1_300_000_000_000], unit="ms").time[0] == unix.time[0]
    assert TemporalGraph.from_arrays([1], [2], [500]).clock == "own"
    dates = TemporalGraph.from_arrays([1, 2], [2, 1], np.array(["2015-01-02", "2015-01-01"], "datetime64[s]"))
    assert dates.time.tolist() == [16436.0, 16437.0]
    assert dates.before("2015-01-02").num_events == 1
    assert dates.before(dt.date(2015, 1, 2)).num_events == 1
    assert dates.before(dt.datetime(2015, 1, 2, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))).num_events == 1
    assert dates.before(np.datetime64("2015-01-02T00:00:01")).num_events == 2
    assert dates.between(16436.0, 16437.0).num_events == 1  # the end is shut out: equal counts as later
    with pytest.raises(tadge.InputError, match="no calendar"):
        TemporalGraph.from_arrays([1], [2], [3]).before("2015-01-02")
    with pytest.raises(tadge.InputError, match="upside down"):
        dates.between(5, 4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(src=[1], dst=[1, 2], time=[1]), "differ in length"),
        (dict(src=[1], dst=[2], time=[np.nan]), "not a finite number"),
        (dict(src=[1], dst=[2], time=[np.inf]), "not a finite number"),
        (dict(src=[1], dst=[2], time=[1e300]), "makes no sense"),
        (dict(src=[1], dst=[2], time=["x"]), "not a list of numbers"),
        (dict(src=[1], dst=[2], time=np.array(["NaT"], "datetime64[s]")), "makes no sense"),
        (dict(src=[1.5], dst=[2], time=[1]), "not an integer"),
        (dict(src=[None], dst=[2], time=[1]), "mixed or unknown types"),
        (dict(src=[1, "a"], dst=[2, 2], time=[1, 2]), "mixed or unknown types"),
        (dict(src=[[1]], dst=[2], time=[1]), "plain list"),
        (dict(src=[1], dst=[2], time=[1], weight=[np.nan]), "not a finite number"),
        (dict(src=[1], dst=[2], time=[1], unit="fortnight"), "unknown time unit"),
        (dict(src=[1], dst=[2], time=[1], tov="never"), "joining times"),
        (dict(src=[1], dst=[2], time=[1], clock="sun"), "unknown clock"),
        (dict(src=[1], dst=[9], time=[1], ids=["a", "b"]), "not a node number"),
        (dict(src=[0], dst=[1], time=[1], ids=["a", "a"]), "stands twice"),
        (dict(src=[0], dst=[1], time=[1], ids=["a", "b"], bipartite=True), "ids are given"),
        (dict(src=np.array([2**64 - 1], np.uint64), dst=[1], time=[1]), "too large"),
        (dict(src=[True], dst=[1], time=[1]), "unknown type"),
    ],
)
def test_bad_arrays_meet_one_clear_sentence(arguments, sentence):
    with pytest.raises(tadge.TadgeError, match=sentence) as caught:
        TemporalGraph.from_arrays(**arguments)
    assert "\n" not in str(caught.value)


def test_a_notebook_shows_the_graph():
    graph = TemporalGraph.from_arrays(["<b>", "ann"], ["ann", "bob"], [1_300_000_000, 1_300_086_400])
    html = graph._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "2011-03-13" in html
    assert "2 events" in html
    assert TemporalGraph.from_arrays([], [], [])._repr_html_()
