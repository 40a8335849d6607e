"""What the columns of pairs are made from: the past of a graph, with running sums along each node's own events.

Sums run along each node's own events, so what comes later changes no bit of them. They are kept after every STRIDE-th
reading only and replayed from there, in the same order of additions. Axes: R readings (see `Past`), C = R // STRIDE
kept sums, N nodes, S scales.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, Nodes
from tadge.features.choices import ChosenTogether, chosen_together
from tadge.features.columns import NUM_SCALES
from tadge.graph.cache import per_graph
from tadge.graph.chains import last_joined
from tadge.graph.event_types import NO_TYPE
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import NUM_KINDS, EventLists, PairLists, past_of
from tadge.units import squash

Marks = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int8]

FEW_DAYS, MANY_DAYS = 10.0, 10_000.0  # between these spans, people's hours and days are what counts
INSTANT = 1e-15  # days: no clock tells less
STRIDE = 16  # readings from one kept sum to the next
NO_TOE = NUM_KINDS  # in place of a kind, where a reading has no ToE
KIND_BITS = 7  # of a mark: the kind of edge
NO_CODES: Codes = np.empty(0, np.int8)
REPEATED, NEGATIVE = 8, 16  # bits of a mark: the pair had an earlier event; the weight is below 0


@dataclass(frozen=True)
class Scales:
    """Hold what is a short and what is a long time here, and which types count, as found in what was learned from.

    Attributes:
        log_unit_days: times are seen as log(1 + days / log_unit_days).
        decay_days: (S,) days over which what happened is forgotten.
        factor: a power of two: all times are seen as if everything took so many times as long.
        types: names of the types of events that are looked at; none where they do not help.
    """

    log_unit_days: float
    decay_days: tuple[float, ...]
    factor: float = 1.0
    types: tuple[str, ...] = ()

    @classmethod
    def of(cls, graph: TemporalGraph) -> Scales:
        """Take an hour, a day, a week and a month; where all is over in days, or takes ages, parts of its span."""
        span = float(graph.time[-1] - graph.time[0]) if graph.num_events else 0.0
        day = 1.0 if FEW_DAYS <= span <= MANY_DAYS or span < INSTANT else span / MANY_DAYS * FEW_DAYS
        return cls(day / 10_000, (day / 24, day, 7 * day, 30 * day))

    def rescaled(self, factor: float) -> Scales:
        """See all times multiplied by a power of two: the same bits as from a graph with such times."""
        return Scales(self.log_unit_days / factor, tuple(days / factor for days in self.decay_days), factor)


class RoleTables(NamedTuple):
    """Hold the readings of all nodes in one role, and sums along each node's after every STRIDE-th reading of all.

    Attributes:
        start: see `EventLists`, as `reading`, `time` and `other`.
        decayed: (C, S) counts that forget.
        toe_sum: (C,) of squashed ToEs.
        kind_sum: (C, NUM_KINDS) of squashed ToEs by the kind of edge.
        kind_count: (C, NUM_KINDS) int32, how many ToEs these are.
        repeated: (C,) int32, readings whose pair had an earlier event.
        negative: (C,) int32, readings with a negative weight.
    """

    start: Ints
    reading: Nodes
    time: Days
    other: Nodes
    decayed: Days
    toe_sum: Days
    kind_sum: Days
    kind_count: Nodes
    repeated: Nodes
    negative: Nodes


class Tables(NamedTuple):
    """Hold all that columns are made from; see `Past` for the lists.

    Attributes:
        bipartite: sources and targets are different nodes, so that a src and a dst never have neighbours in common.
        directions: in how many directions an event is read.
        log_unit_days: see `Scales`, as `decay_days` and `factor`.
        times: (E,) days of all events.
        first: (N,) days at which nodes were first seen.
        outgoing: what nodes did.
        incoming: what was done to them.
        pairs: what pairs did.
        chosen: which targets the same sources chose.
        weight: (R,) of readings; empty where events have none.
        marks: (R,) of readings: the kind of edge it was when its target joined, and REPEATED, NEGATIVE.
        toe: (R,) of readings, squashed; NaN without one.
        codes: (R,) of readings: the place of their type among those looked at, else -1; empty where none are.
        num_types: how many types are looked at.
    """

    bipartite: bool
    directions: int
    log_unit_days: float
    decay_days: Days
    factor: float
    times: Days
    first: Days
    outgoing: RoleTables
    incoming: RoleTables
    pairs: PairLists
    chosen: ChosenTogether
    weight: Days
    marks: Marks
    toe: Days
    codes: Codes
    num_types: int


@per_graph
def tables_of(graph: TemporalGraph, scales: Scales) -> Tables:
    """Build the tables of a graph, once; those with types share all else with those without."""
    if not scales.types:
        return make_tables(graph, scales)
    codes = codes_of(graph, scales.types)
    return tables_of(graph, replace(scales, types=()))._replace(codes=codes, num_types=len(scales.types))


def make_tables(graph: TemporalGraph, scales: Scales) -> Tables:
    """Build the tables of a graph anew, without types."""
    past, marks, decay_days = past_of(graph), marks_of(graph), np.array(scales.decay_days)
    toe = squashed_toe(graph) if scales.factor == 1.0 else _squashed(graph, scales.factor)
    weight = np.empty(0) if graph.weight is None else past.by_reading(graph.weight, graph.weight)
    outgoing, incoming = (
        RoleTables(*lists, *sum_along(lists, marks, toe, decay_days)) for lists in (past.outgoing, past.incoming)
    )
    times = scales.log_unit_days, decay_days, scales.factor, graph.time, past.first
    lists = outgoing, incoming, past.pairs, chosen_together(graph)
    return Tables(graph.bipartite, past.directions, *times, *lists, weight, marks, toe, NO_CODES, 0)


def codes_of(graph: TemporalGraph, types: tuple[str, ...]) -> Codes:
    """Number the types of all readings by their place among some, (R,); -1 for others, and for none."""
    place = {name: number for number, name in enumerate(types)}
    known = np.array([*(place.get(name, NO_TYPE) for name in graph.type_names), NO_TYPE], np.int8)
    codes = np.full(graph.num_events, NO_TYPE, np.int8) if graph.type is None else known[graph.type]
    return past_of(graph).by_reading(codes, codes)


@per_graph
def squashed_toe(graph: TemporalGraph) -> Days:
    """Squash the ToEs of all readings, (R,), once; NaN without one."""
    return _squashed(graph, 1.0)


def _squashed(graph: TemporalGraph, factor: float) -> Days:
    back = graph.toe if graph.toe_reverse is None else graph.toe_reverse
    return squash(factor * past_of(graph).by_reading(graph.toe, back))


@per_graph
def marks_of(graph: TemporalGraph) -> Marks:
    """Mark all readings of a graph, (R,), once: see `Tables`."""
    past, before = past_of(graph), np.nextafter(graph.time, -np.inf)
    src, dst = (past.by_reading(*ends).astype(np.int64) for ends in ((graph.src, graph.dst), (graph.dst, graph.src)))
    joined = last_joined(graph, dst, past.by_reading(before, before))
    marks = np.where(np.isnan(squashed_toe(graph)), NO_TOE, past.kinds(src, dst, joined)).astype(np.uint8)
    pairs = past.pairs
    since = np.repeat(pairs.time[pairs.start[:-1]], np.diff(pairs.start))
    marks[pairs.reading[since < pairs.time]] |= REPEATED
    if graph.weight is not None:
        marks[past.by_reading(graph.weight, graph.weight) < 0.0] |= NEGATIVE
    marks.flags.writeable = False
    return marks


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def sum_along(
    lists: EventLists, marks: Marks, toe: Days, decay_days: Days
) -> tuple[Days, Days, Days, Nodes, Nodes, Nodes]:
    """Sum along each node's readings: the sums of `RoleTables`."""
    start, readings, time, _ = lists
    rows = time.size // STRIDE
    all_decayed, toe_sum, kind_sum = np.empty((rows, NUM_SCALES)), np.empty(rows), np.empty((rows, NUM_KINDS))
    kind_count = np.empty((rows, NUM_KINDS), np.int32)
    all_repeated, all_negative = np.empty(rows, np.int32), np.empty(rows, np.int32)
    decayed, by_kind, counts = np.empty(NUM_SCALES), np.empty(NUM_KINDS), np.empty(NUM_KINDS, np.int32)
    for v in range(start.size - 1):
        decayed[:], by_kind[:], counts[:] = 0.0, 0.0, 0
        total, repeated, negative = 0.0, 0, 0
        for k in range(start[v], start[v + 1]):
            for scale in range(NUM_SCALES):
                if k > start[v]:
                    decayed[scale] *= np.exp((time[k - 1] - time[k]) / decay_days[scale])
                decayed[scale] += 1.0
            reading = readings[k]
            mark = marks[reading]
            if not np.isnan(toe[reading]):
                total += toe[reading]
                by_kind[mark & KIND_BITS] += toe[reading]
                counts[mark & KIND_BITS] += 1
            repeated += (mark & REPEATED) != 0
            negative += (mark & NEGATIVE) != 0
            if (k + 1) % STRIDE == 0:
                row = k // STRIDE
                all_decayed[row] = decayed
                kind_sum[row] = by_kind
                kind_count[row] = counts
                toe_sum[row], all_repeated[row], all_negative[row] = total, repeated, negative
    return all_decayed, toe_sum, kind_sum, kind_count, all_repeated, all_negative


@numba.njit(cache=True, inline="always")
def resume(start: int, end: int) -> tuple[int, int]:
    """Find the last sums kept within `start:end`, -1 where there are none, and from where on to replay."""
    row = end // STRIDE - 1
    if (row + 1) * STRIDE <= start:
        row = -1
    return row, (row + 1) * STRIDE if row >= 0 else start


@numba.njit(cache=True, nogil=True)
def toe_until(role: RoleTables, toe: Days, node: Ints, end: Ints) -> tuple[Days, Ints]:
    """Sum nodes' squashed ToEs up to an end each, (n,), and count them, (n,)."""
    start, readings, toe_sum, kind_count = role.start, role.reading, role.toe_sum, role.kind_count
    totals, counts = np.zeros(node.size), np.zeros(node.size, np.int64)
    for q in range(node.size):
        row, begin = resume(start[node[q]], end[q])
        if row >= 0:
            totals[q] = toe_sum[row]
            for kind in range(NUM_KINDS):
                counts[q] += kind_count[row, kind]
        for k in range(begin, end[q]):
            value = toe[readings[k]]
            if not np.isnan(value):
                totals[q] += value
                counts[q] += 1
    return totals, counts


@numba.njit(cache=True, nogil=True)
def kind_toe_until(tables: Tables, role: RoleTables, node: Ints, end: Ints, kinds: Ints) -> tuple[Days, Ints]:
    """Sum nodes' squashed ToEs of a kind each up to an end each, (n,), and count them, (n,)."""
    start, readings, kind_sum, kind_count = role.start, role.reading, role.kind_sum, role.kind_count
    marks, toe = tables.marks, tables.toe
    totals, counts = np.zeros(node.size), np.zeros(node.size, np.int64)
    for q in range(node.size):
        row, begin = resume(start[node[q]], end[q])
        if row >= 0:
            totals[q], counts[q] = kind_sum[row, kinds[q]], kind_count[row, kinds[q]]
        for k in range(begin, end[q]):
            if (marks[readings[k]] & KIND_BITS) == kinds[q]:
                totals[q] += toe[readings[k]]
                counts[q] += 1
    return totals, counts


@numba.njit(cache=True, nogil=True)
def marked_until(role: RoleTables, kept: Nodes, marks: Marks, bit: int, node: Ints, end: Ints) -> Ints:
    """Count nodes' readings up to an end each that have a mark, (n,); `kept` are the sums of that mark."""
    start, readings = role.start, role.reading
    counts = np.zeros(node.size, np.int64)
    for q in range(node.size):
        row, begin = resume(start[node[q]], end[q])
        if row >= 0:
            counts[q] = kept[row]
        for k in range(begin, end[q]):
            counts[q] += (marks[readings[k]] & bit) != 0
    return counts


@numba.njit(cache=True, nogil=True)
def decayed_until(role: RoleTables, decay_days: Days, node: Ints, end: Ints, at: Days) -> Days:
    """Sum exp(-age / decay_days) over nodes' readings up to an end each, as of a moment each, (n, S)."""
    start, time, kept = role.start, role.time, role.decayed
    totals = np.zeros((node.size, NUM_SCALES))
    for q in range(node.size):
        first, last = start[node[q]], end[q]
        if last == first:
            continue
        row, begin = resume(first, last)
        for scale in range(NUM_SCALES):
            days = decay_days[scale]
            total = kept[row, scale] if row >= 0 else 0.0
            for k in range(begin, last):
                if k > first:
                    total *= np.exp((time[k - 1] - time[k]) / days)
                total += 1.0
            totals[q, scale] = total * np.exp((time[last - 1] - at[q]) / days)
    return totals
