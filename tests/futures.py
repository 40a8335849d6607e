"""Graphs of every kind, and the same past with other futures."""

from __future__ import annotations

import math

import numpy as np
from graphs import graphs
from hypothesis import strategies as st

from tadge.graph import TemporalGraph
from tadge.graph.event_types import NO_TYPES


@st.composite
def all_kinds(draw, max_events=40):
    """Graphs with ties, self-links and repeats: directed, undirected, bipartite; whole, or a part with unseen nodes."""
    graph = draw(graphs(max_events=max_events, unix=False))
    if draw(st.booleans()):
        columns = graph.src, graph.dst, graph.time
        graph = TemporalGraph.from_arrays(*columns, unit="days", bipartite=True, directed=graph.directed)
    times = [graph.time[0], graph.time[0] + 3, graph.time[-1], math.inf]
    return graph.before(draw(st.sampled_from(times)))


def with_events(graph, src, dst, time, types=NO_TYPES):
    """Make a graph of the same kind with the same nodes, from node numbers and days."""
    ends = np.asarray(src, np.int32), np.asarray(dst, np.int32)
    kind = {"clock": graph.clock, "directed": graph.directed, "tov": graph.tov_rule, "types": types}
    return TemporalGraph.from_numbers(*ends, graph.ids, graph.num_sources, np.asarray(time, np.float64), None, **kind)


def random_ends(graph, count, rng):
    """Draw sources and targets, (count,) each."""
    return rng.integers(0, graph.num_sources or graph.num_nodes, count), targets(graph, count, rng)


def targets(graph, shape, rng):
    return rng.integers(graph.num_sources, graph.num_nodes, shape)


def other_futures(graph, at, rng):
    """Cut what is later than a moment off, in a part and in a graph built anew, or let something else happen."""
    past = graph.time <= at
    kept = graph.src[past], graph.dst[past], graph.time[past]
    count = int(rng.integers(1, 60))
    after = np.maximum(np.nextafter(at, np.inf), at + rng.exponential(5, count) * (rng.random(count) < 0.8))
    later = (*random_ends(graph, count, rng), after)
    scrambled = (np.concatenate(each) for each in zip(kept, later, strict=True))
    types = graph.types.take(np.flatnonzero(past))
    others = types.followed_by(graph.types.drawn(count, rng))
    return [
        graph.before(np.nextafter(at, np.inf)),
        with_events(graph, *kept, types),
        with_events(graph, *scrambled, others),
    ]
