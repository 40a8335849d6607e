"""A graph as tensors and back, so that it can be kept beside what was learned from it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tadge.errors import InputError
from tadge.graph.graph import CLOCKS, TOV_RULES, TemporalGraph
from tadge.graph.ids import Ids

ARRAYS = ("src", "dst", "time", "toe", "weight", "tov_start", "tov_times")
NODE_DTYPE, INT_DTYPE, DAY_DTYPE = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)


def graph_tensors(graph: TemporalGraph) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Give all that a graph holds: tensors that share its memory (not to be changed), and JSON.

    ToVs are among them, for those of a view cannot be found from its events.

    Returns:
        Tensors by name: `src`, `dst`, `time`, `toe`, `weight` where there is one, (E,) each; `tov_start`, (N+1,);
        `tov_times`, (O,); `ids`, (N,), or for strings `id_bytes`, uint8 UTF-8 end to end, and `id_start`, (N+1,).
        And what is no array: clock, directed, tov_rule, num_sources, and whether ids are "integers" or "strings".
    """
    arrays = {name: getattr(graph, name) for name in ARRAYS if getattr(graph, name) is not None}
    tensors = {name: _as_tensor(array) for name, array in (arrays | _id_arrays(graph.ids)).items()}
    meta = {
        "clock": graph.clock,
        "directed": bool(graph.directed),
        "tov_rule": graph.tov_rule,
        "num_sources": int(graph.num_sources),
        "ids": "strings" if graph.ids.dtype == object else "integers",
    }
    return tensors, meta


def graph_from(tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> TemporalGraph:
    """Build the graph that `graph_tensors` took apart; it shares the tensors' memory."""
    arrays: dict[str, npt.NDArray[Any]] = {name: tensor.numpy() for name, tensor in tensors.items()}
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
        )
    except KeyError as error:
        raise InputError("the stored graph is incomplete", found=f"no {error.args[0]}", where="graph") from None
    except UnicodeDecodeError as error:
        raise InputError("an id is not UTF-8", found=str(error.object[:40]), where="graph") from None
    _check(graph)
    return graph


class _WritableView:
    """Present a read-only array as writable, so that torch.from_numpy does not warn. Do not write to it."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array  # keeps the memory
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def _as_tensor(array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.asarray(_WritableView(np.ascontiguousarray(array))))


def _id_arrays(ids: Ids) -> dict[str, npt.NDArray[Any]]:
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


def _check(graph: TemporalGraph) -> None:
    """Refuse arrays that compiled loops would run out of; checksums have caught what was damaged."""
    n, e = graph.num_nodes, graph.num_events
    nodes, days = [graph.src, graph.dst], [graph.time, graph.toe]
    days += [] if graph.weight is None else [graph.weight]
    faults = {
        "an unknown clock": graph.clock not in CLOCKS,
        "an unknown rule for joining times": graph.tov_rule not in TOV_RULES,
        "other numbers of sources": not isinstance(graph.num_sources, int) or not 0 <= graph.num_sources <= n,
        "other ids": graph.ids.ndim != 1 or graph.ids.dtype not in (INT_DTYPE, np.dtype(object)),
        "columns that differ in length": any(array.shape != (e,) for array in nodes + days),
        "other dtypes": any(array.dtype != NODE_DTYPE for array in nodes)
        or any(array.dtype != DAY_DTYPE for array in [*days, graph.tov_times]),
        "nodes without an id": e > 0 and any(array.size and not 0 <= array.min() <= array.max() < n for array in nodes),
        "joining times of other nodes": graph.tov_times.ndim != 1
        or graph.tov_start.size != n + 1
        or not _is_index(graph.tov_start, graph.tov_times.size),
    }
    for found, wrong in faults.items():
        if wrong:
            raise InputError("the stored graph does not fit together", found=found, where="graph")
