"""Columns of types against plain loops over the events, on graphs of every kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from futures import all_kinds, other_futures
from tadge.features.columns import TYPE_FIGURES, TYPE_LISTS
from tadge.features.link_columns import LATEST_EVENTS, LINK_WIDTH, NEVER_AGO, NODE_WIDTH, link_columns
from tadge.features.tables import Scales, tables_of
from tadge.features.type_columns import (
    MOST_LOOKED_AT,
    common_types,
    pair_columns,
    pair_width,
    places_of_ends,
    source_columns,
    source_width,
)
from tadge.graph import TemporalGraph

NAMES = ("call", "mail", "visit")
SCALES = Scales(0.01, (0.3, 1.0, 5.0, 40.0), types=("mail", "call"))  # visits are not looked at


@st.composite
def typed(draw):
    """Graphs of every kind whose events have types, or none."""
    graph, seed = draw(all_kinds()), draw(st.integers(0, 2**32 - 1))
    codes = np.random.default_rng(seed).integers(-1, len(NAMES), graph.num_events).astype(np.int16)
    return replace(graph, type=codes, type_names=NAMES)


def readings(graph):
    """List the events as (src, dst, time, type), in both directions where the graph has none."""
    for u, v, time, code in zip(
        graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), graph.type.tolist(), strict=True
    ):
        name = NAMES[code] if code >= 0 else None
        yield u, v, time, name
        if not graph.directed and u != v:
            yield v, u, time, name


def expected_row(graph, u, v, now):
    known = [event for event in readings(graph) if event[2] <= now]
    lists = {
        "acts of src": [event for event in known if event[0] == u],
        "links to src": [event for event in known if event[1] == u],
        "acts of dst": [event for event in known if event[0] == v],
        "links to dst": [event for event in known if event[1] == v],
        "links of src to dst": [event for event in known if event[:2] == (u, v)],
        "links of dst to src": [event for event in known if event[:2] == (v, u)],
    }
    row = []
    for name in TYPE_LISTS:
        latest = lists[name][-LATEST_EVENTS:]
        for wanted in SCALES.types:
            times = [event[2] for event in latest if event[3] == wanted]
            since = np.log1p((now - times[-1]) / SCALES.log_unit_days) if times else NEVER_AGO
            row += [since, bool(latest) and latest[-1][3] == wanted]
    return row


@settings(deadline=None)
@given(typed(), st.data())
def test_columns_are_those_of_plain_loops(graph, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    lowest, sources = graph.num_sources, graph.num_sources or graph.num_nodes
    src, dst = rng.integers(0, sources, 20), rng.integers(lowest, graph.num_nodes, 20)
    at = rng.choice([*graph.time.tolist(), -1e9, 1e9], 20)
    found = pair_columns(tables_of(graph, SCALES), src, dst, at)
    assert found.shape == (20, pair_width(2)) == (20, LINK_WIDTH + len(TYPE_LISTS) * len(TYPE_FIGURES) * 2)
    plain = tables_of(graph, replace(SCALES, types=()))
    assert found[:, :LINK_WIDTH].tobytes() == link_columns(plain, src, dst, at).tobytes()
    assert pair_columns(plain, src, dst, at).tobytes() == link_columns(plain, src, dst, at).tobytes()
    for row, question in zip(
        found[:, LINK_WIDTH:], zip(src.tolist(), dst.tolist(), at.tolist(), strict=True), strict=True
    ):
        np.testing.assert_allclose(row, expected_row(graph, *question), rtol=1e-5, atol=1e-6)


@settings(deadline=None)
@given(typed(), st.integers(0, 2**32 - 1))
def test_no_future_changes_a_bit(graph, seed):
    if not graph.num_events:
        return
    rng = np.random.default_rng(seed)
    at = float(rng.choice(graph.time))
    sources = graph.num_sources or graph.num_nodes
    src, dst = rng.integers(0, sources, 20), rng.integers(graph.num_sources, graph.num_nodes, 20)
    moments = rng.uniform(graph.time[0] - 1, at, 20)
    expected = pair_columns(tables_of(graph, SCALES), src, dst, moments).tobytes()
    for other in other_futures(graph, at, rng):
        assert pair_columns(tables_of(other, SCALES), src, dst, moments).tobytes() == expected


@settings(deadline=None, max_examples=20)
@given(typed())
def test_a_source_has_the_columns_that_tell_of_it(graph):
    tables, at = tables_of(graph, SCALES), np.full(3, 1e9)
    src = np.arange(3) % (graph.num_sources or graph.num_nodes)
    dst = np.full(3, graph.num_nodes - 1)
    found = source_columns(tables, src, at)
    assert found.shape == (3, source_width(2))
    assert found.flags.c_contiguous
    rows = pair_columns(tables, src, dst, at)
    assert found.tobytes() == rows[:, places_of_ends(2)[0]].tobytes()


@pytest.mark.parametrize("types", [0, 1, 5])
def test_each_column_tells_of_one_end_or_of_both(types):
    src, dst, both = places_of_ends(types)
    assert sorted([*src, *dst, *both]) == list(range(pair_width(types)))
    assert src.size == dst.size == source_width(types)
    assert src[:NODE_WIDTH].tolist() == list(range(NODE_WIDTH))


def graph_of(types):
    count = len(types)
    return TemporalGraph.from_arrays(np.zeros(count), np.ones(count), np.arange(count), type=types, unit="days")


def test_types_that_tell_events_apart_are_looked_at():
    assert common_types(graph_of(["a"] * 6 + ["b"] * 10 + [None] * 4)) == ("b", "a")
    assert common_types(graph_of(["a"] * 20)) == ()  # all have it
    assert common_types(graph_of(["a"] * 10 + [None] * 10)) == ("a",)  # some have none
    assert common_types(graph_of(["a"] * 199 + ["b"])) == ()  # hardly any has the other
    assert common_types(graph_of([None] * 20)) == ()
    many = common_types(graph_of([f"type {k % 9}" for k in range(900)]))
    assert many == tuple(f"type {k}" for k in range(MOST_LOOKED_AT))
    plain = TemporalGraph.from_arrays([0], [1], [0.0], unit="days")
    assert common_types(plain) == common_types(graph_of(["a", "b"]).before(0.0)) == ()
