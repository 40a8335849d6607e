"""The table of input vectors before training."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import torch

from tadge.arrays import Report
from tadge.deepwalk.initialise import initial_vectors
from tadge.graph.graph import TemporalGraph
from tadge.seeding import stream


def initial_table(
    graph: TemporalGraph, init: str, dim: int, seed: int, part: Callable[[str], AbstractContextManager[Report]]
) -> torch.Tensor:
    """Make the table, (N + 2, D): vectors of the wanted method, brought to a mean length of 1, and two random rows.

    Args:
        graph: what happened.
        init: deepwalk, node2vec, line, random, or a file of vectors.
        dim: D.
        seed: an integer from 0 up.
        part: shows the work while it lasts.
    """
    with part(f"initial vectors ({init})") as report:
        vectors = initial_vectors(graph, init, dim, seed, report)
    rng = np.random.default_rng(int(stream(seed, "further rows")))
    scale = float(np.sqrt(np.mean(np.sum(vectors[graph.degree > 0].astype(np.float64) ** 2, axis=1))))
    vectors /= np.float32(scale or 1.0)
    further = rng.standard_normal((2, dim)) / math.sqrt(dim)
    return torch.from_numpy(np.concatenate([vectors, further.astype(np.float32)]))
