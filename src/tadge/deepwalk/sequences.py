"""Skip-gram on sequences that are given: what CTDNE learns from temporal walks."""

from __future__ import annotations

import numpy as np

from tadge.arrays import Nodes, Vectors
from tadge.deepwalk.initialise import NOISE, start_table
from tadge.deepwalk.skipgram import alias_table, train_walks
from tadge.seeding import stream


def sequence_vectors(sequences: Nodes, num_nodes: int, dim: int, seed: int, *, window: int, epochs: int = 1) -> Vectors:
    """Learn a vector for every node from sequences of nodes, (N, dim); the same seed gives the same vectors.

    Skip-gram with five negatives, as word2vec has it. Nodes that stand in no sequence have zeros.

    Args:
        sequences: (W, L) node numbers, PAD at the end of those that are shorter.
        num_nodes: N.
        dim: width of the vectors.
        seed: an integer from 0 up.
        window: most steps between the ends of a pair; each centre draws its own from 1 to this.
        epochs: passes over all sequences; the learning rate falls over all of them.
    """
    walks = np.ascontiguousarray(sequences, np.int32)
    visits = np.bincount(walks[walks >= 0], minlength=num_nodes)
    if not visits.any():
        return np.zeros((num_nodes, dim), np.float32)
    table = start_table(num_nodes, dim, seed, "sequences")
    context, noise = np.zeros_like(table), alias_table(visits**NOISE)
    key, total = stream(seed, "sequences/negatives"), epochs * len(walks)
    for epoch in range(epochs):
        train_walks(table, context, walks, noise, key, epoch * len(walks), total, window)
    table[visits == 0] = 0
    return table
