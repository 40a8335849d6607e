"""Which pairs are past their usual time: each pair's curve as of when the two last had to do with each other."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.features.tables import Scales, Tables
from tadge.forecasting.ask_curves import pair_curves
from tadge.forecasting.curve_models import CurveModels
from tadge.graph.past import PairLists, end_of, pair_end


class OpenPairs(NamedTuple):
    """Hold pairs that had met by a moment, each in the directions in which a link is waited for.

    Attributes:
        src: (n,) node numbers of those who are waited for.
        dst: (n,) node numbers of those who wait.
        since: (n,) days of their last event in either direction.
        answer: (n,) whether that went from dst to src, so that an answer is waited for.
    """

    src: Ints
    dst: Ints
    since: Days
    answer: Flags


class Overdue(NamedTuple):
    """Hold pairs that are overdue, longest first.

    Attributes:
        place: (m,) which of the pairs asked about.
        due: (m,) days after their last event by which the link should have come.
        late: (m,) days by which that has passed.
        comes: (m,) the probability that it would come at all, as of their last event.
    """

    place: Ints
    due: Days
    late: Days
    comes: Days


def overdue_pairs(
    models: CurveModels,
    tables: Tables,
    scales: Scales,
    pairs: OpenPairs,
    at: float,
    level: float,
    least: float,
    left_out: Ints,
) -> Overdue:
    """Find the pairs of which a fraction `level` of such links has come by now, but theirs has not.

    Only pairs whose link was to come with a probability of at least `least` count. Of two directions of one pair, the
    one that is later stays.
    """
    due, comes = np.empty(pairs.src.size), np.empty(pairs.src.size)
    for cut, curves in pair_curves(models, tables, scales, pairs.src, pairs.dst, pairs.since, left_out):
        due[cut], comes[cut] = curves.quantiles(level)[:, 0], 1.0 - curves.never
    late = at - pairs.since - due
    place = np.flatnonzero((late > 0) & (comes >= least))
    place = place[np.argsort(-late[place], kind="stable")]
    ends = np.sort(np.stack([pairs.src[place], pairs.dst[place]], axis=1), axis=1)
    place = place[np.sort(np.unique(ends, axis=0, return_index=True)[1])]
    return Overdue(place, due[place], late[place], comes[place])


@numba.njit(cache=True)
def open_pairs(pairs: PairLists, at: float, both: bool) -> OpenPairs:
    """Find all pairs that had met by a moment.

    Args:
        pairs: of the graph.
        at: days.
        both: whether dst can link to src too, so that each pair is asked in both directions.
    """
    first, target, start, _, time = pairs
    src, dst = np.empty(2 * target.size, np.int64), np.empty(2 * target.size, np.int64)
    since, answer, n = np.empty(2 * target.size), np.empty(2 * target.size, np.bool_), 0
    for u in range(first.size - 1):
        for pair in range(first[u], first[u + 1]):
            v, begin = np.int64(target[pair]), np.int64(start[pair])
            end = end_of(time, begin, np.int64(start[pair + 1]), at)
            if end == begin:
                continue
            forth, back = time[end - 1], -np.inf
            if both and u != v:
                end, count = pair_end(first, target, start, time, v, u, at)
                back = time[end - 1] if count > 0 else -np.inf
            src[n], dst[n], since[n], answer[n] = u, v, max(forth, back), back > forth
            n += 1
            if both and u != v and back == -np.inf:  # the other direction has no pair of its own
                src[n], dst[n], since[n], answer[n] = v, u, forth, True
                n += 1
    return OpenPairs(src[:n].copy(), dst[:n].copy(), since[:n].copy(), answer[:n].copy())
