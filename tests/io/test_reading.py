"""A graph remembers how its file was read, and the next file is read alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import tadge
from tadge.graph.inputs import check_known
from tadge.graph.views import both_directions
from tadge.io.options import ReadOptions
from tadge.io.readers import read_like, read_with_report
from tadge.storage.graph_file import graph_arrays, graph_from

HEADER = "number,title,author,reviewer,when_ms,score\n"
ROWS = [f"{k},t{k},user{k % 7},user{k * 3 % 5},{40 * k},{k % 3}.5\n" for k in range(30)]
TOLD = {"src": "reviewer", "dst": "author", "time": "when_ms", "unit": "h"}


def test_the_next_file_is_read_alike(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text(HEADER + "".join(ROWS[:20]))
    second.write_text((HEADER + "".join(ROWS)).replace(",", ";"))
    graph, _ = read_with_report(first, ReadOptions.of(TOLD))
    assert graph.reading == {
        **TOLD,
        **{"weight": "score", "directed": True, "bipartite": False, "tov": "source"},
    }
    with pytest.raises(tadge.InputError, match="not clear"):
        read_with_report(second, ReadOptions())
    longer, _ = read_like(second, ReadOptions(), graph.reading)
    assert longer.reading == graph.reading
    assert np.array_equal(longer.time[:20], graph.time)
    assert longer.ids[longer.src[:20]].tolist() == graph.ids[graph.src].tolist()
    told, _ = read_like(second, ReadOptions(unit="days"), graph.reading)
    assert told.time[1] == 24 * longer.time[1]
    turned, _ = read_like(second, ReadOptions(src="author", dst="reviewer"), graph.reading)
    assert turned.reading["src"] == "author"


def test_a_column_of_types_is_read_again(tmp_path):
    first, second, bare = (tmp_path / name for name in ("first.csv", "second.csv", "bare.csv"))
    first.write_text("who,whom,at,how\na,b,1,mail\nb,c,2,call\n")
    second.write_text("who,whom,at,how\na,b,1,mail\nb,c,2,call\nc,a,3,\n")
    bare.write_text("who,whom,at\na,b,1\nb,c,2\n")
    graph, _ = read_with_report(first, ReadOptions(type="how", unit="days"))
    longer, _ = read_like(second, ReadOptions(), graph.reading)
    assert longer.types.by_name(3).tolist() == ["mail", "call", None]
    told, _ = read_like(bare, ReadOptions(src="who", dst="whom", time="at"), graph.reading)
    assert told.type is None and "type" not in told.reading


def test_other_columns_are_found_anew(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("a b 1300000000\nb c 1300000060\n")
    second.write_text("time,to,from\n1300000000,a,b\n1300000060,b,c\n")
    graph, _ = read_with_report(first, ReadOptions())
    assert (graph.reading["header"], graph.reading["src"], graph.reading["weight"]) == (False, "0", "none")
    other, report = read_like(second, ReadOptions(), graph.reading)
    assert report.columns == {"src": "from", "dst": "to", "time": "time"}
    assert other.clock == graph.clock


def test_a_reading_goes_with_the_graph():
    frame = pl.DataFrame({"src": ["a", "b", "a"], "dst": ["x", "y", "y"], "time": [1.0, 2.0, 3.0]})
    graph = tadge.from_polars(frame, quiet=True, unit="days", bipartite=True)
    plain = replace(graph, reading=None)
    assert graph.reading["unit"] == "days" and graph.fingerprint == plain.fingerprint
    assert graph.before(2.5).reading == both_directions(graph).reading == graph.reading
    tensors, meta = graph_arrays(graph)
    assert graph_from(tensors, meta).reading == graph.reading
    assert graph_from(tensors, {name: value for name, value in meta.items() if name != "reading"}).reading is None
    for bad in ({"src": 3}, ["src"], {"src": {"deep": "x"}}):
        with pytest.raises(tadge.InputError, match="another kind of reading"):
            graph_from(tensors, meta | {"reading": bad})
    assert tadge.TemporalGraph.from_arrays([1], [2], [3]).reading is None


def test_events_of_strangers():
    graph = tadge.TemporalGraph.from_arrays(list("abcd"), list("bcda"), [1, 2, 3, 4])
    assert check_known(graph, graph, "f") is None
    few = tadge.TemporalGraph.from_arrays(list("avwx"), list("vwxy"), [1, 2, 3, 4])
    assert check_known(few, graph, "f.csv").startswith("f.csv: only 1 of 5 nodes are known")
    none = tadge.TemporalGraph.from_arrays(list("vw"), list("wx"), [1, 2])
    with pytest.raises(
        tadge.InputError, match=r"f.csv: none of the nodes is known to the model; .*'a'; found 3 others"
    ):
        check_known(none, graph, "f.csv")
