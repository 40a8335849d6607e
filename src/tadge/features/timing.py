"""What else tells how long an edge takes: how its target joined, how quick both have been, and how events were weighed.

These columns stand behind those of `memory`, for ToE alone: u is the source, v the target, w whom v acted on last. As
there, only what had happened by the moment is known, and what comes later changes no bit.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numba
import numpy as np

from tadge.arrays import Days, Ints
from tadge.features.memory import (
    NEVER,
    SHRINK,
    WIDTH,
    Columns,
    Memory,
    Scales,
    Side,
    in_pieces,
    last_of_pair,
    log_time,
    memory_of,
    pair_columns,
)
from tadge.graph import TemporalGraph
from tadge.graph.chains import last_joined
from tadge.graph.past import end_of, find_pair, lay_out

REPEAT, ANSWER, FIRST_CONTACT, UNSEEN = range(4)  # kinds of edges: u had linked to v; v to u; neither; u was not seen
NUM_KINDS = 4
GAPS = 10  # latest gaps of a node that are looked at
ACTS, CHECKED = 64, 16  # latest acts of v that are looked through, and those asked whether they were answered
NOWHERE = 99.0

TIMING = (
    *("weight of dst's last act", "weight of the last dst to src", "weight of the last src to dst"),
    *("negative weights src gave", "negative weights src got", "negative weights dst gave", "negative weights dst got"),
    *("dst acted on src within a day", "targets of dst within a day", "place of src among the targets of dst"),
    *("mean ToE of acts of dst's last target", "acts of dst's last target", "links to dst's last target"),
    *("mean ToE of links to dst's last target", "targets of dst that have not answered"),
    *("long gaps of dst's acts", "mean gap of dst's acts", "long gaps of links to dst", "mean gap of links to dst"),
    *("kind of edge", "mean ToE of links to dst of this kind", "mean ToE of acts of src of this kind"),
    *("mean ToE of answers to dst", "mean ToE of answers of src"),
)
TOE_WIDTH = WIDTH + len(TIMING)


class Timing(NamedTuple):
    """Hold what these columns are made from, each in the order of the memory's acts, links or pairs.

    Attributes:
        acts_weight: (E,) 0 where events have no weights, as `pair_weight`.
        acts_negative: (E,) how many of a node's weights up to this one are negative; `links_negative` alike.
        acts_toe: (E, NUM_KINDS) squashed ToEs of a node's events up to this one, summed by kind; `links_toe` alike.
        acts_count: (E, NUM_KINDS) how many these are; `links_count` alike.
    """

    acts_weight: Days
    pair_weight: Days
    acts_negative: Days
    links_negative: Days
    acts_toe: Days
    acts_count: Days
    links_toe: Days
    links_count: Days


_kept: WeakKeyDictionary[TemporalGraph, dict[Scales, Timing]] = WeakKeyDictionary()


def timing_of(graph: TemporalGraph, scales: Scales) -> Timing:
    """Build the tables of a graph, once."""
    kept = _kept.setdefault(graph, {})
    if scales not in kept:
        memory, before = memory_of(graph, scales), np.nextafter(graph.time, -np.inf)
        weight = np.zeros(graph.num_events) if graph.weight is None else graph.weight
        given, got, of_pair = lay_out(graph, weight, weight)
        ends = (end.astype(np.int64) for end in (graph.dst, graph.src))  # an event hangs on a ToV of its target
        acts_joined, links_joined, _ = lay_out(graph, *(last_joined(graph, end, before) for end in ends))
        acts, links = memory.acts, memory.links
        negative = running_negatives(acts.start, given), running_negatives(links.start, got)
        sums = (*sums_by_kind(memory, acts, acts_joined, True), *sums_by_kind(memory, links, links_joined, False))
        kept[scales] = Timing(given, of_pair, *negative, *sums)
    return kept[scales]


def toe_columns(graph: TemporalGraph, scales: Scales, src: Ints, dst: Ints, at: Days, threads: int = 1) -> Columns:
    """Tell all that is known of how long edges take, (n,) pairs as of moments, (n,): (n, TOE_WIDTH)."""
    memory, timing = memory_of(graph, scales), timing_of(graph, scales)
    found = np.empty((src.size, TOE_WIDTH), np.float32)
    found[:, :WIDTH] = pair_columns(memory, src, dst, at, threads)

    def work(cut: slice) -> None:
        fill_timing(memory, timing, src[cut], dst[cut], at[cut], found[cut, WIDTH:])

    in_pieces(work, src.size, threads)
    return found


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def running_negatives(start: Ints, weight: Days) -> Days:
    """Count negative weights along each node's events, (E,)."""
    count = np.empty(weight.size)
    for v in range(start.size - 1):
        total = 0.0
        for k in range(start[v], start[v + 1]):
            total += weight[k] < 0.0
            count[k] = total
    return count


@numba.njit(cache=True)
def kind_of(memory: Memory, src: int, dst: int, at: float) -> int:
    """Tell what kind of edge src to dst would be as of a moment."""
    if last_of_pair(memory, src, dst, at)[1]:
        return REPEAT
    if last_of_pair(memory, dst, src, at)[1]:
        return ANSWER
    return FIRST_CONTACT if memory.first[src] <= at else UNSEEN


@numba.njit(cache=True)
def sums_by_kind(memory: Memory, side: Side, joined: Days, acts: bool) -> tuple[Days, Days]:
    """Sum ToEs along each node's events, by the kind that each was when its target joined, and count them."""
    total, count = np.zeros((side.time.size, NUM_KINDS)), np.zeros((side.time.size, NUM_KINDS))
    for v in range(side.start.size - 1):
        for k in range(side.start[v], side.start[v + 1]):
            if k > side.start[v]:
                total[k], count[k] = total[k - 1], count[k - 1]
            if not np.isnan(side.toe[k]):
                src, dst = (v, side.other[k]) if acts else (side.other[k], v)
                kind = kind_of(memory, src, dst, joined[k])
                total[k, kind] += side.toe[k]
                count[k, kind] += 1.0
    return total, count


@numba.njit(cache=True, inline="always")
def mean_of_kind(total: Days, count: Days, start: int, end: int, kind: int) -> float:
    """Give the mean ToE of a node's events of one kind; two events more have 1/2 each."""
    return (total[end - 1, kind] + 1.0) / (count[end - 1, kind] + 2.0) if end > start else 0.5


@numba.njit(cache=True, inline="always")
def share_of(count: Days, start: int, end: int) -> float:
    """Give the share of a node's events that are counted; two events more are not."""
    return count[end - 1] / (end - start + 2.0) if end > start else 0.0


@numba.njit(cache=True, inline="always")
def last_weight(memory: Memory, timing: Timing, src: int, dst: int, at: float) -> float:
    """Give the weight of the last event from src to dst, 0 where there was none."""
    pair = find_pair(memory.pairs_start, memory.pair_other, src, dst)
    if pair < 0:
        return 0.0
    end = end_of(memory.pair_time, memory.pair_start[pair], memory.pair_start[pair + 1], at)
    return timing.pair_weight[end - 1] if end > memory.pair_start[pair] else 0.0


@numba.njit(cache=True)
def gaps_of(memory: Memory, side: Side, node: int, end: int) -> tuple[float, float]:
    """Give the upper quartile of a node's latest gaps on the log scale, and their squashed mean, with two of 1/2."""
    count = min(GAPS, end - side.start[node] - 1)
    if count <= 0:
        return NEVER, 0.5
    gaps, total = np.empty(count), 1.0
    for k in range(count):
        gaps[k] = side.time[end - 1 - k] - side.time[end - 2 - k]
        total += 2.0 / np.pi * np.arctan(gaps[k])
    gaps.sort()
    return log_time(memory, gaps[3 * count // 4]), total / (count + 2.0)


@numba.njit(cache=True)
def fill_targets(memory: Memory, src: int, dst: int, end: int, at: float, row: Columns) -> None:
    """Write how src stands among those that dst acted on lately into a row: see TIMING, from the eighth on."""
    acts, day = memory.acts, memory.scales[1]
    on_src, place, targets, lately, silent = 0.0, NOWHERE, 0, 0, 0
    for k in range(min(ACTS, end - acts.start[dst])):
        other, time, new = acts.other[end - 1 - k], acts.time[end - 1 - k], True
        for i in range(k):
            if acts.other[end - 1 - i] == other:
                new = False
                break
        recent = at - time <= day
        if other == src:
            on_src = 1.0 if recent else on_src
            place = float(targets) if place == NOWHERE else place
        if new and k < CHECKED and not last_of_pair(memory, other, dst, at)[0] > time:
            silent += 1
        targets += new
        lately += new and recent
    row[7], row[8], row[9], row[14] = on_src, lately, place, silent


@numba.njit(cache=True)
def fill_last_target(memory: Memory, dst: int, end: int, at: float, row: Columns) -> None:
    """Write what is known of whom dst acted on last."""
    acts, links = memory.acts, memory.links
    row[10], row[11], row[12], row[13] = 0.5, 0.0, 0.0, 0.5
    if end > acts.start[dst]:
        w = acts.other[end - 1]
        acts_end = end_of(acts.time, acts.start[w], acts.start[w + 1], at)
        links_end = end_of(links.time, links.start[w], links.start[w + 1], at)
        if acts_end > acts.start[w]:
            row[10] = (acts.toe_sum[acts_end - 1] + 0.5 * SHRINK) / (acts.toe_count[acts_end - 1] + SHRINK)
        row[11], row[12] = np.log1p(acts_end - acts.start[w]), np.log1p(links_end - links.start[w])
        row[13] = (links.toe_sum[links_end - 1] + 0.5 * SHRINK) / (links.toe_count[links_end - 1] + SHRINK)


@numba.njit(cache=True, nogil=True)
def fill_timing(memory: Memory, timing: Timing, src: Ints, dst: Ints, at: Days, found: Columns) -> None:
    """Write the columns of pairs, (n, len(TIMING))."""
    acts, links = memory.acts, memory.links
    for q in range(src.size):
        u, v, now, row = src[q], dst[q], at[q], found[q]
        u_acts = end_of(acts.time, acts.start[u], acts.start[u + 1], now)
        u_links = end_of(links.time, links.start[u], links.start[u + 1], now)
        v_acts = end_of(acts.time, acts.start[v], acts.start[v + 1], now)
        v_links = end_of(links.time, links.start[v], links.start[v + 1], now)
        row[0] = timing.acts_weight[v_acts - 1] if v_acts > acts.start[v] else 0.0
        row[1], row[2] = last_weight(memory, timing, v, u, now), last_weight(memory, timing, u, v, now)
        row[3] = share_of(timing.acts_negative, acts.start[u], u_acts)
        row[4] = share_of(timing.links_negative, links.start[u], u_links)
        row[5] = share_of(timing.acts_negative, acts.start[v], v_acts)
        row[6] = share_of(timing.links_negative, links.start[v], v_links)
        fill_targets(memory, u, v, v_acts, now, row)
        fill_last_target(memory, v, v_acts, now, row)
        row[15], row[16] = gaps_of(memory, acts, v, v_acts)
        row[17], row[18] = gaps_of(memory, links, v, v_links)
        kind = kind_of(memory, u, v, now)
        row[19] = kind
        row[20] = mean_of_kind(timing.links_toe, timing.links_count, links.start[v], v_links, kind)
        row[21] = mean_of_kind(timing.acts_toe, timing.acts_count, acts.start[u], u_acts, kind)
        row[22] = mean_of_kind(timing.links_toe, timing.links_count, links.start[v], v_links, ANSWER)
        row[23] = mean_of_kind(timing.acts_toe, timing.acts_count, acts.start[u], u_acts, ANSWER)
