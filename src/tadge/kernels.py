"""Compiled loops over the arrays of a graph: sorting by time, renumbering ids, ToV and ToE.

Axes: E events in order of time, N nodes, O occurrences (node, ToV).
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.int32]
Days = npt.NDArray[np.float64]

DIGIT = 11  # bits per pass of the radix sort: 2,048 counters stay in the first-level cache


@numba.njit(cache=True)
def argsort_stable(keys: npt.NDArray[np.uint64]) -> Ints:
    """Return the stable ascending order of unsigned keys, (E,), by least-significant-digit radix sort."""
    n = keys.size
    varying = np.uint64(0)  # bits in which some key differs from the first: the others need no pass
    for key in keys:
        varying |= key ^ keys[0]
    order = np.arange(n)
    spare = np.empty(n, np.int64)
    digit_mask = np.uint64((1 << DIGIT) - 1)
    for shift in range(0, 64, DIGIT):
        bits = np.uint64(shift)
        if (varying >> bits) & digit_mask == 0:
            continue
        start = np.zeros((1 << DIGIT) + 1, np.int64)
        for key in keys:
            start[np.int64((key >> bits) & digit_mask) + 1] += 1
        for digit in range(1 << DIGIT):
            start[digit + 1] += start[digit]
        for i in order:
            digit = np.int64((keys[i] >> bits) & digit_mask)
            spare[start[digit]] = i
            start[digit] += 1
        order, spare = spare, order
    return order


def time_order(time: Days) -> Ints | None:
    """Return the stable order by time, or None where the events are in order already."""
    if np.all(time[1:] >= time[:-1]):
        return None
    bits = (time + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    sign = np.uint64(1 << 63)
    if time.min() < 0:  # unsigned order of IEEE floats: flip every bit of negatives, the sign bit of the others
        bits = np.where(time < 0, ~bits, bits | sign)
    return argsort_stable(bits)  # type: ignore[no-any-return]


@numba.njit(cache=True)
def mark_used(values: Ints, low: int, used: npt.NDArray[np.bool_]) -> None:
    """Set `used[value - low]` for every value."""
    for value in values:
        used[value - low] = True


@numba.njit(cache=True)
def renumber(values: Ints, low: int, number: Nodes) -> Nodes:
    """Return `number[value - low]` for every value, with no temporary of the values' size."""
    out = np.empty(values.size, np.int32)
    for i in range(values.size):
        out[i] = number[values[i] - low]
    return out


@numba.njit(cache=True)
def _join(node: int, t: float, last: Days, count: Ints) -> None:
    """Give a node the ToV t, once."""
    if last[node] != t:  # NaN (never seen) differs from everything
        last[node] = t
        count[node] += 1


@numba.njit(cache=True)
def join_times(src: Nodes, dst: Nodes, time: Days, num_nodes: int, every_role: bool) -> tuple[Days, Ints, Days]:
    """Find ToE of events and ToV of nodes (Definition 1) in two passes over the events in order of time.

    An event's ToE reaches back to the latest ToV of its target strictly before it: events of one instant do not see
    each other, so ToEs of an instant are read before its ToVs are written.

    Returns:
        toe: (E,), NaN where the target had not joined before.
        start: (N+1,), node v's ToVs are `tov[start[v]:start[v+1]]`.
        tov: (O,), ascending within a node.
    """
    num_events = time.size
    toe = np.empty(num_events)
    last = np.full(num_nodes, np.nan)
    count = np.zeros(num_nodes, np.int64)
    i = 0
    while i < num_events:
        t = time[i]
        end = i
        while end < num_events and time[end] == t:
            toe[end] = t - last[dst[end]]
            end += 1
        for k in range(i, end):
            _join(src[k], t, last, count)
            if every_role or np.isnan(last[dst[k]]):
                _join(dst[k], t, last, count)
        i = end

    start = np.zeros(num_nodes + 1, np.int64)
    for v in range(num_nodes):
        start[v + 1] = start[v] + count[v]
    tov = np.empty(start[num_nodes])
    count[:] = 0
    last[:] = np.nan
    for k in range(num_events):
        t = time[k]
        u, v = src[k], dst[k]
        if last[u] != t:
            last[u] = t
            tov[start[u] + count[u]] = t
            count[u] += 1
        if count[v] == 0 or (every_role and last[v] != t):
            last[v] = t
            tov[start[v] + count[v]] = t
            count[v] += 1
    return toe, start, tov


@numba.njit(cache=True)
def toe_from_index(node: Nodes, time: Days, start: Ints, tov: Days) -> Days:
    """Return t minus the latest ToV of the node strictly before t, for events in order of time; NaN without one."""
    toe = np.empty(time.size)
    at = start[:-1].copy()  # per node, the first ToV not known to be earlier than now
    for k in range(time.size):
        v, t = node[k], time[k]
        while at[v] < start[v + 1] and tov[at[v]] < t:
            at[v] += 1
        toe[k] = t - tov[at[v] - 1] if at[v] > start[v] else np.nan
    return toe


@numba.njit(cache=True)
def keep_earlier(start: Ints, tov: Days, end: float) -> tuple[Ints, Days]:
    """Cut a ToV index to what lies strictly before `end`."""
    num_nodes = start.size - 1
    kept_start = np.zeros(num_nodes + 1, np.int64)
    for v in range(num_nodes):
        kept_start[v + 1] = kept_start[v] + np.searchsorted(tov[start[v] : start[v + 1]], end)
    kept = np.empty(kept_start[num_nodes])
    for v in range(num_nodes):
        n = kept_start[v + 1] - kept_start[v]
        kept[kept_start[v] : kept_start[v + 1]] = tov[start[v] : start[v] + n]
    return kept_start, kept


@numba.njit(cache=True)
def count_degrees(src: Nodes, dst: Nodes, num_nodes: int) -> Ints:
    """Count the events each node takes part in, (N,); a self-link counts once."""
    degree = np.zeros(num_nodes, np.int64)
    for k in range(src.size):
        degree[src[k]] += 1
        if src[k] != dst[k]:
            degree[dst[k]] += 1
    return degree
