"""Other readings of the same events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tadge.arrays import Ints
from tadge.graph.cache import per_graph
from tadge.graph.graph import TemporalGraph


def both_directions(graph: TemporalGraph) -> TemporalGraph:
    """Read the events of a directed bipartite graph in both directions; give any other graph as it is.

    Where sources and targets are different nodes, targets never act, so that no walk gets past one. Read in both
    directions a walk goes from a user to an item, to who else chose it, and on.
    """
    return _undirected(graph) if graph.bipartite and graph.directed else graph


@per_graph
def _undirected(graph: TemporalGraph) -> TemporalGraph:
    columns = graph.src, graph.dst, graph.ids, graph.num_sources, graph.time, graph.weight
    turned = TemporalGraph.from_numbers(
        *columns, clock=graph.clock, directed=False, tov=graph.tov_rule, types=graph.types
    )
    return replace(turned, reading=graph.reading)


@per_graph
def seen_nodes(graph: TemporalGraph) -> Ints:
    """List the nodes that have an event, (K,) ascending, once.

    A view of the past has further nodes, which come later: who learns must not use them.
    """
    return np.flatnonzero(graph.degree > 0)


@per_graph
def seen_targets(graph: TemporalGraph) -> Ints:
    """List the nodes that have an event and can be linked to, (T,) ascending, once."""
    nodes = seen_nodes(graph)
    return nodes[nodes >= graph.num_sources]


def only_seen(graph: TemporalGraph) -> TemporalGraph:
    """Leave out the nodes without an event; the others are numbered anew, in the same order."""
    nodes = seen_nodes(graph)
    if nodes.size == graph.num_nodes:
        return graph
    there = graph.degree > 0
    number = (np.cumsum(there) - 1).astype(np.int32)
    joinings = np.diff(graph.tov_start)
    return replace(
        graph,
        src=number[graph.src],
        dst=number[graph.dst],
        ids=graph.ids[there],
        num_sources=int(np.count_nonzero(there[: graph.num_sources])),
        tov_start=np.concatenate([[0], np.cumsum(joinings[there])]),
        tov_times=graph.tov_times[np.repeat(there, joinings)],
    )
