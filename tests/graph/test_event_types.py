"""Types of events go with their events: in any order, through views and files, and into the fingerprint."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import tadge
from small import forum, rebuilt
from tadge.auditing.worlds import doubled, scrambled
from tadge.graph import TemporalGraph
from tadge.graph.event_types import encode_types
from tadge.graph.views import both_directions
from tadge.storage.graph_file import graph_arrays, graph_from
from tadge.walks.split import without_events

NAMES = np.array(["ask", "close", "reply", None], object)


def typed(seed=0, **changes):
    graph, rng = forum(), np.random.default_rng(seed)
    return rebuilt(graph, type=NAMES[rng.integers(0, 4, graph.num_events)], **changes)


def by_name(graph):
    return graph.types.by_name(graph.num_events).tolist()


def test_codes_are_places_in_sorted_names():
    found = encode_types(["b", "a", "", None, " b "])
    assert found.names == ("a", "b")
    assert found.code.tolist() == [1, 0, -1, -1, 1]
    assert encode_types([3, 1, 3]).names == ("1", "3")
    assert encode_types(np.array([3.0, np.nan])).names == ("3",)
    assert encode_types(pl.Series(["x", None])).code.tolist() == [0, -1]


def test_what_is_no_type_is_refused():
    with pytest.raises(tadge.InputError, match=r"type: not a list of types; expected strings or integers"):
        encode_types([0.5, 1.5])
    with pytest.raises(tadge.InputError, match="type: not a list of types"):
        encode_types([[1, 2]])
    with pytest.raises(tadge.InputError, match="too many types"):
        encode_types(np.arange(40_000))
    with pytest.raises(tadge.InputError, match=r"columns differ in length; .*type 1"):
        TemporalGraph.from_arrays([1, 2], [2, 1], [1, 2], type=["a"])


def test_types_are_sorted_with_their_events():
    rng = np.random.default_rng(0)
    time, kinds = rng.integers(0, 50, 200), rng.integers(0, 3, 200)
    graph = TemporalGraph.from_arrays(rng.integers(0, 9, 200), rng.integers(0, 9, 200), time, type=kinds)
    order = np.argsort(time, kind="stable")
    assert by_name(graph) == [str(kind) for kind in kinds[order]]
    assert not graph.type.flags.writeable


def test_views_keep_types_and_only_their_own():
    graph = typed()
    names, cut = by_name(graph), float(graph.time[300])
    assert by_name(graph.before(cut)) == names[:300]
    assert by_name(graph.between(cut, np.inf)) == names[300:]
    assert by_name(without_events(graph, np.arange(graph.num_events) % 2 == 0)[0]) == names[::2]
    shop = TemporalGraph.from_arrays([1, 2, 1], [1, 1, 2], [1, 2, 3], type=["x", "y", "x"], bipartite=True)
    assert by_name(both_directions(shop)) == ["x", "y", "x"]


def test_the_fingerprint_is_as_before_without_types_and_another_with_them():
    plain = forum()
    assert plain.type is None
    assert plain.fingerprint == rebuilt(plain).fingerprint
    assert len({plain.fingerprint, typed().fingerprint, typed(1).fingerprint}) == 3
    renamed = rebuilt(plain, type=np.array(["A", "B", "C", None], object)[typed().type])
    assert renamed.fingerprint != typed().fingerprint


def test_types_are_kept_on_disk():
    graph = typed()
    tensors, meta = graph_arrays(graph)
    again = graph_from(tensors, json.loads(json.dumps(meta)))
    assert again.fingerprint == graph.fingerprint
    assert by_name(again) == by_name(graph)
    assert "type_names" not in graph_arrays(forum())[1]
    for wrong in ({**meta, "type_names": ["a"]}, {**meta, "type_names": [1, 2, 3]}):
        with pytest.raises(tadge.InputError, match="other types of events"):
            graph_from(tensors, wrong)


@pytest.mark.parametrize("world", [scrambled, doubled])
def test_other_futures_have_other_types(world):
    graph = typed()
    cut = float(graph.time[400])
    other = world(graph, cut, np.random.default_rng(0))
    known = int(np.searchsorted(graph.time, cut, side="right"))
    assert by_name(other)[:known] == by_name(graph)[:known]
    assert by_name(other)[known : graph.num_events] != by_name(graph)[known:]
    assert other.type_names == graph.type_names


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_files_keep_types(tmp_path, suffix):
    graph = typed()
    path = tadge.write_events(graph, tmp_path / f"events{suffix}")
    again = tadge.read_events(path, quiet=True, type="type")
    assert again.fingerprint == graph.fingerprint
    assert tadge.read_events(path, quiet=True).type is None


def test_a_column_of_a_file_is_read_by_name_or_number(tmp_path, capsys):
    path = tmp_path / "calls.csv"
    path.write_text("1,2,voice,100\n2,1,,90\n1,3,text,120\n3,1,voice,bad\n")
    graph = tadge.read_events(path, type=2, time=3, quiet=True, bad_rows="report", unit="s")
    assert graph.type_names == ("text", "voice")
    assert by_name(graph) == [None, "voice", "text"]
    with pytest.warns(tadge.TadgeWarning) as told:
        tadge.read_events(path, type=2, time=3, bad_rows="report", unit="s")
    assert any("of 3 events 1 have no type: the cell is empty" in str(each.message) for each in told)
    assert "type = column 2" in capsys.readouterr().err
    with pytest.raises(tadge.InputError, match="there is no such column for type"):
        tadge.read_events(path, type="kind")


def test_tables_and_networks_of_other_libraries_carry_types():
    pandas, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    frame = pandas.DataFrame({"src": [1, 2, 1], "dst": [2, 1, 3], "time_s": [1.0, 2.0, 3e5], "kind": ["a", None, "b"]})
    graph = tadge.from_pandas(frame.dropna(), type="kind")
    assert by_name(graph) == ["a", "b"]
    again = tadge.from_networkx(tadge.to_networkx(graph), unit="days", type="type")
    assert by_name(again) == ["a", "b"]
    assert tadge.from_networkx(tadge.to_networkx(graph), unit="days").type is None
    network = networkx.MultiDiGraph()
    network.add_edge(1, 2, time=1.0)
    network.add_edge(2, 1, time=5.0, type="x")
    assert by_name(tadge.from_networkx(network, unit="days", type="type")) == [None, "x"]
