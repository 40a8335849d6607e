"""Questions at the door of an estimator: nodes, moments and pairs as users give them, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints, NodeNumbers
from tadge.errors import ConfigError, InputError
from tadge.graph.graph import TemporalGraph
from tadge.graph.ids import find_ids
from tadge.units import PER_DAY, UNIX_FROM_DAY, UNIX_TO_DAY, UNIX_UNITS, Moment, date_text, moment

NodeIds = Sequence[Any] | npt.NDArray[Any] | int | str | None  # the user's ids; NodeNumbers; None: all nodes
Moments = Moment | Sequence[Any] | npt.NDArray[Any] | None

FAR_SPANS, FAR_DAYS = 10.0, 366.0  # a moment so much later than the last event is a mistake of units

FEW_KNOWN = 0.5  # a fraction of known nodes below which events are likely of another kind


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
        if not unknown:
            return np.atleast_1d(np.asarray(graph.numbers(nodes, side)))
        numbers = graph.find(nodes, side)
        if graph.bipartite and side != "any" and (numbers < 0).any():
            _refuse_other_side(graph, nodes, numbers < 0, side)
        return numbers
    except InputError as error:
        details = {"expected": error.expected, "found": error.found, "cure": error.cure}
        raise InputError(error.what, **details, where=name) from None


def _refuse_other_side(graph: TemporalGraph, nodes: NodeIds, unknown: Flags, side: str) -> None:
    """Refuse ids that are unknown on one side of a two-sided graph because they are on the other one."""
    other = {"source": "target", "target": "source"}[side]
    wrong = unknown & (graph.find(nodes, other) >= 0)
    if wrong.any():
        shown = np.atleast_1d(np.asarray(nodes, object))[wrong][0]
        what = "this node never acts" if side == "source" else "nobody acts on this node"
        expected, found = f"a {side} of the two-sided graph", f"the {other} {shown!r}"
        cure = "read the events with bipartite=False, and fit again, if it is one and the same kind"
        raise InputError(what, expected=expected, found=found, cure=cure)


def one_node(graph: TemporalGraph, node: Any, name: str, side: str = "any") -> int:
    """Find the node number of one id."""
    numbers = node_numbers(graph, node, name, side)
    if node is None or numbers.size != 1:
        raise InputError("not a node", expected="one id", found=f"{numbers.size:,}", where=name)
    return int(numbers[0])


def check_kind(value: object, kind: type, name: str) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, kind):
        expected, found = f"a {kind.__name__}", repr(value)[:80] if type(value).__module__ == "builtins" else None
        cure = "make one: tadge.read_events(path), or tadge.from_pandas(table)" if kind is TemporalGraph else None
        found = found or f"a {type(value).__name__}"
        raise InputError("wrong kind of value", expected=expected, found=found, cure=cure, where=name)


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
    _check_far(graph, days, name)
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


def _check_far(graph: TemporalGraph, days: Days, name: str) -> None:
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
        if unit is not None:
            date = date_text(latest / PER_DAY[unit], "unix")
            cure = f"as Unix time in {unit} it is {date}: say {name}='{date}'"
    raise InputError(
        "a moment far after the last event", expected=expected, found=f"{latest:,.6g}", cure=cure, where=name
    )


def match_ids(graph: TemporalGraph, known: TemporalGraph) -> Ints:
    """Find every node of a graph in another by its id (and its side, in a bipartite one), (N,); -1 where it is new."""
    if graph.num_sources == known.num_sources and (
        graph.ids is known.ids or (graph.ids.dtype == known.ids.dtype and np.array_equal(graph.ids, known.ids))
    ):
        return np.arange(graph.num_nodes)
    numbers = np.full(graph.num_nodes, -1, np.int64)
    if graph.ids.dtype != known.ids.dtype:
        return numbers  # no string is an integer
    sides = zip(*((slice(0, one.num_sources), slice(one.num_sources, None)) for one in (graph, known)), strict=True)
    for ours, theirs in sides:
        ids = known.ids[theirs]
        order = None if np.all(ids[1:] > ids[:-1]) else np.argsort(ids, kind="stable")
        place = find_ids(ids, order, graph.ids[ours])
        numbers[ours] = np.where(place >= 0, place + theirs.start, -1)
    return numbers


def check_known(graph: TemporalGraph, known: TemporalGraph, where: str) -> str | None:
    """Refuse a graph of which no node is known; give a sentence with figures where most are not, else None.

    Args:
        graph: what is asked about.
        known: what was learned from.
        where: the file or argument in question.
    """
    count, total = int(np.count_nonzero(match_ids(graph, known) >= 0)), graph.num_nodes
    if total and not count:
        expected = f"ids like {known.ids[0]!r}" if known.num_nodes else "ids"
        found = f"{total:,} others, like {graph.ids[0]!r}"
        cure = "give events of the same nodes, or fit a model to these"
        raise InputError(
            "none of the nodes is known to the model", expected=expected, found=found, cure=cure, where=where
        )
    if count < FEW_KNOWN * total:
        return f"{where}: only {count:,} of {total:,} nodes are known to the model: are these events of the same kind?"
    return None
