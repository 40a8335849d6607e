"""Questions at the door of the estimator: nodes, moments, pairs, devices, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from tadge.arrays import Days, Ints
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.units import Moment, date_text, moment

Nodes = Sequence[Any] | npt.NDArray[Any] | int | str | None
At = Moment | Sequence[float] | npt.NDArray[np.float64] | None


def node_numbers(graph: TemporalGraph, nodes: Nodes, name: str) -> Ints:
    """Turn node numbers, or ids that are texts, into (n,) int64 node numbers; complain about unknown ones."""
    if nodes is None:
        return np.arange(graph.num_nodes)
    array = np.atleast_1d(_array(nodes, name))
    if array.ndim == 1 and array.dtype.kind in "UO" and all(isinstance(each, str) for each in array):
        return np.array([graph.node(str(each)) for each in array], np.int64)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        found = f"{array.ndim} dimensions of {array.dtype}"
        raise InputError("not nodes", expected="node numbers, or ids that are texts", found=found, where=name)
    wrong = (array < 0) | (array >= graph.num_nodes)
    if wrong.any():
        expected, cure = f"numbers from 0 to {graph.num_nodes - 1:,}", "graph.node(id) gives the number of an id"
        raise InputError("unknown node", expected=expected, found=str(array[np.argmax(wrong)]), cure=cure, where=name)
    return array.astype(np.int64)


def one_node(graph: TemporalGraph, node: int | str, name: str) -> int:
    """Find the number of one node, or complain."""
    numbers = node_numbers(graph, node, name)
    if numbers.size != 1:
        raise InputError("not a node", expected="one", found=f"{numbers.size:,}", where=name)
    return int(numbers[0])


def find_device(name: str | None) -> torch.device:
    """Find a device by its name; CUDA by default, where there is one."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        what, expected = "no such device here", "cpu, or one that torch finds"
        raise ConfigError(what, expected=expected, found=repr(name), where="device") from error
    return device


def check_kind(value: object, kind: type, name: str) -> None:
    """Complain about a value of another kind."""
    if not isinstance(value, kind):
        raise InputError("wrong kind of value", expected=f"a {kind.__name__}", found=repr(value)[:80], where=name)


def _array(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError("rows of different lengths", expected="a list", found=repr(values)[:80], where=name) from None


def pairs_of(graph: TemporalGraph, src: Nodes, dst: Nodes, at: At) -> tuple[Ints, Ints, Days]:
    """Check pairs and their moments, (n,) each."""
    one, other = node_numbers(graph, src, "src"), node_numbers(graph, dst, "dst")
    if one.size != other.size:
        raise InputError("src and dst differ in length", expected="as many", found=f"{one.size:,}, {other.size:,}")
    return one, other, moments_of(graph, at, one.size)


def moments_of(graph: TemporalGraph, at: At, count: int) -> Days:
    """Turn moments into (count,) days; complain about those before the first event."""
    if at is None:
        return np.full(count, np.inf)
    if isinstance(at, (list, tuple, np.ndarray)):
        each = _array(at, "at")
        if each.dtype.kind not in "iuf":
            ones = each.reshape(-1) if each.dtype.kind == "M" else each.reshape(-1).tolist()
            each = np.array([moment(one, graph.clock) for one in ones]).reshape(each.shape)
        days = each.astype(np.float64)
        if days.shape != (count,):
            raise InputError("moments do not fit", expected=f"one, or {count:,}", found=str(days.shape), where="at")
    else:
        days = np.full(count, moment(at, graph.clock))  # type: ignore[arg-type]
    if graph.num_events and days.size and not days.min() >= graph.time[0]:
        first = f"{date_text(float(graph.time[0]), graph.clock)} or later"
        found = date_text(float(days.min()), graph.clock)
        raise InputError("nothing had happened by then", expected=first, found=found, where="at")
    return days


def match_ids(graph: TemporalGraph, other: TemporalGraph) -> Ints:
    """Find every node of a graph in another by its id (and its side, in a bipartite one), (N,); -1 where it is new."""
    if graph.ids is other.ids and graph.num_sources == other.num_sources:
        return np.arange(graph.num_nodes)
    known = {(number < other.num_sources, node): number for number, node in enumerate(other.ids.tolist())}
    named = enumerate(graph.ids.tolist())
    return np.array([known.get((number < graph.num_sources, node), -1) for number, node in named], np.int64)
