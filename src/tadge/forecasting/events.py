"""Events that are asked about: those of a graph, or others that come with the question."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadge.arrays import Ints
from tadge.errors import InputError
from tadge.graph.graph import TemporalGraph
from tadge.io.options import ReadOptions
from tadge.io.readers import read_like
from tadge.units import moment


def events_asked(graph: TemporalGraph, events: Any) -> tuple[TemporalGraph, Ints]:
    """Find the events that are asked about: a graph that holds them, and their numbers in it, (n,), in order of time.

    Args:
        graph: what is known.
        events: None: all its events. Else a TemporalGraph, a DataFrame, or a list of (src, dst, time): those after the
            end of the graph are added to it; earlier ones must be in it.
    """
    if events is None or events is graph:
        return graph, np.arange(graph.num_events)
    asked = _as_graph(graph, events)
    last = float(graph.time[-1]) if graph.num_events else -np.inf
    known, later = asked.time <= last, asked.time > last
    places = _find(graph, asked, np.flatnonzero(known))
    if not later.any():
        return graph, np.sort(places)
    weight = None
    if graph.weight is not None:
        added = np.ones(asked.num_events) if asked.weight is None else asked.weight
        weight = np.concatenate([graph.weight, added[later]])
    types = None
    if graph.type is not None:
        names = (each.types.by_name(each.num_events) for each in (graph, asked))
        types = np.concatenate([next(names), next(names)[later]])
    whole = TemporalGraph.from_arrays(
        np.concatenate([graph.ids[graph.src], asked.ids[asked.src[later]]]),
        np.concatenate([graph.ids[graph.dst], asked.ids[asked.dst[later]]]),
        np.concatenate([graph.time, asked.time[later]]),
        weight,
        type=types,
        unit="days",
        clock=graph.clock,
        directed=graph.directed,
        bipartite=graph.bipartite,
        tov=graph.tov_rule,
    )
    return whole, np.concatenate([np.sort(places), np.arange(graph.num_events, whole.num_events)])


def _as_graph(graph: TemporalGraph, events: Any) -> TemporalGraph:
    if isinstance(events, TemporalGraph):
        if events.clock != graph.clock:
            raise InputError("events on another clock", expected=graph.clock, found=events.clock, where="events")
        return events
    kind: dict[str, Any] = {"directed": graph.directed, "bipartite": graph.bipartite}
    if isinstance(events, (list, tuple)):
        rows = [events] if isinstance(events, tuple) else events
        if not rows or any(not isinstance(row, (list, tuple)) or len(row) != 3 for row in rows):
            expected = "a table of events, or a list of (src, dst, time)"
            raise InputError("not events", expected=expected, found=repr(events)[:80], where="events")
        src, dst, time = zip(*rows, strict=True)
        days = [moment(when, graph.clock) for when in time]
        return TemporalGraph.from_arrays(list(src), list(dst), days, unit="days", clock=graph.clock, **kind)
    return read_like(events, ReadOptions.of(kind), graph.reading)[0]


def _find(graph: TemporalGraph, asked: TemporalGraph, events: Ints) -> Ints:
    """Find events of one graph in another, (n,) numbers; each of several that are the same is another one."""
    near = np.flatnonzero(np.isin(graph.time, asked.time[events]))
    places: dict[Any, list[int]] = {}
    for number in near.tolist():
        key = graph.ids[graph.src[number]], graph.ids[graph.dst[number]], float(graph.time[number])
        places.setdefault(key, []).append(number)
    found = []
    for event in events.tolist():
        key = (asked.ids[asked.src[event]], asked.ids[asked.dst[event]], float(asked.time[event]))
        same = places.get(key)
        if not same:
            raise InputError(
                "an event that is not in the history",
                expected="events of it, or later ones",
                found=f"{key[0]!r} -> {key[1]!r} at {key[2]:,.6f} days",
                cure="give graph= the history that holds it",
                where="events",
            )
        found.append(same.pop(0) if len(same) > 1 else same[0])
    return np.array(found, np.int64)
