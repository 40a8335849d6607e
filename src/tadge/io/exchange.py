"""A fitted model's vectors and its graph for other programs: all that they need in one file, none of which is code.

- atlas: a Parquet file for embedding-atlas, one row per node: `id`, `x` and `y` (the two main directions of the
  vectors), `vector`, `links`, `first` and `last` seen, and the rows of its nearest `neighbors`.
- pyg: a safetensors file of `src`, `dst`, `t` (days), `msg` (weights), and `x`, (N, D): what PyTorch Geometric's
  TemporalData takes; ids are `ids`, or for strings `id_bytes`, UTF-8 end to end, and `id_start`.
- networkx: node-link JSON, as networkx.node_link_graph reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tadge.arrays import Days, Ints, Vectors
from tadge.errors import ConfigError
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.io.vectors import vector_form, write_vectors
from tadge.storage.atomic import atomic_file
from tadge.units import dates_of_days

FILES = {
    "parquet": (".parquet",),
    "csv": (".csv", ".tsv"),
    "npz": (".npz",),
    "word2vec": (".txt", ".vec", ".w2v"),
    "pyg": (".safetensors",),
    "networkx": (".json",),
    "atlas": (".parquet",),
}
FORMATS = tuple(FILES)
NEAREST = 10  # neighbours that an atlas knows of each node


def export_format(path: Path, form: str | None) -> str:
    """Give the format of an export: the one that is named, or that of the file's name; complain before any work."""
    if form is None:
        suffix = path.suffix.lower()
        form = next((name for name, suffixes in FILES.items() if suffix in suffixes), None)
        if form is None:
            vector_form(path)  # complains
    if form not in FILES:
        raise ConfigError("unknown format", expected=", ".join(FORMATS), found=repr(form), where="form")
    if path.suffix.lower() not in FILES[form]:
        expected, cure = " or ".join(FILES[form]), f"call it {path.with_suffix(FILES[form][0]).name}"
        raise ConfigError(f"not a name for {form}", expected=expected, found=path.name, cure=cure, where=str(path))
    return form


def write_export(
    path: Path,
    form: str,
    graph: TemporalGraph,
    vectors: Vectors,
    at: float,
    about: Mapping[str, str],
    nearest: Callable[[Vectors, Ints, int], tuple[Ints, Vectors]],
) -> None:
    """Write vectors, (N, D), of all nodes of a graph as of a moment, and what the form has of the graph.

    Args:
        path: a name that `export_format` takes.
        form: of FORMATS.
        graph: nothing after `at` is written.
        vectors: (N, D).
        at: days.
        about: words to keep where the form has a place for them.
        nearest: finds the nearest neighbours of nodes.
    """
    known = graph.before(float(np.nextafter(at, np.inf)))
    if form == "atlas":
        _write_atlas(path, known, vectors, about, nearest)
    elif form == "pyg":
        _write_tensors(path, known, vectors, about)
    elif form == "networkx":
        _write_node_link(path, known, vectors, about)
    else:
        write_vectors(path, graph.ids, vectors, about)


def _moments(days: Days, clock: str) -> pl.Series:
    """Give moments as dates where there is a calendar; null where there is none."""
    seen = np.isfinite(days)
    column = dates_of_days(np.where(seen, days, 0.0)) if clock == "unix" else days
    return pl.Series(column).set(pl.Series(~seen), None)


def _seen(graph: TemporalGraph) -> tuple[Days, Days]:
    """Give when each node was first and last seen, (N,) each; infinite where never."""
    nodes = np.arange(graph.num_nodes)
    past = past_of(graph)
    return past.first, past.last_seen(nodes, np.full(nodes.size, np.inf))


def _write_atlas(
    path: Path,
    graph: TemporalGraph,
    vectors: Vectors,
    about: Mapping[str, str],
    nearest: Callable[[Vectors, Ints, int], tuple[Ints, Vectors]],
) -> None:
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    axes = axes[:, ::-1][:, :2] if axes.shape[1] > 1 else np.column_stack([axes, np.zeros(1)])
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    places = centred @ axes
    near, cosine = nearest(vectors, np.arange(len(vectors)), min(NEAREST, len(vectors) - 1))
    first, last = _seen(graph)
    ids = pl.Series(graph.ids, dtype=pl.String if graph.ids.dtype == object else pl.Int64)
    neighbours = [
        {"ids": row.tolist(), "distances": (1.0 - alike).tolist()}  # an atlas counts rows, from 0
        for row, alike in zip(near, cosine, strict=True)
    ]
    frame = pl.DataFrame(
        {
            "id": ids,
            "x": places[:, 0],
            "y": places[:, 1],
            "links": graph.degree,
            "first": _moments(first, graph.clock),
            "last": _moments(last, graph.clock),
            "neighbors": neighbours,
            "vector": pl.Series(vectors),
        }
    )
    if graph.bipartite:
        side = np.where(np.arange(graph.num_nodes) < graph.num_sources, "source", "target")
        frame = frame.with_columns(side=pl.Series(side.astype(object), dtype=pl.String))
    with atomic_file(path) as file:
        frame.write_parquet(file, metadata=dict(about))


def _write_tensors(path: Path, graph: TemporalGraph, vectors: Vectors, about: Mapping[str, str]) -> None:
    from safetensors.numpy import save

    from tadge.storage.graph_file import id_arrays

    arrays: dict[str, Any] = {
        "src": graph.src.astype(np.int64),
        "dst": graph.dst.astype(np.int64),
        "t": graph.time.copy(),
        "x": np.ascontiguousarray(vectors),
        **id_arrays(graph.ids),
    }
    if graph.weight is not None:
        arrays["msg"] = graph.weight.reshape(-1, 1).copy()
    with atomic_file(path) as file:
        file.write(save(arrays, dict(about)))


def _write_node_link(path: Path, graph: TemporalGraph, vectors: Vectors, about: Mapping[str, str]) -> None:
    names: list[Any] = graph.ids.tolist()
    if graph.bipartite:  # the same id may stand on both sides
        names = [["source" if node < graph.num_sources else "target", name] for node, name in enumerate(names)]
    nodes = [{"id": name, "vector": vector} for name, vector in zip(names, vectors.tolist(), strict=True)]
    columns = {"time": graph.time.tolist(), "toe": graph.toe.tolist()}
    if graph.weight is not None:
        columns["weight"] = graph.weight.tolist()
    edges, keys = [], dict[tuple[int, int], int]()
    for event, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
        pair = (u, v) if graph.directed else (min(u, v), max(u, v))
        keys[pair] = keys.get(pair, -1) + 1
        values = {name: column[event] for name, column in columns.items() if column[event] == column[event]}
        edges.append({"source": names[u], "target": names[v], "key": keys[pair], **values})
    content = {"directed": graph.directed, "multigraph": True, "graph": dict(about), "nodes": nodes, "edges": edges}
    with atomic_file(path, "w") as file:
        json.dump(content, file, ensure_ascii=False)
