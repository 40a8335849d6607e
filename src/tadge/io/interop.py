"""To and from the tables and graphs of other libraries; each is imported only where it is used."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from tadge.errors import InputError, MissingExtraError, TadgeWarning
from tadge.graph import TemporalGraph
from tadge.io.export import to_polars
from tadge.io.options import ReadOptions
from tadge.io.readers import read_aloud
from tadge.io.times import read_times
from tadge.units import PER_DAY, unit_name


def _need(package: str, extra: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what another package warns of on import is not our user's business
            return import_module(package)
    except ImportError:
        cure = f"pip install 'tadge[{extra}]'"
        raise MissingExtraError(f"{package} is not installed", cure=cure) from None


def from_polars(frame: pl.DataFrame, *, quiet: bool = False, **options: Any) -> TemporalGraph:
    """Build a graph from a polars DataFrame, as `read_events` does, and say in one line what was understood.

    Args:
        frame: a row for each event.
        quiet: neither print nor warn.
        **options: as for `read_events`.
    """
    return read_aloud(frame, ReadOptions.of(options), quiet)


def from_pandas(frame: Any, *, quiet: bool = False, **options: Any) -> TemporalGraph:
    """Build a graph from a pandas DataFrame, as `read_events` does, and say in one line what was understood.

    Args:
        frame: a row for each event.
        quiet: neither print nor warn.
        **options: as for `read_events`.
    """
    return read_aloud(frame, ReadOptions.of(options), quiet)


def to_pandas(graph: TemporalGraph, times: str = "days") -> Any:
    """Give the events as a pandas DataFrame with the user's own ids; columns and `times` as in `to_polars`."""
    pandas = _need("pandas", "interop")
    frame = to_polars(graph, times)
    return pandas.DataFrame({name: frame[name].to_numpy() for name in frame.columns})


# -- NetworkX ---------------------------------------------------------------------------------------------------------


def from_networkx(
    network: Any,
    time: str = "time",
    weight: str | None = "weight",
    unit: str | None = None,
    type: str | None = None,
) -> TemporalGraph:
    """Build a graph from a NetworkX graph whose edges carry a time; multi-edges are events of their own.

    Args:
        network: any NetworkX graph; an undirected one gives an undirected graph; nodes without an edge are kept.
        time: attribute with the time: numbers, date-times or ISO strings.
        weight: attribute with the weight; taken where every edge has it.
        unit: unit of numeric times; found where it is Unix time, else seconds.
        type: attribute with the type of an edge; none by default.
    """
    nodes = list(network.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    kinds_of_nodes = {node.__class__ for node in nodes}
    if kinds_of_nodes - {int} and kinds_of_nodes - {str}:
        found = ", ".join(sorted(kind.__name__ for kind in kinds_of_nodes))
        cure = "relabel the nodes: networkx.convert_node_labels_to_integers"
        raise InputError("nodes of mixed or unknown types", expected="all int or all str", found=found, cure=cure)
    order = np.array(sorted(range(len(nodes)), key=nodes.__getitem__), dtype=np.int64)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    edges = list(network.edges(data=True))
    for u, v, data in edges:
        if data.get(time) is None:
            cure = "name the attribute that holds it"
            raise InputError("an edge has no time", expected=f"attribute {time!r}", found=f"{u!r} - {v!r}", cure=cure)
    src = rank[[number[u] for u, _, _ in edges]] if edges else np.empty(0, np.int64)
    dst = rank[[number[v] for _, v, _ in edges]] if edges else np.empty(0, np.int64)
    kinds = {data[time].__class__ for _, _, data in edges}
    try:
        column = pl.Series([data[time] for _, _, data in edges], strict=len(kinds - {int, float}) > 0)
    except (TypeError, pl.exceptions.PolarsError):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError("times of mixed types", expected="one type", found=found, where=time) from None
    times = read_times(column, time, unit) if edges else None
    if times is not None and times.bad is not None:
        u, v, data = edges[int(np.argmax(times.bad))]
        raise InputError(
            "an edge's time makes no sense", expected=times.expected, found=f"{data[time]!r} at {u!r} - {v!r}"
        )
    if times is not None and times.assumed:
        what = f"nothing says the unit of the times: {times.description.removeprefix('plain numbers, ')}"
        warnings.warn(what, TadgeWarning, stacklevel=2)
    weights = None
    if weight is not None and edges and all(data.get(weight) is not None for _, _, data in edges):
        weights = [data[weight] for _, _, data in edges]
    return TemporalGraph.from_arrays(
        src,
        dst,
        np.empty(0) if times is None else times.days,
        weights,
        type=None if type is None else np.array([data.get(type) for _, _, data in edges], object),
        unit="days",
        ids=[nodes[i] for i in order],
        clock="own" if times is None else times.clock,
        directed=network.is_directed(),
    )


def to_networkx(graph: TemporalGraph) -> Any:
    """Give a MultiDiGraph (MultiGraph where undirected) with the user's ids; edges carry time, toe, weight and type.

    Times and ToEs are in days.

    In a bipartite graph the nodes are ("source", id) and ("target", id), because the same id may stand on both sides.
    """
    networkx = _need("networkx", "interop")
    network = networkx.MultiDiGraph() if graph.directed else networkx.MultiGraph()
    names: list[Any] = graph.ids.tolist()
    if graph.bipartite:
        names = [("source" if i < graph.num_sources else "target", name) for i, name in enumerate(names)]
    network.add_nodes_from(names)
    for e, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
        data: dict[str, Any] = {"time": float(graph.time[e])}
        if not np.isnan(graph.toe[e]):
            data["toe"] = float(graph.toe[e])
        if graph.weight is not None:
            data["weight"] = float(graph.weight[e])
        if graph.type is not None and graph.type[e] >= 0:
            data["type"] = graph.type_names[graph.type[e]]
        network.add_edge(names[u], names[v], **data)
    return network


# -- PyTorch Geometric ------------------------------------------------------------------------------------------------


def from_pyg(data: Any, unit: str = "s", directed: bool = True) -> TemporalGraph:
    """Build a graph from PyG `TemporalData`; `msg` becomes the weight where it is one number per event."""
    columns = {}
    for name in ("src", "dst", "t"):
        if getattr(data, name, None) is None:
            raise InputError("not temporal data", expected="src, dst and t", found=f"no {name}", where="TemporalData")
        columns[name] = getattr(data, name).detach().cpu().numpy()
    message = getattr(data, "msg", None)
    weight = None
    if message is not None and message.numel() == columns["t"].size:
        weight = message.detach().cpu().numpy().reshape(-1)
    return TemporalGraph.from_arrays(columns["src"], columns["dst"], columns["t"], weight, unit=unit, directed=directed)


def to_pyg(graph: TemporalGraph, unit: str = "s") -> Any:
    """Give PyG `TemporalData` over node numbers; `t` is int64 in `unit` where all are whole, else float64."""
    data = _need("torch_geometric.data", "gnn")
    torch = import_module("torch")
    t = graph.time * PER_DAY[unit_name(unit)]
    whole = np.round(t)
    if np.all(np.abs(t - whole) < 1e-3) and (not t.size or np.abs(t).max() < 2**53):
        t = whole.astype(np.int64)
    fields = {
        "src": torch.from_numpy(graph.src.astype(np.int64)),
        "dst": torch.from_numpy(graph.dst.astype(np.int64)),
        "t": torch.from_numpy(t),
    }
    if graph.weight is not None:
        fields["msg"] = torch.from_numpy(graph.weight.copy()).unsqueeze(1)
    return data.TemporalData(**fields)
