"""The exact probabilities of one step (Eq. 1), computed from the events without an index."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tadge.arrays import Days, Ints, NodeNumbers, Nodes
from tadge.config import WalkConfig, options
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.graph.inputs import one_node
from tadge.walks.build import centrality_of


@dataclass(frozen=True, eq=False)
class Step:
    """Hold the candidates of one step, in order of event and then of time.

    Attributes:
        nodes: (C,) node each candidate leads to.
        tov: (C,) its time there, in days.
        toe: (C,) days between the two occurrences: the delta of Eq. 1.
        events: (C,) index of the event stepped over.
        probability: (C,) they sum to 1; empty where the walk ends.
    """

    nodes: Nodes
    tov: Days
    toe: Days
    events: Ints
    probability: Days

    def __len__(self) -> int:
        return int(self.nodes.size)


def walk_probabilities(
    graph: TemporalGraph,
    node: Any,
    tov: float,
    reach: str = "occurrence",
    centrality: str = "degree",
    direction: str = "forward",
) -> Step:
    """Return the candidates of a step from an occurrence, with the probability of each.

    A candidate that leads to node u after delta days has weight centrality(u) * (1 - delta / sum of all delta), and the
    weights are normalised; a single candidate is taken. Events count one by one: two events between the same nodes are
    two candidates.

    Args:
        graph: the events.
        node: an id.
        tov: a joining time of that node, in days on the graph's clock.
        reach: "occurrence": events up to and including the node's next ToV; "future": all later events.
        centrality: "degree": all events of u; "degree-so-far": those up to and including the instant of the event
            stepped over; "uniform": 1.
        direction: "forward": over the events into the node, to where they came from. "backward": over the events out of
            the node at this very instant, to the target's occurrence before it (reach "occurrence": the latest;
            "future": any). A backward step undoes a forward one.
    """
    for option in options(WalkConfig):
        if option.name in ("reach", "centrality", "direction"):
            option.check({"reach": reach, "centrality": centrality, "direction": direction}[option.name])
    number = one_node(graph, node, "node")
    times = graph.tov(NodeNumbers(number))
    at = int(np.searchsorted(times, tov))
    if at == times.size or times[at] != tov:
        cure = "graph.tov(node) lists them"
        raise InputError("unknown start", expected=f"a ToV of node {node!r}", found=repr(tov), cure=cure)
    if direction == "forward":
        last = times[at + 1] if reach == "occurrence" and at + 1 < times.size else np.inf
        events, nodes = _touching(graph, number, graph.dst, graph.src, float(tov), float(last))
        landed = graph.time[events]
    else:
        before = np.nextafter(tov, -np.inf)
        events, nodes = _touching(graph, number, graph.src, graph.dst, float(before), float(tov))
        events, nodes, landed = _earlier_occurrences(graph, events, nodes, float(tov), reach)
    delta = np.abs(landed - tov)
    return Step(nodes, landed, delta, events, _normalise(centrality_of(graph, centrality, nodes, events), delta))


def _touching(
    graph: TemporalGraph, node: int, near: Nodes, far: Nodes, after: float, last: float
) -> tuple[Ints, Nodes]:
    """Find the events with after < time <= last that have the node at their near end, and their far ends."""
    begin, end = np.searchsorted(graph.time, [after, last], side="right")
    hit = near[begin:end] == node
    if not graph.directed:
        hit |= far[begin:end] == node
    events = begin + np.flatnonzero(hit)
    return events, np.where(near[events] == node, far[events], near[events])


def _earlier_occurrences(
    graph: TemporalGraph, events: Ints, nodes: Nodes, t: float, reach: str
) -> tuple[Ints, Nodes, Days]:
    """Pair every event with the occurrences of its far end before t: the latest one, or all of them."""
    landed = [graph.tov(NodeNumbers(node)) for node in nodes]
    landed = [times[: np.searchsorted(times, t)] for times in landed]
    if reach == "occurrence":
        landed = [times[-1:] for times in landed]
    sizes = [times.size for times in landed]
    return np.repeat(events, sizes), np.repeat(nodes, sizes), np.concatenate([np.empty(0), *landed])


def _normalise(weight: Ints, delta: Days) -> Days:
    """Normalise weight * (sum of the other deltas).

    The sum of the others is the total minus a candidate's delta: that loses precision for the largest delta only, whose
    others are summed directly.
    """
    if delta.size < 2:
        return np.ones(delta.size)
    largest = int(np.argmax(delta))
    others = math.fsum(np.delete(delta, largest))
    rest = (others + delta[largest]) - delta
    rest[largest] = others
    weights: Days = weight * rest
    return weights / np.float64(math.fsum(weights))
