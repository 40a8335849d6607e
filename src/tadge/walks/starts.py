"""Starts of walks that the user gives, as occurrences."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadge.arrays import Ints
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.graph.inputs import node_numbers


def given_starts(graph: TemporalGraph, starts: Any) -> Ints:
    """Turn (K,) occurrences, or (K,) ids and (K,) ToVs, into occurrences; the error names the first bad one."""
    if isinstance(starts, tuple) and len(starts) == 2:
        nodes, times = node_numbers(graph, starts[0], "starts"), np.asarray(starts[1], np.float64)
        if nodes.shape != times.shape:
            found = f"{nodes.shape} nodes, {times.shape} times"
            raise InputError("starts do not fit", expected="ids and as many ToVs", found=found, where="starts")
        return np.array(
            [_occurrence(graph, int(v), float(t), i) for i, (v, t) in enumerate(zip(nodes, times, strict=True))],
            np.int64,
        )
    places = np.asarray(starts)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        found = f"{places.ndim} dimensions of {places.dtype}"
        raise InputError("starts do not fit", expected="a list of occurrence numbers", found=found, where="starts")
    bad = (places < 0) | (places >= graph.num_occurrences)
    if bad.any():
        i = int(np.argmax(bad))
        expected = f"occurrences from 0 to {graph.num_occurrences - 1:,}"
        raise InputError("unknown start", expected=expected, found=f"{places[i]} at {i}", where="starts")
    return places.astype(np.int64)


def _occurrence(graph: TemporalGraph, node: int, t: float, i: int) -> int:
    first, end = graph.tov_start[node], graph.tov_start[node + 1]
    at = int(first + np.searchsorted(graph.tov_times[first:end], t))
    if at < end and graph.tov_times[at] == t:
        return at
    cure = "graph.tov(node) lists a node's ToVs"
    found = f"node {graph.ids[node : node + 1].tolist()[0]!r} at {t} (start {i})"
    raise InputError("unknown start", expected="a node and one of its ToVs", found=found, cure=cure, where="starts")
