"""What is remembered of every node and every pair, as plain columns of numbers as of any moment.

Times enter as how long ago, on a log scale, never as the absolute clock: a process drifts. Sums run along each node's
own events, so what comes later changes no bit of them. Axes: E events with their direction, N nodes, P pairs, n
questions, S scales.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, Nodes
from tadge.graph import TemporalGraph
from tadge.graph.past import end_of, find_pair, history_of, running_decay
from tadge.units import squash

Columns = npt.NDArray[np.float32]

NEVER = 20.0  # on the log scale of times: longer ago than anything
NUM_SCALES = 4
FEW_DAYS, MANY_DAYS = 10.0, 10_000.0  # between these spans, people's hours and days are what counts
INSTANT = 1e-15  # days: no clock tells less
LATEST = 16  # events of a node that are looked through
PLACES = 2 * LATEST**3  # of a table of all that three steps lead to: half of them stay free
SHRINK = 3.0  # events that the mean ToE of all is worth
AT_ONCE = 1 << 13  # questions per piece of work

OF_A_NODE = (
    *("since it acted", "since it was linked to", "acts", "links to it", "age", "last gap of acts"),
    *("last gap of links to it", "mean ToE of acts", "mean ToE of links to it", "last ToE of acts"),
    *("last ToE of links to it", "repeated acts", "repeated links to it", "events since it was linked to"),
    *("events since it acted", "links to it since it acted"),
    *(f"links to it lately ({k})" for k in range(NUM_SCALES)),
    *(f"acts lately ({k})" for k in range(NUM_SCALES)),
)
OF_A_PAIR = (
    *("since src to dst", "since dst to src", "unanswered", "src to dst", "dst to src", "dst last acted on src"),
    *("src last acted on dst", "dst last linked to by src", "src last linked to by dst"),
    *("dst in the acts of src", "dst in the links to src", "src in the acts of dst", "src in the links to dst"),
    *("others in common with the acts of src", "others in common with the links to src"),
)
# The last two tell of third ones. Where sources and targets are different nodes: of ways of three steps, see `reach`.
COLUMNS = tuple(f"src: {name}" for name in OF_A_NODE) + tuple(f"dst: {name}" for name in OF_A_NODE) + OF_A_PAIR
NODE, WIDTH = len(OF_A_NODE), len(COLUMNS)


@dataclass(frozen=True)
class Scales:
    """Hold what is a short and what is a long time here, as found in what was learned from.

    Attributes:
        tick: days; times are seen as log(1 + time / tick).
        lately: (S,) days over which what happened is forgotten.
    """

    tick: float
    lately: tuple[float, ...]

    @classmethod
    def of(cls, graph: TemporalGraph) -> Scales:
        """Take an hour, a day, a week and a month; where all is over in days, or takes ages, parts of its span."""
        span = float(graph.time[-1] - graph.time[0]) if graph.num_events else 0.0
        day = 1.0 if FEW_DAYS <= span <= MANY_DAYS or span < INSTANT else span / MANY_DAYS * FEW_DAYS
        return cls(day / 10_000, (day / 24, day, 7 * day, 30 * day))


class Side(NamedTuple):
    """Hold the events of all nodes in one role, each node's in order of time.

    Attributes:
        start: (N+1,) where each node's begin.
        time: (E,) days.
        other: (E,) the other end.
        toe: (E,) squashed ToE; NaN without one.
        toe_sum: (E,) of the node's events up to this one; `toe_count` of those that have a ToE.
        repeats: (E,) how many of them the pair had had before.
        lately: (E, S) sums that forget.
    """

    start: Ints
    time: Days
    other: Nodes
    toe: Days
    toe_sum: Days
    toe_count: Days
    repeats: Days
    lately: Days


class Memory(NamedTuple):
    """Hold all that columns are made from; see `History` for the pairs.

    Attributes:
        sided: sources and targets are different nodes: a src and a dst never have others in common, but a src and those
            who link to a dst may have targets in common.
        tick: see `Scales`, as `scales`.
        times: (E,) days of all events.
        first: (N,) days at which nodes were first seen.
        acts: what nodes did.
        links: what was done to them.
    """

    sided: bool
    tick: float
    scales: Days
    times: Days
    first: Days
    acts: Side
    links: Side
    pairs_start: Ints
    pair_other: Nodes
    pair_start: Ints
    pair_time: Days


_kept: WeakKeyDictionary[TemporalGraph, dict[Scales, Memory]] = WeakKeyDictionary()


def memory_of(graph: TemporalGraph, scales: Scales) -> Memory:
    """Build the memory of a graph, once."""
    kept = _kept.setdefault(graph, {})
    if scales not in kept:
        history, lately = history_of(graph), np.array(scales.lately)
        pairs = history.pairs_start, history.pair_other, history.pair_start, history.pair_time
        sides = []
        for name in ("acts", "received"):
            start, time, other, toe = (getattr(history, f"{name}_{part}") for part in ("start", "time", "other", "toe"))
            toe = squash(toe)
            total, count, repeats = running_sums(start, time, other, toe, *pairs, name == "acts")
            decayed = np.stack([running_decay(start, time, days) for days in lately], axis=1)
            sides.append(Side(start, time, other, toe, total, count, repeats, decayed))
        times = scales.tick, lately, graph.time, history.first
        kept[scales] = Memory(graph.bipartite, *times, sides[0], sides[1], *pairs)
    return kept[scales]


def pair_columns(memory: Memory, src: Ints, dst: Ints, at: Days, threads: int = 1) -> Columns:
    """Tell what is known of pairs, (n,) each, as of moments, (n,): (n, WIDTH). Pairs of one src and moment go fast."""
    found = np.empty((src.size, WIDTH), np.float32)
    in_pieces(lambda cut: fill_columns(memory, src[cut], dst[cut], at[cut], found[cut]), src.size, threads)
    return found


def in_pieces(work: Callable[[slice], None], size: int, threads: int) -> None:
    """Do a piece of work for all of `size` questions, some at a time, in so many threads."""
    pieces = [slice(first, first + AT_ONCE) for first in range(0, size, AT_ONCE)]
    if threads == 1 or len(pieces) == 1:
        for cut in pieces:
            work(cut)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, pieces))


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def running_sums(
    start: Ints,
    time: Days,
    other: Nodes,
    toe: Days,
    pairs_start: Ints,
    pair_other: Nodes,
    pair_start: Ints,
    pair_time: Days,
    acts: bool,
) -> tuple[Days, Days, Days]:
    """Sum ToEs, count them and count repeats along each node's events, (E,) each."""
    toe_sum, toe_count, repeats = np.empty(time.size), np.empty(time.size), np.empty(time.size)
    for v in range(start.size - 1):
        total = count = again = 0.0
        for k in range(start[v], start[v + 1]):
            if not np.isnan(toe[k]):
                total, count = total + toe[k], count + 1.0
            one, two = (v, other[k]) if acts else (other[k], v)
            pair = find_pair(pairs_start, pair_other, one, two)
            again += pair_time[pair_start[pair]] < time[k]
            toe_sum[k], toe_count[k], repeats[k] = total, count, again
    return toe_sum, toe_count, repeats


@numba.njit(cache=True, inline="always")
def log_time(memory: Memory, days: float) -> float:
    """Give a time span on the log scale."""
    return np.log1p(days / memory.tick)  # type: ignore[no-any-return]


@numba.njit(cache=True)
def fill_side(
    memory: Memory, side: Side, end: int, node: int, at: float, events: int, row: Columns, places: Ints
) -> None:
    """Write what is known of a node in one role, which ends at `end`, into places of a row: see OF_A_NODE.

    `events` had happened in the whole graph by then.
    """
    start = side.start[node]
    count = end - start
    row[places[0]] = log_time(memory, at - side.time[end - 1]) if count else NEVER
    row[places[1]] = np.log1p(count)
    row[places[2]] = log_time(memory, side.time[end - 1] - side.time[end - 2]) if count > 1 else NEVER
    total = side.toe_sum[end - 1] if count else 0.0
    known = side.toe_count[end - 1] if count else 0.0
    row[places[3]] = (total + 0.5 * SHRINK) / (known + SHRINK)
    row[places[4]] = side.toe[end - 1] if count and not np.isnan(side.toe[end - 1]) else 0.5
    row[places[5]] = ((side.repeats[end - 1] if count else 0.0) + 0.5) / (count + 1.0)
    before = end_of(memory.times, 0, events, side.time[end - 1]) if count else 0
    row[places[6]] = np.log1p(events - before) if count else NEVER
    for k in range(NUM_SCALES):
        faded = 0.0
        if count:
            faded = side.lately[end - 1, k] * np.exp((side.time[end - 1] - at) / memory.scales[k])
        row[places[7] + k] = np.log1p(100.0 * faded)


ACT_PLACES: Ints = np.array([0, 2, 5, 7, 9, 11, 14, 16 + NUM_SCALES])
LINK_PLACES: Ints = np.array([1, 3, 6, 8, 10, 12, 13, 16])


@numba.njit(cache=True)
def fill_node(memory: Memory, node: int, acts_end: int, links_end: int, at: float, events: int, row: Columns) -> None:
    """Write what is known of a node into a row, (NODE,)."""
    fill_side(memory, memory.acts, acts_end, node, at, events, row, ACT_PLACES)
    fill_side(memory, memory.links, links_end, node, at, events, row, LINK_PLACES)
    row[4] = log_time(memory, at - memory.first[node]) if memory.first[node] <= at else -1.0
    since = memory.links.start[node]
    if acts_end > memory.acts.start[node]:
        since = end_of(memory.links.time, since, links_end, memory.acts.time[acts_end - 1])
    row[15] = np.log1p(links_end - since)


@numba.njit(cache=True, inline="always")
def place_among(side: Side, node: int, end: int, other: int) -> int:
    """Tell how many of a node's events ago, 0 for the latest, the other end was this one; LATEST where it was not."""
    for k in range(min(LATEST, end - side.start[node])):
        if side.other[end - 1 - k] == other:
            return k
    return LATEST


@numba.njit(cache=True, inline="always")
def last_of_pair(memory: Memory, src: int, dst: int, at: float) -> tuple[float, int]:
    """Find when src last linked to dst, -inf where never, and how often it had."""
    pair = find_pair(memory.pairs_start, memory.pair_other, src, dst)
    if pair < 0:
        return -np.inf, 0
    start = memory.pair_start[pair]
    end = end_of(memory.pair_time, start, memory.pair_start[pair + 1], at)
    return (memory.pair_time[end - 1], end - start) if end > start else (-np.inf, 0)


@numba.njit(cache=True)
def in_common(memory: Memory, side: Side, node: int, end: int, other: int, acts_end: int, links_end: int) -> float:
    """Count which of a node's latest others the other node has met lately too, in either role."""
    count = 0
    for k in range(min(LATEST, end - side.start[node])):
        shared = side.other[end - 1 - k]
        count += place_among(memory.acts, other, acts_end, shared) < LATEST
        count += place_among(memory.links, other, links_end, shared) < LATEST
    return np.log1p(count)  # type: ignore[no-any-return]


class Reached(NamedTuple):
    """Hold a table of targets with open places, all that three steps from a source lead to.

    Attributes:
        target: (PLACES,) -1 where a place is free.
        weight: (PLACES,) sum over the ways to it, each by 1 / (its places among the latest, multiplied).
        oldest: (PLACES,) days, the oldest event of the way on which that is latest.
        taken: (PLACES,) the places in use, the first `used[0]` of them.
    """

    target: Ints
    weight: Days
    oldest: Days
    taken: Ints
    used: Ints


@numba.njit(cache=True)
def nothing_reached() -> Reached:
    """Make an empty table."""
    places = np.empty(PLACES, np.int64)
    return Reached(np.full(PLACES, -1), np.empty(PLACES), np.empty(PLACES), places, np.zeros(1, np.int64))


@numba.njit(cache=True, inline="always")
def place_of(reached: Reached, target: int) -> int:
    """Find where a target stands, or would."""
    place = (target * 0x9E3779B1 >> 7) % PLACES
    while reached.target[place] >= 0 and reached.target[place] != target:
        place = (place + 1) % PLACES
    return place


@numba.njit(cache=True)
def reach(memory: Memory, node: int, end: int, at: float, reached: Reached) -> None:
    """Go from a source to its latest targets, to who else linked to them of late, and on to what those linked to."""
    acts, links = memory.acts, memory.links
    for k in range(reached.used[0]):
        reached.target[reached.taken[k]] = -1
    reached.used[0] = 0
    for i in range(min(LATEST, end - acts.start[node])):
        shared, one = acts.other[end - 1 - i], acts.time[end - 1 - i]
        shared_end = end_of(links.time, links.start[shared], links.start[shared + 1], at)
        for j in range(min(LATEST, shared_end - links.start[shared])):
            like, two = links.other[shared_end - 1 - j], links.time[shared_end - 1 - j]
            if like == node:
                continue
            like_end = end_of(acts.time, acts.start[like], acts.start[like + 1], at)
            for k in range(min(LATEST, like_end - acts.start[like])):
                target, oldest = acts.other[like_end - 1 - k], min(one, two, acts.time[like_end - 1 - k])
                if target == shared:
                    continue
                place = place_of(reached, target)
                if reached.target[place] < 0:
                    reached.taken[reached.used[0]] = place
                    reached.used[0] += 1
                    reached.target[place], reached.weight[place], reached.oldest[place] = target, 0.0, oldest
                reached.weight[place] += 1.0 / ((1 + i) * (1 + j) * (1 + k))
                reached.oldest[place] = max(reached.oldest[place], oldest)


@numba.njit(cache=True, nogil=True)
def fill_columns(memory: Memory, src: Ints, dst: Ints, at: Days, found: Columns) -> None:
    """Write the columns of pairs, (n, WIDTH); see COLUMNS."""
    acts, links = memory.acts, memory.links
    u_acts = u_links = events = 0
    reached = nothing_reached()
    for q in range(src.size):
        u, v, now, row = src[q], dst[q], at[q], found[q]
        if q > 0 and src[q - 1] == u and at[q - 1] == now:
            row[:NODE] = found[q - 1, :NODE]
        else:
            u_acts = end_of(acts.time, acts.start[u], acts.start[u + 1], now)
            u_links = end_of(links.time, links.start[u], links.start[u + 1], now)
            events = end_of(memory.times, 0, memory.times.size, now)
            fill_node(memory, u, u_acts, u_links, now, events, row[:NODE])
            if memory.sided:
                reach(memory, u, u_acts, now, reached)
        v_acts = end_of(acts.time, acts.start[v], acts.start[v + 1], now)
        v_links = end_of(links.time, links.start[v], links.start[v + 1], now)
        fill_node(memory, v, v_acts, v_links, now, events, row[NODE : 2 * NODE])
        forth, times_forth = last_of_pair(memory, u, v, now)
        back, times_back = last_of_pair(memory, v, u, now)
        pair = row[2 * NODE :]
        pair[0] = log_time(memory, now - forth) if times_forth else NEVER
        pair[1] = log_time(memory, now - back) if times_back else NEVER
        pair[2] = back > forth
        pair[3], pair[4] = np.log1p(times_forth), np.log1p(times_back)
        pair[5] = v_acts > acts.start[v] and acts.other[v_acts - 1] == u
        pair[6] = u_acts > acts.start[u] and acts.other[u_acts - 1] == v
        pair[7] = v_links > links.start[v] and links.other[v_links - 1] == u
        pair[8] = u_links > links.start[u] and links.other[u_links - 1] == v
        pair[9], pair[10] = place_among(acts, u, u_acts, v), place_among(links, u, u_links, v)
        pair[11], pair[12] = place_among(acts, v, v_acts, u), place_among(links, v, v_links, u)
        if memory.sided:
            place = place_of(reached, v)
            there = reached.target[place] >= 0
            pair[13] = np.log1p(10.0 * reached.weight[place]) if there else 0.0
            pair[14] = log_time(memory, now - reached.oldest[place]) if there else NEVER
        else:
            pair[13] = in_common(memory, acts, u, u_acts, v, v_acts, v_links)
            pair[14] = in_common(memory, links, u, u_links, v, v_acts, v_links)
