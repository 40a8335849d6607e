"""A graph as plain arrays and back, so that it can be kept beside what was learned from it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.errors import InputError
from tadge.graph.graph import CLOCKS, TOV_RULES, TemporalGraph
from tadge.graph.ids import Ids

ARRAYS = ("src", "dst", "time", "toe", "weight", "type", "tov_start", "tov_times")
TYPE_DTYPE = np.dtype(np.int16)
NODE_DTYPE, INT_DTYPE, DAY_DTYPE = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)


def graph_arrays(graph: TemporalGraph) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Give all that a graph holds: arrays that share its memory, and JSON.

    ToVs are among them, for those of a view cannot be found from its events.

    Returns:
        Arrays by name: `src`, `dst`, `time`, `toe`, and `weight` and `type` where there are, (E,) each; `tov_start`,
        (N+1,); `tov_times`, (O,); `ids`, (N,), or for strings `id_bytes`, uint8 UTF-8 end to end, and `id_start`,
        (N+1,). And what is no array: clock, directed, tov_rule, num_sources, whether ids are "integers" or "strings",
        how its file was read, and the names of types where there are.
    """
    arrays = {name: getattr(graph, name) for name in ARRAYS if getattr(graph, name) is not None}
    arrays |= id_arrays(graph.ids)
    meta = {
        "clock": graph.clock,
        "directed": bool(graph.directed),
        "tov_rule": graph.tov_rule,
        "num_sources": int(graph.num_sources),
        "ids": "strings" if graph.ids.dtype == object else "integers",
        "reading": None if graph.reading is None else dict(graph.reading),
    }
    return arrays, meta | ({} if graph.type is None else {"type_names": list(graph.type_names)})


def graph_from(tensors: Mapping[str, Any], meta: Mapping[str, Any]) -> TemporalGraph:
    """Build the graph that `graph_arrays` took apart, from arrays or tensors; it shares their memory."""
    arrays: dict[str, npt.NDArray[Any]] = {name: np.asarray(tensor) for name, tensor in tensors.items()}
    try:
        ids = _ids_from(arrays, meta["ids"])
        graph = TemporalGraph(
            src=arrays["src"],
            dst=arrays["dst"],
            time=arrays["time"],
            toe=arrays["toe"],
            weight=arrays.get("weight"),
            ids=ids,
            clock=meta["clock"],
            directed=meta["directed"],
            tov_rule=meta["tov_rule"],
            num_sources=meta["num_sources"],
            tov_start=arrays["tov_start"],
            tov_times=arrays["tov_times"],
            type=arrays.get("type"),
            type_names=tuple(meta.get("type_names", ())),
            reading=meta.get("reading"),
        )
    except KeyError as error:
        raise InputError("the stored graph is incomplete", found=f"no {error.args[0]}", where="graph") from None
    except UnicodeDecodeError as error:
        raise InputError("an id is not UTF-8", found=str(error.object[:40]), where="graph") from None
    _check(graph)
    return graph


def id_arrays(ids: Ids) -> dict[str, npt.NDArray[Any]]:
    """Give ids as plain arrays: `ids`, or for strings `id_bytes` and `id_start`."""
    if ids.dtype != object:
        return {"ids": ids}
    encoded = [name.encode() for name in ids]
    start = np.zeros(ids.size + 1, np.int64)
    np.cumsum(list(map(len, encoded)), out=start[1:])
    return {"id_bytes": np.frombuffer(b"".join(encoded), np.uint8), "id_start": start}


def _ids_from(arrays: Mapping[str, npt.NDArray[Any]], kind: str) -> Ids:
    if kind == "integers":
        return arrays["ids"]
    joined, start = arrays["id_bytes"].tobytes(), arrays["id_start"]
    if not _is_index(start, len(joined)):
        raise InputError("the stored graph does not fit together", found="other starts of the ids", where="graph")
    ids = np.empty(start.size - 1, object)
    ids[:] = [joined[first:end].decode() for first, end in pairwise(start.tolist())]
    return ids


def _is_index(start: npt.NDArray[Any], size: int) -> bool:
    """Tell whether an array cuts `size` values into runs."""
    right = start.dtype == INT_DTYPE and start.ndim == 1 and start.size > 0
    return bool(right and start[0] == 0 and start[-1] == size and np.all(start[1:] >= start[:-1]))


def _are_types(graph: TemporalGraph) -> bool:
    """Tell whether types of events fit their names."""
    if graph.type is None:
        return not graph.type_names
    if graph.type.shape != (graph.num_events,) or graph.type.dtype != TYPE_DTYPE:
        return False
    named = all(isinstance(name, str) for name in graph.type_names)
    return named and bool(np.all((graph.type >= -1) & (graph.type < len(graph.type_names))))


def _check(graph: TemporalGraph) -> None:
    """Refuse arrays that compiled loops would run out of; checksums have caught what was damaged."""
    n, e = graph.num_nodes, graph.num_events
    nodes, days = [graph.src, graph.dst], [graph.time, graph.toe]
    days += [] if graph.weight is None else [graph.weight]
    reading = graph.reading
    faults = {
        "another kind of reading": reading is not None
        and not (isinstance(reading, dict) and all(isinstance(value, (str, bool)) for value in reading.values())),
        "an unknown clock": graph.clock not in CLOCKS,
        "an unknown rule for joining times": graph.tov_rule not in TOV_RULES,
        "other numbers of sources": not isinstance(graph.num_sources, int) or not 0 <= graph.num_sources <= n,
        "other ids": graph.ids.ndim != 1 or graph.ids.dtype not in (INT_DTYPE, np.dtype(object)),
        "columns that differ in length": any(array.shape != (e,) for array in nodes + days),
        "other dtypes": any(array.dtype != NODE_DTYPE for array in nodes)
        or any(array.dtype != DAY_DTYPE for array in [*days, graph.tov_times]),
        "other types of events": not _are_types(graph),
        "nodes without an id": e > 0 and any(array.size and not 0 <= array.min() <= array.max() < n for array in nodes),
        "joining times of other nodes": graph.tov_times.ndim != 1
        or graph.tov_start.size != n + 1
        or not _is_index(graph.tov_start, graph.tov_times.size),
    }
    _refuse(faults)
    _refuse(
        {
            "neither a directed nor an undirected graph": not isinstance(graph.directed, bool),
            "an id twice": any(
                _doubled(graph.ids[side]) for side in (slice(0, graph.num_sources), slice(graph.num_sources, None))
            ),
            "sources among the targets": graph.bipartite
            and e > 0
            and not graph.src.max() < graph.num_sources <= graph.dst.min(),
            "times that are not finite, or in no order": not _ascending(graph.time),
            "a ToE that is negative or infinite": bool(np.any(graph.toe < 0) or np.any(np.isinf(graph.toe))),
            "a weight that is not finite": graph.weight is not None and not np.isfinite(graph.weight).all(),
            "joining times that are not finite, or in no order": not _ascending(graph.tov_times, graph.tov_start),
        }
    )


def _refuse(faults: Mapping[str, bool]) -> None:
    for found, wrong in faults.items():
        if wrong:
            raise InputError("the stored graph does not fit together", found=found, where="graph")


def _doubled(ids: Ids) -> bool:
    """Tell whether an id stands there twice."""
    if np.all(ids[1:] > ids[:-1]):
        return False
    return len(set(ids.tolist())) < ids.size


def _ascending(times: npt.NDArray[np.float64], start: npt.NDArray[np.int64] | None = None) -> bool:
    """Tell whether times are finite and never fall, each run for itself where `start` cuts them into runs."""
    falls = times[1:] < times[:-1]
    if start is not None and falls.size:
        falls[np.clip(start[(start > 0) & (start < times.size)] - 1, 0, falls.size - 1)] = False
    return bool(np.isfinite(times).all() and not falls.any())
