"""Compiled walkers: many side by side, each waiting for its next cache line while the others move.

A task is a run of consecutive walk numbers. Its rows, (T, L), are small enough to stay in cache; what is long enough is
then copied out by `keep_rows`. Every number drawn depends on (key, walk, draw) alone, so tasks may be cut anywhere and
run anywhere.
"""

# ruff: noqa: PLR0915 (a walker is one loop: calls would cost)

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tadge.kernels import Days, Ints, Nodes, prefetch
from tadge.seeding import draw, unit, walk_key
from tadge.walks.build import bucket_of
from tadge.walks.layout import BIG, NONE, PAD, SURE, Positions, Records

LANES = 32  # walkers side by side: enough to hide the latency of memory, few enough for the first-level cache
FEW_ROUNDS, MANY_ROUNDS = 6, 32  # of the Feistel network; few places need many to be shuffled well
FEW_BITS = 7
AHEAD = 16  # starts asked for before they are read
TAKEN = -1.0  # a coin below every threshold


@intrinsic
def scale_to(typing_context: Any, bits: Any, size: Any) -> Any:
    """Return the upper half of the 128-bit product: a uniform whole number below `size` from 64 uniform bits."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


# -- starts -----------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def shuffled(key: np.uint64, first: int, size: int, out: Ints) -> None:
    """Put places first, first + 1, ... of a random order of 0 .. size-1 into `out`, (T,), without making the order.

    The order is a Feistel network over a grid of at least `size` points, gone through again until it lands below
    `size`. All places go through each round together: they do not wait for each other's multiplications.
    """
    bits = 0
    while (1 << (2 * bits)) < size:
        bits += 1
    shift, mask, high = np.uint64(bits), np.uint64((1 << bits) - 1), np.uint64(64 - max(bits, 1))
    rows = np.uint64((size + (1 << bits) - 1) >> bits)
    left = out.size
    row, column, place = np.empty(left, np.uint64), np.empty(left, np.uint64), np.empty(left, np.int64)
    for i in range(left):
        row[i], column[i], place[i] = np.uint64(first + i) >> shift, np.uint64(first + i) & mask, i
    while left:
        for turn in range(0, FEW_ROUNDS if bits >= FEW_BITS else MANY_ROUNDS, 2):
            for i in range(left):
                moved = row[i] + scale_to(draw(key ^ column[i], turn), rows)
                row[i] = moved - rows if moved >= rows else moved
            for i in range(left):
                column[i] = (column[i] + (draw(key ^ row[i], turn + 1) >> high)) & mask
        again = 0
        for i in range(left):
            point = (row[i] << shift) | column[i]
            if point < np.uint64(size):
                out[place[i]] = np.int64(point)
            else:
                row[again], column[again], place[again] = row[i], column[i], place[i]
                again += 1
        left = again


# -- reach "occurrence" -----------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def _choose(key: np.uint64, place: int, first: int, count: int) -> tuple[Any, float]:
    """Draw a column of an alias table and the coin that decides between its two candidates."""
    bits = draw(key, place)
    return first + np.int64(scale_to(bits, np.uint64(count))), unit(bits * np.uint64(count))


@numba.njit(cache=True, nogil=True)
def walk_steps(
    steps: Records,
    big_count: Ints,
    occurrences: Records,
    starts: Ints,
    key: np.uint64,
    number: int,
    max_length: int,
    cells: Records,
    length: Ints,
) -> None:
    """Walk from every start, (T,), in the default reach; the walks are cut at max_length.

    A step touches the record of the column drawn and, where the coin says so, that of its alias. The rows are
    (more than T, width): lanes without a start left walk on in the last one, which nobody looks at.
    """
    num, width = starts.size, cells.shape[1]
    base, size = np.uintp(steps.ctypes.data), np.uintp(32)
    live, keys = np.empty(num + 1, np.int64), np.empty(num + 1, np.uint64)
    begin, count = np.empty(num + 1, np.int64), np.empty(num + 1, np.int64)
    lives = 0
    for i in range(num):
        prefetch(np.uintp(occurrences.ctypes.data) + np.uintp(16) * np.uintp(starts[min(i + AHEAD, num - 1)]))
        here = occurrences[starts[i]]
        cell = cells[i, 0]
        cell.time, cell.node, length[i] = here.time, here.node, 1
        live[lives], keys[lives], begin[lives] = i, walk_key(key, number + i), here.first
        count[lives] = np.int64(occurrences[starts[i] + 1].first) - np.int64(here.first)
        lives += count[lives] > 0
    live[lives], keys[lives], begin[lives], count[lives] = length.size - 1, key, 0, 1

    row, place, slot = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    coin, of_walk = np.empty(LANES), np.empty(LANES, np.uint64)
    for lane in range(LANES):
        fresh = min(lane, lives)
        row[lane], place[lane], of_walk[lane] = live[fresh], 1, keys[fresh]
        slot[lane], coin[lane] = _choose(keys[fresh], 1, begin[fresh], count[fresh])
        prefetch(base + size * np.uintp(slot[lane]))
    fresh, left = min(LANES, lives), lives
    while left > 0:
        for lane in range(LANES):  # the column drawn, or its alias
            step = steps[slot[lane]]
            own, alias = slot[lane], np.int64(step.alias)
            slot[lane] = own if coin[lane] < step.threshold else alias
            prefetch(base + size * np.uintp(slot[lane]))
        for lane in range(LANES):  # step over it, and draw the next
            step = steps[slot[lane]]
            i, at = row[lane], place[lane]
            if at < width:
                cell = cells[i, at]
                cell.time, cell.node, cell.event = step.time, step.node, step.event
            at += 1
            length[i] = at
            opening, options = np.int64(step.first), np.int64(step.count)
            if options >= BIG:
                options = big_count[options - BIG]
            over = (options == 0) | (at == max_length)
            left -= over & (i < num)
            row[lane] = live[fresh] if over else i
            at = 1 if over else at
            opening = begin[fresh] if over else opening
            options = count[fresh] if over else options
            of_walk[lane] = keys[fresh] if over else of_walk[lane]
            fresh += over & (fresh < lives)
            place[lane] = at
            slot[lane], coin[lane] = _choose(of_walk[lane], at, opening, options)
            prefetch(base + size * np.uintp(slot[lane]))


# -- reach "future", forward ------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def _search(masses: Ints, low: int, high: int, point: int) -> int:
    """Return the last of the entries low .. high whose mass does not lie beyond a point; that of `low` never does."""
    while low < high:
        middle = (low + high + 1) >> 1
        if masses[middle] <= point:
            low = middle
        else:
            high = middle - 1
    return low


@numba.njit(cache=True, nogil=True)
def walk_later(
    later: Records,
    guide: Positions,
    masses: Ints,
    occurrences: Records,
    starts: Ints,
    key: np.uint64,
    number: int,
    max_length: int,
    cells: Records,
    length: Ints,
) -> None:
    """Walk from every start, (T,), over all later events; the walks are cut at max_length.

    Eq. 1 as it stands: an entry is drawn by centrality and stays in proportion to 1 - delta / sum of delta, the first
    one for sure; else the draw is made again. All but the last stay at least every second time, so the last gets its
    exact weight in the draw and always stays. A step touches the entry its list is left from, a guide entry and the
    entry drawn: three cache lines, and one more where the guide leaves a choice. The rows are as in `walk_steps`.
    """
    num, width = starts.size, cells.shape[1]
    base, size = np.uintp(later.ctypes.data), np.uintp(64)
    guide_base, masses_base = np.uintp(guide.ctypes.data), np.uintp(masses.ctypes.data)
    live, begin = np.empty(num + 1, np.int64), np.empty(num + 1, np.int64)
    lives = 0
    for i in range(num):
        prefetch(np.uintp(occurrences.ctypes.data) + np.uintp(16) * np.uintp(starts[min(i + AHEAD, num - 1)]))
        here = occurrences[starts[i]]
        cell = cells[i, 0]
        cell.time, cell.node, length[i] = here.time, here.node, 1
        live[lives], begin[lives] = i, here.first
        lives += here.first != NONE
    live[lives], begin[lives] = length.size - 1, 0
    cell = cells[live[lives], 0]
    cell.time = later[0].time - 1.0

    row, place, tosses = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    entry_at, drawn, part = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    point, high = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    now, coin, total, most = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    of_walk = np.empty(LANES, np.uint64)
    for lane in range(LANES):
        fresh = min(lane, lives)
        row[lane], place[lane], tosses[lane], entry_at[lane] = live[fresh], 1, 0, begin[fresh]
        of_walk[lane], now[lane] = walk_key(key, number + live[fresh]), cells[live[fresh], 0].time
        prefetch(base + size * np.uintp(begin[fresh]))
    fresh, left = min(LANES, lives), lives
    while left > 0:
        for lane in range(LANES):  # draw from the rest of the list
            here = entry_at[lane]
            entry = later[here]
            rest = np.int64(entry.left)
            part[lane], coin[lane], drawn[lane] = -1, TAKEN, here + rest - 1
            if rest == 1:
                continue
            others = entry.spread + (rest - 1) * (entry.time - now[lane])  # sum of delta over all but the last
            total[lane] = others + (entry.end_time - now[lane])
            most[lane] = others + (entry.end_time - entry.time)
            mass = entry.end_mass - entry.mass
            toss = unit(draw(of_walk[lane], tosses[lane])) * (mass + entry.end_weight * (others / most[lane]))
            if toss < mass:
                point[lane] = entry.mass + np.int64(scale_to(draw(of_walk[lane], tosses[lane] + 1), np.uint64(mass)))
                of_list = here + rest - np.int64(entry.list)
                part[lane] = entry.list + bucket_of(point[lane], of_list, entry.end_mass + entry.end_weight)
                coin[lane] = toss / mass
                prefetch(guide_base + np.uintp(4) * np.uintp(part[lane]))
            else:
                prefetch(base + size * np.uintp(drawn[lane]))
            tosses[lane] += 2
        for lane in range(LANES):  # ask the guide
            if part[lane] >= 0:
                hint = np.int64(guide[part[lane]])
                if hint & SURE:
                    drawn[lane], part[lane] = hint & (SURE - 1), -1
                    prefetch(base + size * np.uintp(drawn[lane]))
                else:
                    end = drawn[lane]
                    high[lane] = np.int64(guide[part[lane] + 1]) & (SURE - 1) if part[lane] < end else end
                    drawn[lane] = hint
                    prefetch(masses_base + np.uintp(8) * np.uintp(hint + 1))
        for lane in range(LANES):  # search where it leaves a choice
            if part[lane] >= 0:
                drawn[lane] = _search(masses, drawn[lane], high[lane], point[lane])
                prefetch(base + size * np.uintp(drawn[lane]))
        for lane in range(LANES):  # step over the entry drawn, unless it does not stay
            entry = later[drawn[lane]]
            if coin[lane] >= 0.0 and coin[lane] * most[lane] >= total[lane] - (entry.time - now[lane]):
                continue
            i, at = row[lane], place[lane]
            if at < width:
                cell = cells[i, at]
                cell.time, cell.node, cell.event = entry.time, entry.node, entry.event
            at += 1
            length[i] = at
            now[lane], entry_at[lane] = entry.time, entry.next
            if entry.next == NONE or at == max_length:
                left -= i < num
                i, at = live[fresh], 1
                row[lane], tosses[lane], entry_at[lane] = i, 0, begin[fresh]
                of_walk[lane], now[lane] = walk_key(key, number + i), cells[i, 0].time
                fresh += fresh < lives
            place[lane] = at
            prefetch(base + size * np.uintp(entry_at[lane]))


# -- reach "future", backward -----------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def walk_earlier(
    earlier: Records,
    sums: Records,
    occurrences: Records,
    starts: Ints,
    key: np.uint64,
    number: int,
    max_length: int,
    cells: Records,
    length: Ints,
) -> None:
    """Walk back from every start, (T,), to any earlier occurrence of what was linked to; rows are (T, width).

    As in `walk_later`, a candidate is drawn by centrality and stays with probability 1 - delta / sum of delta; the one
    furthest back gets its exact weight in the draw.
    """
    width = cells.shape[1]
    for i in range(starts.size):
        o = starts[i]
        cell = cells[i, 0]
        cell.time, cell.node = occurrences[o].time, occurrences[o].node
        of_walk, at, tosses = walk_key(key, number + i), 1, 0
        while at < max_length and occurrences[o].first < occurrences[o + 1].first:
            of_all = sums[o]
            link = np.int64(of_all.furthest)
            back, end = np.int64(earlier[link].oldest), np.int64(occurrences[o + 1].first) - 1
            spots = np.int64(earlier[end].newest) - np.int64(earlier[end].oldest) + (end != link)
            mass = earlier[end].mass + earlier[end].weight * spots
            toss = unit(draw(of_walk, tosses)) * (mass + earlier[link].weight * (of_all.others / of_all.total))
            if toss < mass:
                point = np.int64(scale_to(draw(of_walk, tosses + 1), np.uint64(mass)))
                link = np.int64(occurrences[o].first)
                while link < end:
                    middle = (link + end + 1) >> 1
                    if earlier[middle].mass <= point:
                        link = middle
                    else:
                        end = middle - 1
                back = np.int64(earlier[link].newest) - (point - earlier[link].mass) // earlier[link].weight
            tosses += 2
            delta = occurrences[o].time - occurrences[back].time
            if toss < mass and toss / mass * of_all.total >= of_all.total - delta:
                continue
            if at < width:
                cell = cells[i, at]
                cell.time, cell.node, cell.event = occurrences[back].time, occurrences[back].node, earlier[link].event
            o = back
            at += 1
        length[i] = at


# -- rows out ---------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def keep_rows(
    cells: Records,
    length: Ints,
    starts: Ints,
    kept: Ints,
    backward: bool,
    first: int,
    nodes: Nodes,
    tov: Days,
    toe: Days,
    events: Ints,
    lengths: Ints,
    begun: Ints,
) -> None:
    """Copy some rows of a task, (K,), to row `first` of the output and on, padded, times ascending."""
    width = nodes.shape[1]
    for out in range(first, first + kept.size):
        i = kept[out - first]
        n = length[i]
        for j in range(n):
            cell = cells[i, n - 1 - j if backward else j]
            nodes[out, j], tov[out, j] = cell.node, cell.time
        events[out, 0], toe[out, 0] = PAD, np.nan
        for j in range(1, n):
            events[out, j] = cells[i, n - j if backward else j].event
            toe[out, j] = tov[out, j] - tov[out, j - 1]
        nodes[out, n:width], events[out, n:width] = PAD, PAD
        tov[out, n:width], toe[out, n:width] = np.nan, np.nan
        lengths[out], begun[out] = n, starts[i]
