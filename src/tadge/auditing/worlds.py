"""Worlds that are the same until a moment and differ after it, and questions as of that moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tadge.arrays import Days, Ints
from tadge.graph import TemporalGraph
from tadge.units import date_text
from tadge.walks.split import without_events

RECENT = 1000  # events before a cut whose pairs are asked for
REPEATS = 10  # times that a planted pair links
FAR = 10.0  # spans of the graph between late planted events

World = Callable[[TemporalGraph, float, np.random.Generator], TemporalGraph]


@dataclass(frozen=True, eq=False)
class Questions:
    """Hold what a method is asked at one cut, (n,) each.

    Attributes:
        cut: the moment after which worlds differ, in days.
        label: the cut, for people.
        src: node numbers.
        dst: node numbers.
        at: moments at or before the cut.
        start: the question whose source is asked about where only a few are.
    """

    cut: float
    label: str
    src: Ints
    dst: Ints
    at: Days
    start: int = 0

    def sources(self, count: int) -> list[int]:
        """Choose a few sources."""
        return [int(self.src[(self.start + place) % self.src.size]) for place in range(min(count, self.src.size))]

    def take(self, rows: Ints) -> Questions:
        """Keep some of the questions, in this order."""
        start = np.flatnonzero(rows == self.start)
        kept = replace(self, src=self.src[rows], dst=self.dst[rows], at=self.at[rows])
        return replace(kept, start=int(start[0]) if start.size else 0)

    def unseen_beside_seen(self, seen: Days) -> tuple[Ints, Ints]:
        """Find pairs of questions, (m,) each, of one source and moment: a target that nobody has seen, and another.

        Args:
            seen: (N,) when each node is first seen.
        """
        unseen = np.flatnonzero(np.arange(self.src.size) % 4 == 3)
        other = unseen - 1
        same = (self.src[unseen] == self.src[other]) & (self.at[unseen] == self.at[other])
        at = self.at[unseen]
        known = (seen[self.src[unseen]] <= at) & (seen[self.dst[other]] <= at) & (seen[self.dst[unseen]] > at)
        return unseen[same & known], other[same & known]


@dataclass(frozen=True, eq=False)
class Canary:
    """Hold a planted future, (n,) each: a method that cannot see it finds `ahead` and `behind` equally good.

    Attributes:
        graph: the past of the cut, then what was planted.
        cut: in days.
        src: node numbers.
        ahead: targets that the planted future favours.
        behind: targets that it does not.
    """

    graph: TemporalGraph
    cut: float
    src: Ints
    ahead: Ints
    behind: Ints


# -- cuts and questions -----------------------------------------------------------------------------------------------


def choose_times(graph: TemporalGraph, count: int, rng: np.random.Generator, tied: float, skip: slice) -> Days:
    """Choose distinct times of events, ascending: at most `count`, a fraction `tied` of them with several events."""
    times, events = (column[skip] for column in np.unique(graph.time, return_counts=True))
    order = np.argsort(rng.exponential(size=times.size) / events)  # times of many events tend to come first
    several = order[events[order] > 1][: round(count * tied)]
    rest = order[~np.isin(order, several)][: count - several.size]
    return np.sort(times[np.concatenate([several, rest])])


def make_questions(
    graph: TemporalGraph, seen: Days, cut: float, count: int, rng: np.random.Generator, *, before: bool = False
) -> Questions:
    """Ask about what comes next or later, what was, random pairs and nodes that nobody has seen; a quarter each.

    Where the target is one that nobody has seen, the question before it is about the same source and moment, and a
    random target that had been seen.

    Args:
        graph: with what comes later.
        seen: (N,) when each node is first seen.
        cut: at or after the first event.
        count: how many questions.
        rng: randomness.
        before: the cut lies right before an event.
    """
    known = int(np.searchsorted(graph.time, cut, side="right"))
    src, dst = random_ends(graph, count, rng)
    kind, turn = np.arange(count) % 4, np.arange(count) // 4
    later = np.where(turn % 2 == 0, known + turn // 2, rng.integers(known, graph.num_events + 1, count))
    event = np.where(kind == 0, later, rng.integers(max(0, known - RECENT), known, count))
    real = (kind <= 1) & (event < graph.num_events)
    src[real], dst[real] = graph.src[event[real]], graph.dst[event[real]]
    for ends, (low, high), odd in ((src, _sources(graph), 0), (dst, _targets(graph), 1)):
        unseen = low + np.flatnonzero(seen[low:high] > cut)
        chosen = (kind == 3) & (turn % 2 == odd)
        if unseen.size:
            ends[chosen] = rng.choice(unseen, np.count_nonzero(chosen))
    at = np.full(count, cut)
    early = rng.random(count) < 0.25
    at[early] = graph.time[rng.integers(0, known, np.count_nonzero(early))]
    between = early & (rng.random(count) < 0.5)
    at[between] = graph.time[0] + (cut - graph.time[0]) * rng.random(np.count_nonzero(between))
    beside = np.flatnonzero((kind == 3) & (turn % 2 == 1))
    for ends, (low, high) in ((src, _sources(graph)), (dst, _targets(graph))):
        ends[beside - 1] = rng.choice(low + np.flatnonzero(seen[low:high] <= cut), beside.size)
    src[beside], at[beside], at[beside - 1] = src[beside - 1], cut, cut
    after = date_text(float(np.nextafter(cut, np.inf)) if before else cut, graph.clock)
    label, start = f"right before {after}" if before else after, int(rng.integers(count))
    return Questions(cut, label, src, dst, np.minimum(at, cut), start)


def _sources(graph: TemporalGraph) -> tuple[int, int]:
    return 0, graph.num_sources or graph.num_nodes


def _targets(graph: TemporalGraph) -> tuple[int, int]:
    return graph.num_sources, graph.num_nodes


def random_ends(graph: TemporalGraph, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw random pairs, (count,) each; in a bipartite graph from source to target."""
    return rng.integers(*_sources(graph), count), rng.integers(*_targets(graph), count)


# -- worlds that are the same until the cut ---------------------------------------------------------------------------


def unchanged(graph: TemporalGraph, cut: float, rng: np.random.Generator) -> TemporalGraph:
    """Leave everything as it is, in a graph that nobody has seen yet."""
    return replace(graph)


def future_removed_view(graph: TemporalGraph, cut: float, rng: np.random.Generator) -> TemporalGraph:
    """Delete what is later, as a view."""
    return graph.before(float(np.nextafter(cut, np.inf)))


def future_removed_rebuilt(graph: TemporalGraph, cut: float, rng: np.random.Generator) -> TemporalGraph:
    """Delete what is later, as a graph of the events that remain."""
    return without_events(graph, graph.time <= cut)[0]


def scrambled(graph: TemporalGraph, cut: float, rng: np.random.Generator) -> TemporalGraph:
    """Give what is later random ends and other times, some of them right after the cut."""
    later = graph.time[np.searchsorted(graph.time, cut, side="right") :]
    time = rng.permutation(later)
    moved = rng.random(time.size) < 0.5
    time[moved] = cut + (graph.time[-1] - cut) * rng.random(np.count_nonzero(moved)) * rng.choice([1e-3, 1.0])
    return _with_future(graph, cut, *random_ends(graph, time.size, rng), time, rng)


def doubled(graph: TemporalGraph, cut: float, rng: np.random.Generator) -> TemporalGraph:
    """Let twice as much happen later, in twice the time, between random ends."""
    count = 2 * (graph.num_events - int(np.searchsorted(graph.time, cut, side="right")))
    time = cut + 2 * (graph.time[-1] - cut) * rng.random(count)
    return _with_future(graph, cut, *random_ends(graph, count, rng), time, rng)


def _with_future(
    graph: TemporalGraph, cut: float, src: Ints, dst: Ints, time: Days, rng: np.random.Generator
) -> TemporalGraph:
    """Build the graph of what is known by the cut and then of these events, all of them after it."""
    known = int(np.searchsorted(graph.time, cut, side="right"))
    time = np.maximum(time, np.nextafter(cut, np.inf))
    weight = None
    if graph.weight is not None:
        weight = np.concatenate([graph.weight[:known], rng.choice(graph.weight, time.size)])
    return TemporalGraph.from_numbers(
        np.concatenate([graph.src[:known], src]).astype(np.int32),
        np.concatenate([graph.dst[:known], dst]).astype(np.int32),
        graph.ids,
        graph.num_sources,
        np.concatenate([graph.time[:known], time]),
        weight,
        clock=graph.clock,
        directed=graph.directed,
        tov=graph.tov_rule,
        types=graph.types.take(np.arange(known)).followed_by(graph.types.drawn(time.size, rng)),
    )


@dataclass(frozen=True, eq=False)
class WithoutUnseen:
    """Hold a graph that lacks the nodes that nobody has seen by the cut, and what can be asked in it.

    Attributes:
        graph: what is known by the cut; its nodes are numbered anew, in the same order.
        rows: (n,) which of the questions can be asked, repeated until there are as many as before; empty where none.
        questions: these, with the numbers of this graph.
        same_source: the source whose targets are asked for is the same.
    """

    graph: TemporalGraph
    rows: Ints
    questions: Questions
    same_source: bool


def without_unseen(graph: TemporalGraph, seen: Days, questions: Questions) -> WithoutUnseen:
    """Delete what is later, and the nodes that nobody has seen by then.

    Args:
        graph: with what comes later.
        seen: (N,) when each node is first seen.
        questions: of which those remain whose nodes had been seen.
    """
    there = seen <= questions.cut
    number = np.cumsum(there) - 1  # (N,) in the graph without the others
    known = int(np.searchsorted(graph.time, questions.cut, side="right"))
    rest = TemporalGraph.from_numbers(
        number[graph.src[:known]].astype(np.int32),
        number[graph.dst[:known]].astype(np.int32),
        graph.ids[there],
        int(np.count_nonzero(there[: graph.num_sources])),
        graph.time[:known].copy(),
        None if graph.weight is None else graph.weight[:known].copy(),
        clock=graph.clock,
        directed=graph.directed,
        tov=graph.tov_rule,
        types=graph.types.take(np.arange(known)),
    )
    rows = np.flatnonzero(there[questions.src] & there[questions.dst])
    rows = np.resize(rows, questions.src.size) if rows.size else rows
    asked = questions.take(rows)
    asked = replace(asked, src=number[asked.src], dst=number[asked.dst])
    return WithoutUnseen(rest, rows, asked, bool((rows == questions.start).any()))


# -- a planted future -------------------------------------------------------------------------------------------------


def can_plant(graph: TemporalGraph) -> bool:
    """Tell whether there are two targets to choose between."""
    low, high = _targets(graph)
    return high - low >= 2


def plant_links(graph: TemporalGraph, cut: float, count: int, rng: np.random.Generator) -> Canary:
    """Let random pairs link again and again right after the cut."""
    src, ahead, behind = _triples(graph, count, rng)
    ends = np.repeat(src, REPEATS), np.repeat(ahead, REPEATS)
    time = cut + _step(graph, cut) * rng.permutation(np.arange(1.0, 1.0 + count * REPEATS))
    return Canary(_with_future(graph, cut, *ends, time, rng), cut, src, ahead, behind)


def plant_toe(graph: TemporalGraph, cut: float, count: int, rng: np.random.Generator) -> Canary:
    """Let all targets join right after the cut; `behind` is linked to at once, `ahead` ages later, again and again."""
    src, ahead, behind = _triples(graph, count, rng)
    step, span = _step(graph, cut), float(graph.time[-1] - graph.time[0])
    joins = np.full(2 * count, cut + step)
    soon = np.tile(cut + step * np.arange(2.0, 2.0 + REPEATS), count)
    late = np.tile(cut + FAR * span * np.arange(1.0, 1.0 + REPEATS), count)
    targets, (sources, anyone) = np.concatenate([ahead, behind]), random_ends(graph, 2 * count, rng)
    joining = (sources, targets) if graph.bipartite else (targets, anyone)  # where targets never act, a link joins them
    actors, late_ends, soon_ends = (np.repeat(nodes, REPEATS) for nodes in (src, ahead, behind))
    ends = np.concatenate([joining[0], actors, actors]), np.concatenate([joining[1], soon_ends, late_ends])
    return Canary(_with_future(graph, cut, *ends, np.concatenate([joins, soon, late]), rng), *(cut, src, ahead, behind))


def _triples(graph: TemporalGraph, count: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Draw sources and two distinct targets each, (count,); which of the two comes first is as a fair coin says."""
    (low, high), (src, ahead) = _targets(graph), random_ends(graph, count, rng)
    behind = low + (ahead - low + rng.integers(1, high - low, count)) % (high - low)
    return src, ahead, behind


def _step(graph: TemporalGraph, cut: float) -> float:
    """Give a time that is short in this graph, and long enough to be told apart by float64 days."""
    return max(1e-7 * float(graph.time[-1] - graph.time[0]), 4 * float(np.spacing(abs(cut))))
