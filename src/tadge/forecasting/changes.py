"""What is new since a moment: nodes, pairs, paces, silence, and the drift of the whole.

The period from `since` to `until` is set beside the time before it, at most BEFORE_SPANS times as long. A node, or a
pair, could act from when it was first seen: what made it seen does not count. Nothing after `until` is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints
from tadge.forecasting.pace import Paces, changed_pace, excess_variance, fell_silent
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import ANSWER, REPEAT, find_end, past_of
from tadge.units import date_text, dates_of_days

BEFORE_SPANS = 4.0  # the time before counts for at most so many times the length of the period


class Periods(NamedTuple):
    """Hold two periods in days: from `begin` to before `since`, and from there to `until`, included."""

    begin: float
    since: float
    until: float

    @classmethod
    def of(cls, graph: TemporalGraph, since: float, until: float) -> Periods:
        """Take the time before as far as it counts."""
        return cls(max(float(graph.time[0]), since - BEFORE_SPANS * (until - since)), since, until)

    @property
    def days(self) -> tuple[float, float]:
        """Give the lengths of both."""
        return self.since - self.begin, self.until - self.since


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """Hold what is new since a moment: a DataFrame each.

    Attributes:
        nodes: those first seen in the period: `node`, when `first`, in how many `events`.
        pairs: first contacts: `src`, `dst`, when `first`, how many `events`, whether both were `known` before.
        paces: nodes whose pace rose or fell: `node`, `role`, links per day `before` and `since`, `change`, `p_value`,
            adjusted for how many were tested.
        silent: pairs that have stopped: `src`, `dst`, `last`, how many `events` before, how many would have been
            `expected` since, `p_value`, alike.
        drift: the whole: `measure`, `before`, `since`.
        periods: what was compared, in days on the graph's clock.
        learned: whether the Forecaster has learned from events of the period, so that what it said is no forecast.
        clock: of the graph.
    """

    nodes: Any
    pairs: Any
    paces: Any
    silent: Any
    drift: Any
    periods: Periods
    learned: bool
    clock: str

    @property
    def tables(self) -> dict[str, Any]:
        """Give the DataFrames by name."""
        return {name: getattr(self, name) for name in ("nodes", "pairs", "paces", "silent", "drift")}

    def __repr__(self) -> str:
        counts = f"{len(self.nodes):,} new nodes, {len(self.pairs):,} new pairs, {len(self.paces):,} paces changed"
        begin, since, until = (date_text(day, self.clock) for day in self.periods)
        return f"Changes({counts}, {len(self.silent):,} pairs fell silent; {since} to {until}, beside {begin} on)"

    def _repr_html_(self) -> str:
        """Show all tables in a notebook, the first rows of each."""
        parts = [f"<h4>{name}</h4>{table.head(10)._repr_html_()}" for name, table in self.tables.items()]
        return f"<p>{escape(repr(self))}</p>{''.join(parts)}"


def moments_as_shown(days: Days, clock: str) -> npt.NDArray[Any]:
    """Give moments as dates where the graph has a calendar."""
    return dates_of_days(days) if clock == "unix" else days


def new_nodes(graph: TemporalGraph, periods: Periods) -> dict[str, Any]:
    """List the nodes first seen in the period, as columns, in order of time."""
    past = past_of(graph)
    nodes = np.flatnonzero((past.first >= periods.since) & (past.first <= periods.until))
    nodes = nodes[np.argsort(past.first[nodes], kind="stable")]
    at = np.full(nodes.size, periods.until)
    events = past.count_outgoing(nodes, at)
    if graph.directed:  # a link to itself is one event
        events = events + past.count_incoming(nodes, at) - past.count_links(nodes, nodes, at)
    first = moments_as_shown(past.first[nodes], graph.clock)
    return {"node": graph.ids[nodes], "first": first, "events": events}


# -- paces ------------------------------------------------------------------------------------------------------------


def _counts(start: Ints, time: Days, rows: Ints, moments: list[Any]) -> list[Ints]:
    """Count what each row had, of ascending times, between successive moments: (n,) each."""
    at = [np.array(np.broadcast_to(np.asarray(one, np.float64), rows.shape)) for one in moments]
    ends = [find_end(start, time, rows, one) for one in at]
    return [later - earlier for earlier, later in pairwise(ends)]


def paces_of(start: Ints, time: Days, rows: Ints, seen: Days, periods: Periods) -> tuple[Paces, Days]:
    """Count what rows had in both periods, and find the excess variance of the earlier one, (n,) the same for all.

    Args:
        start: where each row's times begin.
        time: days, ascending within a row.
        rows: (n,) which.
        seen: (n,) days since when each could act, all before the period.
        periods: both.
    """
    open_ = np.nextafter(periods.since, -np.inf)
    begin = np.maximum(seen, periods.begin)
    length, later = np.maximum(periods.since - begin, np.finfo(np.float64).tiny), periods.days[1]
    share = later / (length + later)
    cut = periods.since - length * share
    early, late, since = _counts(start, time, rows, [begin, np.nextafter(cut, -np.inf), open_, periods.until])
    paces = Paces(early + late, since, length, np.full(rows.size, later))
    excess = excess_variance(Paces(early, late, length * (1.0 - share), length * share))
    return paces, np.full(rows.size, excess)


def changed_paces(graph: TemporalGraph, periods: Periods, level: float) -> dict[str, Any]:
    """List the nodes whose pace rose or fell, as columns, surest first."""
    past = past_of(graph)
    roles = {"links to others": past.outgoing, "is linked to": past.incoming}
    if not graph.directed:
        roles = {"has links": past.outgoing}
    known = np.flatnonzero(past.first < periods.since)
    parts, excesses = [], []
    for lists in roles.values():
        paces, excess = paces_of(lists.start, lists.time, known, past.first[known], periods)
        parts.append(paces)
        excesses.append(excess)
    before, since, days_before, days_since = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    paces = Paces(before, since, days_before, days_since)
    p_value, significant = changed_pace(paces, np.concatenate(excesses), level)
    place = np.flatnonzero(significant)
    place = place[np.argsort(p_value[place], kind="stable")]
    chosen, role = paces.take(place), np.repeat(np.array([*roles, None], object)[:-1], known.size)
    pace_before, pace_since = chosen.before / chosen.days_before, chosen.since / chosen.days_since
    return {
        "node": graph.ids[np.tile(known, len(roles))[place]],
        "role": role[place],
        "before": pace_before,
        "since": pace_since,
        "change": np.where(pace_since > pace_before, "rose", "fell").astype(object),
        "p_value": p_value[place],
    }


# -- pairs ------------------------------------------------------------------------------------------------------------


def _pairs_of(graph: TemporalGraph) -> tuple[Ints, Ints, Ints, Days]:
    """Give all pairs, in an undirected graph once: their places, both ends and first contacts, (n,) each."""
    pairs = past_of(graph).pairs
    src, dst = np.repeat(np.arange(graph.num_nodes), np.diff(pairs.first)), pairs.target.astype(np.int64)
    place = np.arange(src.size) if graph.directed else np.flatnonzero(src <= dst)
    return place, src[place], dst[place], pairs.time[pairs.start[place]]


def new_pairs(graph: TemporalGraph, periods: Periods) -> dict[str, Any]:
    """List first contacts of the period, as columns, in order of time."""
    past, (place, src, dst, first) = past_of(graph), _pairs_of(graph)
    new = np.flatnonzero((first >= periods.since) & (first <= periods.until))
    new = new[np.argsort(first[new], kind="stable")]
    known: Flags = np.maximum(past.first[src[new]], past.first[dst[new]]) < periods.since
    (events,) = _counts(past.pairs.start.astype(np.int64), past.pairs.time, place[new], [-np.inf, periods.until])
    times = moments_as_shown(first[new], graph.clock)
    return {"src": graph.ids[src[new]], "dst": graph.ids[dst[new]], "first": times, "events": events, "known": known}


def silent_pairs(graph: TemporalGraph, periods: Periods, level: float) -> dict[str, Any]:
    """List pairs that have stopped, as columns, surest first."""
    past, (place, src, dst, first) = past_of(graph), _pairs_of(graph)
    known = np.flatnonzero(first < periods.since)
    paces, excess = paces_of(past.pairs.start.astype(np.int64), past.pairs.time, place[known], first[known], periods)
    p_value, significant = fell_silent(paces, excess, level)
    chosen = np.flatnonzero(significant)
    chosen = chosen[np.argsort(p_value[chosen], kind="stable")]
    paces, src, dst = paces.take(chosen), src[known[chosen]], dst[known[chosen]]
    return {
        "src": graph.ids[src],
        "dst": graph.ids[dst],
        "last": moments_as_shown(past.last_link(src, dst, np.full(src.size, periods.since)), graph.clock),
        "events": paces.before,
        "expected": paces.before / paces.days_before * paces.days_since,
        "p_value": p_value[chosen],
    }


# -- the whole --------------------------------------------------------------------------------------------------------


def drift_of(graph: TemporalGraph, periods: Periods, said: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Set the whole before and since beside each other, as columns; `said` are further rows."""
    past, time = past_of(graph), graph.time
    edges = np.searchsorted(time, [periods.begin, periods.since, np.nextafter(periods.until, np.inf)])
    kinds = past.kinds(graph.src, graph.dst, np.nextafter(time, -np.inf)) if graph.num_events else np.empty(0)
    first = _pairs_of(graph)[3]
    bounds = (periods.begin, periods.since), (periods.since, np.nextafter(periods.until, np.inf))
    rows: dict[str, list[float]] = {}
    for cut, days, (low, high) in zip((slice(*edges[:2]), slice(*edges[1:])), periods.days, bounds, strict=True):
        here, span = kinds[cut], max(days, np.finfo(np.float64).tiny)
        figures = {
            "links per day": here.size / span,
            "fraction of repeats": float(np.mean(here == REPEAT)) if here.size else np.nan,
            "fraction of answers": float(np.mean(here == ANSWER)) if here.size else np.nan,
            "new nodes per day": np.count_nonzero((past.first >= low) & (past.first < high)) / span,
            "first contacts per day": np.count_nonzero((first >= low) & (first < high)) / span,
        }
        if not graph.directed or graph.bipartite:
            del figures["fraction of answers"]
        for name, figure in figures.items():
            rows.setdefault(name, []).append(figure)
    rows |= {name: list(pair) for name, pair in said.items()}
    before, since = (np.array([pair[side] for pair in rows.values()]) for side in (0, 1))
    return {"measure": np.array(list(rows), object), "before": before, "since": since}
