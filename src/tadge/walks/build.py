"""Compiled loops that build the index of reach "occurrence" in time linear in the events; `lists` has reach "future".

Axes: E events in order of time, N nodes, O occurrences (node, ToV), M links; see `tadge.graph.links`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.graph import TemporalGraph
from tadge.graph.links import Positions
from tadge.walks.layout import BIG, Records

_NUDGE = 2.0**-36  # the weight of bit 16 of a float, at most


class WeightedLinks(NamedTuple):
    """Hold the links that walks step over, with the centrality that each leads to.

    Attributes:
        event: (M,) the event of each link.
        origin: (M,) the occurrence it comes from.
        arrival: (M,) the occurrence it leads to.
        weight: (M,) centrality of the node that a step over it leads to.
        node: (O,) node of every occurrence.
        start: (N+1,) where the occurrences of each node begin.
        tov: (O,) time of every occurrence.
    """

    event: Positions
    origin: Positions
    arrival: Positions
    weight: Ints
    node: Nodes
    start: Ints
    tov: Days

    def reversed(self) -> WeightedLinks:
        """Swap where links come from and lead to."""
        return self._replace(origin=self.arrival, arrival=self.origin)


@numba.njit(cache=True)
def match_times(start: Ints, tov: Days, other_start: Ints, other_tov: Days) -> Ints:
    """Find every occurrence of one graph in another one of the same nodes, (O,); -1 where there is none."""
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


def centrality_of(graph: TemporalGraph, centrality: str, nodes: Nodes, events: Ints | Positions) -> Ints:
    """Return the centrality of nodes that steps over events lead to, (M,) each."""
    if centrality == "uniform":
        return np.ones(nodes.size, np.int64)
    if centrality == "degree":
        degree: Ints = graph.degree[nodes]
        return degree
    of_src, of_dst = degrees_so_far(graph.src, graph.dst, graph.time, graph.num_nodes)
    so_far: Ints = np.where(graph.src[events] == nodes, of_src[events], of_dst[events])
    return so_far


@numba.njit(cache=True)
def group_starts(key: Positions, num_groups: int) -> Positions:
    """Return where each group begins when links are grouped by key, (num_groups + 1,)."""
    first = np.zeros(num_groups + 1, np.uint32)
    for k in key:
        first[k + 1] += np.uint32(1)
    for g in range(num_groups):
        first[g + 1] += first[g]
    return first


@numba.njit(cache=True)
def fill_steps(steps: Records, first: Positions, big: Positions, links: WeightedLinks) -> None:
    """Group the links by their origin, and fill both halves of their records."""
    origin, tov = links.origin, links.tov
    weight = np.empty(origin.size, np.float64)
    at = first.copy()
    for m in range(origin.size):
        slot = at[origin[m]]
        at[origin[m]] = slot + 1
        o = links.arrival[m]
        count = first[o + 1] - first[o]
        step = steps[slot]
        step.time, step.node, step.event, step.first = tov[o], links.node[o], links.event[m], first[o]
        step.threshold = 2.0
        step.count = count if count < BIG else BIG + np.searchsorted(big, o)
        step.alias = slot
        weight[slot] = links.weight[m]

    most: Any = 0
    for o in range(first.size - 1):
        most = max(most, np.int64(first[o + 1]) - np.int64(first[o]))
    share = np.empty(most)
    light, heavy = np.empty(most, np.int64), np.empty(most, np.int64)
    for o in range(first.size - 1):
        begin, end = np.int64(first[o]), np.int64(first[o + 1])
        if end - begin > 1:
            _weigh(steps, weight, begin, end, tov[o], share)
            _fill_alias(steps, begin, end, share, light, heavy)


@numba.njit(cache=True)
def _weigh(steps: Records, centrality: Days, begin: int, end: int, t: float, share: Days) -> None:
    """Put n times the probability of each of n candidates (Eq. 1, normalised) into share[:n].

    The sum of the other deltas is the total minus a candidate's delta. That loses precision for the largest delta only,
    because every other is at most half of the total; so the others of the largest are summed directly.
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
        weight = centrality[i] * rest
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
