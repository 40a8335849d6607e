"""Compiled loops that build the index of the reach "future", in time linear in the events; axes as in `build`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.graph.links import Positions
from tadge.walks.layout import GUIDE, MANY, NONE, Records

_GUIDE = numba.from_dtype(GUIDE)


# -- forward -----------------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def open_lists(hang: Positions, lead: Positions, node_of: Nodes, num_nodes: int) -> tuple[Ints, Positions, int]:
    """Lay out the lists of links into each node, in order of time.

    Returns:
        first: (N+1,), where each list begins.
        opening: (O,), the first entry that leads to each occurrence; those that none leads to get entries behind all
            lists.
        size: entries in all.
    """
    first = np.zeros(num_nodes + 1, np.int64)
    for m in range(hang.size):
        first[node_of[hang[m]] + 1] += 1
    for v in range(num_nodes):
        first[v + 1] += first[v]
    opening, at = np.full(node_of.size, NONE, np.uint32), first[:-1].copy()
    for m in range(hang.size):
        v = node_of[hang[m]]
        opening[lead[m]] = min(opening[lead[m]], np.uint32(at[v]))
        at[v] += 1
    size: Any = hang.size
    for o in range(node_of.size):
        if opening[o] == NONE:
            opening[o] = size
            size += 1
    return first, opening, size


@numba.njit(cache=True)
def fill_later(
    later: Records,
    first: Ints,
    opening: Positions,
    event: Positions,
    hang: Positions,
    lead: Positions,
    weight: Ints,
    node_of: Nodes,
    start: Ints,
    tov: Days,
) -> tuple[Records, Ints]:
    """Fill the lists of links into each node.

    Returns:
        guide: (G,), per list and part of its mass which entry a point belongs to; see GUIDE.
        masses: (M,), centrality summed over the entries before each one in its list.
    """
    masses, leads = np.empty(hang.size, np.int64), np.empty(hang.size, np.uint32)
    at = first[:-1].copy()
    for m in range(hang.size):
        v = node_of[hang[m]]
        i = at[v]
        at[v] += 1
        entry = later[i]
        entry.time, entry.event = tov[lead[m]], event[m]
        leads[i], masses[i] = lead[m], weight[m]  # sums are made below
    most: Any = 0
    parts: Any = 1  # of all lists, and one that nobody means
    for v in range(start.size - 1):
        begin, end = first[v], first[v + 1]
        most = max(most, end - begin)
        shift, count = _cut(masses[begin:end])
        parts += count
    guide, spread = np.zeros(parts, _GUIDE), np.empty(most)
    parts = 1
    for v in range(start.size - 1):
        begin, end = first[v], first[v + 1]
        shift, count = _cut(masses[begin:end])
        end_weight = _sum_list(later, masses, begin, end, spread)
        _fill_guide(masses, begin, end, shift, guide[parts : parts + count])
        _fill_occurrences(later, masses, spread, opening, v, begin, end, end_weight, shift, parts, start, tov)
        parts += count
    for i in range(hang.size):  # several events of one node at one instant lead to the same occurrence
        if opening[leads[i]] != i:
            entry, twin = later[i], later[opening[leads[i]]]
            entry.total, entry.most, entry.last, entry.mass = twin.total, twin.most, twin.last, twin.mass
            entry.rest, entry.node, entry.end, entry.guide = twin.rest, twin.node, twin.end, twin.guide
    return guide, masses


@numba.njit(cache=True)
def _cut(weights: Ints) -> tuple[int, int]:
    """Cut the mass of a list but its last entry into parts of 1 << shift, at most two per entry: (shift, parts).

    The last entry gets its own weight in every draw: the guide leads to the others only.
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
    the end, so nothing ever cancels.
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
    """Say for every part of a list's mass which entries it leads to."""
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
    later: Records,
    masses: Ints,
    spread: Days,
    opening: Positions,
    node: int,
    begin: int,
    end: int,
    end_weight: int,
    shift: int,
    guide: int,
    start: Ints,
    tov: Days,
) -> None:
    """Describe the candidates of every occurrence of a node: what is later in its list."""
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
def fill_earlier(
    earlier: Records,
    first: Positions,
    event: Positions,
    hang: Positions,
    lead: Positions,
    weight: Ints,
    node_of: Nodes,
    start: Ints,
    tov: Days,
    sums: Records,
) -> None:
    """Group the links by the occurrence they lead to, and sum up the candidates of each, (O,)."""
    num = tov.size
    spread = np.zeros(num)  # sum of (ToV - earlier ToV) over the node's earlier ToVs but its first
    for o in range(num):
        begin = start[node_of[o]]
        if o > begin:
            spread[o] = spread[o - 1] + (o - 1 - begin) * (tov[o] - tov[o - 1])
    at = first.copy()
    for m in range(hang.size):
        slot = at[lead[m]]
        at[lead[m]] = slot + 1
        link = earlier[slot]
        link.event, link.newest, link.oldest = event[m], hang[m], start[node_of[hang[m]]]
        link.weight = weight[m]
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
