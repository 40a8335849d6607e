"""The next links of all active nodes: whom, how likely within some days, and when; in bounded time.

To ask about every target of every node would take nodes times targets questions. Where that is too many, a node is
asked about those that it had to do with lately, in either role, and about those that are linked to most these days:
what a sample of nodes would have been told in full is set beside it.
"""

# mypy: allow-untyped-decorators

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import polars as pl

from tadge.arrays import Days, Ints, NodeNumbers, Report
from tadge.forecasting.estimator import Forecaster
from tadge.forecasting.waits import LATEST_OTHERS, add_others, candidates_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import EventLists, past_of
from tadge.seeding import stream
from tadge.units import dates_of_days

LATEST_PART = 0.2  # of the time: a node is active that has acted within it
ALL_PAIRS = 400_000  # as many pairs are all asked about: some seconds
MOST_POPULAR = 64  # targets that every node is asked about, where not all are
SOURCES_AT_ONCE = 1_024
CHECKED = 20  # nodes whose forecasts are also made in full, to see what is missed
CHECKED_PAIRS = 150_000  # that this may take


class Forecasts(NamedTuple):
    """Hold the forecasts of a run.

    Attributes:
        table: a row per node and target, most active node first, likeliest target first: src, target, probability
            (within `days`), median_wait, low_80, high_80 in days, never; with dates where times are dates.
        about: days, nodes, active_since, all_targets, and found: of the first targets of a sample of nodes in full, the
            fraction that is among theirs here, or None where nothing was left out or checked.
    """

    table: pl.DataFrame
    about: dict[str, Any]


def forecast_all(forecaster: Forecaster, days: float, k: int, seed: int, report: Report) -> Forecasts:
    """Forecast the k likeliest links of every active node within so many days of the end of the history."""
    graph, horizon = forecaster.graph_, min(days, forecaster.horizon_)
    sources, since = active_sources(graph)
    in_full = sources.size * joined_targets(graph).size <= ALL_PAIRS
    parts = []
    for first in range(0, sources.size, SOURCES_AT_ONCE):
        some = sources[first : first + SOURCES_AT_ONCE]
        src, dst = all_pairs(graph, some) if in_full else likely_pairs(graph, some)
        parts.append(likeliest(forecaster, src, dst, horizon, k))
        report(min(first + SOURCES_AT_ONCE, sources.size), sources.size)
    src, dst, probability = (
        np.concatenate([part[column] for part in parts]) if parts else np.empty(0, kind)
        for column, kind in enumerate((np.int64, np.int64, np.float64))
    )
    found = None if in_full else found_fraction(forecaster, sources, dst, src, horizon, k, seed)
    about = {
        "days": horizon,
        "nodes": int(sources.size),
        "active_since": since,
        "all_targets": in_full,
        "found": found,
    }
    return Forecasts(forecast_table(forecaster, src, dst, probability), about)


def active_sources(graph: TemporalGraph) -> tuple[Ints, float]:
    """List who has acted in the latest fifth of the time, who acted most first; and since when that is."""
    end, begin = float(graph.time[-1]), float(graph.time[0])
    since = end - LATEST_PART * (end - begin)
    nodes, past = np.arange(graph.num_nodes), past_of(graph)
    acted = past.count_outgoing(nodes, np.inf)
    active = np.flatnonzero(past.last_outgoing(nodes, np.inf) >= since)
    return active[np.argsort(-acted[active], kind="stable")], since


def all_pairs(graph: TemporalGraph, sources: Ints) -> tuple[Ints, Ints]:
    """Pair sources with every target: (n,) node numbers each."""
    targets = joined_targets(graph)
    src, dst = np.repeat(sources, targets.size), np.tile(targets, sources.size)
    keep = np.ones(src.size, bool) if _with_self(graph) else src != dst
    return src[keep], dst[keep]


def likely_pairs(graph: TemporalGraph, sources: Ints) -> tuple[Ints, Ints]:
    """Pair sources with those that they had to do with lately, and with those that are linked to most these days."""
    past, lowest = past_of(graph), candidates_of(graph).lowest
    popular = popular_targets(graph)
    size = 2 * LATEST_OTHERS + popular.size
    src, dst = np.empty(sources.size * size, np.int64), np.empty(sources.size * size, np.int64)
    count = fill_pairs(past.outgoing, past.incoming, popular, sources, lowest, _with_self(graph), src, dst)
    return src[:count], dst[:count]


def popular_targets(graph: TemporalGraph) -> Ints:
    """List the targets that are linked to most these days: an event counts less, the more of the span is over since."""
    targets, end = joined_targets(graph), float(graph.time[-1])
    days = max((end - float(graph.time[0])) / 20, np.finfo(np.float64).tiny)
    weight = past_of(graph).decayed_incoming(targets, end, days)
    return targets[np.argsort(-weight, kind="stable")[:MOST_POPULAR]]


def joined_targets(graph: TemporalGraph) -> Ints:
    """List all that can be linked to at the end of a history: (n,) node numbers in ascending order."""
    candidates = candidates_of(graph)
    return np.sort(candidates.node[: int(candidates.joined(graph.time[-1:])[0])])


def _with_self(graph: TemporalGraph) -> bool:
    return bool(candidates_of(graph).with_self(graph.time[-1:])[0])


def likeliest(forecaster: Forecaster, src: Ints, dst: Ints, days: float, k: int) -> tuple[Ints, Ints, Days]:
    """Find the k likeliest of the pairs of each source: src, dst, probability, (n,) each; sources as they come."""
    if not src.size:
        return src, dst, np.empty(0)
    probability = np.atleast_1d(forecaster.within(NodeNumbers(src), NodeNumbers(dst), days))
    group = np.cumsum(np.concatenate([[0], src[1:] != src[:-1]]))  # the pairs of a source stand together
    order = np.lexsort((dst, -probability, group))
    begin = np.flatnonzero(np.concatenate([[True], np.diff(group[order]) > 0]))
    place = np.arange(order.size) - np.repeat(begin, np.diff(np.concatenate([begin, [order.size]])))
    chosen = order[place < k]
    return src[chosen], dst[chosen], probability[chosen]


def found_fraction(
    forecaster: Forecaster, sources: Ints, dst: Ints, src: Ints, days: float, k: int, seed: int
) -> float | None:
    """Tell which fraction of the first targets of some sources, of all targets, is among those that were found."""
    graph = forecaster.graph_
    count = min(CHECKED, sources.size, CHECKED_PAIRS // max(joined_targets(graph).size, 1))
    if not count:
        return None
    rng = np.random.default_rng(int(stream(seed, "forecasts checked")))
    some = np.sort(rng.choice(sources.size, count, replace=False))
    who, whom, _ = likeliest(forecaster, *all_pairs(graph, sources[some]), days, k)
    listed = set(zip(src.tolist(), dst.tolist(), strict=True))
    return float(np.mean([pair in listed for pair in zip(who.tolist(), whom.tolist(), strict=True)]))


def forecast_table(forecaster: Forecaster, src: Ints, dst: Ints, probability: Days) -> pl.DataFrame:
    """Lay out forecasts of pairs of node numbers, (n,), with their waits and dates."""
    graph = forecaster.graph_
    ends = {"src": pl.Series(graph.ids[src].tolist()), "target": pl.Series(graph.ids[dst].tolist())}
    names = ("median_wait", "low_80", "high_80", "never")
    if not src.size:
        none = np.empty(0)
        ids = np.empty(0, np.int64) if graph.ids.dtype != object else none.astype(str)
        return pl.DataFrame({"src": ids, "target": ids, "probability": none, **dict.fromkeys(names, none)})
    waits = forecaster.when(NodeNumbers(src), NodeNumbers(dst))
    columns: dict[str, Any] = ends | {"probability": probability}
    columns |= {name: np.asarray(waits[name]) for name in names}
    if graph.clock == "unix":
        end = float(graph.time[-1])
        columns |= {
            f"{name.removesuffix('_wait')}_date": dates_of_days(end + columns[name])
            for name in names
            if name != "never"
        }
    return pl.DataFrame(columns)


@numba.njit(cache=True)
def fill_pairs(
    outgoing: EventLists,
    incoming: EventLists,
    popular: Ints,
    sources: Ints,
    lowest: int,
    itself: bool,
    src: Ints,
    dst: Ints,
) -> int:
    """Write the pairs of sources that are asked about, and return how many there are."""
    others, n = np.empty(2 * LATEST_OTHERS + popular.size, np.int64), 0
    for q in range(sources.size):
        u = sources[q]
        count = add_others(outgoing, u, np.inf, lowest, itself, others, 0)
        count = add_others(incoming, u, np.inf, lowest, itself, others, count)
        for p in range(popular.size):
            new = itself or popular[p] != u
            for i in range(count):
                if others[i] == popular[p]:
                    new = False
                    break
            if new:
                others[count] = popular[p]
                count += 1
        for i in range(count):
            src[n], dst[n] = u, others[i]
            n += 1
    return n
