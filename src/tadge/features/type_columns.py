"""What types a pair's and its nodes' latest events had, as columns behind LINK_COLUMNS; for links and curves alone.

Which types are looked at is found once in what was learned from, as `Scales` are, and each of them has the same columns
for each of six lists of events. Where no type is looked at there is no column.
"""

from __future__ import annotations

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes, Vectors
from tadge.features.columns import TYPE_FIGURES, TYPE_LISTS
from tadge.features.link_columns import (
    LATEST_EVENTS,
    LINK_WIDTH,
    NEVER_AGO,
    NO_COLUMNS,
    NODE_WIDTH,
    in_pieces,
    link_columns,
    log_time,
    nodes_asked,
)
from tadge.features.tables import Codes, Tables
from tadge.graph.event_types import NO_TYPE
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import pair_end

MOST_LOOKED_AT = 5
RARE = 0.01  # of the events: a type that fewer have, or lack, is not looked at
FIGURES, LISTS = len(TYPE_FIGURES), len(TYPE_LISTS)
LISTS_OF_NODE = 2  # of the six: the first two are those of src, the next two those of dst


def common_types(graph: TemporalGraph) -> tuple[str, ...]:
    """Name the most common types of a graph that tell events apart, at most MOST_LOOKED_AT; none where none does."""
    if graph.type is None or not graph.num_events:
        return ()
    counts = np.bincount(graph.type[graph.type != NO_TYPE], minlength=len(graph.type_names))
    few = RARE * graph.num_events
    order = np.argsort(-counts, kind="stable")[:MOST_LOOKED_AT]
    return tuple(graph.type_names[code] for code in order.tolist() if few <= counts[code] <= graph.num_events - few)


def pair_width(types: int) -> int:
    """Count the columns of a pair where so many types are looked at."""
    return LINK_WIDTH + LISTS * FIGURES * types


def source_width(types: int) -> int:
    """Count the columns of a source alike."""
    return NODE_WIDTH + LISTS_OF_NODE * FIGURES * types


def places_of_ends(types: int) -> tuple[Ints, Ints, Ints]:
    """List which columns of a pair tell of src, of dst, and of both together."""
    lists = LINK_WIDTH + np.arange(LISTS * FIGURES * types).reshape(LISTS, -1)
    of_link = np.split(np.arange(LINK_WIDTH), [NODE_WIDTH, 2 * NODE_WIDTH])
    of_type = np.split(lists, [LISTS_OF_NODE, 2 * LISTS_OF_NODE])
    src, dst, both = (np.append(*places) for places in zip(of_link, of_type, strict=True))
    return src, dst, both


def pair_columns(
    tables: Tables, src: Ints, dst: Ints, at: Days, threads: int = 1, *, left_out: Ints = NO_COLUMNS
) -> Vectors:
    """Tell what is known of pairs as of moments, types of events included: (n, pair_width); see `link_columns`."""
    columns = link_columns(tables, src, dst, at, threads, left_out=left_out)
    if not tables.num_types:
        return columns
    rows = np.empty((src.size, LISTS * FIGURES * tables.num_types), np.float32)
    in_pieces(lambda cut: fill_types(tables, src[cut], dst[cut], at[cut], rows[cut]), src.size, threads)
    return np.concatenate([columns, rows], axis=1)


def source_columns(tables: Tables, src: Ints, at: Days, threads: int = 1) -> Vectors:
    """Tell what is known of sources as of moments, (n,) each: (n, source_width)."""
    anyone = np.full(src.size, 0 if not tables.bipartite else tables.first.size - 1)
    return np.take(pair_columns(tables, src, anyone, at, threads), places_of_ends(tables.num_types)[0], axis=1)


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True, inline="always")
def fill_list(
    codes: Codes, readings: Nodes, time: Days, start: int, end: int, at: float, unit: float, row: Vectors, types: int
) -> None:
    """Write TYPE_FIGURES of each type over the latest events of `start:end`, (types * FIGURES,)."""
    for code in range(types):
        row[FIGURES * code], row[FIGURES * code + 1] = NEVER_AGO, 0.0
    for k in range(min(LATEST_EVENTS, end - start)):
        code = codes[readings[end - 1 - k]]
        if code >= 0 and row[FIGURES * code] == NEVER_AGO:
            row[FIGURES * code], row[FIGURES * code + 1] = log_time(at - time[end - 1 - k], unit), k == 0


@numba.njit(cache=True, nogil=True)
def fill_types(tables: Tables, src: Ints, dst: Ints, at: Days, rows: Vectors) -> None:
    """Write the columns of all lists, in the order of TYPE_LISTS, (n, LISTS * FIGURES * types)."""
    codes, types, unit = tables.codes, tables.num_types, tables.log_unit_days
    acts_start, acts, acts_time = tables.outgoing.start, tables.outgoing.reading, tables.outgoing.time
    links_start, links, links_time = tables.incoming.start, tables.incoming.reading, tables.incoming.time
    first, target, start, readings, time = tables.pairs
    sources, targets, width = nodes_asked(tables, src, at), nodes_asked(tables, dst, at), FIGURES * types
    for q in range(src.size):
        u, v, now, row = src[q], dst[q], at[q], rows[q]
        fill_list(codes, acts, acts_time, acts_start[u], sources.out_end[q], now, unit, row[:width], types)
        fill_list(codes, links, links_time, links_start[u], sources.in_end[q], now, unit, row[width:], types)
        fill_list(codes, acts, acts_time, acts_start[v], targets.out_end[q], now, unit, row[2 * width :], types)
        fill_list(codes, links, links_time, links_start[v], targets.in_end[q], now, unit, row[3 * width :], types)
        end, count = pair_end(first, target, start, time, u, v, now)
        fill_list(codes, readings, time, end - count, end, now, unit, row[4 * width :], types)
        end, count = pair_end(first, target, start, time, v, u, now)
        fill_list(codes, readings, time, end - count, end, now, unit, row[5 * width :], types)
