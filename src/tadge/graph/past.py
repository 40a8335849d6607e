"""What had happened by a moment: the one index of a graph's events, by source, by target and by pair.

Every question names a moment, and only events at or before it count. An event is read from its source, which acts, to
its target; in an undirected graph it is read in both directions, a self-link once. A reading has the number of its
event in a directed graph; in an undirected one twice that, plus 1 in the direction dst to src. Axes: E events, R
readings in order of time, N nodes, P distinct pairs, Q questions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints, Nodes
from tadge.errors import InputError
from tadge.graph.cache import per_graph
from tadge.graph.graph import TemporalGraph

REPEAT, ANSWER, FIRST_CONTACT, UNSEEN = range(4)  # src had linked to dst; dst to src; neither; src had not been seen
NUM_KINDS = 4
MOST_READINGS = 2**31 - 1  # their numbers are int32


class EventLists(NamedTuple):
    """Hold the readings of all nodes in one role, each node's in order of time.

    Attributes:
        start: (N+1,) node u's are at `start[u]:start[u+1]` of the next three.
        reading: (R,) the number of the reading.
        time: (R,) float64 days, ascending within a node.
        other: (R,) int32, the node at the other end.
    """

    start: Ints
    reading: Nodes
    time: Days
    other: Nodes


class PairLists(NamedTuple):
    """Hold the readings of all pairs, each pair's in order of time.

    Attributes:
        first: (N+1,) node u's distinct targets are at `first[u]:first[u+1]` of the next.
        target: (P,) int32, ascending within a node.
        start: (P+1,) pair p's readings are at `start[p]:start[p+1]` of the next two.
        reading: (R,) the number of the reading.
        time: (R,) float64 days, ascending within a pair.
    """

    first: Ints
    target: Nodes
    start: Nodes
    reading: Nodes
    time: Days


@dataclass(frozen=True, eq=False, repr=False)
class Past:
    """Answer what had happened by a moment.

    Questions are arrays of equal length, (Q,), or one value for all: node numbers, and moments in days. What happened
    at the moment itself is known.

    Attributes:
        outgoing: what each node did.
        incoming: what was done to each node.
        pairs: what each pair of nodes did.
        first: (N,) float64 days, when each node was first seen in any role; +inf where never.
        directions: in how many directions an event is read: 1, or 2 in an undirected graph.
    """

    outgoing: EventLists
    incoming: EventLists
    pairs: PairLists
    first: Days
    directions: int
    _decayed: dict[float, Days] = field(default_factory=dict)

    # -- one node -----------------------------------------------------------------------------------------------------

    def count_outgoing(self, node: Any, at: Any) -> Ints:
        """Count how often each node had acted by a moment, (Q,)."""
        return _count(self.outgoing, *_question(at, node))

    def count_incoming(self, node: Any, at: Any) -> Ints:
        """Count how often each node had been linked to by a moment, (Q,)."""
        return _count(self.incoming, *_question(at, node))

    def last_outgoing(self, node: Any, at: Any) -> Days:
        """Find when each node last acted as of a moment, (Q,) days; -inf where it had not."""
        return _last(self.outgoing, *_question(at, node))

    def last_incoming(self, node: Any, at: Any) -> Days:
        """Find when each node was last linked to as of a moment, (Q,) days; -inf where it had not been."""
        return _last(self.incoming, *_question(at, node))

    def last_seen(self, node: Any, at: Any) -> Days:
        """Find when each node was last seen in any role as of a moment, (Q,) days; -inf where it had not been."""
        return np.maximum(self.last_outgoing(node, at), self.last_incoming(node, at))

    def decayed_incoming(self, node: Any, at: Any, days: float) -> Days:
        """Count how often each node had been linked to by a moment, (Q,), an event of age a by exp(-a / days)."""
        days = float(days)
        if days not in self._decayed:
            self._decayed.clear()
            self._decayed[days] = running_decay(self.incoming.start, self.incoming.time, days)
        return decayed_by(self.incoming, self._decayed[days], days, *_question(at, node))  # type: ignore[no-any-return]

    # -- pairs --------------------------------------------------------------------------------------------------------

    def count_links(self, src: Any, dst: Any, at: Any) -> Ints:
        """Count how often src had linked to dst by a moment, (Q,)."""
        return find_pair_ends(self.pairs, *_question(at, src, dst))[1]  # type: ignore[no-any-return]

    def last_link(self, src: Any, dst: Any, at: Any) -> Days:
        """Find when src last linked to dst as of a moment, (Q,) days; -inf where it had not."""
        end, count = find_pair_ends(self.pairs, *_question(at, src, dst))
        return _time_before(self.pairs.time, end, count)

    def ever_linked(self, src: Any, dst: Any) -> Flags:
        """Tell whether two nodes ever had a link, in whatever direction, (Q,); a node counts as linked with itself."""
        there, back = self.count_links(src, dst, np.inf), self.count_links(dst, src, np.inf)
        return np.asarray((there + back > 0) | (np.asarray(src) == np.asarray(dst)))

    def kinds(self, src: Any, dst: Any, at: Any) -> Ints:
        """Tell what kind of edge src to dst would be as of a moment, (Q,): REPEAT, ANSWER, FIRST_CONTACT or UNSEEN."""
        first = self.first[np.asarray(src, np.int64)]
        kinds = np.where((first <= at) & (first < np.inf), FIRST_CONTACT, UNSEEN)
        kinds = np.where(self.count_links(dst, src, at) > 0, ANSWER, kinds)
        return np.where(self.count_links(src, dst, at) > 0, REPEAT, kinds)

    # -- values of events ---------------------------------------------------------------------------------------------

    def by_reading(self, forth: npt.NDArray[Any], back: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Bring values of events, (E,), into the numbering of readings; `back` has those of dst to src."""
        return forth if self.directions == 1 else np.stack([forth, back], axis=1).reshape(-1)


@per_graph
def past_of(graph: TemporalGraph) -> Past:
    """Index the events of a graph, once."""
    src, dst, time, readings = graph.src, graph.dst, graph.time, np.arange(graph.num_events)
    most = MOST_READINGS // (1 if graph.directed else 2)
    if graph.num_events > most:
        expected, found = f"at most {most:,} events", f"{graph.num_events:,}"
        raise InputError("too many events to index", expected=expected, found=found, cure="take a part: graph.between")
    if not graph.directed:
        ends, time = np.stack([src, dst], axis=1), np.repeat(time, 2)
        src, dst = ends.reshape(-1), ends[:, ::-1].reshape(-1)
        readings = np.flatnonzero((src != dst) | (np.arange(src.size) % 2 == 0))
    num_nodes = graph.num_nodes
    sources, by_source = group(src, readings, num_nodes)
    targets, by_target = group(dst, readings, num_nodes)
    by_pair = group(src, by_target, num_nodes)[1]
    first_pair, target, start = split_pairs(src[by_pair], dst[by_pair], num_nodes)
    lists = (
        EventLists(sources, by_source, time[by_source], dst[by_source]),
        EventLists(targets, by_target, time[by_target], src[by_target]),
        PairLists(first_pair, target, start, by_pair, time[by_pair]),
    )
    first = np.full(num_nodes, np.inf)
    for events in lists[:2]:
        some = events.start[:-1] < events.start[1:]
        first[some] = np.minimum(first[some], events.time[events.start[:-1][some]])
    for column in (*lists[0], *lists[1], *lists[2], first):
        column.flags.writeable = False
    return Past(*lists, first, 1 if graph.directed else 2)


class FirstLinks(NamedTuple):
    """Hold whom each node ever linked to, each target once, in order of the first time.

    Attributes:
        start: (N+1,) node u's targets are at `start[u]:start[u+1]` of the next two.
        target: (P,) int32.
        since: (P,) days of the first link.
        place: (E,) which of its source's targets an event's target is.
    """

    start: Ints
    target: Nodes
    since: Days
    place: Ints


@per_graph
def first_links_of(graph: TemporalGraph) -> FirstLinks:
    """Put the pairs of a graph in order of their first events, once; in an undirected one, of both directions."""
    past = past_of(graph)
    pairs = past.pairs
    begin, source = pairs.start[:-1], np.repeat(np.arange(graph.num_nodes), np.diff(pairs.first))
    order = np.lexsort((pairs.reading[begin], source))
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    place = np.empty(graph.num_events * past.directions, np.int64)
    place[pairs.reading] = np.repeat(rank - pairs.first[source], np.diff(pairs.start))
    return FirstLinks(pairs.first, pairs.target[order], pairs.time[begin][order], place[:: past.directions])


def _question(at: Any, *nodes: Any) -> tuple[Any, ...]:
    """Bring a question to arrays of one length: the moments, then the nodes."""
    columns = np.broadcast_arrays(np.asarray(at, np.float64), *(np.asarray(node, np.int64) for node in nodes))
    return tuple(np.ascontiguousarray(column) for column in columns)


def _count(lists: EventLists, at: Days, node: Ints) -> Ints:
    return find_end(lists.start, lists.time, node, at) - lists.start[node]  # type: ignore[no-any-return]


def _last(lists: EventLists, at: Days, node: Ints) -> Days:
    end = find_end(lists.start, lists.time, node, at)
    return _time_before(lists.time, end, end - lists.start[node])


def _time_before(time: Days, end: Ints, count: Ints) -> Days:
    """Take the time right before each end, (Q,); -inf where there is none."""
    last = np.full(end.shape, -np.inf)
    some = count > 0
    last[some] = time[end[some] - 1]
    return last


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def group(node: Nodes, readings: Ints, num_nodes: int) -> tuple[Ints, Nodes]:
    """Bring an order of readings, (R,), into groups by node, (N+1,) starts; within a group it stays as it was."""
    start = np.zeros(num_nodes + 1, np.int64)
    for k in readings:
        start[node[k] + 1] += 1
    for v in range(num_nodes):
        start[v + 1] += start[v]
    free, grouped = start[:-1].copy(), np.empty(readings.size, np.int32)
    for k in readings:
        grouped[free[node[k]]] = k
        free[node[k]] += 1
    return start, grouped


@numba.njit(cache=True)
def split_pairs(src: Nodes, dst: Nodes, num_nodes: int) -> tuple[Ints, Nodes, Nodes]:
    """Find where pairs begin among readings in order of pair: the first three of `PairLists`."""
    count = 0
    for k in range(src.size):
        count += k == 0 or src[k] != src[k - 1] or dst[k] != dst[k - 1]
    first, target = np.zeros(num_nodes + 1, np.int64), np.empty(count, np.int32)
    start = np.empty(count + 1, np.int32)
    n = 0
    for k in range(src.size):
        if k == 0 or src[k] != src[k - 1] or dst[k] != dst[k - 1]:
            target[n], start[n] = dst[k], k
            first[src[k] + 1] += 1
            n += 1
    start[n] = src.size
    for v in range(num_nodes):
        first[v + 1] += first[v]
    return first, target, start


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


@numba.njit(cache=True)
def find_end(start: Ints, time: Days, node: Ints, at: Days) -> Ints:
    """Find the end of what each node has at or before a moment among its ascending times, (Q,) places in `time`."""
    end = np.empty(at.size, np.int64)
    for q in range(at.size):
        end[q] = end_of(time, start[node[q]], start[node[q] + 1], at[q])
    return end


@numba.njit(cache=True, inline="always")
def pair_end(first: Ints, target: Nodes, start: Nodes, time: Days, src: int, dst: int, at: float) -> tuple[int, int]:
    """Find the end of a pair's readings at or before a moment, and how many there are; 0 and 0 where it never met.

    The first four are those of `PairLists`: compiled loops take them out of it once, which a look-up cannot afford.
    """
    low, high = first[src], first[src + 1]
    last = high
    while low < high:
        middle = (low + high) >> 1
        if target[middle] < dst:
            low = middle + 1
        else:
            high = middle
    end, count = 0, 0
    if low < last and target[low] == dst:
        begin = np.int64(start[low])
        end = end_of(time, begin, np.int64(start[low + 1]), at)
        count = end - begin
    return end, count


@numba.njit(cache=True)
def find_pair_ends(pairs: PairLists, at: Days, src: Ints, dst: Ints) -> tuple[Ints, Ints]:
    """Find the end of each pair's readings at or before a moment, (Q,) places, and how many there are, (Q,)."""
    first, target, start, _, time = pairs
    end, count = np.empty(at.size, np.int64), np.empty(at.size, np.int64)
    for q in range(at.size):
        end[q], count[q] = pair_end(first, target, start, time, src[q], dst[q], at[q])
    return end, count


@numba.njit(cache=True)
def running_decay(start: Ints, time: Days, days: float) -> Days:
    """Sum, at each event of a node, exp(-age / days) over it and those before it, (R,)."""
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
def decayed_by(lists: EventLists, sums: Days, days: float, at: Days, node: Ints) -> Days:
    """Let each node's running sum decay to a moment, (Q,); 0 without an event."""
    totals = np.zeros(at.size)
    for q in range(at.size):
        first = lists.start[node[q]]
        end = end_of(lists.time, first, lists.start[node[q] + 1], at[q])
        if end > first:
            totals[q] = sums[end - 1] * np.exp((lists.time[end - 1] - at[q]) / days)
    return totals
