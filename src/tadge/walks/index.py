"""The index of the walks: what a walker reads, built once per graph, reach, direction and centrality.

Reach "occurrence": every link comes from one occurrence, so the walk is a Markov chain on the occurrences. The links of
an occurrence lie together as one alias table, each with the table it leads to: a step costs one or two cache lines,
whatever the degree. Backward, the same links are grouped by the occurrence they lead to.

Reach "future", forward: the links into a node lie together in order of time, and the candidates are the rest of that
list; the entry drawn also holds what the next draw needs. Backward, a step undoes a forward step: over an event out of
the occurrence, to any earlier occurrence of its target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np

from tadge.arrays import Ints, Nodes
from tadge.errors import InputError, TooFewWalksError
from tadge.graph import TemporalGraph
from tadge.graph.cache import per_graph
from tadge.graph.links import Positions, links_of
from tadge.walks import build, kernels, lists
from tadge.walks.layout import BACK, BIG, EARLIER, LATER, MAX_EDGES, START, STEP, Records, aligned_records


@dataclass(frozen=True, eq=False)
class WalkIndex(ABC):
    """Hold what walkers of one kind read."""

    @abstractmethod
    def walk(self, task: kernels.Task) -> None:
        """Walk from every start of a task, and fill its rows."""

    @property
    def nbytes(self) -> int:
        """Count the bytes held."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))


@dataclass(frozen=True, eq=False)
class StepIndex(WalkIndex):
    """Reach "occurrence": one alias table per occurrence.

    Attributes:
        occurrences: (O+1,) records of 16 bytes: node, time, and where the candidates begin.
        steps: (M,) records of 32 bytes, grouped by the occurrence they come from.
        big_count: sizes of the groups too large for 15 bits.
    """

    occurrences: Records
    steps: Records
    big_count: Ints

    def walk(self, task: kernels.Task) -> None:  # noqa: D102
        kernels.walk_steps(self.steps, self.big_count, self.occurrences, task)


@dataclass(frozen=True, eq=False)
class LaterIndex(WalkIndex):
    """Reach "future", forward: the links into a node in order of time, each with sums over the list it leads to.

    Attributes:
        opening: (O,) an entry that leads to each occurrence.
        later: (M + more,) records of 64 bytes, grouped by target node; then occurrences that no link leads to.
        guide: (G,) records of 8 bytes: which entry a point of a list's mass belongs to; at most two per link.
        masses: (M,) centrality summed over the entries before each one in its list.
    """

    opening: Positions
    later: Records
    guide: Records
    masses: Ints

    def walk(self, task: kernels.Task) -> None:  # noqa: D102
        kernels.walk_later(self.opening, self.later, self.guide, self.masses, task)


@dataclass(frozen=True, eq=False)
class EarlierIndex(WalkIndex):
    """Reach "future", backward: the links out of an occurrence, each with the occurrences of its target before it.

    Attributes:
        occurrences: as in `StepIndex`.
        earlier: (M,) records of 32 bytes, grouped by the occurrence they lead to.
        sums: (O,) records of 24 bytes: sums over the candidates of every occurrence.
    """

    occurrences: Records
    earlier: Records
    sums: Records

    def walk(self, task: kernels.Task) -> None:  # noqa: D102
        kernels.walk_earlier(self.earlier, self.sums, self.occurrences, task)


# -- building ---------------------------------------------------------------------------------------------------------


@per_graph
def walk_index(graph: TemporalGraph, reach: str, direction: str, centrality: str) -> WalkIndex:
    """Build the index of a graph in time linear in the events; it is kept as long as the graph."""
    if graph.num_events == 0:
        raise InputError("the graph is empty", expected="at least two events", found="none", cure="give it events")
    event, origin, arrival, node = links_of(graph)
    if event.size == 0:
        cure = "walks need events whose target joined before them"
        raise TooFewWalksError("nothing to walk on", expected="events with a ToE", found="none", cure=cure)
    if event.size >= MAX_EDGES or graph.num_occurrences >= MAX_EDGES:
        cure = "walk on views of the graph (TemporalGraph.between)"
        raise InputError("too many events", expected=f"fewer than {MAX_EDGES:,}", found=f"{event.size:,}", cure=cure)
    forward = direction == "forward"
    weight = build.centrality_of(graph, centrality, node[arrival if forward else origin], event)
    links = build.WeightedLinks(event, origin, arrival, weight, node, graph.tov_start, graph.tov_times)
    if reach == "occurrence":
        links = links if forward else links.reversed()
        first = build.group_starts(links.origin, graph.num_occurrences)
        count = np.diff(first)
        big = np.flatnonzero(count >= BIG).astype(np.uint32)
        steps = aligned_records(event.size, STEP)
        build.fill_steps(steps, first, big, links)
        return StepIndex(_occurrences(graph, node, first), steps, count[big].astype(np.int64))
    if forward:
        begin, opening, size = lists.open_lists(links)
        later = aligned_records(size, LATER)
        return LaterIndex(opening, later, *lists.fill_later(later, begin, opening, links))
    earlier, sums = aligned_records(event.size, EARLIER), aligned_records(graph.num_occurrences, BACK)
    first = build.group_starts(arrival, graph.num_occurrences)
    lists.fill_earlier(earlier, first, links, sums)
    return EarlierIndex(_occurrences(graph, node, first), earlier, sums)


def _occurrences(graph: TemporalGraph, node: Nodes, first: Positions) -> Records:
    occurrences = aligned_records(graph.num_occurrences + 1, START)
    occurrences["time"][:-1], occurrences["node"][:-1] = graph.tov_times, node
    occurrences["first"][: first.size] = first
    return occurrences
