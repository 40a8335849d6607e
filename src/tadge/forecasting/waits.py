"""Moments of the past, and how long it was then until a source linked to each target: what curves are learned from.

A moment is right after an event of the source, or any: users ask at both. As of a moment all nodes that had joined are
targets, and a few of them stand for all: those that the source links to later; those that it had dealings with lately;
others at random. Each is weighted by how many of its kind it stands for, so that weighted sums over the sample are, in
the mean, sums over all targets. Nothing about the past of a pair is drawn by what comes later within its kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.graph.cache import per_graph
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import EventLists, PairLists, end_of, pair_end, past_of
from tadge.seeding import draw, unit, walk_key

LATEST_OTHERS = 64  # events in either role whose other ends a source "had dealings with lately"
PER_KIND = 16  # targets of each kind per source and moment, at the most
TRIES = 4  # draws for each random target, of which most hit one that is no other kind


class Candidates(NamedTuple):
    """Hold who could be linked to, in order of when they joined.

    Attributes:
        node: (T,) node numbers.
        since: (T,) days at which they were first seen.
        first: (N,) days at which every node was first seen.
        lowest: the lowest node number that can be a target.
        loops: (E',) days of the events by which nodes link to themselves.
    """

    node: Ints
    since: Days
    first: Days
    lowest: int
    loops: Days

    def joined(self, at: Days) -> Ints:
        """Count those that had joined by moments, (n,)."""
        return np.searchsorted(self.since, at, side="right")

    def with_self(self, at: Days) -> Flags:
        """Tell whether any node had linked to itself by moments, (n,): only then can it be its own target."""
        return np.searchsorted(self.loops, at, side="right") > 0


@per_graph
def candidates_of(graph: TemporalGraph) -> Candidates:
    """Put the targets of a graph in order of when they joined, once."""
    first, targets = past_of(graph).first, np.arange(graph.num_sources, graph.num_nodes)
    order = np.argsort(first[targets], kind="stable")
    loops = graph.time[graph.src == graph.dst]
    return Candidates(targets[order], first[targets][order], first, graph.num_sources, loops)


def targets_of(graph: TemporalGraph, source: int, at: float) -> Ints:
    """List whom a source could link to as of a moment: (n,) node numbers in ascending order.

    All that had joined; the source itself only where some node had linked to itself.
    """
    candidates, moment = candidates_of(graph), np.array([at])
    targets = np.sort(candidates.node[: int(candidates.joined(moment)[0])])
    return targets if candidates.with_self(moment)[0] else targets[targets != source]


class Waits(NamedTuple):
    """Hold pairs as of moments, and how long it then took until src linked to dst.

    Attributes:
        src: (n,) node numbers.
        dst: (n,) node numbers.
        at: (n,) days.
        wait: (n,) days until the next link; inf where there is none in the graph.
        weight: (n,) how many targets of its kind it stands for.
    """

    src: Ints
    dst: Ints
    at: Days
    wait: Days
    weight: Days

    def part(self, cut: slice) -> Waits:
        """Give some of them."""
        return Waits(self.src[cut], self.dst[cut], self.at[cut], self.wait[cut], self.weight[cut])


def draw_moments(
    graph: TemporalGraph, rng: np.random.Generator, count: int, begin: float, end: float
) -> tuple[Ints, Days]:
    """Draw sources and moments from `begin` to `end`: (count,) node numbers and (count,) days.

    Every second one is right after an event of the source, in either role; the others are any moment, and the source
    took part in one of the events before it, more likely in a late one.
    """
    after = rng.random(count) < 0.5
    first, last = np.searchsorted(graph.time, [begin, end])
    event = np.minimum(rng.integers(first, max(last, first + 1), count), graph.num_events - 1)
    at = np.where(after, graph.time[event], rng.uniform(begin, end, count))
    known = np.maximum(np.searchsorted(graph.time, at, side="right"), 1)
    back = np.minimum((known * rng.random(count) ** 3).astype(np.int64), known - 1)
    event = np.where(after, event, known - 1 - back)
    turned = rng.random(count) < (0.0 if graph.bipartite else 0.5)
    return np.where(turned, graph.dst[event], graph.src[event]).astype(np.int64), at


def draw_waits(graph: TemporalGraph, src: Ints, at: Days, key: np.uint64) -> Waits:
    """Draw targets of sources as of moments, (Q,) each, and find how long each then took."""
    past, candidates = past_of(graph), candidates_of(graph)
    size = src.size * 3 * PER_KIND
    columns = Waits(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size), np.empty(size), np.empty(size))
    joined, loops = candidates.joined(at), candidates.with_self(at)
    count = fill_waits(past.outgoing, past.incoming, past.pairs, candidates, src, at, joined, loops, key, columns)
    src, dst, at, wait, weight = columns
    return Waits(src[:count], dst[:count], at[:count], wait[:count], weight[:count])


def next_links(graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
    """Find how long it takes until src links to dst after moments, (n,) days; inf where it never does."""
    return find_next(past_of(graph).pairs, src, dst, at) - at  # type: ignore[no-any-return]


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True, inline="always")
def add_others(lists: EventLists, node: int, at: float, lowest: int, itself: bool, others: Ints, count: int) -> int:
    """Add the distinct other ends of a node's latest events in one role; return how many there are now."""
    start, time, other = lists.start, lists.time, lists.other
    end = end_of(time, start[node], start[node + 1], at)
    for k in range(min(LATEST_OTHERS, end - start[node])):
        target = np.int64(other[end - 1 - k])
        new = target >= lowest and (itself or target != node)
        for i in range(count):
            if others[i] == target:
                new = False
                break
        if new:
            others[count] = target
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def fill_waits(
    outgoing: EventLists,
    incoming: EventLists,
    pairs: PairLists,
    candidates: Candidates,
    src: Ints,
    at: Days,
    joined: Ints,
    loops: Flags,
    key: np.uint64,
    waits: Waits,
) -> int:
    """Write what was drawn, and return how many rows that are."""
    first, target, start, _, time = pairs
    seen, others, n = candidates.first, np.empty(2 * LATEST_OTHERS, np.int64), 0
    for q in range(src.size):
        u, now, own, draws = src[q], at[q], walk_key(key, q), 0
        met = add_others(outgoing, u, now, candidates.lowest, loops[q], others, 0)
        met = add_others(incoming, u, now, candidates.lowest, loops[q], others, met)
        later = 0
        for pair in range(first[u], first[u + 1]):
            v = target[pair]
            later += seen[v] <= now and (loops[q] or v != u) and time[start[pair + 1] - 1] > now
        wanted, passed = min(later, PER_KIND), 0
        begin = n
        for pair in range(first[u], first[u + 1]):
            v = target[pair]
            if seen[v] <= now and (loops[q] or v != u) and time[start[pair + 1] - 1] > now:
                if unit(draw(own, draws)) * (later - passed) < wanted - (n - begin):
                    place = end_of(time, np.int64(start[pair]), np.int64(start[pair + 1]), now)
                    waits.dst[n], waits.wait[n], waits.weight[n] = v, time[place] - now, later / wanted
                    n += 1
                passed += 1
                draws += 1
        silent = 0  # those met lately that are not linked to later
        for i in range(met):
            end, count = pair_end(first, target, start, time, u, others[i], np.inf)
            if count == 0 or time[end - 1] <= now:
                others[silent] = others[i]
                silent += 1
        wanted, middle = min(silent, PER_KIND), n
        for i in range(silent):
            if unit(draw(own, draws)) * (silent - i) < wanted - (n - middle):
                waits.dst[n], waits.wait[n], waits.weight[n] = others[i], np.inf, silent / wanted
                n += 1
            draws += 1
        rest, middle = joined[q] - later - silent, n
        if not loops[q] and seen[u] <= now and u >= candidates.lowest:
            rest -= 1
        for _ in range(TRIES * PER_KIND if rest > 0 else 0):
            v = candidates.node[int(unit(draw(own, draws)) * joined[q])]
            draws += 1
            free = loops[q] or v != u
            for i in range(silent):
                free = free and others[i] != v
            if free:
                end, count = pair_end(first, target, start, time, u, v, np.inf)
                if count == 0 or time[end - 1] <= now:
                    waits.dst[n], waits.wait[n] = v, np.inf
                    n += 1
            if n - middle == PER_KIND:
                break
        for k in range(middle, n):
            waits.weight[k] = rest / (n - middle)
        for k in range(begin, n):
            waits.src[k], waits.at[k] = u, now
    return n


@numba.njit(cache=True, nogil=True)
def find_next(pairs: PairLists, src: Ints, dst: Ints, at: Days) -> Days:
    """Find when src links to dst next after moments, (n,) days; inf where it never does."""
    first, target, start, _, time = pairs
    times = np.full(src.size, np.inf)
    for q in range(src.size):
        end, count = pair_end(first, target, start, time, src[q], dst[q], np.inf)
        if count > 0:
            place = end_of(time, end - count, end, at[q])
            times[q] = time[place] if place < end else np.inf
    return times


@numba.njit(cache=True, nogil=True)
def find_next_acts(outgoing: EventLists, seen: Days, src: Ints, at: Days) -> tuple[Days, Days]:
    """Find when src acts next after moments, (n,) days, and when on a node that had not joined by then, (n,)."""
    start, time, other = outgoing.start, outgoing.time, outgoing.other
    anyone, someone_new = np.full(src.size, np.inf), np.full(src.size, np.inf)
    for q in range(src.size):
        end = end_of(time, start[src[q]], start[src[q] + 1], at[q])
        if end < start[src[q] + 1]:
            anyone[q] = time[end]
        for k in range(end, start[src[q] + 1]):
            if seen[other[k]] > at[q]:
                someone_new[q] = time[k]
                break
    return anyone, someone_new
