"""How unlikely events were when they came: as of the instant before each, split into who and when.

who: supposed that src acts, how unlikely it is that it acts on dst: the probability of that link within a short time,
to that of any act of src, both as of the instant before. when: how unlikely it is that src acts after so short, or so
long, a time: the tail of the curve as of when it last acted, on both sides. Both count as -log10 of a probability; the
surprise is their sum. One surprise may be chance; `lately` sums what exceeds the usual along the acts of a source
within the last hours, and shows when they belong together.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Ints
from tadge.config import ForecastConfig
from tadge.features.columns import LINK_COLUMNS, columns_left_out
from tadge.features.tables import Scales, Tables, tables_of
from tadge.forecasting.ask_curves import act_curves, pair_curves
from tadge.forecasting.curve_models import CurveModels
from tadge.forecasting.curves import Curves
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import find_end
from tadge.seeding import stream

SMALLEST = 1e-30  # of a probability: it has a logarithm
HOUR, DAY = 0, 1  # which of the scales; a part of the span where all is over in days, or takes ages
LATEST_ACTS = 32  # of a source that `lately` looks back on
MEDIAN_OF = 20_000
FORGOTTEN = 8.0  # hours after which nothing of a surprise is left


class Surprise(NamedTuple):
    """Hold how surprising events are, (n,) each: `surprise` is the sum of `who` and `when`, -log10 of `probability`."""

    probability: Days
    surprise: Days
    who: Days
    when: Days


def surprise_of(
    models: CurveModels, tables: Tables, scales: Scales, src: Ints, dst: Ints, time: Days, left_out: Ints
) -> Surprise:
    """Tell how surprising events are, (n,) node numbers and the days at which they came."""
    at, days = np.nextafter(time, -np.inf), min(scales.decay_days[DAY], float(models.edges[-1]))
    link, act, tail = np.empty(src.size), np.empty(src.size), np.ones(src.size)
    for cut, curves in pair_curves(models, tables, scales, src, dst, at, left_out):
        link[cut] = curves.within(days)[:, 0]
    for cut, anyone, _ in act_curves(models, tables, src, at):
        act[cut] = anyone.within(days)[:, 0]
    end = find_end(tables.outgoing.start, tables.outgoing.time, src, at)
    acted = np.flatnonzero(end > tables.outgoing.start[src])
    last = tables.outgoing.time[end[acted] - 1]
    for cut, anyone, _ in act_curves(models, tables, src[acted], last):
        tail[acted[cut]] = _two_sided(anyone, time[acted[cut]] - last[cut])
    link = np.maximum(link, SMALLEST)
    who, when = link / np.clip(act, link, 1.0), np.maximum(tail, SMALLEST)  # who acts on dst acts
    return Surprise(who * when, -np.log10(who) - np.log10(when), -np.log10(who), -np.log10(when))


def usual_surprise(
    models: CurveModels, graph: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int
) -> float:
    """Find the median surprise of events, of at most MEDIAN_OF."""
    events = np.arange(graph.num_events)
    if events.size > MEDIAN_OF:
        rng = np.random.default_rng(int(stream(seed, "usual surprise")))
        events = np.sort(rng.choice(events, MEDIAN_OF, replace=False))
    ends = graph.src[events].astype(np.int64), graph.dst[events].astype(np.int64)
    left_out = columns_left_out(config.without, LINK_COLUMNS)
    answer = surprise_of(models, tables_of(graph, scales), scales, *ends, graph.time[events], left_out)
    return float(np.median(answer.surprise))


def _two_sided(curves: Curves, days: Days) -> Days:
    """Give the probability of waits as extreme as these, (n,), too short or too long."""
    sooner = curves.reached(days) * (1.0 - curves.never)
    return np.minimum(1.0, 2.0 * np.minimum(sooner, 1.0 - sooner))


def events_before(tables: Tables, hours: float, events: Ints, src: Ints, time: Days) -> Ints:
    """List the events, and those by the same sources that `lately` looks back on, in ascending order."""
    place, begin = _acts_before(tables, hours, src, time)
    counts = place - begin
    acts = np.repeat(begin, counts) + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.unique(np.concatenate([events, tables.outgoing.reading[acts].astype(np.int64) // tables.directions]))


def lately(
    tables: Tables, hours: float, usual: float, event: Ints, surprise: Days, asked: Ints, src: Ints, time: Days
) -> Days:
    """Sum what exceeds the usual surprise along each source's latest acts, forgetting it within hours, (n,).

    Args:
        tables: of the graph.
        hours: days over which it is forgotten.
        usual: the surprise that is not counted.
        event: (m,) ascending numbers of events whose surprise is known, (m,): those of `events_before`.
        surprise: (m,).
        asked: (n,) numbers of the events asked about.
        src: (n,) their sources.
        time: (n,) their days.
    """
    place, begin = _acts_before(tables, hours, src, time)
    outgoing = tables.outgoing
    own = surprise[np.searchsorted(event, asked)] - usual
    return sum_lately(  # type: ignore[no-any-return]
        outgoing.time, outgoing.reading // tables.directions, begin, place, event, surprise - usual, own, time, hours
    )


def _acts_before(tables: Tables, hours: float, src: Ints, time: Days) -> tuple[Ints, Ints]:
    """Find the acts that `lately` looks back on: (n,) ends and beginnings among `tables.outgoing`."""
    start, times = tables.outgoing.start, tables.outgoing.time
    end = find_end(start, times, src, np.nextafter(time, -np.inf))
    begin = find_end(start, times, src, time - FORGOTTEN * hours)
    return end, np.minimum(np.maximum(begin, end - LATEST_ACTS), end)


@numba.njit(cache=True, nogil=True)
def sum_lately(
    act_time: Days,
    act_event: Ints,
    begin: Ints,
    end: Ints,
    event: Ints,
    excess: Days,
    own: Days,
    time: Days,
    hours: float,
) -> Days:
    """Go along the acts `begin:end` of each question; the sum never falls below 0."""
    totals = np.empty(time.size)
    for q in range(time.size):
        total, last = 0.0, time[q]
        for k in range(begin[q], end[q]):
            place = np.searchsorted(event, act_event[k])
            total = max(0.0, total * np.exp((last - act_time[k]) / hours) + excess[place])
            last = act_time[k]
        totals[q] = max(0.0, total * np.exp((last - time[q]) / hours) + own[q])
    return totals
