"""Which targets the same sources have chosen: for any two targets, the sources that chose both, as of any moment.

A source's first link to a target is a choice. It pairs that target with the CHOICES latest others that the source had
chosen: two targets are chosen together at that reading. Every such pair is kept once, under the smaller of both node
numbers, so that a count as of a moment is the distance of two places in a sorted list. Axes: N nodes, K pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.features.columns import PAIR
from tadge.graph.cache import per_graph
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import EventLists, end_of, past_of

CHOICES = 8  # latest targets of a source that a new one is paired with
LOOKED_AT = 16  # latest targets of a source that a candidate is compared with
LOOKED_THROUGH = 2 * LOOKED_AT  # latest links in which these are looked for
OTHER_BIT = 32  # the higher half of a key is the other target, the lower half the reading


class ChosenTogether(NamedTuple):
    """Hold which two targets one source chose, by the smaller of their numbers.

    Attributes:
        start: (N+1,) those of node x are at `start[x]:start[x+1]` of the next.
        key: (K,) the other target and the reading of the later choice, in one number; ascending within a node.
    """

    start: Ints
    key: Ints


@per_graph
def chosen_together(graph: TemporalGraph) -> ChosenTogether:
    """List which targets are chosen together, once per graph."""
    chosen: ChosenTogether = list_chosen(past_of(graph).outgoing)
    return chosen


@numba.njit(cache=True)
def list_chosen(lists: EventLists) -> ChosenTogether:
    """Go through the links of every source twice: to count the pairs of every node, and to write them down."""
    nodes = lists.start.size - 1
    start, key = np.zeros(nodes + 1, np.int64), np.empty(0, np.int64)
    for writes in (False, True):
        if writes:
            start = np.cumsum(start)
            key = np.empty(start[-1], np.int64)
        free = start[:-1].copy()
        chosen_by, latest = np.full(nodes, -1), np.empty(CHOICES, np.int64)
        for source in range(nodes):
            known = 0
            for k in range(lists.start[source], lists.start[source + 1]):
                target = np.int64(lists.other[k])
                if chosen_by[target] != source:
                    chosen_by[target] = source
                    for place in range(known):
                        low, high = min(latest[place], target), max(latest[place], target)
                        if writes:
                            key[free[low]] = (high << OTHER_BIT) + lists.reading[k]
                            free[low] += 1
                        else:
                            start[low + 1] += 1
                known = bring_to_front(latest, known, target)
    for node in range(nodes):
        key[start[node] : start[node + 1]].sort()
    return ChosenTogether(start, key)


@numba.njit(cache=True, inline="always")
def bring_to_front(latest: Ints, known: int, target: int) -> int:
    """Put a target first among the `known` latest ones; the last one leaves where there is no room. Give how many."""
    place = 0
    while place < known and latest[place] != target:
        place += 1
    if place == known:
        known = min(known + 1, latest.size)
        place = known - 1
    for k in range(place, 0, -1):
        latest[k] = latest[k - 1]
    latest[0] = target
    return known


@numba.njit(cache=True, inline="always")
def count_together(chosen: ChosenTogether, one: int, other: int, readings: int) -> int:
    """Count the sources that had chosen both of two targets by a number of readings."""
    low, high = min(one, other), max(one, other)
    begin, end = chosen.start[low], chosen.start[low + 1]
    first = begin + np.searchsorted(chosen.key[begin:end], high << OTHER_BIT)
    return begin + np.searchsorted(chosen.key[begin:end], (high << OTHER_BIT) + readings) - first  # type: ignore[no-any-return]


@numba.njit(cache=True)
def latest_targets(start: Ints, other: Nodes, node: int, end: int, found: Ints) -> int:
    """Write the latest distinct targets of a node into `found`, latest first, and give how many there are."""
    count, k = 0, end - 1
    while k >= max(start[node], end - LOOKED_THROUGH) and count < found.size:
        new = True
        for place in range(count):
            new = new and found[place] != other[k]
        if new:
            found[count] = other[k]
            count += 1
        k -= 1
    return count


@numba.njit(cache=True, nogil=True)
def fill_choices(
    chosen: ChosenTogether,
    outgoing: tuple[Ints, Nodes],
    incoming: tuple[Ints, Days],
    asked: tuple[Ints, Ints, Days, Ints, Ints],
    events: Ints,
    directions: int,
    rows: Days,
) -> None:
    """Write how often a target was chosen together with the latest targets of its source into rows of PAIR_COLUMNS.

    Args:
        chosen: which targets are chosen together.
        outgoing: where the links of every source begin, and the other end of each.
        incoming: where the links to every target begin, and the time of each.
        asked: (n,) sources, targets, moments, the ends of the sources' links and of the links to the targets by then.
        events: (n,) how many there had been by then.
        directions: in how many directions an event is read.
        rows: (n, PAIR_WIDTH).
    """
    src, dst, at, src_end, dst_end = asked
    links_start, links_time = incoming
    targets, links, count = np.empty(LOOKED_AT, np.int64), np.empty(LOOKED_AT, np.int64), 0
    for q in range(src.size):
        if q == 0 or src[q - 1] != src[q] or at[q - 1] != at[q]:
            count = latest_targets(*outgoing, src[q], src_end[q], targets)
            for k in range(count):
                first = links_start[targets[k]]
                links[k] = end_of(links_time, first, links_start[targets[k] + 1], at[q]) - first
        to_dst, compared = dst_end[q] - links_start[dst[q]], 0
        lately = alike = likeliest = surprising = 0.0
        for k in range(count):
            if targets[k] == dst[q]:
                continue
            compared += 1
            both = count_together(chosen, targets[k], dst[q], directions * events[q])
            if both > 0:
                lately += both / (1.0 + k)
                alike += both / np.sqrt((links[k] + 3.0) * (to_dst + 3.0))
                likeliest = max(likeliest, both / (links[k] + 5.0))
                surprising += np.log1p(both * events[q] / (CHOICES * (links[k] + 1.0) * (to_dst + 1.0)))
        rows[q, PAIR.chosen_together] = np.log1p(lately)
        rows[q, PAIR.chosen_together_beside_popularity] = np.log1p(30.0 * alike)
        rows[q, PAIR.chosen_together_likeliest] = np.log1p(100.0 * likeliest)
        rows[q, PAIR.chosen_together_beyond_chance] = surprising / max(compared, 1)
