"""The links of a graph: which occurrence every event comes from, and which one it leads to; found once per graph.

Axes: E events in order of time, N nodes, O occurrences (node, ToV), M links. A link is an event with a ToE, read in one
direction: it comes from the occurrence (target, latest ToV before the event) and leads to the occurrence (source, time
of the event). A directed event makes one link, an undirected one up to two.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, Nodes
from tadge.graph.cache import per_graph
from tadge.graph.graph import TemporalGraph

Positions = npt.NDArray[np.uint32]


class Links(NamedTuple):
    """Hold the links of a graph in order of time.

    Attributes:
        event: (M,) uint32, the event of each link.
        origin: (M,) uint32, the occurrence it comes from: its target, when that last joined before the event.
        arrival: (M,) uint32, the occurrence it leads to: its source, at the time of the event.
        node: (O,) int32, the node of every occurrence.
    """

    event: Positions
    origin: Positions
    arrival: Positions
    node: Nodes


@per_graph
def links_of(graph: TemporalGraph) -> Links:
    """Find the links of a graph, once."""
    columns = graph.src, graph.dst, graph.time, graph.tov_start, graph.tov_times
    event, origin, arrival = make_links(*columns, not graph.directed)
    links = Links(event, origin, arrival, occurrence_nodes(graph.tov_start))
    for column in links:
        column.flags.writeable = False
    return links


@numba.njit(cache=True)
def make_links(
    src: Nodes, dst: Nodes, time: Days, start: Ints, tov: Days, both: bool
) -> tuple[Positions, Positions, Positions]:
    """Find every link, in order of time: (M,) event, (M,) origin, (M,) arrival; see `Links`."""
    most = 2 * time.size if both else time.size
    event, origin, arrival = np.empty(most, np.uint32), np.empty(most, np.uint32), np.empty(most, np.uint32)
    at = start[:-1].copy()  # per node, the first ToV that is not earlier than now
    m = 0
    for k in range(time.size):
        u, v, t = src[k], dst[k], time[k]
        a, b = at[u], at[v]
        while a < start[u + 1] and tov[a] < t:
            a += 1
        while b < start[v + 1] and tov[b] < t:
            b += 1
        at[u], at[v] = a, b
        if b > start[v]:
            event[m], origin[m], arrival[m] = k, b - 1, a
            m += 1
        if both and u != v and a > start[u]:
            event[m], origin[m], arrival[m] = k, a - 1, b
            m += 1
    return event[:m], origin[:m], arrival[:m]


@numba.njit(cache=True)
def occurrence_nodes(start: Ints) -> Nodes:
    """Return the node of every occurrence, (O,)."""
    node = np.empty(start[-1], np.int32)
    for v in range(start.size - 1):
        node[start[v] : start[v + 1]] = v
    return node
