from __future__ import annotations

import datetime as dt
import sys
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import tadge
from tadge import TemporalGraph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.data import TemporalData


@pytest.fixture
def graph():
    return TemporalGraph.from_arrays(
        ["a", "b", "c", "a"], ["b", "c", "a", "b"], [1.3e9, 1.3e9 + 60, 1.3e9 + 90.5, 1.4e9], [1.0, -2.0, 3.0, 4.5]
    )


def equal(one, other):
    assert one.ids.tolist() == other.ids.tolist()
    for name in ("src", "dst", "time", "toe", "weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.clock, one.directed) == (other.clock, other.directed)


def test_pandas_there_and_back(graph):
    frame = tadge.to_pandas(graph)
    assert list(frame.columns) == ["src", "dst", "unix_days", "toe_days", "weight"]
    equal(tadge.from_pandas(frame), graph)
    dates = tadge.to_pandas(graph, times="dates")
    assert dates["time"].iloc[0] == pd.Timestamp("2011-03-13 07:06:40")
    np.testing.assert_allclose(tadge.from_pandas(dates).time, graph.time, rtol=0, atol=1e-10)
    zoned = dates.assign(time=dates["time"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    np.testing.assert_allclose(tadge.from_pandas(zoned).time, graph.time, rtol=0, atol=1e-10)
    assert tadge.read_events(frame, quiet=True).num_events == 4


def test_pandas_columns_of_all_kinds():
    frame = pd.DataFrame({"src": [1, 2], "dst": [2.0, 3.0], "t": ["2015-01-01", "2015-01-02"]})
    graph = tadge.from_pandas(frame)
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.time.tolist() == [16436.0, 16437.0]
    category = pd.DataFrame({"src": pd.Categorical(["x", "y"]), "dst": ["y", "z"], "t": [1, 2]})
    assert tadge.from_pandas(category, unit="days").ids.tolist() == ["x", "y", "z"]
    missing = pd.DataFrame({"src": ["x", None], "dst": ["y", "z"], "t": [1, 2]})
    with pytest.raises(tadge.InputError, match="row 2: src"):
        tadge.from_pandas(missing)
    with pytest.raises(tadge.InputError, match="no event"):
        tadge.from_pandas(missing.head(0))
    with pytest.raises(tadge.InputError, match="named twice"):
        tadge.from_pandas(pd.DataFrame([[1, 2, 3]], columns=["src", "dst", "dst"]))
    with pytest.raises(tadge.InputError, match="not a table"):
        tadge.read_events([1, 2, 3])


def test_polars_there_and_back(graph):
    equal(tadge.from_polars(tadge.to_polars(graph)), graph)
    with pytest.raises(tadge.InputError, match="row 1: time"):
        tadge.from_polars(pl.DataFrame({"src": [1], "dst": [2], "time": [None]}))
    with pytest.raises(tadge.InputError, match="not a column of ids"):
        tadge.from_polars(pl.DataFrame({"src": [[1]], "dst": [2], "time": [3]}))


def test_networkx_there_and_back(graph):
    network = tadge.to_networkx(graph)
    assert isinstance(network, nx.MultiDiGraph)
    assert network.number_of_edges("a", "b") == 2
    assert network["a"]["b"][0]["time"] == graph.time[0]
    equal(tadge.from_networkx(network, unit="days"), TemporalGraph.from_arrays(
        *(tadge.to_polars(graph)[name] for name in ("src", "dst", "unix_days", "weight")), unit="days", clock="own"
    ))  # fmt: skip
    network.add_node("lonely")
    assert tadge.from_networkx(network, unit="days").describe()["isolated_nodes"] == 1


def test_networkx_times_and_kinds():
    network = nx.Graph()
    network.add_edge(2, 1, time=dt.datetime(2015, 1, 1, 12))
    network.add_edge(3, 2, time=dt.datetime(2015, 1, 2))
    graph = tadge.from_networkx(network)
    assert not graph.directed
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.time.tolist() == [16436.5, 16437.0]
    assert isinstance(tadge.to_networkx(graph), nx.MultiGraph)
    bipartite = TemporalGraph.from_arrays([0], [0], [5], bipartite=True)
    assert set(tadge.to_networkx(bipartite)) == {("source", 0), ("target", 0)}
    assert tadge.from_networkx(nx.DiGraph()).num_nodes == 0
    network.add_edge(1, 3)
    with pytest.raises(tadge.InputError, match="an edge has no time"):
        tadge.from_networkx(network)
    odd = nx.DiGraph()
    odd.add_edge("a", 1, time=3)
    with pytest.raises(tadge.InputError, match="nodes of mixed"):
        tadge.from_networkx(odd)
    plain = nx.DiGraph([(1, 2, {"time": 1.0}), (2, 3, {"time": 2.5})])
    with pytest.warns(tadge.TadgeWarning, match="nothing says the unit of the times: taken as seconds"):
        assert tadge.from_networkx(plain).time.tolist() == [1 / 86_400, 2.5 / 86_400]
    for times in ((1.0, "x"), ("soon", "late"), (-5, 3)):
        bad = nx.DiGraph([(1, 2, {"time": times[0]}), (2, 3, {"time": times[1]})])
        with pytest.raises(tadge.InputError, match="time"):
            tadge.from_networkx(bad)


def test_pyg_there_and_back(graph):
    data = tadge.to_pyg(graph)
    assert data.t.dtype == torch.float64  # half a second: whole seconds would lose it
    np.testing.assert_allclose(tadge.from_pyg(data).time, graph.time, rtol=0, atol=1e-10)
    whole = TemporalData(
        src=torch.tensor([0, 5]), dst=torch.tensor([5, 7]), t=torch.tensor([100, 200]), msg=torch.tensor([[1.0], [2.0]])
    )
    read = tadge.from_pyg(whole)
    assert read.ids.tolist() == [0, 5, 7]
    assert read.weight.tolist() == [1.0, 2.0]
    back = tadge.to_pyg(read)
    assert back.t.dtype == torch.int64
    assert back.t.tolist() == [100, 200]
    assert back.src.tolist() == [0, 1]  # node numbers
    with pytest.raises(tadge.InputError, match="no t"):
        tadge.from_pyg(TemporalData(src=torch.tensor([0]), dst=torch.tensor([1])))


def test_a_missing_package_is_named(graph, monkeypatch):
    for package, convert in (("networkx", tadge.to_networkx), ("pandas", tadge.to_pandas)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(
            tadge.MissingExtraError, match=rf"^{package} is not installed; pip install 'tadge\[interop\]'$"
        ) as caught:
            convert(graph)
        assert isinstance(caught.value, ImportError)
