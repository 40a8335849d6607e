"""How alike vectors are: cosines about their mean. Axes: N nodes, n nodes asked about, D width."""

from __future__ import annotations

import numpy as np

from tadge.arrays import Ints, Vectors

ROWS_AT_ONCE = 1 << 26  # cosines: bounds the memory
SHORTEST = 1e-12


def directions(vectors: Vectors) -> Vectors:
    """Give vectors, (N, D), about their mean, at length 1; those at the mean stay 0."""
    centred = vectors - vectors.mean(axis=0)
    return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), SHORTEST))


def nearest(vectors: Vectors, nodes: Ints, k: int) -> tuple[Ints, Vectors]:
    """Find the k nearest others of nodes, (n,), by the cosine about the mean: (n, k) node numbers and cosines."""
    unit, k = directions(vectors), max(k, 0)
    near, cosine = np.empty((nodes.size, k), np.int64), np.empty((nodes.size, k), np.float32)
    at_once = max(1, ROWS_AT_ONCE // max(len(unit), 1))
    for first in range(0, nodes.size, at_once):
        cut = slice(first, first + at_once)
        alike = unit[nodes[cut]] @ unit.T
        alike[np.arange(len(alike)), nodes[cut]] = -np.inf
        near[cut] = _largest(alike, k)
        cosine[cut] = np.take_along_axis(alike, near[cut], axis=1)
    return near, cosine


def _largest(values: Vectors, k: int) -> Ints:
    """Find the places of the k largest of each row, (n, N), largest first: (n, k)."""
    if k > values.shape[1] // 4:
        return np.argsort(-values, axis=1, kind="stable")[:, :k]
    some = np.sort(np.argpartition(-values, k, axis=1)[:, :k], axis=1)
    order = np.argsort(-np.take_along_axis(values, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)
