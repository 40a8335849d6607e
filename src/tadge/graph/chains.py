"""The past of an occurrence as a chain: what a node linked to when it joined, what that had linked to, and so on.

In the default reach a step back from an occurrence leads to the occurrence that its event hangs on, almost always one.
Where a node linked to several at one instant, the chain follows the first such event that has a ToE. So nothing is
random, and nothing later than the occurrence is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from tadge.arrays import PAD, Days, Ints, Nodes
from tadge.graph.cache import per_graph
from tadge.graph.graph import TemporalGraph
from tadge.graph.links import links_of
from tadge.graph.past import find_end


@dataclass(frozen=True, eq=False)
class Chains:
    """Hold what is needed to go back from any occurrence of a graph.

    Attributes:
        parent: (O,) the occurrence that each hangs on, or -1.
        node: (O,) int32.
        time: (O,) float64 days.
        order: (O,) all occurrences in order of time; of equal times in order of node.
        times: (O,) their times.
    """

    parent: Ints
    node: Nodes
    time: Days
    order: Ints
    times: Days

    def paths(self, occurrences: Ints, max_length: int) -> tuple[Ints, Ints]:
        """Go back from occurrences, (K,), at most `max_length` nodes.

        Returns:
            (K, L) occurrences in order of time, each chain ends in its occurrence, PAD at the end; (K,) lengths.
        """
        return go_back(self.parent, occurrences, max_length)  # type: ignore[no-any-return]

    def before(self, occurrences: Ints, count: int, share: int = 1) -> Ints:
        """Give `count` occurrences strictly before each of these, (K,), as (K, count), -1 where none is.

        They are the latest there were when the number of occurrences was last a multiple of `share`: so as many that
        follow each other share theirs.
        """
        end = np.searchsorted(self.times, self.time[occurrences], side="left") // share * share
        place = end[:, None] - np.arange(count, 0, -1)
        return np.where(place >= 0, self.order[np.maximum(place, 0)], -1)


@per_graph
def chains_of(graph: TemporalGraph) -> Chains:
    """Find the chains of a graph, once."""
    links = links_of(graph)
    parent = np.full(graph.num_occurrences, PAD, np.int64)
    parent[links.arrival[::-1]] = links.origin[::-1]  # the first link of an occurrence is written last
    order = np.argsort(graph.tov_times, kind="stable")
    return Chains(parent, links.node, graph.tov_times, order, graph.tov_times[order])


def latest(graph: TemporalGraph, nodes: Ints, at: Days, count: int) -> tuple[Ints, Ints]:
    """Find the latest occurrences of nodes, (Q,), at or before moments, (Q,): at most `count` of each.

    Returns:
        (K,) occurrences, and (K,) which of the Q queries each belongs to, ascending.
    """
    end = find_end(graph.tov_start, graph.tov_times, nodes, at)
    have = np.minimum(end - graph.tov_start[nodes], count)
    query = np.repeat(np.arange(nodes.size), have)
    within = np.arange(query.size) - np.repeat(np.cumsum(have) - have, have)
    return (end - have)[query] + within, query


def last_joined(graph: TemporalGraph, nodes: Ints, at: Days) -> Days:
    """Tell when nodes, (Q,), last joined at or before moments, (Q,), in days; -inf where they had not."""
    end = find_end(graph.tov_start, graph.tov_times, nodes, at)
    found = np.full(nodes.size, -np.inf)
    some = end > graph.tov_start[nodes]
    found[some] = graph.tov_times[end[some] - 1]
    return found


def as_of_joining(graph: TemporalGraph, nodes: Ints, at: Days) -> tuple[Days, Days]:
    """Go back from moments, (Q,), to when nodes, (Q,), last joined: (Q,) those moments, (Q,) days passed since.

    For a node that had not joined, the moment stays and nothing has passed.
    """
    joined = last_joined(graph, nodes, at)
    has_joined = joined > -np.inf
    return np.where(has_joined, joined, at), np.where(has_joined, at - joined, 0.0)


@numba.njit(cache=True)
def go_back(parent: Ints, occurrences: Ints, max_length: int) -> tuple[Ints, Ints]:
    """Follow parents; see `Chains.paths`."""
    path = np.full((occurrences.size, max_length), PAD, np.int64)
    lengths = np.empty(occurrences.size, np.int64)
    for k in range(occurrences.size):
        length, at = 0, occurrences[k]
        while at != PAD and length < max_length:
            length, at = length + 1, parent[at]
        lengths[k], at = length, occurrences[k]
        for place in range(length - 1, -1, -1):
            path[k, place], at = at, parent[at]
    return path, lengths
