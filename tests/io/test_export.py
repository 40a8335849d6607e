from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from tadge import TemporalGraph

FORMS = ["csv", "tsv", "jsonl", "parquet", "csv.gz", "csv.zst", "tsv.gz", "jsonl.gz"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("clock", ["unix", "own"])
@given(
    rows=st.lists(
        st.tuples(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Z")), min_size=1),
                  st.integers(0, 9), st.floats(0, 50_000), st.floats(-5, 5)), min_size=2, max_size=12
    )
)  # fmt: skip
def test_events_come_back_bit_for_bit(tmp_path_factory, form, clock, rows):
    path = tmp_path_factory.getbasetemp() / f"round.{form}"
    names = [f"n{name}" for name, *_ in rows]
    others = [f"m{v}" for _, v, *_ in rows]
    graph = TemporalGraph.from_arrays(
        names, others, [t for *_, t, _ in rows], [w for *_, w in rows], unit="days", clock=clock
    )
    tadge.write_events(graph, path)
    back = tadge.read_events(path, quiet=True)
    assert back.ids.tolist() == graph.ids.tolist()
    assert back.clock == clock
    for name in ("src", "dst", "time", "toe", "weight"):
        np.testing.assert_array_equal(getattr(back, name), getattr(graph, name))


def test_bipartite_graphs_and_numbers_come_back(tmp_path):
    graph = TemporalGraph.from_arrays([0, 1, 0], [0, 0, 5], [1.3e9, 1.4e9, 1.5e9], bipartite=True)
    tadge.write_events(graph, tmp_path / "e.csv")
    back = tadge.read_events(tmp_path / "e.csv", quiet=True)
    assert back.bipartite
    assert back.ids.tolist() == [0, 1, 0, 5]
    np.testing.assert_array_equal(back.dst, graph.dst)


def test_dates_where_there_is_a_calendar(tmp_path):
    graph = TemporalGraph.from_arrays(["a", "b"], ["b", "a"], [1.3e9, 1.3e9 + 0.25])
    frame = tadge.to_polars(graph, times="dates")
    assert frame["time"].dtype == pl.Datetime("us")
    assert str(frame["time"][1]) == "2011-03-13 07:06:40.250000"
    tadge.write_events(graph, tmp_path / "e.csv", times="dates")
    np.testing.assert_allclose(tadge.read_events(tmp_path / "e.csv", quiet=True).time, graph.time, rtol=0, atol=1e-11)
    own = TemporalGraph.from_arrays([1], [2], [3])
    with pytest.raises(tadge.ConfigError, match="no calendar"):
        tadge.to_polars(own, times="dates")
    with pytest.raises(tadge.ConfigError, match="form of times"):
        tadge.to_polars(own, times="moons")


@pytest.mark.parametrize("name", ["e.xlsx", "e", "e.parquet.gz", "e.gz"])
def test_unknown_kinds_of_file_are_refused_before_writing(tmp_path, name):
    with pytest.raises(tadge.ConfigError, match="unknown kind of file"):
        tadge.write_events(TemporalGraph.from_arrays([1], [2], [3]), tmp_path / name)
    assert not list(tmp_path.iterdir())
