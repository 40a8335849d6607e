"""The index of the walks: what a walker reads, built once per graph, reach, direction and centrality.

Reach "occurrence": every link hangs on one occurrence, so the walk is a Markov chain on the occurrences. The links of
an occurrence lie together as one alias table, each with the table it leads to: a step costs one or two cache lines,
whatever the degree. Backward, the same links are grouped by the occurrence they lead to.

Reach "future", forward: the links into a node lie together in order of time, and the candidates are the rest of that
list; what is drawn tells what is needed for the next draw. Backward, a step undoes a forward step: over an event out of
the occurrence, to any earlier occurrence of its target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.graph.cache import per_graph
from tadge.graph.links import Positions, links_of
from tadge.walks import build, kernels, lists
from tadge.walks.layout import (
    BACK,
    BIG,
    CELL,
    EARLIER,
    LATER,
    MANY,
    MAX_EDGES,
    NONE,
    START,
    STEP,
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
    """Hold what walkers of one kind read."""

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


@dataclass(frozen=True, eq=False)
class StepIndex(WalkIndex):
    """Reach "occurrence": one alias table per occurrence.

    Attributes:
        occurrences: (O+1,) records of 16 bytes: node, time, and where the candidates begin.
        steps: (M,) records of 32 bytes, grouped by the occurrence they go out of.
        big_count: sizes of the groups too large for 15 bits.
    """

    occurrences: Records
    steps: Records
    big_count: Ints

    def walk(self, starts: Ints, key: np.uint64, number: int, max_length: int, rows: Rows) -> None:  # noqa: D102
        tables = self.steps, self.big_count, self.occurrences
        kernels.walk_steps(*tables, starts, key, number, max_length, rows.cells, rows.length)

    def decode(self, occurrence: int) -> tuple[Ints, Days, Days]:  # noqa: D102
        group = _group(self.occurrences, occurrence)
        steps = self.steps[group]
        share = np.minimum(steps["threshold"], 1.0)
        alias = steps["alias"].astype(np.int64) - group.start
        probability = (share + np.bincount(alias, 1.0 - share, steps.size)) / max(steps.size, 1)
        return steps["event"].astype(np.int64), steps["time"], probability


@dataclass(frozen=True, eq=False)
class LaterIndex(WalkIndex):
    """Reach "future", forward: the links into a node in order of time, each with sums over the list it leads to.

    Attributes:
        opening: (O,) an entry that leads to each occurrence.
        later: (M + more,) records of 64 bytes, grouped by target node; then occurrences that no link leads to.
        guide: (G,) records of 8 bytes: which entry a point of a list's mass belongs to; at most two per link.
        masses: (M,) centrality summed over what stands before an entry in its list.
    """

    opening: Positions
    later: Records
    guide: Records
    masses: Ints

    def walk(self, starts: Ints, key: np.uint64, number: int, max_length: int, rows: Rows) -> None:  # noqa: D102
        tables = self.opening, self.later, self.guide, self.masses
        kernels.walk_later(*tables, starts, key, number, max_length, rows.cells, rows.length)

    def decode(self, occurrence: int) -> tuple[Ints, Days, Days]:  # noqa: D102
        here = self.later[self.opening[occurrence]]
        if here["end"] == NONE:
            return np.empty(0, np.int64), np.empty(0), np.empty(0)
        begin = end = int(here["end"])
        if here["rest"]:
            begin = int(self.guide["entry"][int(here["guide"]) + (int(here["mass"]) >> int(here["shift"]))]) % MANY
            begin += int(np.searchsorted(self.masses[begin:end], here["mass"]))
        listed = self.later[begin : end + 1]
        mass = np.diff(self.masses[begin : end + 1], append=0)
        weight = mass * (here["total"] - (listed["time"] - here["time"]))
        weight[-1] = here["last"] if listed.size > 1 else 1.0
        return listed["event"].astype(np.int64), listed["time"], weight / weight.sum()


@dataclass(frozen=True, eq=False)
class EarlierIndex(WalkIndex):
    """Reach "future", backward: the links out of an occurrence, each with the occurrences of its target before it.

    Attributes:
        occurrences: as in `StepIndex`.
        earlier: (M,) records of 32 bytes, grouped by the occurrence they lead to.
        sums: (O,) records of 24 bytes: the candidates of every occurrence summed up.
    """

    occurrences: Records
    earlier: Records
    sums: Records

    def walk(self, starts: Ints, key: np.uint64, number: int, max_length: int, rows: Rows) -> None:  # noqa: D102
        tables = self.earlier, self.sums, self.occurrences
        kernels.walk_earlier(*tables, starts, key, number, max_length, rows.cells, rows.length)

    def decode(self, occurrence: int) -> tuple[Ints, Days, Days]:  # noqa: D102
        group, of_all = _group(self.occurrences, occurrence), self.sums[occurrence]
        time = self.occurrences["time"]
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


@per_graph
def walk_index(graph: TemporalGraph, reach: str, direction: str, centrality: str) -> WalkIndex:
    """Build the index of a graph in time linear in the events; it is kept as long as the graph."""
    if graph.num_events == 0:
        raise InputError("the graph is empty", expected="at least two events", found="none", cure="give it events")
    event, hang, lead, node_of = links_of(graph)
    if event.size == 0:
        cure = "walks need events whose target joined before them"
        raise InputError("nothing to walk on", expected="events with a ToE", found="none", cure=cure)
    if event.size >= MAX_EDGES or graph.num_occurrences >= MAX_EDGES:
        cure = "walk on views of the graph (TemporalGraph.between)"
        raise InputError("too many events", expected=f"fewer than {MAX_EDGES:,}", found=f"{event.size:,}", cure=cure)
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
    links = event, hang, lead, weight, node_of, graph.tov_start, graph.tov_times
    if forward:
        begin, opening, size = lists.open_lists(hang, lead, node_of, graph.num_nodes)
        later = aligned_records(size, LATER)
        return LaterIndex(opening, later, *lists.fill_later(later, begin, opening, *links))
    earlier, sums = aligned_records(event.size, EARLIER), aligned_records(graph.num_occurrences, BACK)
    first = build.group_starts(lead, graph.num_occurrences)
    lists.fill_earlier(earlier, first, *links, sums)
    return EarlierIndex(_occurrences(graph, node_of, first), earlier, sums)


def _weights(graph: TemporalGraph, centrality: str, into: Positions, event: Positions, node_of: Nodes) -> Ints:
    none = np.empty(0, np.int64)
    so_far = (none, none)
    if centrality == "degree-so-far":
        so_far = build.degrees_so_far(graph.src, graph.dst, graph.time, graph.num_nodes)
    kind = CENTRALITIES[centrality]
    return build.link_weights(kind, into, event, node_of, graph.src, graph.degree, *so_far)  # type: ignore[no-any-return]


def _group(occurrences: Records, occurrence: int) -> slice:
    """Find where the candidates of an occurrence lie."""
    return slice(int(occurrences["first"][occurrence]), int(occurrences["first"][occurrence + 1]))


def _occurrences(graph: TemporalGraph, node_of: Nodes, first: Positions) -> Records:
    occurrences = aligned_records(graph.num_occurrences + 1, START)
    occurrences["time"][:-1], occurrences["node"][:-1] = graph.tov_times, node_of
    occurrences["first"][: first.size] = first
    return occurrences
