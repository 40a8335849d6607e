"""What is known of two nodes by a moment, as plain numbers: what boosted trees learn from.

The absolute clock is left out, since a process drifts; and so is what only grows as it runs, ages and counts of a
node's events: the counts come as shares and ratios. Spans are taken as they are, because trees look at order alone.
"""

from __future__ import annotations

import numba
import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.features.columns import PLAIN_COLUMNS
from tadge.features.tables import squashed_toe
from tadge.graph.cache import per_graph
from tadge.graph.chains import last_joined
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import EventLists, find_end, past_of

NEVER = -1.0  # below every count and every span


def joined_to(graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Flags:
    """Tell whether it was by a link to src that dst last joined as of a moment, (n,)."""
    joined = last_joined(graph, dst, at)
    return (joined > -np.inf) & (past_of(graph).last_link(dst, src, at) == joined)  # type: ignore[no-any-return]


def plain_columns(graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
    """Give what is known of pairs as of moments, (n, F) in the order of PLAIN_COLUMNS; NEVER where it has not happened.

    Args:
        graph: what happened; of each pair only what is not later than its moment counts.
        src: (n,) node numbers.
        dst: (n,) node numbers.
        at: (n,) days.
    """
    past = past_of(graph)
    acts = [past.count_outgoing(node, at) for node in (src, dst)]
    received = [past.count_incoming(node, at) for node in (src, dst)]
    columns = [
        *_of_node(graph, src, at),
        *_of_node(graph, dst, at),
        *((given + 1) / (given + taken + 2) for given, taken in zip(acts, received, strict=True)),
        *((of_src + 1) / (of_dst + 1) for of_src, of_dst in (acts, received)),
        joined_to(graph, src, dst, at),
        *(at - past.last_link(dst, src, at), at - past.last_link(src, dst, at)),
        *(past.count_links(dst, src, at), past.count_links(src, dst, at)),
    ]
    rows = np.stack(columns, axis=1).astype(np.float64)
    assert rows.shape[1] == len(PLAIN_COLUMNS)
    rows[~np.isfinite(rows)] = NEVER
    return rows


def _of_node(graph: TemporalGraph, node: Ints, at: Days) -> list[Days]:
    """Give the first eight columns of one end, (n,) each; not finite where something has not happened."""
    past, toe = past_of(graph), []
    for lists, values in zip((past.outgoing, past.incoming), running_toe(graph), strict=True):
        end = find_end(lists.start, lists.time, node, at)
        toe += [look_up(column, lists.start, end, node) for column in values]  # the mean, then the latest
    gaps = look_up_gaps(past.outgoing, node, at)
    return [at - past.last_outgoing(node, at), at - past.last_incoming(node, at), *gaps, *toe]


@per_graph
def running_toe(graph: TemporalGraph) -> tuple[tuple[Days, Days], tuple[Days, Days]]:
    """Give mean and latest of the squashed ToEs along each node's events, by source and by target, once."""
    past, toe = past_of(graph), squashed_toe(graph)
    outgoing, incoming = (running(lists.start, toe[lists.reading]) for lists in (past.outgoing, past.incoming))
    return outgoing, incoming


@numba.njit(cache=True)
def running(start: Ints, values: Days) -> tuple[Days, Days]:
    """Give the mean of a node's values up to each of its places, and the latest; those that are NaN are passed over.

    Args:
        start: (N+1,) where each node's places begin.
        values: (E,).

    Returns:
        (E,) means and (E,) latest values; NaN as long as there was none.
    """
    mean, last = np.empty(values.size), np.empty(values.size)
    for v in range(start.size - 1):
        total, count, latest = 0.0, 0, np.nan
        for k in range(start[v], start[v + 1]):
            if not np.isnan(values[k]):
                total, count, latest = total + values[k], count + 1, values[k]
            mean[k] = total / count if count else np.nan
            last[k] = latest
    return mean, last


@numba.njit(cache=True)
def look_up(values: Days, start: Ints, end: Ints, node: Ints) -> Days:
    """Take the value right before each end among a node's places, (n,); NaN where there is none."""
    latest = np.full(node.size, np.nan)
    for q in range(node.size):
        if end[q] > start[node[q]]:
            latest[q] = values[end[q] - 1]
    return latest


@numba.njit(cache=True)
def look_up_gaps(lists: EventLists, node: Ints, at: Days) -> tuple[Days, Days]:
    """Measure nodes' last gap by a moment, and the mean of their gaps, (n,) each; NaN before the second event."""
    start, _, time, _ = lists
    last, mean = np.full(node.size, np.nan), np.full(node.size, np.nan)
    end = find_end(start, time, node, at)
    for q in range(node.size):
        first = start[node[q]]
        if end[q] - first >= 2:
            last[q] = time[end[q] - 1] - time[end[q] - 2]
            mean[q] = (time[end[q] - 1] - time[first]) / (end[q] - first - 1)
    return last, mean
