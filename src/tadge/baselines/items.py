"""Who chose the same: paths of three events from a source over its latest targets, in bounded time per question."""

# mypy: allow-untyped-decorators

from __future__ import annotations

import numba
import numpy as np

from tadge.arrays import Days, Ints
from tadge.graph.past import EventLists, end_of

LATEST = 16  # events of each list that count


@numba.njit(cache=True)
def count_shared(outgoing: EventLists, incoming: EventLists, src: Ints, dst: Ints, at: Days) -> Days:
    """Count paths src to a target, back to somebody who chose that, on to dst, (Q,), as of moments.

    The k-th latest event of a list counts 1/k. Questions of one source and moment that follow each other share the
    count: at most LATEST ** 3 steps, however many targets are asked about.
    """
    counts, total = np.empty(at.size), np.zeros(outgoing.start.size - 1)
    touched, num_touched = np.empty(LATEST**3, np.int64), 0
    for q in range(at.size):
        if q == 0 or src[q] != src[q - 1] or at[q] != at[q - 1]:
            for k in range(num_touched):
                total[touched[k]] = 0.0
            num_touched = count_from(outgoing, incoming, src[q], at[q], total, touched)
        counts[q] = total[dst[q]]
    return counts


@numba.njit(cache=True)
def count_from(outgoing: EventLists, incoming: EventLists, src: int, at: float, total: Days, touched: Ints) -> int:
    """Add the paths from a source to the totals of nodes, (N,); write down at which nodes, and give how many."""
    num_touched = 0
    first, end = latest_of(outgoing, src, at)
    for i in range(first, end):
        item = outgoing.other[i]
        first_back, end_back = latest_of(incoming, item, at)
        for j in range(first_back, end_back):
            person, weight = incoming.other[j], 1.0 / ((end - i) * (end_back - j))
            first_on, end_on = latest_of(outgoing, person, at)
            for k in range(first_on, end_on):
                total[outgoing.other[k]] += weight / (end_on - k)
                touched[num_touched] = outgoing.other[k]
                num_touched += 1
    return num_touched


@numba.njit(cache=True)
def latest_of(lists: EventLists, node: int, at: float) -> tuple[int, int]:
    """Find where the latest events of a node at or before a moment begin and end."""
    start = lists.start[node]
    end = end_of(lists.time, start, lists.start[node + 1], at)
    return max(start, end - LATEST), end
