"""Compiled walks over the static graph, as DeepWalk and node2vec make them; and random rows to begin with.

Axes: N nodes, M links, B walks in a block, L nodes in a walk. Every random number depends on (key, walk, draw) alone.
"""

from __future__ import annotations

import numba
import numpy as np

from tadge.arrays import Ints, Nodes, Vectors
from tadge.deepwalk.skipgram import Packed, below
from tadge.seeding import draw, unit, walk_key

_32, _LOW = np.uint64(32), np.uint64(0xFFFF_FFFF)


# -- the graph and walks over it --------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def neighbour_lists(links: Packed, num_nodes: int) -> tuple[Ints, Nodes]:
    """List the neighbours of every node, ascending, from distinct links (lower end, upper end) in ascending order.

    Returns:
        start: (N+1,), node v's neighbours are `neighbours[start[v]:start[v+1]]`.
        neighbours: (2M,) int32.
    """
    start = np.zeros(num_nodes + 1, np.int64)
    for link in links:
        start[np.int64(link >> _32) + 1] += 1
        start[np.int64(link & _LOW) + 1] += 1
    for v in range(num_nodes):
        start[v + 1] += start[v]
    free = start[:-1].copy()
    neighbours = np.empty(start[num_nodes], np.int32)
    for link in links:  # a node's lower neighbours come first, in order
        upper = np.int64(link & _LOW)
        neighbours[free[upper]] = np.int32(link >> _32)
        free[upper] += 1
    for link in links:
        lower = np.int64(link >> _32)
        neighbours[free[lower]] = np.int32(link & _LOW)
        free[lower] += 1
    return start, neighbours


@numba.njit(cache=True, nogil=True)
def shuffle(nodes: Nodes, key: np.uint64) -> None:
    """Bring nodes, (n,), into a random order (Fisher and Yates)."""
    for i in range(nodes.size - 1, 0, -1):
        j = below(draw(key, i), i + 1)
        nodes[i], nodes[j] = nodes[j], nodes[i]


@numba.njit(cache=True, nogil=True)
def uniform_walks(start: Ints, neighbours: Nodes, begin: Nodes, key: np.uint64, number: int, walks: Nodes) -> None:
    """Walk from every node of `begin`, (B,), to a neighbour, all alike, and on; fill `walks`, (B, L)."""
    num, length = walks.shape
    keys = np.empty(num, np.uint64)
    for i in range(num):
        keys[i], walks[i, 0] = walk_key(key, number + i), begin[i]
    for j in range(1, length):
        for i in range(num):  # side by side: the walks wait for memory together
            v = walks[i, j - 1]
            walks[i, j] = neighbours[start[v] + below(draw(keys[i], j), start[v + 1] - start[v])]


@numba.njit(cache=True)
def linked(start: Ints, neighbours: Nodes, a: int, b: int) -> bool:
    """Tell whether two nodes are neighbours: look for one in the shorter list of the two."""
    if start[b + 1] - start[b] < start[a + 1] - start[a]:
        a, b = b, a
    listed = neighbours[start[a] : start[a + 1]]
    at = np.searchsorted(listed, b)
    return bool(at < listed.size and listed[at] == b)


@numba.njit(cache=True, nogil=True)
def biased_walks(
    start: Ints, neighbours: Nodes, begin: Nodes, key: np.uint64, number: int, p: float, q: float, walks: Nodes
) -> None:
    """Walk as node2vec does from every node of `begin`, (B,); fill `walks`, (B, L).

    A step back weighs 1/p, one to a neighbour of the node before 1, any other 1/q. A neighbour is drawn, and stays in
    proportion to its weight; else the draw is made again.
    """
    num, length = walks.shape
    most, least = max(1.0, 1.0 / p, 1.0 / q), min(1.0, 1.0 / p, 1.0 / q)
    for i in range(num):
        of_walk, draws = walk_key(key, number + i), 0
        walks[i, 0] = begin[i]
        for j in range(1, length):
            v = walks[i, j - 1]
            while True:
                to = neighbours[start[v] + below(draw(of_walk, draws), start[v + 1] - start[v])]
                coin = unit(draw(of_walk, draws + 1)) * most
                draws += 2
                if j == 1 or coin < least:
                    break
                before = walks[i, j - 2]
                weight = 1.0 / p if to == before else 1.0 if linked(start, neighbours, before, to) else 1.0 / q
                if coin < weight:
                    break
            walks[i, j] = to


# -- random rows ------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def uniform_rows(key: np.uint64, scale: float, rows: Vectors) -> None:
    """Fill rows, (N, D), uniformly from -scale to scale; a row depends on the key and its index alone."""
    for v in range(rows.shape[0]):
        of_row = walk_key(key, v)
        for d in range(rows.shape[1]):
            rows[v, d] = (2.0 * unit(draw(of_row, d)) - 1.0) * scale


@numba.njit(cache=True, nogil=True)
def normal_rows(key: np.uint64, scale: float, rows: Vectors) -> None:
    """Fill rows, (N, D), from a normal distribution with this standard deviation; a row depends on key and index."""
    for v in range(rows.shape[0]):
        of_row = walk_key(key, v)
        for d in range(0, rows.shape[1], 2):  # Box and Muller: two at a time
            far = scale * np.sqrt(-2.0 * np.log(1.0 - unit(draw(of_row, d))))
            turn = 2.0 * np.pi * unit(draw(of_row, d + 1))
            rows[v, d] = far * np.cos(turn)
            if d + 1 < rows.shape[1]:
                rows[v, d + 1] = far * np.sin(turn)
