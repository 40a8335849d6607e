"""Compiled walkers: many side by side, each waiting for its next cache line while the others move.

A task is a run of consecutive walk numbers. Its rows, (T, L), are small enough to stay in cache; walks that are long
enough are then copied out by `keep_rows`. Every random number depends on (key, walk, draw) alone, so tasks may be cut
anywhere and run anywhere.
"""

# ruff: noqa: PLR0915 (a walker is one loop: calls would cost)

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tadge.arrays import PAD, Days, Ints, Nodes
from tadge.graph.kernels import prefetch
from tadge.graph.links import Positions
from tadge.seeding import draw, unit, walk_key
from tadge.walks.layout import BIG, MANY, NONE, Records

LANES = 32  # walkers side by side: enough to hide the latency of memory, few enough for the first-level cache
FEW_ROUNDS, MANY_ROUNDS = 6, 32  # of the Feistel network; few places need many to be shuffled well
FEW_BITS = 7
STARTS_AHEAD = 16  # starts asked for before they are read
FEW, READY = 64, 128  # starts looked at in one go, and slots for those that have a candidate
ROW, SLOT, AT = range(3)  # columns of a lane's state in the default reach; of a start the first two
HERE, DRAWN, PART, PART_OFFSET, STEP_AT, NUM_DRAWS = range(1, 7)  # in reach "future"; of a start the first four
TAKEN = -1.0  # a height below every bound: the draw always stays


class Task(NamedTuple):
    """Hold a run of consecutive walks, and the rows that are filled with them.

    Attributes:
        starts: (T,) occurrences to walk from.
        key: of the random stream of the steps.
        number: walk number of the first start; the others follow.
        max_length: nodes at which walks are cut.
        cells: (T + 1 or more, width) the steps of every walk; the event of the first is not set.
        length: (T + 1 or more,) nodes in every walk. The last row is scratch space.
    """

    starts: Ints
    key: np.uint64
    number: int
    max_length: int
    cells: Records
    length: Ints


class WalkArrays(NamedTuple):
    """Hold walks one per row, padded at the end: the arrays of `Walks`."""

    nodes: Nodes
    tov: Days
    events: Ints
    lengths: Ints
    starts: Ints


@intrinsic
def scale_to(typing_context: Any, bits: Any, size: Any) -> Any:
    """Return the upper half of the 128-bit product: a uniform integer below `size` from 64 uniform bits."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def select(typing_context: Any, condition: Any, first: Any, second: Any) -> Any:
    """Return `first` where the condition holds, else `second`, without a branch: both are computed."""
    if first != second:
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        holds = context.cast(builder, arguments[0], signature.args[0], types.boolean)
        return builder.select(holds, *arguments[1:])

    return first(condition, first, second), codegen


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
def walk_steps(steps: Records, big_count: Ints, occurrences: Records, task: Task) -> None:
    """Walk from every start, (T,), in the default reach; the walks are cut at max_length.

    A step touches the record of the column drawn and, where the coin says so, that of its alias. The rows are
    (more than T, width): lanes without a start left walk on in the last one, which is scratch space.
    """
    starts, key, number, max_length, cells, length = task
    num, width = starts.size, cells.shape[1]
    base, starts_base, size = np.uintp(steps.ctypes.data), np.uintp(occurrences.ctypes.data), np.uintp(32)
    ready, coins, keys = np.empty((READY, 2), np.int64), np.empty(READY), np.empty(READY, np.uint64)
    lanes, coin, of_walk = np.empty((LANES, 3), np.int64), np.zeros(LANES), np.full(LANES, key)
    lanes[:, ROW], lanes[:, SLOT], lanes[:, AT] = length.size - 1, 0, max_length - 1
    lives: Any = 0
    looked = fresh = done = 0
    while looked < num or done < lives:
        while looked < num and lives < fresh + LANES:  # make the first draw of a few more walks
            for i in range(looked, min(looked + FEW, num)):
                prefetch(starts_base + np.uintp(16) * np.uintp(starts[min(i + STARTS_AHEAD, num - 1)]))
                start, new = np.uintp(starts[i]), np.uintp(lives & (READY - 1))
                here, cell = occurrences[start], cells[i, 0]
                cell.time, cell.node, length[i] = here.time, here.node, 1
                options = np.int64(occurrences[start + np.uintp(1)].first) - np.int64(here.first)
                keys[new], ready[new, ROW] = walk_key(key, number + i), i
                ready[new, SLOT], coins[new] = _choose(keys[new], 1, np.int64(here.first), options)
                lives += options > 0
            looked = min(looked + FEW, num)
        new = np.uintp(lives & (READY - 1))  # what lanes get when there is nothing left to walk
        ready[new, ROW], ready[new, SLOT], coins[new] = length.size - 1, 0, 0.0
        for lane in range(LANES):  # the column drawn, or its alias
            slot = lanes[lane, SLOT]
            step = steps[np.uintp(slot)]
            slot = select(coin[lane] < step.threshold, slot, np.int64(step.alias))
            lanes[lane, SLOT] = slot
            prefetch(base + size * np.uintp(slot))
        for lane in range(LANES):  # step over it, and draw the next
            step = steps[np.uintp(lanes[lane, SLOT])]
            row, at = np.uintp(lanes[lane, ROW]), lanes[lane, AT]
            if at < width:
                cell = cells[row, np.uintp(at)]
                cell.time, cell.node, cell.event = step.time, step.node, step.event
            at += 1
            length[row] = at
            options = np.int64(step.count)
            if options >= BIG:
                options = big_count[options - BIG]
            over, new = (options == 0) | (at == max_length), np.uintp(fresh & (READY - 1))
            done += over & (row < np.uintp(num))
            slot, next_coin = _choose(of_walk[lane], at, np.int64(step.first), options)
            slot = select(over, ready[new, SLOT], slot)
            lanes[lane, ROW], lanes[lane, AT] = select(over, ready[new, ROW], np.int64(row)), select(over, 1, at)
            lanes[lane, SLOT], coin[lane] = slot, select(over, coins[new], next_coin)
            of_walk[lane] = select(over, keys[new], of_walk[lane])
            fresh += over & (fresh < lives)
            prefetch(base + size * np.uintp(slot))


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


@numba.njit(cache=True, inline="always")
def _draw_entry(here: Any, key: np.uint64, draws: int) -> tuple[float, Any, Any, Any]:
    """Draw from the candidates after an entry: the last one, or a point of the others' mass.

    Returns:
        height: TAKEN where the last one is drawn; else the weight that the one drawn needs to stay.
        drawn: the last one, or -1.
        part: of the guide, where it is needed.
        offset: of the point within that part.
    """
    bound, shift = here.rest * here.most, np.int64(here.shift)
    height = unit(draw(key, draws)) * (bound + here.last)
    point = here.mass + np.int64(scale_to(draw(key, draws + 1), np.uint64(here.rest)))
    inner = height < bound
    part, offset = select(inner, np.int64(here.guide) + (point >> shift), 0), point & ((1 << shift) - 1)
    return select(inner, height, TAKEN), select(inner, -1, np.int64(here.end)), part, offset


@numba.njit(cache=True, nogil=True)
def walk_later(opening: Positions, later: Records, guide: Records, masses: Ints, task: Task) -> None:
    """Walk from every start, (T,), over all later events; the walks are cut at max_length.

    Eq. 1 as it stands: an entry is drawn by centrality and stays in proportion to 1 - delta / sum of delta, the first
    one for sure; else the draw is made again. All but the last stay at least every second time, so the last gets its
    exact weight in the draw and always stays. A step touches a guide entry and the entry drawn, which also tells what
    can be drawn next: two cache lines, and one more where the guide leaves a choice. What differs from lane to lane is
    selected, not branched on: no predictor could know it. The rows are as in `walk_steps`.
    """
    starts, key, number, max_length, cells, length = task
    num, width = starts.size, cells.shape[1]
    base, opening_base, size = np.uintp(later.ctypes.data), np.uintp(opening.ctypes.data), np.uintp(64)
    guide_base, masses_base = np.uintp(guide.ctypes.data), np.uintp(masses.ctypes.data)
    ready, heights, keys = np.empty((READY, 5), np.int64), np.empty(READY), np.empty(READY, np.uint64)
    lanes, height, of_walk = np.empty((LANES, 8), np.int64), np.full(LANES, TAKEN), np.full(LANES, key)
    lanes[:] = 0
    lanes[:, ROW], lanes[:, STEP_AT] = length.size - 1, max_length - 1
    unsure = np.empty(LANES, np.int64)
    lives: Any = 0
    looked = fresh = done = 0
    while looked < num or done < lives:
        while looked < num and lives < fresh + LANES:  # make the first draw of a few more walks
            for i in range(looked, min(looked + FEW, num)):
                prefetch(opening_base + np.uintp(4) * np.uintp(starts[min(i + 2 * STARTS_AHEAD, num - 1)]))
                prefetch(base + size * np.uintp(opening[np.uintp(starts[min(i + STARTS_AHEAD, num - 1)])]))
                place = np.int64(opening[np.uintp(starts[i])])
                here, cell, new = later[np.uintp(place)], cells[i, 0], np.uintp(lives & (READY - 1))
                cell.time, cell.node, length[i] = here.time, here.node, 1
                keys[new] = walk_key(key, number + i)
                heights[new], drawn, part, offset = _draw_entry(here, keys[new], 0)
                ready[new, ROW], ready[new, HERE] = i, place
                ready[new, DRAWN], ready[new, PART], ready[new, PART_OFFSET] = drawn, part, offset
                lives += here.end != NONE
            looked = min(looked + FEW, num)
        new = np.uintp(lives & (READY - 1))  # what lanes get when there is nothing left to walk
        ready[new], heights[new], ready[new, ROW] = 0, TAKEN, length.size - 1
        many = 0
        for lane in range(LANES):  # ask the guide which entry the point drawn belongs to
            hint, drawn = guide[np.uintp(lanes[lane, PART])], lanes[lane, DRAWN]
            asked, first = drawn < 0, np.int64(hint.entry)
            choice = asked & (first >= MANY)
            first &= MANY - 1
            drawn = select(asked, first + (lanes[lane, PART_OFFSET] >= np.int64(hint.split)), drawn)
            lanes[lane, DRAWN], unsure[many] = drawn, lane
            many += choice
            prefetch(select(choice, masses_base + np.uintp(8) * np.uintp(first + 1), base + size * np.uintp(drawn)))
        for k in range(many):  # search where it leaves a choice
            lane = unsure[k]
            part, here = lanes[lane, PART], later[np.uintp(lanes[lane, HERE])]
            of_list, shift = part - np.int64(here.guide), np.int64(here.shift)
            final = of_list == (masses[here.end] - 1) >> shift
            high = np.int64(here.end) - 1 if final else np.int64(guide[part + 1].entry) & (MANY - 1)
            point = (of_list << shift) + lanes[lane, PART_OFFSET]
            drawn = _search(masses, np.int64(guide[part].entry) & (MANY - 1), high, point)
            lanes[lane, DRAWN] = drawn
            prefetch(base + size * np.uintp(drawn))
        for lane in range(LANES):  # step over the entry drawn, unless it does not stay; then draw from where one is
            row, at, drawn = np.uintp(lanes[lane, ROW]), lanes[lane, STEP_AT], lanes[lane, DRAWN]
            entry, here = later[np.uintp(drawn)], later[np.uintp(lanes[lane, HERE])]
            if at < width:
                cell = cells[row, np.uintp(at)]
                cell.time, cell.node, cell.event = entry.time, entry.node, entry.event
            stays = height[lane] < here.rest * (here.total - (entry.time - here.time))
            at += stays
            length[row] = at
            place, draws = select(stays, drawn, lanes[lane, HERE]), lanes[lane, NUM_DRAWS]
            here = later[np.uintp(place)]
            over = stays & ((here.end == NONE) | (at == max_length))
            done += over & (row < np.uintp(num))
            high, drawn, part, offset = _draw_entry(here, of_walk[lane], draws)
            new = np.uintp(fresh & (READY - 1))
            drawn, part = select(over, ready[new, DRAWN], drawn), select(over, ready[new, PART], part)
            lanes[lane, ROW], lanes[lane, STEP_AT] = select(over, ready[new, ROW], np.int64(row)), select(over, 1, at)
            lanes[lane, HERE] = select(over, ready[new, HERE], place)
            lanes[lane, NUM_DRAWS] = select(over, 2, draws + 2)
            lanes[lane, DRAWN], lanes[lane, PART] = drawn, part
            lanes[lane, PART_OFFSET] = select(over, ready[new, PART_OFFSET], offset)
            height[lane], of_walk[lane] = select(over, heights[new], high), select(over, keys[new], of_walk[lane])
            fresh += over & (fresh < lives)
            asked, reached = guide_base + np.uintp(8) * np.uintp(part), base + size * np.uintp(drawn)
            prefetch(select(drawn < 0, asked, reached))


# -- reach "future", backward -----------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def walk_earlier(earlier: Records, sums: Records, occurrences: Records, task: Task) -> None:
    """Walk back from every start, (T,), to any earlier occurrence of what was linked to; rows are (T, width).

    As in `walk_later`, a candidate is drawn by centrality and stays with probability 1 - delta / sum of delta; the one
    furthest back gets its exact weight in the draw.
    """
    starts, key, number, max_length, cells, length = task
    width = cells.shape[1]
    for i in range(starts.size):
        o = starts[i]
        cell = cells[i, 0]
        cell.time, cell.node = occurrences[o].time, occurrences[o].node
        of_walk, at, draws = walk_key(key, number + i), 1, 0
        while at < max_length and occurrences[o].first < occurrences[o + 1].first:
            of_all = sums[o]
            link = np.int64(of_all.furthest)
            back, end = np.int64(earlier[link].oldest), np.int64(occurrences[o + 1].first) - 1
            landings = np.int64(earlier[end].newest) - np.int64(earlier[end].oldest) + (end != link)
            mass = earlier[end].mass + earlier[end].weight * landings
            height = unit(draw(of_walk, draws)) * (mass + earlier[link].weight * (of_all.others / of_all.total))
            if height < mass:
                point = np.int64(scale_to(draw(of_walk, draws + 1), np.uint64(mass)))
                link = np.int64(occurrences[o].first)
                while link < end:
                    middle = (link + end + 1) >> 1
                    if earlier[middle].mass <= point:
                        link = middle
                    else:
                        end = middle - 1
                back = np.int64(earlier[link].newest) - (point - earlier[link].mass) // earlier[link].weight
            draws += 2
            delta = occurrences[o].time - occurrences[back].time
            if height < mass and height / mass * of_all.total >= of_all.total - delta:
                continue
            if at < width:
                cell = cells[i, at]
                cell.time, cell.node, cell.event = occurrences[back].time, occurrences[back].node, earlier[link].event
            o = back
            at += 1
        length[i] = at


# -- rows out ---------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def keep_rows(task: Task, kept: Ints, backward: bool, first: int, out: WalkArrays) -> None:
    """Copy some rows of a task, (K,), to row `first` of the output and on, padded, times ascending."""
    starts, _, _, _, cells, length = task
    nodes, tov, events, lengths, begun = out
    width = nodes.shape[1]
    for row in range(first, first + kept.size):
        i = kept[row - first]
        n = length[i]
        for j in range(n):
            cell = cells[i, n - 1 - j if backward else j]
            nodes[row, j], tov[row, j] = cell.node, cell.time
        events[row, 0] = PAD
        for j in range(1, n):
            events[row, j] = cells[i, n - j if backward else j].event
        nodes[row, n:width], tov[row, n:width], events[row, n:width] = PAD, np.nan, PAD
        lengths[row], begun[row] = n, starts[i]
