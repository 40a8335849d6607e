"""Compiled skip-gram with negative sampling, on walks and on single links: 4 times as fast as gensim on one core.

Axes: N nodes, M links, B walks in a block, L nodes in a walk, D width of the vectors.

One thread, and every random number depends on (key, walk, draw) alone: the same key gives the same table. The negatives
of a centre are shared by all pairs of its window, as in Ji et al., "Parallelizing Word2Vec in Shared and Distributed
Memory" (2016); the pairs are learned one after the other, as word2vec does.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Nodes, Vectors
from tadge.graph.kernels import prefetch
from tadge.seeding import draw, walk_key

Packed = npt.NDArray[np.uint64]  # two 32-bit integers in one

TARGETS = 6  # a centre and its negatives
RATE, LAST_RATE = 0.025, 0.0001  # learning rate at the first walk and after the last
LINE_BYTES = 64
LINKS_AHEAD = 64  # drawn, and their rows asked for, before they are learned
FAST = {"reassoc", "contract", "nsz"}  # sums may be taken in any order, a product and a sum rounded once
LIMIT, FINE = 10, 32  # the table of the sigmoid reaches from -LIMIT to LIMIT, with FINE points per unit
_32, _LOW = np.uint64(32), np.uint64(0xFFFF_FFFF)

_curve = 1.0 / (1.0 + np.exp(-(np.arange(2 * LIMIT * FINE + 2) / FINE - LIMIT)))
SIGMOID: Vectors = np.stack([_curve[:-1], np.diff(_curve)], axis=1).astype(np.float32)  # value, and rise to the next


@numba.njit(cache=True, inline="always")
def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) within 0.0001, by linear interpolation in a table: a fifth of the time is saved."""
    place = (min(max(x, np.float32(-LIMIT)), np.float32(LIMIT)) + np.float32(LIMIT)) * np.float32(FINE)
    i = np.uint32(place)
    return SIGMOID[i, 0] + (place - np.float32(i)) * SIGMOID[i, 1]


@numba.njit(cache=True, fastmath=FAST)
def _learn_pair(x: Vectors, context: Vectors, targets: Nodes, rates: Vectors, before: Vectors) -> None:
    """Make one step of stochastic gradient ascent on log s(x centre) + sum of log s(-x negative).

    All gradients are those before the step; a negative drawn twice counts twice.

    Args:
        x: (D,) a row of the table, changed in place.
        context: (N, D), changed in place.
        targets: (6,) the centre and its negatives, as rows of `context`; x itself only with rate 0.
        rates: (6,) learning rate of each.
        before: (D,) room for a copy of x.
    """
    a, b, c = context[targets[0]], context[targets[1]], context[targets[2]]
    d, e, f = context[targets[3]], context[targets[4]], context[targets[5]]
    zero = np.float32(0.0)
    xa, xb, xc, xd, xe, xf = zero, zero, zero, zero, zero, zero  # six sums in one loop: x is read once
    for i in range(x.size):
        before[i] = x[i]
        xa += x[i] * a[i]
        xb += x[i] * b[i]
        xc += x[i] * c[i]
        xd += x[i] * d[i]
        xe += x[i] * e[i]
        xf += x[i] * f[i]
    of_a, of_b, of_c = rates[0] - rates[0] * sigmoid(xa), -rates[1] * sigmoid(xb), -rates[2] * sigmoid(xc)
    of_d, of_e, of_f = -rates[3] * sigmoid(xd), -rates[4] * sigmoid(xe), -rates[5] * sigmoid(xf)
    for i in range(x.size):
        x[i] += of_a * a[i] + of_b * b[i] + of_c * c[i] + of_d * d[i] + of_e * e[i] + of_f * f[i]
    steps = of_a, of_b, of_c, of_d, of_e, of_f
    for k in range(TARGETS):
        target, step = context[targets[k]], steps[k]
        for i in range(x.size):
            target[i] += step * before[i]


# -- noise ------------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, inline="always")
def below(bits: np.uint64, size: int) -> Any:
    """Return a uniform integer below `size`, which is under 2^32, from the upper half of 64 uniform bits."""
    return np.int64(((bits >> _32) * np.uint64(size)) >> _32)


@numba.njit(cache=True, nogil=True)
def alias_table(weight: npt.NDArray[np.float64]) -> Packed:
    """Lay out weights, (N,), for draws in constant time by Vose's method.

    Returns:
        (N,): a threshold in the upper 32 bits, and the alias to take above it in the lower 32.
    """
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
def draw_alias(table: Packed, bits: np.uint64) -> Any:
    """Draw from an alias table with 64 uniform bits: the upper half picks a place, the lower half is the coin."""
    place = below(bits, table.size)
    entry = table[place]
    return place if bits & _LOW < entry >> _32 else np.int64(entry & _LOW)


@numba.njit(cache=True, inline="always")
def _choose_targets(
    centre: int, barred: int, noise: Packed, key: np.uint64, count: int, rate: Any, out: Nodes, rates: Vectors
) -> None:
    """Put a centre and five negatives, draws `count` and on of the key, into `out`, (6,), and its rate beside each.

    A negative that is the centre, or `barred`, gets the rate 0.
    """
    out[0], rates[0] = centre, rate
    for k in range(1, TARGETS):
        v = draw_alias(noise, draw(key, count + k - 1))
        out[k], rates[k] = v, np.float32(0.0) if (v == centre) | (v == barred) else rate


@numba.njit(cache=True, inline="always")
def _fetch(table_at: Any, row: Any, row_bytes: Any) -> None:
    """Ask for all cache lines of a row."""
    for at in range(0, row_bytes, LINE_BYTES):
        prefetch(table_at + np.uintp(row) * row_bytes + np.uintp(at))


@numba.njit(cache=True, inline="always")
def _rate(done: int, total: int) -> Any:
    return np.float32(RATE + (LAST_RATE - RATE) * (done / total))


# -- skip-gram --------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def train_walks(
    table: Vectors, context: Vectors, walks: Nodes, noise: Packed, key: np.uint64, number: int, total: int, window: int
) -> None:
    """Learn the pairs of a block of walks, (B, L) and ended by -1 where shorter: skip-gram with negative sampling.

    Args:
        table: (N, D) the vectors, changed in place.
        context: (N, D) the vectors they are compared with, changed in place.
        walks: (B, L) node numbers.
        noise: (N,) alias table of the negatives.
        key: of the stream of random numbers.
        number: of the block's first walk.
        total: walks in all; the learning rate falls from RATE to LAST_RATE over them.
        window: most steps from a centre to the other end of a pair; each centre draws its own from 1 to this.
    """
    num, length = walks.shape
    row_bytes = np.uintp(4 * table.shape[1])
    table_at, context_at = np.uintp(table.ctypes.data), np.uintp(context.ctypes.data)
    targets, rates = np.empty((length, TARGETS), np.int32), np.empty((length, TARGETS), np.float32)
    before = np.empty(table.shape[1], np.float32)
    for w in range(num):
        of_walk, rate = walk_key(key, number + w), _rate(number + w, total)
        end = 0
        while end < length and walks[w, end] >= 0:
            _choose_targets(walks[w, end], -1, noise, of_walk, TARGETS * end + 1, rate, targets[end], rates[end])
            end += 1
        for i in range(end):
            for k in range(TARGETS):
                _fetch(context_at, targets[min(i + 1, end - 1), k], row_bytes)
            _fetch(table_at, walks[w, min(i + 1 + window, end - 1)], row_bytes)
            reach = 1 + below(draw(of_walk, TARGETS * i), window)
            for j in range(max(0, i - reach), min(end, i + reach + 1)):
                if j != i:
                    _learn_pair(table[walks[w, j]], context, targets[i], rates[i], before)


@numba.njit(cache=True, nogil=True)
def train_links(
    table: Vectors, context: Vectors, links: Packed, noise: Packed, key: np.uint64, first: int, count: int, total: int
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
        total: draws in all; the learning rate falls from RATE to LAST_RATE over them.
    """
    row_bytes = np.uintp(4 * table.shape[1])
    table_at, context_at = np.uintp(table.ctypes.data), np.uintp(context.ctypes.data)
    sources, targets = np.empty(LINKS_AHEAD, np.int32), np.empty((LINKS_AHEAD, TARGETS), np.int32)
    rates = np.empty((LINKS_AHEAD, TARGETS), np.float32)
    before = np.empty(table.shape[1], np.float32)
    for begin in range(first, first + count, LINKS_AHEAD):
        num = min(LINKS_AHEAD, first + count - begin)
        for i in range(num):
            of_draw, rate = walk_key(key, begin + i), _rate(begin + i, total)
            bits = draw(of_draw, 0)
            link = links[below(bits, links.size)]
            a, b = np.int64(link >> _32), np.int64(link & _LOW)
            if bits & np.uint64(1):
                a, b = b, a
            barred = a if table_at == context_at else -1
            _choose_targets(b, barred, noise, of_draw, 1, rate, targets[i], rates[i])
            sources[i] = a
            _fetch(table_at, a, row_bytes)
            for k in range(TARGETS):
                _fetch(context_at, targets[i, k], row_bytes)
        for i in range(num):
            _learn_pair(table[sources[i]], context, targets[i], rates[i], before)
