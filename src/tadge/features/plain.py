"""What is known of two nodes by a moment, as plain numbers: what boosted trees learn from.

The absolute clock is left out, since a process drifts; and so is what only grows as it runs, ages and counts of a
node's events: the counts come as shares and ratios. Spans are taken as they are, because trees look at order alone.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.graph import TemporalGraph
from tadge.graph.chains import last_joined
from tadge.graph.past import History, history_of
from tadge.units import squash

NEVER = -1.0  # below every count and every span
NAMES = (
    *("since src acted", "since src received", "gap before src's last act", "mean gap of src's acts"),
    *("mean ToE given by src", "last ToE given by src", "mean ToE received by src", "last ToE received by src"),
    *("since dst acted", "since dst received", "gap before dst's last act", "mean gap of dst's acts"),
    *("mean ToE given by dst", "last ToE given by dst", "mean ToE received by dst", "last ToE received by dst"),
    *("share of acts of src", "share of acts of dst", "acts src / dst", "received src / dst"),
    *("dst joined by linking to src", "since dst linked to src", "since src linked to dst"),
    *("links dst to src", "links src to dst"),
)


def joined_to(graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> npt.NDArray[np.bool_]:
    """Tell whether it was by a link to src that dst last joined as of a moment, (n,)."""
    joined = last_joined(graph, dst, at)
    return (joined > -np.inf) & (history_of(graph).last_link(dst, src, at) == joined)  # type: ignore[no-any-return]


def pair_features(graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
    """Give the features of pairs as of moments, (n, F) in the order of NAMES; NEVER where something has not happened.

    Args:
        graph: what happened; of each pair only what is not later than its moment counts.
        src: (n,) node numbers.
        dst: (n,) node numbers.
        at: (n,) days.
    """
    past = history_of(graph)
    sums = (
        running(past.acts_start, squash(past.acts_toe)),
        running(past.received_start, squash(past.received_toe)),
    )
    acts = [past.count_acts(node, at) for node in (src, dst)]
    received = [past.count_received(node, at) for node in (src, dst)]
    columns = [
        *_of_node(past, sums, src, at),
        *_of_node(past, sums, dst, at),
        *((one + 1) / (one + other + 2) for one, other in zip(acts, received, strict=True)),
        *((one + 1) / (other + 1) for one, other in (acts, received)),
        joined_to(graph, src, dst, at),
        *(at - past.last_link(dst, src, at), at - past.last_link(src, dst, at)),
        *(past.count_links(dst, src, at), past.count_links(src, dst, at)),
    ]
    features = np.stack(columns, axis=1).astype(np.float64)
    features[~np.isfinite(features)] = NEVER
    return features


def _of_node(past: History, sums: tuple[tuple[Days, Days], tuple[Days, Days]], node: Ints, at: Days) -> list[Days]:
    """Give the first eight features of one end, (n,) each; not finite where something has not happened."""
    ends = (past.acts_start, past.acts_end(node, at)), (past.received_start, past.received_end(node, at))
    toe = [
        look_up(values, start, end, node)
        for (start, end), each in zip(ends, sums, strict=True)
        for values in each  # the mean, then the latest
    ]
    gaps = look_up_gaps(past.acts_time, *ends[0], node)
    return [at - past.last_act(node, at), at - past.last_received(node, at), *gaps, *toe]


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
    found = np.full(node.size, np.nan)
    for q in range(node.size):
        if end[q] > start[node[q]]:
            found[q] = values[end[q] - 1]
    return found


@numba.njit(cache=True)
def look_up_gaps(time: Days, start: Ints, end: Ints, node: Ints) -> tuple[Days, Days]:
    """Measure the last gap before each end among a node's times, and the mean gap, (n,) each; NaN before the second."""
    last, mean = np.full(node.size, np.nan), np.full(node.size, np.nan)
    for q in range(node.size):
        first = start[node[q]]
        if end[q] - first >= 2:
            last[q] = time[end[q] - 1] - time[end[q] - 2]
            mean[q] = (time[end[q] - 1] - time[first]) / (end[q] - first - 1)
    return last, mean
