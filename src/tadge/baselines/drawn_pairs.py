"""Pairs as of moments, and how long it then took: what everyone is asked, and what rules for `within` learn from.

Sources and moments are drawn as a Forecaster draws them. The targets are chosen by the past alone, never by what comes
later: of a source's former targets, of those who linked to it, of the targets of the latest events of all, and of all
nodes that had joined, each up to a few. The first three are drawn by their events: who had more is likelier.
"""

# mypy: allow-untyped-decorators

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints, Nodes
from tadge.forecasting.waits import Candidates, candidates_of, draw_moments, next_links
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import EventLists, end_of, past_of
from tadge.seeding import draw, stream, unit, walk_key

FORMER, REVERSE, LATE, RANDOM = 4, 4, 2, 4  # targets of each kind per source and moment, at the most
PER_MOMENT = FORMER + REVERSE + LATE + RANDOM
LATEST_EVENTS = 64  # of all sources, whose targets are "late"
TRIES = 4  # draws for each target: some hit one that was drawn before


class DrawnPairs(NamedTuple):
    """Hold pairs as of moments, in no order.

    Attributes:
        src: (n,) node numbers.
        dst: (n,) node numbers.
        at: (n,) days; what happened until then, that moment included, is known.
        wait: (n,) days from then until src links to dst; inf where it does not by the end of the graph.
        left: (n,) days from then to the end of the graph: what has not come by then may still come.
    """

    src: Ints
    dst: Ints
    at: Days
    wait: Days
    left: Days

    @property
    def passed(self) -> Days:
        """Give how long each was looked at: until the link, or the end of the graph, (n,) days."""
        return np.minimum(self.wait, self.left)

    @property
    def came(self) -> Flags:
        """Tell which links came, (n,)."""
        return np.isfinite(self.wait)

    def take(self, which: npt.NDArray[np.bool_] | Ints) -> DrawnPairs:
        """Keep some of them."""
        return DrawnPairs(self.src[which], self.dst[which], self.at[which], self.wait[which], self.left[which])


def draw_pairs(graph: TemporalGraph, seed: int, name: str, count: int, begin: float, end: float) -> DrawnPairs:
    """Draw pairs as of so many moments from `begin` to `end`, in days.

    Args:
        graph: what happened.
        seed: the same seed and name draw the same pairs.
        name: of the stream.
        count: of the moments; each has up to PER_MOMENT pairs.
        begin: the first moment.
        end: the last one.
    """
    if not graph.num_events:
        none = np.empty(0, np.int64)
        return DrawnPairs(none, none, *(np.empty(0) for _ in range(3)))
    rng = np.random.default_rng(int(stream(seed, name)))
    src, at = draw_moments(graph, rng, count, begin, end)
    candidates, past = candidates_of(graph), past_of(graph)
    known, joined = np.searchsorted(graph.time, at, side="right"), candidates.joined(at)
    row, dst = np.empty(count * PER_MOMENT, np.int64), np.empty(count * PER_MOMENT, np.int64)
    key, loops = stream(seed, f"{name}: targets"), candidates.with_self(at)
    lists = past.outgoing, past.incoming, graph.dst, candidates
    size = fill_pairs(*lists, src, at, known, joined, loops, key, row, dst)
    row, dst = row[:size], dst[:size]
    src, at = src[row], at[row]
    return DrawnPairs(src, dst, at, next_links(graph, src, dst, at), float(graph.time[-1]) - at)


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def fill_pairs(
    outgoing: EventLists,
    incoming: EventLists,
    target: Nodes,
    candidates: Candidates,
    src: Ints,
    at: Days,
    known: Ints,
    joined: Ints,
    loops: Flags,
    key: np.uint64,
    row: Ints,
    dst: Ints,
) -> int:
    """Write which question each pair belongs to, and its target; return how many there are."""
    n = 0
    for q in range(src.size):
        u, own, first = src[q], walk_key(key, q), n
        itself = -1 if loops[q] else u  # who is no target
        start = outgoing.start[u]
        size = end_of(outgoing.time, start, outgoing.start[u + 1], at[q]) - start
        n = add_drawn(outgoing.other, start, size, FORMER, own, 0, candidates.lowest, itself, dst, first, n)
        start = incoming.start[u]
        size = end_of(incoming.time, start, incoming.start[u + 1], at[q]) - start
        n = add_drawn(incoming.other, start, size, REVERSE, own, 1, candidates.lowest, itself, dst, first, n)
        size = min(known[q], LATEST_EVENTS)
        n = add_drawn(target, known[q] - size, size, LATE, own, 2, candidates.lowest, itself, dst, first, n)
        n = add_drawn(candidates.node, 0, joined[q], RANDOM, own, 3, candidates.lowest, itself, dst, first, n)
        row[first:n] = q
    return n


@numba.njit(cache=True)
def add_drawn(
    nodes: Ints | Nodes,
    start: int,
    size: int,
    wanted: int,
    key: np.uint64,
    kind: int,
    lowest: int,
    itself: int,
    dst: Ints,
    first: int,
    n: int,
) -> int:
    """Draw up to `wanted` of the nodes in `start:start + size` that are not among `dst[first:n]`; return the new n."""
    most = n + wanted
    for k in range(TRIES * wanted if size > 0 else 0):
        v = np.int64(nodes[start + int(unit(draw(key, kind * TRIES * PER_MOMENT + k)) * size)])
        free = v >= lowest and v != itself
        for i in range(first, n):
            free = free and dst[i] != v
        if free:
            dst[n] = v
            n += 1
        if n == most:
            break
    return n
