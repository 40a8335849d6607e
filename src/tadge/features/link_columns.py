"""What is known of every node and every pair as of any moment, as columns of numbers: LINK_COLUMNS.

Times enter as how long ago, on a log scale, never as the absolute clock: a process drifts. Every compiled loop takes
what it needs out of the tables once, before it begins: to hand on twenty arrays costs more than most questions do.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes, Vectors
from tadge.features.choices import fill_choices
from tadge.features.columns import (
    INCOMING,
    LINK_COLUMNS,
    NODE,
    NODE_COLUMNS,
    NUM_SCALES,
    OUTGOING,
    PAIR,
    PAIR_COLUMNS,
    RolePlaces,
)
from tadge.features.tables import REPEATED, RoleTables, Tables, decayed_until, marked_until, toe_until
from tadge.graph.past import end_of, find_end, pair_end

NEVER_AGO = 20.0  # on the log scale of times: longer ago than anything
UNBORN = -1.0  # the age of a node that has not been seen
LATEST_EVENTS = 16  # of a node that are looked through
SLOTS = 2 * LATEST_EVENTS**3  # of a table of all that three steps lead to: half of them stay free
SHRINK = 3.0  # events that the mean ToE of all is worth
DECAYED_UNIT, PATH_UNIT = 100.0, 10.0  # decayed counts, and weights of paths, are multiplied by before the logarithm
PIECE = 1 << 13  # questions per piece of work
NO_COLUMNS: Ints = np.empty(0, np.int64)

NODE_WIDTH, PAIR_WIDTH, LINK_WIDTH = len(NODE_COLUMNS), len(PAIR_COLUMNS), len(LINK_COLUMNS)


def link_columns(
    tables: Tables, src: Ints, dst: Ints, at: Days, threads: int = 1, *, left_out: Ints = NO_COLUMNS
) -> Vectors:
    """Tell what is known of pairs as of moments, (n,) each: (n, LINK_WIDTH). Pairs of one src and moment go fast.

    Args:
        tables: of the graph.
        src: (n,) node numbers.
        dst: (n,) node numbers.
        at: (n,) days: nothing later is looked at.
        threads: how many to use.
        left_out: places of columns that are 0 instead.
    """
    rows = np.empty((src.size, LINK_WIDTH), np.float32)
    in_pieces(lambda cut: fill_links(tables, src[cut], dst[cut], at[cut], rows[cut]), src.size, threads)
    rows[:, left_out] = 0.0
    return rows


def in_pieces(work: Callable[[slice], None], size: int, threads: int) -> None:
    """Do a piece of work for all of `size` questions, some at a time, in so many threads."""
    pieces = [slice(first, first + PIECE) for first in range(0, size, PIECE)]
    if threads == 1 or len(pieces) == 1:
        for cut in pieces:
            work(cut)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, pieces))


# -- compiled loops ---------------------------------------------------------------------------------------------------


class NodesAsked(NamedTuple):
    """Hold nodes as of moments, (n,) each.

    Attributes:
        node: node numbers.
        at: days.
        out_end: the end of what each had done by then, among `tables.outgoing`.
        in_end: the end of what had been done to it, among `tables.incoming`.
    """

    node: Ints
    at: Days
    out_end: Ints
    in_end: Ints


@numba.njit(cache=True, nogil=True)
def nodes_asked(tables: Tables, node: Ints, at: Days) -> NodesAsked:
    """Find where nodes stand as of moments, (n,) each."""
    outgoing, incoming = tables.outgoing, tables.incoming
    ends = find_end(outgoing.start, outgoing.time, node, at), find_end(incoming.start, incoming.time, node, at)
    return NodesAsked(node, at, ends[0], ends[1])


@numba.njit(cache=True, inline="always")
def log_time(days: float, unit: float) -> float:
    """Give a time span on the log scale."""
    return np.log1p(days / unit)  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True)
def fill_role(
    tables: Tables, role: RoleTables, places: RolePlaces, asked: NodesAsked, end: Ints, events: Ints, rows: Vectors
) -> None:
    """Write what is known of nodes in one role into rows of NODE_COLUMNS, (n, NODE_WIDTH); `events` all had by then."""
    start, readings, time, node, at = role.start, role.reading, role.time, asked.node, asked.at
    times, toe, unit, directions = tables.times, tables.toe, tables.log_unit_days, tables.directions
    total, known = toe_until(role, toe, node, end)
    repeated = marked_until(role, role.repeated, tables.marks, REPEATED, node, end)
    decayed = decayed_until(role, tables.decay_days, node, end, at)
    for q in range(node.size):
        last, count = end[q] - 1, end[q] - start[node[q]]
        since = gap = events_since = NEVER_AGO
        last_toe = 0.5
        if count > 0:
            since = log_time(at[q] - time[last], unit)
            reading = readings[last]
            if not np.isnan(toe[reading]):
                last_toe = toe[reading]
            after = reading // directions + 1
            if after < events[q] and times[after] <= time[last]:
                after = end_of(times, after, events[q], time[last])
            events_since = np.log1p(events[q] - after)
        if count > 1:
            gap = log_time(time[last] - time[last - 1], unit)
        rows[q, places.since], rows[q, places.gap], rows[q, places.events_since] = since, gap, events_since
        rows[q, places.events], rows[q, places.last_toe] = np.log1p(count), last_toe
        rows[q, places.mean_toe] = (total[q] + 0.5 * SHRINK) / (known[q] + SHRINK)
        rows[q, places.repeated] = (repeated[q] + 0.5) / (count + 1.0)
        for scale in range(NUM_SCALES):
            rows[q, places.lately + scale] = np.log1p(DECAYED_UNIT * decayed[q, scale])


@numba.njit(cache=True, nogil=True)
def node_columns(tables: Tables, asked: NodesAsked, events: Ints) -> Vectors:
    """Tell what is known of nodes, (n, NODE_WIDTH)."""
    rows = np.empty((asked.node.size, NODE_WIDTH), np.float32)
    fill_role(tables, tables.outgoing, OUTGOING, asked, asked.out_end, events, rows)
    fill_role(tables, tables.incoming, INCOMING, asked, asked.in_end, events, rows)
    acts_start, acts_time = tables.outgoing.start, tables.outgoing.time
    links_start, links_time = tables.incoming.start, tables.incoming.time
    first, unit = tables.first, tables.log_unit_days
    for q in range(asked.node.size):
        node, at = asked.node[q], asked.at[q]
        rows[q, NODE.age] = log_time(at - first[node], unit) if first[node] <= at else UNBORN
        since, end = links_start[node], asked.in_end[q]
        if asked.out_end[q] > acts_start[node]:
            since = end_of(links_time, since, end, acts_time[asked.out_end[q] - 1])
        rows[q, NODE.links_to_it_since_it_acted] = np.log1p(end - since)
    return rows


@numba.njit(cache=True, inline="always")
def place_among(others: Nodes, start: int, end: int, node: int) -> int:
    """Count the events of `start:end` since the latest with a node, 0 where it is the last; LATEST_EVENTS at most."""
    place, count = 0, min(LATEST_EVENTS, end - start)
    while place < count and others[end - 1 - place] != node:
        place += 1
    return place if place < count else LATEST_EVENTS


class PathTable(NamedTuple):
    """Hold all that three steps from a source lead to, as a hash table with open slots.

    Attributes:
        target: (SLOTS,) -1 where a slot is free.
        weight: (SLOTS,) sum over the paths to it, each by 1 / (its places among the latest, multiplied).
        oldest: (SLOTS,) days, the oldest event of the path on which that is latest.
        taken: (SLOTS,) the slots in use, the first `used[0]` of them.
        used: (1,) how many are in use.
    """

    target: Ints
    weight: Days
    oldest: Days
    taken: Ints
    used: Ints


@numba.njit(cache=True)
def empty_paths() -> PathTable:
    """Make an empty table."""
    taken = np.empty(SLOTS, np.int64)
    return PathTable(np.full(SLOTS, -1), np.empty(SLOTS), np.empty(SLOTS), taken, np.zeros(1, np.int64))


@numba.njit(cache=True, inline="always")
def slot_of(paths: PathTable, target: int) -> int:
    """Find the slot of a target: its own, or the free one that it would take."""
    slot = (target * 0x9E3779B1 >> 7) % SLOTS  # multiplicative hashing by the golden ratio
    while paths.target[slot] >= 0 and paths.target[slot] != target:
        slot = (slot + 1) % SLOTS
    return slot


@numba.njit(cache=True)
def three_step_paths(tables: Tables, node: int, end: int, at: float, paths: PathTable) -> None:
    """Go from a source to its latest targets, to who else linked to them lately, and on to what those linked to."""
    acts_start, acts_time, acts_other = tables.outgoing.start, tables.outgoing.time, tables.outgoing.other
    links_start, links_time, links_other = tables.incoming.start, tables.incoming.time, tables.incoming.other
    for k in range(paths.used[0]):
        paths.target[paths.taken[k]] = -1
    paths.used[0] = 0
    for i in range(min(LATEST_EVENTS, end - acts_start[node])):
        shared, first_time = acts_other[end - 1 - i], acts_time[end - 1 - i]
        shared_end = end_of(links_time, links_start[shared], links_start[shared + 1], at)
        for j in range(min(LATEST_EVENTS, shared_end - links_start[shared])):
            like, second_time = links_other[shared_end - 1 - j], links_time[shared_end - 1 - j]
            if like == node:
                continue
            like_end = end_of(acts_time, acts_start[like], acts_start[like + 1], at)
            for k in range(min(LATEST_EVENTS, like_end - acts_start[like])):
                target = acts_other[like_end - 1 - k]
                oldest = min(first_time, second_time, acts_time[like_end - 1 - k])
                if target == shared:
                    continue
                slot = slot_of(paths, target)
                if paths.target[slot] < 0:
                    paths.taken[paths.used[0]] = slot
                    paths.used[0] += 1
                    paths.target[slot], paths.weight[slot], paths.oldest[slot] = target, 0.0, oldest
                paths.weight[slot] += 1.0 / ((1 + i) * (1 + j) * (1 + k))
                paths.oldest[slot] = max(paths.oldest[slot], oldest)


@numba.njit(cache=True, nogil=True)
def fill_meetings(tables: Tables, sources: NodesAsked, targets: NodesAsked, rows: Vectors) -> None:
    """Write what both ends of pairs had done to each other into rows of PAIR_COLUMNS, (n, PAIR_WIDTH)."""
    first, target, start, _, time = tables.pairs
    acts_start, acts_other = tables.outgoing.start, tables.outgoing.other
    links_start, links_other = tables.incoming.start, tables.incoming.other
    unit = tables.log_unit_days
    for q in range(sources.node.size):
        u, v, at = sources.node[q], targets.node[q], sources.at[q]
        forth_end, forth_count = pair_end(first, target, start, time, u, v, at)
        back_end, back_count = pair_end(first, target, start, time, v, u, at)
        forth = time[forth_end - 1] if forth_count > 0 else -np.inf
        back = time[back_end - 1] if back_count > 0 else -np.inf
        rows[q, PAIR.since_src_to_dst] = log_time(at - forth, unit) if forth_count > 0 else NEVER_AGO
        rows[q, PAIR.since_dst_to_src] = log_time(at - back, unit) if back_count > 0 else NEVER_AGO
        rows[q, PAIR.unanswered] = back > forth
        rows[q, PAIR.src_to_dst], rows[q, PAIR.dst_to_src] = np.log1p(forth_count), np.log1p(back_count)
        place = place_among(acts_other, acts_start[u], sources.out_end[q], v)
        rows[q, PAIR.dst_in_the_acts_of_src], rows[q, PAIR.src_last_acted_on_dst] = place, place == 0
        place = place_among(links_other, links_start[u], sources.in_end[q], v)
        rows[q, PAIR.dst_in_the_links_to_src], rows[q, PAIR.src_last_linked_to_by_dst] = place, place == 0
        place = place_among(acts_other, acts_start[v], targets.out_end[q], u)
        rows[q, PAIR.src_in_the_acts_of_dst], rows[q, PAIR.dst_last_acted_on_src] = place, place == 0
        place = place_among(links_other, links_start[v], targets.in_end[q], u)
        rows[q, PAIR.src_in_the_links_to_dst], rows[q, PAIR.dst_last_linked_to_by_src] = place, place == 0


@numba.njit(cache=True, nogil=True)
def fill_common(
    tables: Tables, role: RoleTables, sources: NodesAsked, end: Ints, targets: NodesAsked, rows: Vectors, column: int
) -> None:
    """Count which of the latest neighbours of u in one role v has met lately too, in either role."""
    start, other = role.start, role.other
    acts_start, acts_other = tables.outgoing.start, tables.outgoing.other
    links_start, links_other = tables.incoming.start, tables.incoming.other
    for q in range(end.size):
        v, count = targets.node[q], 0
        for k in range(min(LATEST_EVENTS, end[q] - start[sources.node[q]])):
            shared = other[end[q] - 1 - k]
            count += place_among(acts_other, acts_start[v], targets.out_end[q], shared) < LATEST_EVENTS
            count += place_among(links_other, links_start[v], targets.in_end[q], shared) < LATEST_EVENTS
        rows[q, column] = np.log1p(count)


@numba.njit(cache=True, nogil=True)
def fill_paths(tables: Tables, sources: NodesAsked, targets: NodesAsked, rows: Vectors) -> None:
    """Write how much paths of three steps from u to v weigh, and how long ago the latest of them was complete."""
    paths, unit = empty_paths(), tables.log_unit_days
    for q in range(sources.node.size):
        u, at = sources.node[q], sources.at[q]
        if q == 0 or sources.node[q - 1] != u or sources.at[q - 1] != at:
            three_step_paths(tables, u, sources.out_end[q], at, paths)
        slot = slot_of(paths, targets.node[q])
        reached = paths.target[slot] >= 0
        weight = np.log1p(PATH_UNIT * paths.weight[slot]) if reached else 0.0
        ago = log_time(at - paths.oldest[slot], unit) if reached else NEVER_AGO
        rows[q, PAIR.others_in_common_with_the_acts_of_src] = weight
        rows[q, PAIR.others_in_common_with_the_links_to_src] = ago


@numba.njit(cache=True, nogil=True)
def fill_links(tables: Tables, src: Ints, dst: Ints, at: Days, rows: Vectors) -> None:
    """Write the columns of pairs, (n, LINK_WIDTH); what is known of a src is found once for those in a row."""
    run = np.zeros(src.size, np.int64)
    for q in range(1, src.size):
        run[q] = run[q - 1] + (src[q] != src[q - 1] or at[q] != at[q - 1])
    begin = np.searchsorted(run, np.arange(run[-1] + 1)) if src.size else run
    asked = nodes_asked(tables, src[begin], at[begin])
    events = np.searchsorted(tables.times, asked.at, side="right")
    sources = NodesAsked(src, at, asked.out_end[run], asked.in_end[run])
    targets = nodes_asked(tables, dst, at)
    pair = np.empty((src.size, PAIR_WIDTH), np.float32)
    fill_meetings(tables, sources, targets, pair)
    if tables.bipartite:
        fill_paths(tables, sources, targets, pair)
    else:
        column = PAIR.others_in_common_with_the_acts_of_src
        fill_common(tables, tables.outgoing, sources, sources.out_end, targets, pair, column)
        column = PAIR.others_in_common_with_the_links_to_src
        fill_common(tables, tables.incoming, sources, sources.in_end, targets, pair, column)
    outgoing, incoming = tables.outgoing, tables.incoming
    questions = src, dst, at, sources.out_end, targets.in_end
    lists = (outgoing.start, outgoing.other), (incoming.start, incoming.time)
    fill_choices(tables.chosen, lists[0], lists[1], questions, events[run], tables.directions, pair)
    of_src, of_dst = node_columns(tables, asked, events), node_columns(tables, targets, events[run])
    for q in range(src.size):
        rows[q, :NODE_WIDTH], rows[q, NODE_WIDTH : 2 * NODE_WIDTH] = of_src[run[q]], of_dst[q]
        rows[q, 2 * NODE_WIDTH :] = pair[q]
