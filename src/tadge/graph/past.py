"""What had happened by a moment: as-of look-ups over the events of a graph.

Every question names a moment, and only events at or before it are counted. In an undirected graph every event counts in
both directions, a self-link once. Axes: E events with their direction in order of time, N nodes, P distinct pairs,
Q questions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.graph import TemporalGraph


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Hold the events of a graph by who acts, by who receives and by pair, each in order of time.

    Questions are arrays of equal length, (Q,), or one value for all: node numbers, and moments in days. What happened
    at the moment itself is known.

    Attributes:
        acts_start: (N+1,) node u's acts are at `acts_start[u]:acts_start[u+1]` of the next three.
        acts_time: (E,) float64 days, ascending within a node.
        acts_other: (E,) int32, whom u linked to.
        acts_toe: (E,) float64 days, the ToE of the event; NaN where it has none.
        received_start: (N+1,) the events that link to node v, likewise.
        received_time: (E,) float64 days, ascending within a node.
        received_other: (E,) int32, who linked to v.
        received_toe: (E,) float64 days, the ToE of the event; NaN where it has none.
        pairs_start: (N+1,) node u's distinct targets are at `pairs_start[u]:pairs_start[u+1]` of the next.
        pair_other: (P,) int32, ascending within a node.
        pair_start: (P+1,) the events of pair p are at `pair_start[p]:pair_start[p+1]` of `pair_time`.
        pair_time: (E,) float64 days, ascending within a pair.
        first: (N,) float64 days, when each node was first seen in any role; +inf where never.
    """

    acts_start: Ints
    acts_time: Days
    acts_other: Nodes
    acts_toe: Days
    received_start: Ints
    received_time: Days
    received_other: Nodes
    received_toe: Days
    pairs_start: Ints
    pair_other: Nodes
    pair_start: Ints
    pair_time: Days
    first: Days
    _decayed: dict[float, Days] = field(default_factory=dict)

    @property
    def num_nodes(self) -> int:
        """Count the nodes."""
        return self.first.size

    # -- one node -----------------------------------------------------------------------------------------------------

    def acts_end(self, node: Any, at: Any) -> Ints:
        """Find the end of each node's acts at or before a moment, (Q,) places in `acts_time`."""
        return find_end(self.acts_start, self.acts_time, *_ask(at, node))  # type: ignore[no-any-return]

    def received_end(self, node: Any, at: Any) -> Ints:
        """Find the end of the events that link to each node at or before a moment, (Q,) places in `received_time`."""
        return find_end(self.received_start, self.received_time, *_ask(at, node))  # type: ignore[no-any-return]

    def count_acts(self, node: Any, at: Any) -> Ints:
        """Count how often each node had acted by a moment, (Q,)."""
        return count_by(self.acts_start, self.acts_time, *_ask(at, node))  # type: ignore[no-any-return]

    def count_received(self, node: Any, at: Any) -> Ints:
        """Count how often each node had been linked to by a moment, (Q,)."""
        return count_by(self.received_start, self.received_time, *_ask(at, node))  # type: ignore[no-any-return]

    def last_act(self, node: Any, at: Any) -> Days:
        """Tell when each node last acted as of a moment, (Q,) days; -inf where it had not."""
        return last_by(self.acts_start, self.acts_time, *_ask(at, node))  # type: ignore[no-any-return]

    def last_received(self, node: Any, at: Any) -> Days:
        """Tell when each node was last linked to as of a moment, (Q,) days; -inf where it had not been."""
        return last_by(self.received_start, self.received_time, *_ask(at, node))  # type: ignore[no-any-return]

    def first_seen(self, node: Any) -> Days:
        """Tell when each node was first seen in any role, (Q,) days; +inf where never."""
        return self.first[np.asarray(node, np.int64)]

    def last_seen(self, node: Any, at: Any) -> Days:
        """Tell when each node was last seen in any role as of a moment, (Q,) days; -inf where it had not been."""
        at, node = _ask(at, node)
        return np.maximum(self.last_act(node, at), self.last_received(node, at))

    def decayed_received(self, node: Any, at: Any, days: float) -> Days:
        """Count how often each node had been linked to by a moment, (Q,), an event of age a by exp(-a / days)."""
        days = float(days)
        if days not in self._decayed:
            self._decayed[days] = running_decay(self.received_start, self.received_time, days)
        sums = self._decayed[days]
        return decayed_by(self.received_start, self.received_time, sums, days, *_ask(at, node))  # type: ignore[no-any-return]

    # -- pairs --------------------------------------------------------------------------------------------------------

    def last_link(self, src: Any, dst: Any, at: Any) -> Days:
        """Tell when src last linked to dst as of a moment, (Q,) days; -inf where it had not."""
        pairs = self.pairs_start, self.pair_other, self.pair_start, self.pair_time
        return last_pair(*pairs, *_ask(at, src, dst))  # type: ignore[no-any-return]

    def count_links(self, src: Any, dst: Any, at: Any) -> Ints:
        """Count how often src had linked to dst by a moment, (Q,)."""
        pairs = self.pairs_start, self.pair_other, self.pair_start, self.pair_time
        return count_pair(*pairs, *_ask(at, src, dst))  # type: ignore[no-any-return]


_kept: WeakKeyDictionary[TemporalGraph, History] = WeakKeyDictionary()


def history_of(graph: TemporalGraph) -> History:
    """Find the history of a graph, once."""
    if graph not in _kept:
        _kept[graph] = _build(graph)
    return _kept[graph]


def lay_out(graph: TemporalGraph, forth: Days, back: Days) -> tuple[Days, Days, Days]:
    """Bring values of events, (E,), into the order of a history's acts, of its received events, and of its pairs.

    `back` has the values of the events of an undirected graph from dst to src.
    """
    src, dst, values = graph.src, graph.dst, forth
    if not graph.directed:
        src, dst, _, values = both_ways(src, dst, graph.time, forth, back)
    by_source, by_target, by_pair = (order for _, order in _groups(src, dst, graph.num_nodes))
    return values[by_source], values[by_target], values[by_pair]


def _groups(src: Nodes, dst: Nodes, num_nodes: int) -> tuple[tuple[Ints, Ints], ...]:
    """Group events by source, by target and by pair: where nodes' events begin, and their order."""
    in_order = np.arange(src.size)
    by_target = group(dst, in_order, num_nodes)
    return group(src, in_order, num_nodes), by_target, group(src, by_target[1], num_nodes)


def _build(graph: TemporalGraph) -> History:
    src, dst, time, toe = graph.src, graph.dst, graph.time, graph.toe
    if graph.toe_reverse is not None:
        src, dst, time, toe = both_ways(src, dst, time, toe, graph.toe_reverse)
    num_nodes = graph.num_nodes
    (acts_start, by_source), (received_start, by_target), (_, by_pair) = _groups(src, dst, num_nodes)
    pairs = split_pairs(src[by_pair], dst[by_pair], num_nodes)
    first = np.full(num_nodes, np.inf)
    for start, times in ((acts_start, time[by_source]), (received_start, time[by_target])):
        some = start[:-1] < start[1:]
        first[some] = np.minimum(first[some], times[start[:-1][some]])
    columns = (
        *(acts_start, time[by_source], dst[by_source], toe[by_source]),
        *(received_start, time[by_target], src[by_target], toe[by_target]),
        *(*pairs, time[by_pair], first),
    )
    for column in columns:
        column.flags.writeable = False
    return History(*columns)


def _ask(at: Any, *nodes: Any) -> tuple[Any, ...]:
    """Bring a question to arrays of one length: the moments, then the nodes."""
    columns = np.broadcast_arrays(np.asarray(at, np.float64), *(np.asarray(node, np.int64) for node in nodes))
    return tuple(np.ascontiguousarray(column) for column in columns)


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def both_ways(src: Nodes, dst: Nodes, time: Days, toe: Days, back: Days) -> tuple[Nodes, Nodes, Days, Days]:
    """Put every event that is no self-link in both directions, in order of time; `back` is the ToE of dst to src."""
    size = src.size + np.count_nonzero(src != dst)
    one, other = np.empty(size, np.int32), np.empty(size, np.int32)
    when, span = np.empty(size), np.empty(size)
    n = 0
    for k in range(src.size):
        one[n], other[n], when[n], span[n] = src[k], dst[k], time[k], toe[k]
        n += 1
        if src[k] != dst[k]:
            one[n], other[n], when[n], span[n] = dst[k], src[k], time[k], back[k]
            n += 1
    return one, other, when, span


@numba.njit(cache=True)
def group(node: Nodes, order: Ints, num_nodes: int) -> tuple[Ints, Ints]:
    """Bring an order of events, (E,), into groups by node, (N+1,) starts; within a group it stays as it was."""
    start = np.zeros(num_nodes + 1, np.int64)
    for k in order:
        start[node[k] + 1] += 1
    for v in range(num_nodes):
        start[v + 1] += start[v]
    free, grouped = start[:-1].copy(), np.empty(order.size, np.int64)
    for k in order:
        grouped[free[node[k]]] = k
        free[node[k]] += 1
    return start, grouped


@numba.njit(cache=True)
def split_pairs(src: Nodes, dst: Nodes, num_nodes: int) -> tuple[Ints, Nodes, Ints]:
    """Find where pairs begin among events in order of pair; see `History`."""
    count = 0
    for k in range(src.size):
        count += k == 0 or src[k] != src[k - 1] or dst[k] != dst[k - 1]
    pairs_start, other = np.zeros(num_nodes + 1, np.int64), np.empty(count, np.int32)
    pair_start = np.empty(count + 1, np.int64)
    n = 0
    for k in range(src.size):
        if k == 0 or src[k] != src[k - 1] or dst[k] != dst[k - 1]:
            other[n], pair_start[n] = dst[k], k
            pairs_start[src[k] + 1] += 1
            n += 1
    pair_start[n] = src.size
    for v in range(num_nodes):
        pairs_start[v + 1] += pairs_start[v]
    return pairs_start, other, pair_start


@numba.njit(cache=True, inline="always")
def end_of(time: Days, first: int, last: int, at: float) -> int:
    """Find the end of what is at or before a moment among ascending times `first:last`."""
    while first < last:
        middle = (first + last) >> 1
        if time[middle] <= at:
            first = middle + 1
        else:
            last = middle
    return first


@numba.njit(cache=True, inline="always")
def find_pair(pairs_start: Ints, other: Nodes, src: int, dst: int) -> int:
    """Find the number of a pair, -1 where it never met."""
    first, end = pairs_start[src], pairs_start[src + 1]
    last = end
    while first < last:
        middle = (first + last) >> 1
        if other[middle] < dst:
            first = middle + 1
        else:
            last = middle
    return first if first < end and other[first] == dst else -1


@numba.njit(cache=True)
def find_end(start: Ints, time: Days, at: Days, node: Ints) -> Ints:
    """Find the end of each node's events at or before a moment, (Q,) places."""
    found = np.empty(at.size, np.int64)
    for q in range(at.size):
        found[q] = end_of(time, start[node[q]], start[node[q] + 1], at[q])
    return found


@numba.njit(cache=True)
def count_by(start: Ints, time: Days, at: Days, node: Ints) -> Ints:
    """Count each node's events at or before a moment, (Q,)."""
    found = np.empty(at.size, np.int64)
    for q in range(at.size):
        first = start[node[q]]
        found[q] = end_of(time, first, start[node[q] + 1], at[q]) - first
    return found


@numba.njit(cache=True)
def last_by(start: Ints, time: Days, at: Days, node: Ints) -> Days:
    """Find the time of each node's last event at or before a moment, (Q,); -inf without one."""
    found = np.empty(at.size)
    for q in range(at.size):
        first = start[node[q]]
        end = end_of(time, first, start[node[q] + 1], at[q])
        found[q] = time[end - 1] if end > first else -np.inf
    return found


@numba.njit(cache=True)
def last_pair(pairs: Ints, other: Nodes, start: Ints, time: Days, at: Days, src: Ints, dst: Ints) -> Days:
    """Find the time of each pair's last event at or before a moment, (Q,); -inf without one."""
    found = np.empty(at.size)
    for q in range(at.size):
        pair = find_pair(pairs, other, src[q], dst[q])
        found[q] = -np.inf
        if pair >= 0:
            end = end_of(time, start[pair], start[pair + 1], at[q])
            if end > start[pair]:
                found[q] = time[end - 1]
    return found


@numba.njit(cache=True)
def count_pair(pairs: Ints, other: Nodes, start: Ints, time: Days, at: Days, src: Ints, dst: Ints) -> Ints:
    """Count each pair's events at or before a moment, (Q,)."""
    found = np.zeros(at.size, np.int64)
    for q in range(at.size):
        pair = find_pair(pairs, other, src[q], dst[q])
        if pair >= 0:
            found[q] = end_of(time, start[pair], start[pair + 1], at[q]) - start[pair]
    return found


@numba.njit(cache=True)
def running_decay(start: Ints, time: Days, days: float) -> Days:
    """Sum, at each event of a node, exp(-age / days) over it and those before it, (E,)."""
    sums = np.empty(time.size)
    for v in range(start.size - 1):
        total = 0.0
        for k in range(start[v], start[v + 1]):
            if k > start[v]:
                total *= np.exp((time[k - 1] - time[k]) / days)
            total += 1.0
            sums[k] = total
    return sums


@numba.njit(cache=True)
def decayed_by(start: Ints, time: Days, sums: Days, days: float, at: Days, node: Ints) -> Days:
    """Let each node's running sum decay to a moment, (Q,); 0 without an event."""
    found = np.zeros(at.size)
    for q in range(at.size):
        first = start[node[q]]
        end = end_of(time, first, start[node[q] + 1], at[q])
        if end > first:
            found[q] = sums[end - 1] * np.exp((time[end - 1] - at[q]) / days)
    return found
