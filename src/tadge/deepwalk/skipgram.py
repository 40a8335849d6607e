"""Compiled skip-gram with negative sampling: on walks, and on single links.

Axes: N nodes, M links, B walks in a block, L nodes in a walk, D width of a table's rows: a multiple of `LANES`.

One thread, and every random number depends on (key, walk, draw) alone: the same key gives the same table. The negatives
of a centre are shared by all pairs of its window, as in Ji et al., "Parallelizing Word2Vec in Shared and Distributed
Memory" (2016); the pairs are learned one after the other, as word2vec does.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from tadge.arrays import Ints, Nodes
from tadge.graph.kernels import prefetch
from tadge.seeding import draw, walk_key

Table = npt.NDArray[np.float32]
Packed = npt.NDArray[np.uint64]  # two 32-bit numbers in one

LANES = 16  # numbers that are worked on at once: one cache line
TARGETS = 6  # a centre and its negatives
RATE, LAST_RATE = 0.025, 0.0001  # of learning, at the first walk and after the last
LINE_BYTES = 64
LINKS = 64  # that are drawn before they are learned
LIMIT, FINE = 10, 32  # the sigmoid's table reaches from -LIMIT to LIMIT, with FINE steps to 1
_32, _LOW = np.uint64(32), np.uint64(0xFFFF_FFFF)

_curve = 1.0 / (1.0 + np.exp(-(np.arange(2 * LIMIT * FINE + 2) / FINE - LIMIT)))
SIGMOID: Table = np.stack([_curve[:-1], np.diff(_curve)], axis=1).astype(np.float32)  # value, and rise to the next


# -- six rows at once -------------------------------------------------------------------------------------------------
# Written in LLVM's own terms: the compiler cannot know that the rows lie apart, and would go number by number.

_FUSED = ("contract",)  # a product and a sum may be rounded once
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_ADDRESS = numba.types.uintp
_ROWS, _NUMBERS = (numba.types.UniTuple(kind, TARGETS) for kind in (_ADDRESS, numba.types.float32))


def _multiply_add(builder: Any, a: Any, b: Any, to: Any) -> Any:
    return builder.fadd(to, builder.fmul(a, b, flags=_FUSED), flags=_FUSED)


def _at(builder: Any, row: Any, block: Any) -> Any:
    """Point to a block of a row that is given by its address."""
    offset = builder.mul(block, ir.Constant(block.type, 4 * LANES))
    return builder.inttoptr(builder.add(row, offset), _VECTOR.as_pointer())


def _sum_lanes(builder: Any, vector: Any) -> Any:
    """Add the lanes of a vector: halves, quarters and so on."""
    while vector.type.count > 1:
        half = vector.type.count // 2
        index = ir.VectorType(ir.IntType(32), half)
        low, high = ir.Constant(index, [*range(half)]), ir.Constant(index, [*range(half, 2 * half)])
        vector = builder.fadd(*(builder.shuffle_vector(vector, vector, part) for part in (low, high)))
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _spread(builder: Any, number: Any) -> Any:
    """Give every lane the same number."""
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@intrinsic
def six_products(typing_context: Any, row: Any, targets: Any, blocks: Any) -> Any:
    """Return the inner products of a row with six targets; rows are addresses, `blocks` of LANES numbers long."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, targets, blocks = arguments
        others = cgutils.unpack_tuple(builder, targets)
        sums = [cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, None)) for _ in others]
        with cgutils.for_range(builder, blocks, intp=blocks.type) as loop:
            own = builder.load(_at(builder, row, loop.index), align=4)
            for other, total in zip(others, sums, strict=True):
                value = builder.load(_at(builder, other, loop.index), align=4)
                builder.store(_multiply_add(builder, own, value, builder.load(total)), total)
        products = [_sum_lanes(builder, builder.load(total)) for total in sums]
        return context.make_tuple(builder, signature.return_type, products)

    return _NUMBERS(_ADDRESS, _ROWS, _ADDRESS), codegen


@intrinsic
def six_steps(typing_context: Any, row: Any, targets: Any, steps: Any, blocks: Any) -> Any:
    """Move a row along six targets, and each target along the row as it was, by its step.

    One after the other: a target that comes twice is moved twice. Only one with step 0 may be the row itself.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, targets, steps, blocks = arguments
        others = cgutils.unpack_tuple(builder, targets)
        factors = [_spread(builder, step) for step in cgutils.unpack_tuple(builder, steps)]
        with cgutils.for_range(builder, blocks, intp=blocks.type) as loop:
            place = _at(builder, row, loop.index)
            moved = own = builder.load(place, align=4)
            for other, factor in zip(others, factors, strict=True):
                target = _at(builder, other, loop.index)
                value = builder.load(target, align=4)
                moved = _multiply_add(builder, factor, value, moved)
                builder.store(_multiply_add(builder, factor, own, value), target, align=4)
            builder.store(moved, place, align=4)
        return context.get_dummy_value()

    return numba.types.void(_ADDRESS, _ROWS, _NUMBERS, _ADDRESS), codegen


@numba.njit(cache=True, inline="always")
def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) within 0.0001, from a table with straight lines between its points."""
    place = (min(max(x, np.float32(-LIMIT)), np.float32(LIMIT)) + np.float32(LIMIT)) * np.float32(FINE)
    i = np.uint32(place)
    return SIGMOID[i, 0] + (place - np.float32(i)) * SIGMOID[i, 1]


@numba.njit(cache=True, fastmath=True, inline="always")
def _learn(row: Any, targets: Any, rates: Any, blocks: Any) -> None:
    """Make one step of stochastic gradient ascent on log s(row, centre) + sum of log s(-row, negative)."""
    x = six_products(row, targets, blocks)
    up = rates[0] - rates[0] * sigmoid(x[0])
    a, b, c = -rates[1] * sigmoid(x[1]), -rates[2] * sigmoid(x[2]), -rates[3] * sigmoid(x[3])
    d, e = -rates[4] * sigmoid(x[4]), -rates[5] * sigmoid(x[5])
    six_steps(row, targets, (up, a, b, c, d, e), blocks)


# -- noise ------------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, inline="always")
def below(bits: np.uint64, size: int) -> Any:
    """Return a uniform whole number below `size`, which is under 2^32, from the upper half of 64 uniform bits."""
    return np.int64(((bits >> _32) * np.uint64(size)) >> _32)


@numba.njit(cache=True, nogil=True)
def alias_table(weight: npt.NDArray[np.float64]) -> Packed:
    """Lay out weights, (N,), for draws in constant time: a threshold of 32 bits, and who is taken above it, (N,)."""
    size = weight.size
    left = weight * (size / weight.sum())
    poor, rich = np.empty(size, np.int64), np.empty(size, np.int64)
    poors = riches = 0
    for v in range(size):
        if left[v] < 1.0:
            poor[poors] = v
            poors += 1
        else:
            rich[riches] = v
            riches += 1
    table = np.empty(size, np.uint64)
    while poors and riches:
        poors -= 1
        v, other = poor[poors], rich[riches - 1]
        table[v] = (np.uint64(left[v] * 4294967296.0) << _32) | np.uint64(other)
        left[other] -= 1.0 - left[v]
        if left[other] < 1.0:
            riches -= 1
            poor[poors] = other
            poors += 1
    for v in poor[:poors]:
        table[v] = (_LOW << _32) | np.uint64(v)
    for v in rich[:riches]:
        table[v] = (_LOW << _32) | np.uint64(v)
    return table


@numba.njit(cache=True, inline="always")
def pick(table: Packed, bits: np.uint64) -> Any:
    """Draw from an alias table with 64 uniform bits: the upper half picks a place, the lower half is the coin."""
    place = below(bits, table.size)
    entry = table[place]
    return place if bits & _LOW < entry >> _32 else np.int64(entry & _LOW)


@numba.njit(cache=True, inline="always")
def _choose_targets(
    centre: int, barred: int, noise: Packed, key: np.uint64, count: int, rate: Any, out: Ints, rates: Table
) -> None:
    """Put a centre and five negatives, draws `count` and on of the key, into `out`, (6,), and its rate beside each.

    A negative that is the centre, or `barred`, gets the rate 0.
    """
    out[0], rates[0] = centre, rate
    for k in range(1, TARGETS):
        v = pick(noise, draw(key, count + k - 1))
        out[k], rates[k] = v, np.float32(0.0) if (v == centre) | (v == barred) else rate


@numba.njit(cache=True, inline="always")
def _fetch(row: Any, size: Any) -> None:
    """Ask for all cache lines of a row."""
    for at in range(0, size, LINE_BYTES):
        prefetch(row + np.uintp(at))


@numba.njit(cache=True, inline="always")
def _six(row: Any) -> Any:
    """Give the six entries of a row as a tuple."""
    return row[0], row[1], row[2], row[3], row[4], row[5]


@numba.njit(cache=True, inline="always")
def _rate(done: int, total: int) -> Any:
    return np.float32(RATE + (LAST_RATE - RATE) * (done / total))


# -- skip-gram --------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True, fastmath=True)
def train_walks(
    table: Table, context: Table, walks: Nodes, noise: Packed, key: np.uint64, number: int, total: int, window: int
) -> None:
    """Learn the pairs of a block of walks, (B, L) and ended by -1 where shorter: skip-gram with negative sampling.

    Args:
        table: (N, D) the vectors, changed in place.
        context: (N, D) the vectors they are compared with, changed in place.
        walks: (B, L) node numbers.
        noise: (N,) alias table of the negatives.
        key: of the stream of random numbers.
        number: of the block's first walk.
        total: walks in all; the rate of learning falls from RATE to LAST_RATE over them.
        window: most steps from a centre to the other end of a pair; each centre draws its own from 1 to this.
    """
    num, length = walks.shape
    width = np.uintp(4 * table.shape[1])
    blocks = np.uintp(table.shape[1] // LANES)
    table_at, context_at = np.uintp(table.ctypes.data), np.uintp(context.ctypes.data)
    target, rates = np.empty((length, TARGETS), np.int64), np.empty((length, TARGETS), np.float32)
    row = np.empty((length, TARGETS), np.uintp)
    for w in range(num):
        of_walk, rate = walk_key(key, number + w), _rate(number + w, total)
        end = 0
        while end < length and walks[w, end] >= 0:
            _choose_targets(walks[w, end], -1, noise, of_walk, TARGETS * end + 1, rate, target[end], rates[end])
            for k in range(TARGETS):
                row[end, k] = context_at + width * np.uintp(target[end, k])
            end += 1
        for i in range(end):
            for k in range(TARGETS):
                _fetch(row[min(i + 1, end - 1), k], width)
            _fetch(table_at + width * np.uintp(walks[w, min(i + 1 + window, end - 1)]), width)
            rows, steps = _six(row[i]), _six(rates[i])
            reach = 1 + below(draw(of_walk, TARGETS * i), window)
            for j in range(max(0, i - reach), min(end, i + reach + 1)):
                if j != i:
                    _learn(table_at + width * np.uintp(walks[w, j]), rows, steps, blocks)


@numba.njit(cache=True, nogil=True, fastmath=True)
def train_links(
    table: Table, context: Table, links: Packed, noise: Packed, key: np.uint64, first: int, count: int, total: int
) -> None:
    """Learn links that are drawn at random, as LINE does: of first order where `context` is the table itself.

    Args:
        table: (N, D) the vectors, changed in place.
        context: (N, D) the vectors they are compared with, changed in place.
        links: (M,) both ends of every link in one number; each is drawn in either direction.
        noise: (N,) alias table of the negatives.
        key: of the stream of random numbers.
        first: number of the first draw.
        count: draws to make now.
        total: draws in all; the rate of learning falls from RATE to LAST_RATE over them.
    """
    width = np.uintp(4 * table.shape[1])
    blocks = np.uintp(table.shape[1] // LANES)
    table_at, context_at = np.uintp(table.ctypes.data), np.uintp(context.ctypes.data)
    target, rates = np.empty((LINKS, TARGETS), np.int64), np.empty((LINKS, TARGETS), np.float32)
    own, row = np.empty(LINKS, np.uintp), np.empty((LINKS, TARGETS), np.uintp)
    for begin in range(first, first + count, LINKS):
        num = min(LINKS, first + count - begin)
        for i in range(num):
            of_draw, rate = walk_key(key, begin + i), _rate(begin + i, total)
            bits = draw(of_draw, 0)
            link = links[below(bits, links.size)]
            a, b = np.int64(link >> _32), np.int64(link & _LOW)
            if bits & np.uint64(1):
                a, b = b, a
            barred = a if table_at == context_at else -1
            _choose_targets(b, barred, noise, of_draw, 1, rate, target[i], rates[i])
            own[i] = table_at + width * np.uintp(a)
            _fetch(own[i], width)
            for k in range(TARGETS):
                row[i, k] = context_at + width * np.uintp(target[i, k])
                _fetch(row[i, k], width)
        for i in range(num):
            _learn(own[i], _six(row[i]), _six(rates[i]), blocks)
