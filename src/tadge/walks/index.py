"""The index of the walks: what a walker reads, built once per graph, reach, direction and centrality.

Reach "occurrence": every link hangs on one occurrence, so the walk is a Markov chain on the occurrences. The links of
an occurrence lie together as one alias table, each with the table it leads to: a step costs one or two cache lines,
whatever the degree. Backward, the same links are grouped by the occurrence they lead to.

Reach "future", forward: the links into a node lie together in order of time, and the candidates are the rest of that
list. Backward, a step undoes a forward step: over an event out of the occurrence, to any earlier occurrence of its
target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from weakref import WeakKeyDictionary

import numpy as np

from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.kernels import Days, Ints, Nodes
from tadge.walks import build, kernels
from tadge.walks.layout import (
    BACK,
    BIG,
    CELL,
    EARLIER,
    LATER,
    MAX_EDGES,
    NONE,
    START,
    STEP,
    Positions,
    Records,
    aligned_records,
)

CENTRALITIES = {"degree": build.DEGREE, "degree-so-far": build.SO_FAR, "uniform": build.UNIFORM}


@dataclass(frozen=True, eq=False)
class Rows:
    """Hold the walks of one task before they are cut to what is kept.

    Attributes:
        cells: (T, width) places of the walks; the event of the first is not set.
        length: (T,) vertices in each walk.
    """

    cells: Records
    length: Ints

    @classmethod
    def empty(cls, num: int, width: int) -> Rows:
        """Make rows to be written over."""
        return cls(np.empty((num + 1, width), CELL), np.empty(num + 1, np.int64))


@dataclass(frozen=True, eq=False)
class WalkIndex(ABC):
    """Hold what walkers of one kind read.

    Attributes:
        occurrences: (O+1,) records of 16 bytes: node, time, and where the candidates begin.
    """

    occurrences: Records

    @abstractmethod
    def walk(self, starts: Ints, key: np.uint64, number: int, max_length: int, rows: Rows) -> None:
        """Walk from every start, (T,); the first has this walk number, the others follow."""

    @abstractmethod
    def decode(self, occurrence: int) -> tuple[Ints, Days, Days]:
        """Read back what the walkers use: each candidate's event, time and probability, (C,) each."""

    @property
    def nbytes(self) -> int:
        """Count the bytes held."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def _group(self, occurrence: int) -> slice:
        first = self.occurrences["first"]
        return slice(int(first[occurrence]), int(first[occurrence + 1]))


@dataclass(frozen=True, eq=False)
class StepIndex(WalkIndex):
    """Reach "occurrence": one alias table per occurrence.

    Attributes:
        steps: (M,) records of 32 bytes, grouped by the occurrence they go out of.
        big_count: sizes of the groups too large for 15 bits.
    """

    steps: Records
    big_count: Ints

    def walk(self, starts: Ints, key: np.uint64, number: int, max_length: int, rows: Rows) -> None:  # noqa: D102
        tables = self.steps, self.big_count, self.occurrences
        kernels.walk_steps(*tables, starts, key, number, max_length, rows.cells, rows.length)

    def decode(self, occurrence: int) -> tuple[Ints, Days, Days]:  # noqa: D102
        group = self._group(occurrence)
        steps = self.steps[group]
        share = np.minimum(steps["threshold"], 1.0)
        alias = steps["alias"].astype(np.int64) - group.start
        probability = (share + np.bincount(alias, 1.0 - share, steps.size)) / max(steps.size, 1)
        return steps["event"].astype(np.int64), steps["time"], probability


@dataclass(frozen=True, eq=False)
class LaterIndex(WalkIndex):
    """Reach "future", forward: the links into a node in order of time, with sums over the rest of the list.

    Attributes:
        later: (M,) records of 64 bytes, grouped by target node.
        guide: (M,) where to look for a point of a list's mass.
        masses: (M,) the masses of the records once more, close together for the search.
    """

    later: Records
    guide: Positions
    masses: Ints

    def walk(self, starts: Ints, key: np.uint64, number: int, max_length: int, rows: Rows) -> None:  # noqa: D102
        tables = self.later, self.guide, self.masses, self.occurrences
        kernels.walk_later(*tables, starts, key, number, max_length, rows.cells, rows.length)

    def decode(self, occurrence: int) -> tuple[Ints, Days, Days]:  # noqa: D102
        begin, t = int(self.occurrences["first"][occurrence]), self.occurrences["time"][occurrence]
        if begin == NONE:
            return np.empty(0, np.int64), np.empty(0), np.empty(0)
        head = self.later[begin]
        rest = self.later[begin : begin + int(head["left"])]
        others = head["spread"] + (rest.size - 1) * (head["time"] - t)
        total = others + (head["end_time"] - t)
        mass = np.diff(rest["mass"], append=head["end_mass"] + head["end_weight"])
        weight = mass * (1 - (rest["time"] - t) / total)
        weight[-1] = head["end_weight"] * (others / total) if rest.size > 1 else 1.0
        return rest["event"].astype(np.int64), rest["time"], weight / weight.sum()


@dataclass(frozen=True, eq=False)
class EarlierIndex(WalkIndex):
    """Reach "future", backward: the links out of an occurrence, each with the occurrences of its target before it.

    Attributes:
        earlier: (M,) records of 32 bytes, grouped by the occurrence they lead to.
        sums: (O,) records of 24 bytes: the candidates of every occurrence summed up.
    """

    earlier: Records
    sums: Records

    def walk(self, starts: Ints, key: np.uint64, number: int, max_length: int, rows: Rows) -> None:  # noqa: D102
        tables = self.earlier, self.sums, self.occurrences
        kernels.walk_earlier(*tables, starts, key, number, max_length, rows.cells, rows.length)

    def decode(self, occurrence: int) -> tuple[Ints, Days, Days]:  # noqa: D102
        group, of_all, time = self._group(occurrence), self.sums[occurrence], self.occurrences["time"]
        events, times, weights = [np.empty(0, np.int64)], [np.empty(0)], [np.empty(0)]
        for slot in range(group.start, group.stop):
            link = self.earlier[slot]
            spots = time[int(link["oldest"]) : int(link["newest"]) + 1]
            weight = link["weight"] * (1 - (time[occurrence] - spots) / of_all["total"])
            if slot == of_all["furthest"]:
                weight[0] = link["weight"] * (of_all["others"] / of_all["total"])
            events.append(np.full(spots.size, int(link["event"])))
            times.append(spots)
            weights.append(weight)
        weight = np.concatenate(weights)
        weight = np.ones(1) if weight.size == 1 else weight / weight.sum()
        return np.concatenate(events), np.concatenate(times), weight


# -- building ---------------------------------------------------------------------------------------------------------

_kept: WeakKeyDictionary[TemporalGraph, dict[tuple[str, str, str], WalkIndex]] = WeakKeyDictionary()


def walk_index(graph: TemporalGraph, reach: str, direction: str, centrality: str) -> WalkIndex:
    """Return the index of a graph; it is built at the first call and kept as long as the graph."""
    of_graph = _kept.setdefault(graph, {})
    name = (reach, direction, centrality)
    if name not in of_graph:
        of_graph[name] = build_index(graph, reach, direction, centrality)
    return of_graph[name]


def build_index(graph: TemporalGraph, reach: str, direction: str, centrality: str) -> WalkIndex:
    """Build an index in time linear in the events."""
    if graph.num_events == 0:
        raise InputError("the graph is empty", expected="at least two events", found="none", cure="give it events")
    links = build.make_links(graph.src, graph.dst, graph.time, graph.tov_start, graph.tov_times, not graph.directed)
    event, hang, lead = links
    if event.size == 0:
        cure = "walks need events whose target joined before them"
        raise InputError("nothing to walk on", expected="events with a ToE", found="none", cure=cure)
    if event.size >= MAX_EDGES or graph.num_occurrences >= MAX_EDGES:
        cure = "walk on views of the graph (TemporalGraph.between)"
        raise InputError("too many events", expected=f"fewer than {MAX_EDGES:,}", found=f"{event.size:,}", cure=cure)
    node_of = build.occurrence_nodes(graph.tov_start)
    forward = direction == "forward"
    weight = _weights(graph, centrality, lead if forward else hang, event, node_of)
    if reach == "occurrence":
        out_of, into = (hang, lead) if forward else (lead, hang)
        first = build.group_starts(out_of, graph.num_occurrences)
        count = np.diff(first)
        big = np.flatnonzero(count >= BIG).astype(np.uint32)
        steps = aligned_records(event.size, STEP)
        build.fill_steps(steps, first, big, out_of, into, event, weight, node_of, graph.tov_times)
        return StepIndex(_occurrences(graph, node_of, first), steps, count[big].astype(np.int64))
    lists = event, hang, lead, weight, node_of, graph.tov_start, graph.tov_times
    if forward:
        later = aligned_records(event.size, LATER)
        guide, first = build.fill_later(later, *lists)
        return LaterIndex(_occurrences(graph, node_of, first), later, guide, later["mass"].copy())
    earlier, sums = aligned_records(event.size, EARLIER), aligned_records(graph.num_occurrences, BACK)
    first = build.group_starts(lead, graph.num_occurrences)
    build.fill_earlier(earlier, first, *lists, sums)
    return EarlierIndex(_occurrences(graph, node_of, first), earlier, sums)


def _weights(graph: TemporalGraph, centrality: str, into: Positions, event: Positions, node_of: Nodes) -> Ints:
    none = np.empty(0, np.int64)
    so_far = (none, none)
    if centrality == "degree-so-far":
        so_far = build.degrees_so_far(graph.src, graph.dst, graph.time, graph.num_nodes)
    kind = CENTRALITIES[centrality]
    return build.link_weights(kind, into, event, node_of, graph.src, graph.degree, *so_far)  # type: ignore[no-any-return]


def _occurrences(graph: TemporalGraph, node_of: Nodes, first: Positions) -> Records:
    occurrences = aligned_records(graph.num_occurrences + 1, START)
    occurrences["time"][:-1], occurrences["node"][:-1] = graph.tov_times, node_of
    occurrences["first"][: first.size] = first
    return occurrences
