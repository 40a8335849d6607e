"""Other readings of the same events."""

from __future__ import annotations

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
    return TemporalGraph.from_numbers(*columns, clock=graph.clock, directed=False, tov=graph.tov_rule)
