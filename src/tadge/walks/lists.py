"""Compiled loops that build the index of reach "future" in time linear in the events; axes as in `build`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tadge.arrays import Days, Ints
from tadge.graph.links import Positions
from tadge.walks.build import WeightedLinks
from tadge.walks.layout import GUIDE, MANY, NONE, Records

_GUIDE = numba.from_dtype(GUIDE)


# -- forward -----------------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def open_lists(links: WeightedLinks) -> tuple[Ints, Positions, int]:
    """Lay out the lists of links into each node, in order of time.

    Returns:
        first: (N+1,), where each list begins.
        opening: (O,), the first entry that leads to each occurrence; an occurrence without one gets an entry behind all
            lists.
        size: entries in all.
    """
    origin, arrival, node = links.origin, links.arrival, links.node
    first = np.zeros(links.start.size, np.int64)
    for m in range(origin.size):
        first[node[origin[m]] + 1] += 1
    for v in range(first.size - 1):
        first[v + 1] += first[v]
    opening, at = np.full(node.size, NONE, np.uint32), first[:-1].copy()
    for m in range(origin.size):
        v = node[origin[m]]
        opening[arrival[m]] = min(opening[arrival[m]], np.uint32(at[v]))
        at[v] += 1
    size: Any = origin.size
    for o in range(node.size):
        if opening[o] == NONE:
            opening[o] = size
            size += 1
    return first, opening, size


@numba.njit(cache=True)
def fill_later(later: Records, first: Ints, opening: Positions, links: WeightedLinks) -> tuple[Records, Ints]:
    """Fill the lists of links into each node.

    Returns:
        guide: (G,), per list and part of its mass which entry a point belongs to; see GUIDE.
        masses: (M,), centrality summed over the entries before each one in its list.
    """
    masses, arrivals = _fill_events(later, first, links)
    num_nodes = links.start.size - 1
    shifts, parts = np.zeros(num_nodes, np.int64), np.ones(num_nodes + 1, np.int64)  # entry 0 of the guide is a dummy
    most: Any = 0
    for v in range(num_nodes):
        begin, end = first[v], first[v + 1]
        most = max(most, end - begin)
        shifts[v], count = _cut(masses[begin:end])
        parts[v + 1] = parts[v] + count
    guide, spread = np.zeros(parts[num_nodes], _GUIDE), np.empty(most)
    for v in range(num_nodes):
        begin, end = first[v], first[v + 1]
        end_weight = _sum_list(later, masses, begin, end, spread)
        _fill_guide(masses, begin, end, shifts[v], guide[parts[v] : parts[v + 1]])
        of_list = (v, begin, end, end_weight, shifts[v], parts[v])
        _fill_occurrences(later, masses, spread, opening, of_list, links)
    for i in range(arrivals.size):  # several events of one node at one instant lead to the same occurrence
        if opening[arrivals[i]] != i:
            entry, twin = later[i], later[opening[arrivals[i]]]
            entry.total, entry.most, entry.last, entry.mass = twin.total, twin.most, twin.last, twin.mass
            entry.rest, entry.node, entry.end, entry.guide = twin.rest, twin.node, twin.end, twin.guide
    return guide, masses


@numba.njit(cache=True)
def _fill_events(later: Records, first: Ints, links: WeightedLinks) -> tuple[Ints, Positions]:
    """Write time and event of every entry; return its centrality and the occurrence it leads to, (M,) each."""
    weights, arrivals = np.empty(links.origin.size, np.int64), np.empty(links.origin.size, np.uint32)
    at = first[:-1].copy()
    for m in range(links.origin.size):
        v = links.node[links.origin[m]]
        i = at[v]
        at[v] += 1
        entry = later[i]
        entry.time, entry.event = links.tov[links.arrival[m]], links.event[m]
        arrivals[i], weights[i] = links.arrival[m], links.weight[m]
    return weights, arrivals


@numba.njit(cache=True)
def _cut(weights: Ints) -> tuple[int, int]:
    """Cut the mass of a list but its last entry into parts of 1 << shift, at most two per entry: (shift, parts).

    The last entry gets its exact weight in every draw: the guide leads to the others only.
    """
    if weights.size < 2:
        return 0, 0
    mass: Any = weights[:-1].sum()
    shift: Any = 0
    while ((mass - 1) >> shift) + 1 > 2 * weights.size:
        shift += 1
    return shift, ((mass - 1) >> shift) + 1


@numba.njit(cache=True)
def _sum_list(later: Records, masses: Ints, begin: int, end: int, spread: Days) -> int:
    """Turn the weights of one list into sums, and return the weight of its last entry.

    spread[i] is the sum over entry i and all later ones but the last of (their time - this time). It is summed from
    the end, so no precision is lost.
    """
    mass: Any = 0
    weight: Any = 0
    for i in range(begin, end):
        weight = masses[i]
        masses[i] = mass
        mass += weight
    total = 0.0
    for i in range(end - 1, begin - 1, -1):
        if i + 2 < end:
            total += (end - 2 - i) * (later[i + 1].time - later[i].time)
        spread[i - begin] = total
    return weight  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _fill_guide(masses: Ints, begin: int, end: int, shift: int, guide: Records) -> None:
    """Fill the guide of a list: which entries every part of its mass leads to."""
    i, last = begin, end - 1
    for part in range(guide.size):
        low, high = part << shift, (part + 1) << shift
        while masses[i + 1] <= low:
            i += 1
        two = i + 1 < last and masses[i + 1] < high
        many = i + 2 < last and masses[i + 2] < high
        here = guide[part]
        here.entry = i | MANY if many else i
        here.split = masses[i + 1] - low if two else high - low


@numba.njit(cache=True)
def _fill_occurrences(
    later: Records, masses: Ints, spread: Days, opening: Positions, of_list: tuple[Any, ...], links: WeightedLinks
) -> None:
    """Describe the candidates of every occurrence of a node: what is later in its list.

    `of_list` holds the node, where its list begins and ends, the weight of the last entry, and the guide's shift and
    first part.
    """
    node, begin, end, end_weight, shift, guide = of_list
    start, tov = links.start, links.tov
    i, last = begin, end - 1
    for o in range(start[node], start[node + 1]):
        while i < end and later[i].time <= tov[o]:
            i += 1
        entry = later[opening[o]]
        entry.time, entry.node = tov[o], node
        entry.total, entry.most, entry.last, entry.mass, entry.rest = 0.0, 0.0, 0.0, 0, 0
        entry.end, entry.guide = NONE, guide
        if i < end:
            others = spread[i - begin] + (last - i) * (later[i].time - tov[o])  # sum of delta over all but the last
            entry.total, entry.last = others + (later[last].time - tov[o]), end_weight * others
            entry.mass, entry.rest, entry.end = masses[i], masses[last] - masses[i], last
            if i < last:
                entry.most = others + (later[last].time - later[i].time)
                entry.shift = shift


# -- backward ----------------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def fill_earlier(earlier: Records, first: Positions, links: WeightedLinks, sums: Records) -> None:
    """Group the links by the occurrence they lead to, and sum up the candidates of each, (O,)."""
    origin, arrival, node, start, tov = links.origin, links.arrival, links.node, links.start, links.tov
    num = tov.size
    spread = np.zeros(num)  # sum of (ToV - earlier ToV) over the node's earlier ToVs but its first
    for o in range(num):
        begin = start[node[o]]
        if o > begin:
            spread[o] = spread[o - 1] + (o - 1 - begin) * (tov[o] - tov[o - 1])
    at = first.copy()
    for m in range(origin.size):
        slot = at[arrival[m]]
        at[arrival[m]] = slot + 1
        link = earlier[slot]
        link.event, link.newest, link.oldest = links.event[m], origin[m], start[node[origin[m]]]
        link.weight = links.weight[m]
    for o in range(num):
        begin, end = np.int64(first[o]), np.int64(first[o + 1])
        if begin == end:
            continue
        back: Any = begin
        for i in range(begin, end):
            if tov[earlier[i].oldest] < tov[earlier[back].oldest]:
                back = i
        mass, others = np.int64(0), 0.0
        for i in range(begin, end):
            newest, oldest = np.int64(earlier[i].newest), np.int64(earlier[i].oldest)
            others += spread[newest] + (newest - oldest) * (tov[o] - tov[newest])
            earlier[i].mass = mass
            mass += earlier[i].weight * (newest - oldest)
            if i != back:
                others += tov[o] - tov[oldest]
                mass += earlier[i].weight
        of_all = sums[o]
        of_all.others, of_all.furthest = others, back
        of_all.total = others + (tov[o] - tov[earlier[back].oldest])
