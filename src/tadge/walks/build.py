"""Compiled loops that build the index of the walks, in time linear in the events; `lists` goes on for reach "future".

Axes: E events in order of time, N nodes, O occurrences (node, ToV), M links. A link is an event with a ToE, read in one
direction: it hangs on the occurrence (target, latest ToV before the event) and leads to the occurrence (source, time
of the event). A directed event makes one link, an undirected one up to two.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.graph.links import Positions
from tadge.walks.layout import BIG, Records

DEGREE, SO_FAR, UNIFORM = 0, 1, 2
_NUDGE = 2.0**-36  # the weight of bit 16 of a float, at most


@numba.njit(cache=True)
def match_times(start: Ints, tov: Days, other_start: Ints, other_tov: Days) -> Ints:
    """Find every occurrence of one graph in another one of the same nodes, (O,); -1 where it is not there."""
    place = np.full(tov.size, -1, np.int64)
    for v in range(start.size - 1):
        i = other_start[v]
        for o in range(start[v], start[v + 1]):
            while i < other_start[v + 1] and other_tov[i] < tov[o]:
                i += 1
            if i < other_start[v + 1] and other_tov[i] == tov[o]:
                place[o] = i
    return place


@numba.njit(cache=True)
def degrees_so_far(src: Nodes, dst: Nodes, time: Days, num_nodes: int) -> tuple[Ints, Ints]:
    """Count, for both ends of every event, the events they took part in up to and including its instant, (E,) each."""
    count = np.zeros(num_nodes, np.int64)
    of_src, of_dst = np.empty(time.size, np.int64), np.empty(time.size, np.int64)
    k = 0
    while k < time.size:
        end = k
        while end < time.size and time[end] == time[k]:
            count[src[end]] += 1
            if src[end] != dst[end]:
                count[dst[end]] += 1
            end += 1
        for i in range(k, end):
            of_src[i], of_dst[i] = count[src[i]], count[dst[i]]
        k = end
    return of_src, of_dst


@numba.njit(cache=True)
def link_weights(
    kind: int, into: Positions, event: Positions, node_of: Nodes, src: Nodes, degree: Ints, of_src: Ints, of_dst: Ints
) -> Ints:
    """Return the centrality of the node each link leads a walker to, (M,)."""
    weight = np.ones(into.size, np.int64)
    for m in range(into.size):
        node = node_of[into[m]]
        if kind == DEGREE:
            weight[m] = degree[node]
        elif kind == SO_FAR:
            weight[m] = of_src[event[m]] if src[event[m]] == node else of_dst[event[m]]
    return weight


@numba.njit(cache=True)
def group_starts(key: Positions, num_groups: int) -> Positions:
    """Return where each group begins when links are grouped by key, (num_groups + 1,)."""
    first = np.zeros(num_groups + 1, np.uint32)
    for k in key:
        first[k + 1] += np.uint32(1)
    for g in range(num_groups):
        first[g + 1] += first[g]
    return first


# -- reach "occurrence" -----------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def fill_steps(
    steps: Records,
    first: Positions,
    big: Positions,
    out_of: Positions,
    into: Positions,
    event: Positions,
    weight: Ints,
    node_of: Nodes,
    tov: Days,
) -> None:
    """Group the links by the occurrence they go out of, and fill both halves of their records."""
    pull = np.empty(out_of.size, np.float64)
    at = first.copy()
    for m in range(out_of.size):
        slot = at[out_of[m]]
        at[out_of[m]] = slot + 1
        o = into[m]
        count = first[o + 1] - first[o]
        step = steps[slot]
        step.time, step.node, step.event, step.first = tov[o], node_of[o], event[m], first[o]
        step.threshold = 2.0
        step.count = count if count < BIG else BIG + np.searchsorted(big, o)
        step.alias = slot
        pull[slot] = weight[m]

    most: Any = 0
    for o in range(first.size - 1):
        most = max(most, np.int64(first[o + 1]) - np.int64(first[o]))
    share = np.empty(most)
    light, heavy = np.empty(most, np.int64), np.empty(most, np.int64)
    for o in range(first.size - 1):
        begin, end = np.int64(first[o]), np.int64(first[o + 1])
        if end - begin > 1:
            _weigh(steps, pull, begin, end, tov[o], share)
            _fill_alias(steps, begin, end, share, light, heavy)


@numba.njit(cache=True)
def _weigh(steps: Records, pull: Days, begin: int, end: int, t: float, share: Days) -> None:
    """Put n times the probability of each of n candidates (Eq. 1, normalised) into share[:n].

    The sum of the other deltas is the sum of all less one's own. That cancels only for the largest delta, because every
    other is at most half of the sum; so the largest gets its own sum.
    """
    largest = begin
    for i in range(begin, end):
        if abs(steps[i].time - t) > abs(steps[largest].time - t):
            largest = i
    others = 0.0
    for i in range(begin, end):
        if i != largest:
            others += abs(steps[i].time - t)
    total = others + abs(steps[largest].time - t)
    norm, low = 0.0, 0.0
    for i in range(begin, end):
        rest = others if i == largest else total - abs(steps[i].time - t)
        weight = pull[i] * rest
        share[i - begin] = weight
        norm, low = _add(norm, low, weight)
    scale = (end - begin) / (norm + low)
    for i in range(end - begin):
        share[i] *= scale


@numba.njit(cache=True)
def _add(high: float, low: float, x: float) -> tuple[float, float]:
    """Add a number to the sum high + low without losing what rounding takes away (Knuth's two-sum)."""
    total = high + x
    back = total - high
    return total, low + ((high - (total - back)) + (x - back))


@numba.njit(cache=True)
def _set_threshold(step: Any, share: float, owed: float) -> float:
    """Write a threshold, whose lowest bits are the count, and return what it has become.

    It differs from the share by one part in 3e10 at most, upwards where `owed` is positive and downwards otherwise, so
    that over a group the differences cancel.
    """
    count = step.count
    step.threshold = share
    step.count = count
    if (step.threshold < share) == (owed > 0.0):
        step.threshold = share * (1.0 + _NUDGE if owed > 0.0 else 1.0 - _NUDGE)
        step.count = count
    return step.threshold  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _fill_alias(steps: Records, begin: int, end: int, share: Days, light: Ints, heavy: Ints) -> None:
    """Build the alias table of one group by Vose's method, the rest of a heavy share kept in twice the precision."""
    lights, heavies = 0, 0
    for i in range(end - begin):
        if share[i] < 1.0:
            light[lights] = i
            lights += 1
        else:
            heavy[heavies] = i
            heavies += 1
    owed = 0.0  # what the light ones together have got too little
    while lights and heavies:
        heavies -= 1
        donor = heavy[heavies]
        left, low = share[donor], 0.0
        while lights and left + low >= 1.0:
            lights -= 1
            i = light[lights]
            steps[begin + i].alias = begin + donor
            given = _set_threshold(steps[begin + i], share[i], owed)
            owed += share[i] - given
            left, low = _add(left, low, given - 1.0)
        if left + low < 1.0:
            share[donor] = max(left + low, 0.0)
            light[lights] = donor
            lights += 1
