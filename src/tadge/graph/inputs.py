"""Questions at the door of an estimator: nodes, moments and pairs as users give them, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, NodeNumbers
from tadge.errors import ConfigError, InputError
from tadge.graph.graph import TemporalGraph
from tadge.units import PER_DAY, UNIX_FROM_DAY, UNIX_TO_DAY, UNIX_UNITS, Moment, date_text, moment

NodeIds = Sequence[Any] | npt.NDArray[Any] | int | str | None  # the user's ids; NodeNumbers; None: all nodes
Moments = Moment | Sequence[Any] | npt.NDArray[Any] | None

FAR_SPANS, FAR_DAYS = 10.0, 366.0  # a moment so much later than the last event is a mistake of units


def node_numbers(graph: TemporalGraph, nodes: NodeIds, name: str, side: str = "any", *, unknown: bool = False) -> Ints:
    """Turn ids into (n,) node numbers; None means all nodes.

    Args:
        graph: whose ids they are.
        nodes: one id or a list of them, or `NodeNumbers`.
        name: of the argument, for messages.
        side: "source" or "target" where a bipartite graph is asked about one side.
        unknown: ids that are not in the graph have the number -1; else they are refused.
    """
    if nodes is None:
        return np.arange(graph.num_nodes)
    if isinstance(nodes, NodeNumbers):
        numbers = np.atleast_1d(np.asarray(nodes))
        wrong = (numbers < 0) | (numbers >= graph.num_nodes)
        if numbers.ndim != 1 or wrong.any():
            expected = f"a list of node numbers from 0 to {graph.num_nodes - 1:,}"
            found = f"{numbers.ndim} dimensions" if numbers.ndim != 1 else str(numbers[np.argmax(wrong)])
            raise InputError("unknown node number", expected=expected, found=found, where=name)
        return numbers
    try:
        return graph.find(nodes, side) if unknown else np.atleast_1d(np.asarray(graph.numbers(nodes, side)))
    except InputError as error:
        details = {"expected": error.expected, "found": error.found, "cure": error.cure}
        raise InputError(error.what, **details, where=name) from None


def one_node(graph: TemporalGraph, node: Any, name: str, side: str = "any") -> int:
    """Find the node number of one id."""
    numbers = node_numbers(graph, node, name, side)
    if node is None or numbers.size != 1:
        raise InputError("not a node", expected="one id", found=f"{numbers.size:,}", where=name)
    return int(numbers[0])


def check_kind(value: object, kind: type, name: str) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, kind):
        raise InputError("wrong kind of value", expected=f"a {kind.__name__}", found=repr(value)[:80], where=name)


def pairs_of(
    graph: TemporalGraph, src: NodeIds, dst: NodeIds, at: Moments, before: Moments = None
) -> tuple[Ints, Ints, Days]:
    """Check pairs and their moments: (n,) sources, targets and days; a single source or target stands for all."""
    sources, targets = node_numbers(graph, src, "src", "source"), node_numbers(graph, dst, "dst", "target")
    sources, targets = same_length(sources, targets)
    return sources, targets, moments_of(graph, at, sources.size, before)


def same_length(sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
    """Bring sources and targets to one length, (n,) each: a single one stands for all."""
    if sources.size != targets.size and 1 in (sources.size, targets.size) and 0 not in (sources.size, targets.size):
        size = max(sources.size, targets.size)
        sources, targets = (np.array(np.broadcast_to(ends, size)) for ends in (sources, targets))
    if sources.size != targets.size:
        found = f"{sources.size:,}, {targets.size:,}"
        raise InputError("src and dst differ in length", expected="as many", found=found)
    return sources, targets


def moments_of(graph: TemporalGraph, at: Moments, count: int, before: Moments = None) -> Days:
    """Turn moments into (count,) days up to which everything is known; the end of the graph where none is given.

    Args:
        graph: whose clock counts.
        at: days on the graph's clock or dates; what happens at that very moment is known.
        count: how many moments are needed; one stands for all.
        before: as `at`, but what happens at that very moment is not known.
    """
    if at is None and before is None:
        return np.full(count, last_moment(graph))
    if at is not None and before is not None:
        cure = "at: what happens at that moment is known; before: it is not"
        raise ConfigError("two moments", expected="at or before", found="both", cure=cure, where="before")
    name, given = ("at", at) if before is None else ("before", before)
    days = _as_days(given, graph.clock, name)
    if days.ndim and days.shape != (count,):
        raise InputError("moments do not fit", expected=f"one, or {count:,}", found=str(days.shape), where=name)
    _check_far(graph, days, given, name)
    days = np.where(np.isposinf(days), last_moment(graph), days) if before is None else np.nextafter(days, -np.inf)
    if graph.num_events and days.size and not days.min() >= graph.time[0]:
        expected = f"{date_text(float(graph.time[0]), graph.clock)} or later"
        found = date_text(float(days.min()), graph.clock)
        raise InputError("nothing had happened by then", expected=expected, found=found, where=name)
    return np.array(np.broadcast_to(days, count))


def last_moment(graph: TemporalGraph) -> float:
    """Give the time of a graph's last event, or of its last joining where it has no event."""
    times = graph.time if graph.num_events else graph.tov_times
    return float(times.max(initial=-np.inf)) if times.size else 0.0


def _as_days(given: Any, clock: str, name: str) -> Days:
    if not isinstance(given, (list, tuple, np.ndarray)) and not hasattr(given, "to_numpy"):
        return np.array(moment(given, clock))
    try:
        array = given.to_numpy() if hasattr(given, "to_numpy") else np.asarray(given)
    except ValueError:
        raise InputError("rows of different lengths", expected="a list", found=repr(given)[:80], where=name) from None
    if array.dtype.kind not in "iuf":
        values = array.reshape(-1) if array.dtype.kind == "M" else array.reshape(-1).tolist()
        array = np.array([moment(value, clock) for value in values]).reshape(array.shape)
    return array.astype(np.float64)


def _check_far(graph: TemporalGraph, days: Days, given: Any, name: str) -> None:
    """Refuse a moment so far after the last event that its unit must be another one."""
    latest = float(days.max(initial=-np.inf))
    if not graph.num_events or not np.isfinite(latest):
        return
    last = float(graph.time[-1])
    if latest <= last + max(FAR_SPANS * (last - float(graph.time[0])), FAR_DAYS):
        return
    expected = f"days on the graph's clock, up to about {last:,.6g} ({date_text(last, graph.clock)})"
    cure = "give days on the clock of the graph"
    if graph.clock == "unix":
        expected, cure = f"{expected}, or a date", "give a date"
        unit = next((unit for unit in UNIX_UNITS if UNIX_FROM_DAY <= latest / PER_DAY[unit] <= UNIX_TO_DAY), None)
        if unit is not None and not isinstance(given, str):
            date = date_text(latest / PER_DAY[unit], "unix")
            cure = f"as Unix time in {unit} it is {date}: say {name}='{date}'"
    raise InputError(
        "a moment far after the last event", expected=expected, found=f"{latest:,.6g}", cure=cure, where=name
    )


def match_ids(graph: TemporalGraph, known: TemporalGraph) -> Ints:
    """Find every node of a graph in another by its id (and its side, in a bipartite one), (N,); -1 where it is new."""
    if graph.ids is known.ids and graph.num_sources == known.num_sources:
        return np.arange(graph.num_nodes)
    number = {(place < known.num_sources, node): place for place, node in enumerate(known.ids.tolist())}
    nodes = enumerate(graph.ids.tolist())
    return np.array([number.get((place < graph.num_sources, node), -1) for place, node in nodes], np.int64)
