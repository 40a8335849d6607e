"""What else tells how long an edge takes: how its target joined, how quick both have been, and how events were weighed.

These columns, TIMING_COLUMNS, stand behind LINK_COLUMNS, for ToE alone: u is the source, v the target, w whom v acted
on last. Only what had happened by the moment is known, and what comes later changes no bit.
"""

from __future__ import annotations

import numba
import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.features.columns import TIMING, TIMING_COLUMNS, TOE_COLUMNS
from tadge.features.link_columns import (
    NEVER_AGO,
    NO_COLUMNS,
    SHRINK,
    NodesAsked,
    in_pieces,
    link_columns,
    log_time,
    nodes_asked,
)
from tadge.features.tables import NEGATIVE, RoleTables, Tables, kind_toe_until, marked_until, toe_until
from tadge.graph.past import ANSWER, FIRST_CONTACT, REPEAT, UNSEEN, pair_end

LATEST_GAPS = 10  # of a node that are looked at
LATEST_ACTS, CHECKED_ACTS = 64, 16  # of v that are looked through, and those asked whether they were answered
DAY = 1  # the second of the scales
NOWHERE = 99.0  # the place of u among the targets of v, where it is none
TIMING_WIDTH, TOE_WIDTH = len(TIMING_COLUMNS), len(TOE_COLUMNS)


def toe_columns(
    tables: Tables, src: Ints, dst: Ints, at: Days, threads: int = 1, *, left_out: Ints = NO_COLUMNS
) -> Vectors:
    """Tell all that is known of how long edges take, (n,) pairs as of moments, (n,): (n, TOE_WIDTH).

    Args:
        tables: of the graph.
        src: (n,) node numbers.
        dst: (n,) node numbers.
        at: (n,) days: nothing later is looked at.
        threads: how many to use.
        left_out: places of columns that are 0 instead.
    """
    rows = np.empty((src.size, TIMING_WIDTH), np.float32)
    in_pieces(lambda cut: fill_timing(tables, src[cut], dst[cut], at[cut], rows[cut]), src.size, threads)
    rows = np.concatenate([link_columns(tables, src, dst, at, threads), rows], axis=1)
    rows[:, left_out] = 0.0
    return rows


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def fill_weights(tables: Tables, sources: NodesAsked, targets: NodesAsked, rows: Vectors) -> None:
    """Write the weights of last events; 0 where there was none."""
    first, target, start, readings, time = tables.pairs
    weight, acts_start, acts = tables.weight, tables.outgoing.start, tables.outgoing.reading
    for q in range(sources.node.size):
        u, v, at, v_end = sources.node[q], targets.node[q], sources.at[q], targets.out_end[q]
        last = forth = back = 0.0
        if weight.size > 0:
            if v_end > acts_start[v]:
                last = weight[acts[v_end - 1]]
            end, count = pair_end(first, target, start, time, u, v, at)
            if count > 0:
                forth = weight[readings[end - 1]]
            end, count = pair_end(first, target, start, time, v, u, at)
            if count > 0:
                back = weight[readings[end - 1]]
        rows[q, TIMING.weight_of_dst_s_last_act] = last
        rows[q, TIMING.weight_of_the_last_dst_to_src] = back
        rows[q, TIMING.weight_of_the_last_src_to_dst] = forth


@numba.njit(cache=True, nogil=True)
def fill_negative(tables: Tables, role: RoleTables, node: Ints, end: Ints, rows: Vectors, column: int) -> None:
    """Write the fraction of nodes' events that have a negative weight; two events more have none."""
    start = role.start
    counts = marked_until(role, role.negative, tables.marks, NEGATIVE, node, end)
    for q in range(node.size):
        rows[q, column] = counts[q] / (end[q] - start[node[q]] + 2.0)


@numba.njit(cache=True, nogil=True)
def fill_targets(tables: Tables, sources: NodesAsked, targets: NodesAsked, rows: Vectors) -> None:
    """Write how src stands among those that dst acted on lately."""
    first, pair_target, pair_start, _, pair_time = tables.pairs
    start, other, times = tables.outgoing.start, tables.outgoing.other, tables.outgoing.time
    day = tables.decay_days[DAY]
    for q in range(sources.node.size):
        u, v, at, end = sources.node[q], targets.node[q], sources.at[q], targets.out_end[q]
        on_src, place, distinct, lately, silent = 0.0, NOWHERE, 0, 0, 0
        for k in range(min(LATEST_ACTS, end - start[v])):
            target, time, new = other[end - 1 - k], times[end - 1 - k], True
            for i in range(k):
                if other[end - 1 - i] == target:
                    new = False
                    break
            recent = at - time <= day
            if target == u:
                on_src = 1.0 if recent else on_src
                place = float(distinct) if place == NOWHERE else place
            if new and k < CHECKED_ACTS:
                answer, answers = pair_end(first, pair_target, pair_start, pair_time, target, v, at)
                silent += not (answers > 0 and pair_time[answer - 1] > time)
            distinct += new
            lately += new and recent
        rows[q, TIMING.dst_acted_on_src_within_a_day] = on_src
        rows[q, TIMING.targets_of_dst_within_a_day] = lately
        rows[q, TIMING.place_of_src_among_the_targets_of_dst] = place
        rows[q, TIMING.targets_of_dst_that_have_not_answered] = silent


@numba.njit(cache=True, nogil=True)
def fill_last_target(tables: Tables, targets: NodesAsked, rows: Vectors) -> None:
    """Write what is known of whom dst acted on last."""
    start, other = tables.outgoing.start, tables.outgoing.other
    acts_start, links_start = tables.outgoing.start, tables.incoming.start
    last = np.empty(targets.node.size, np.int64)
    for q in range(last.size):
        end = targets.out_end[q]
        last[q] = other[end - 1] if end > start[targets.node[q]] else -1
    asked = nodes_asked(tables, np.maximum(last, 0), targets.at)
    acts_toe, acts_known = toe_until(tables.outgoing, tables.toe, asked.node, asked.out_end)
    links_toe, links_known = toe_until(tables.incoming, tables.toe, asked.node, asked.in_end)
    for q in range(last.size):
        acts = links = 0
        mean_acts = mean_links = 0.5
        if last[q] >= 0:
            acts, links = asked.out_end[q] - acts_start[last[q]], asked.in_end[q] - links_start[last[q]]
            mean_acts = (acts_toe[q] + 0.5 * SHRINK) / (acts_known[q] + SHRINK)
            mean_links = (links_toe[q] + 0.5 * SHRINK) / (links_known[q] + SHRINK)
        rows[q, TIMING.mean_ToE_of_acts_of_dst_s_last_target] = mean_acts
        rows[q, TIMING.acts_of_dst_s_last_target] = np.log1p(acts)
        rows[q, TIMING.links_to_dst_s_last_target] = np.log1p(links)
        rows[q, TIMING.mean_ToE_of_links_to_dst_s_last_target] = mean_links


@numba.njit(cache=True, nogil=True)
def fill_gaps(
    tables: Tables, role: RoleTables, node: Ints, end: Ints, rows: Vectors, long_column: int, mean_column: int
) -> None:
    """Write the upper quartile of nodes' latest gaps on the log scale, and their squashed mean, with two of 1/2."""
    start, time, unit, factor = role.start, role.time, tables.log_unit_days, tables.factor
    gaps = np.empty(LATEST_GAPS)
    for q in range(node.size):
        count = min(LATEST_GAPS, end[q] - start[node[q]] - 1)
        long, total = NEVER_AGO, 1.0
        for k in range(count):
            gaps[k] = time[end[q] - 1 - k] - time[end[q] - 2 - k]
            total += 2.0 / np.pi * np.arctan(factor * gaps[k])
        if count > 0:
            gaps[:count].sort()
            long = log_time(gaps[3 * count // 4], unit)
        rows[q, long_column] = long
        rows[q, mean_column] = total / (max(count, 0) + 2.0)


@numba.njit(cache=True, nogil=True)
def fill_kind_mean(
    tables: Tables, role: RoleTables, node: Ints, end: Ints, kinds: Ints, rows: Vectors, column: int
) -> None:
    """Write the mean ToE of nodes' events of a kind each; two events more have 1/2 each."""
    total, count = kind_toe_until(tables, role, node, end, kinds)
    for q in range(node.size):
        rows[q, column] = (total[q] + 1.0) / (count[q] + 2.0)


@numba.njit(cache=True, nogil=True)
def fill_kinds(tables: Tables, sources: NodesAsked, targets: NodesAsked, rows: Vectors) -> Ints:
    """Write the kind of each edge, and return it, (n,)."""
    first, target, start, _, time = tables.pairs
    seen = tables.first
    kinds = np.empty(sources.node.size, np.int64)
    for q in range(kinds.size):
        u, v, at = sources.node[q], targets.node[q], sources.at[q]
        kinds[q] = FIRST_CONTACT if seen[u] <= at else UNSEEN
        if pair_end(first, target, start, time, v, u, at)[1] > 0:
            kinds[q] = ANSWER
        if pair_end(first, target, start, time, u, v, at)[1] > 0:
            kinds[q] = REPEAT
        rows[q, TIMING.kind_of_edge] = kinds[q]
    return kinds


@numba.njit(cache=True, nogil=True)
def fill_timing(tables: Tables, src: Ints, dst: Ints, at: Days, rows: Vectors) -> None:
    """Write the columns of pairs, (n, TIMING_WIDTH)."""
    out, into = tables.outgoing, tables.incoming
    u, v = nodes_asked(tables, src, at), nodes_asked(tables, dst, at)
    fill_weights(tables, u, v, rows)
    fill_negative(tables, out, src, u.out_end, rows, TIMING.negative_weights_src_gave)
    fill_negative(tables, into, src, u.in_end, rows, TIMING.negative_weights_src_got)
    fill_negative(tables, out, dst, v.out_end, rows, TIMING.negative_weights_dst_gave)
    fill_negative(tables, into, dst, v.in_end, rows, TIMING.negative_weights_dst_got)
    fill_targets(tables, u, v, rows)
    fill_last_target(tables, v, rows)
    of_acts, of_links = TIMING.long_gaps_of_dst_s_acts, TIMING.long_gaps_of_links_to_dst
    fill_gaps(tables, out, dst, v.out_end, rows, of_acts, TIMING.mean_gap_of_dst_s_acts)
    fill_gaps(tables, into, dst, v.in_end, rows, of_links, TIMING.mean_gap_of_links_to_dst)
    kinds = fill_kinds(tables, u, v, rows)
    fill_kind_mean(tables, into, dst, v.in_end, kinds, rows, TIMING.mean_ToE_of_links_to_dst_of_this_kind)
    fill_kind_mean(tables, out, src, u.out_end, kinds, rows, TIMING.mean_ToE_of_acts_of_src_of_this_kind)
    answers = np.full(src.size, ANSWER)
    fill_kind_mean(tables, into, dst, v.in_end, answers, rows, TIMING.mean_ToE_of_answers_to_dst)
    fill_kind_mean(tables, out, src, u.out_end, answers, rows, TIMING.mean_ToE_of_answers_of_src)
