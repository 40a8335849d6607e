"""The table of input vectors: only the rows that a step has touched are moved."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from tadge.arrays import Ints
from tadge.graph.ids import Ids
from tadge.seeding import stream

BETAS = 0.9, 0.999
EPSILON = 1e-8


def random_rows(count: int, dim: int) -> Tensor:
    """Draw rows, (count, dim), of about length 1, as nodes have that nothing is known of."""
    return torch.randn(count, dim) / math.sqrt(dim)


def with_own_rows(table: Tensor, rows: Ints, ids: Ids, seed: int) -> tuple[Tensor, Ints]:
    """Give nodes that are unknown a random row each, which depends on the seed and the node's id alone.

    Args:
        table: (N' + 2, D) input vectors; the last two rows are the end of a sequence and the unknown node.
        rows: (N,) row of the table of each node.
        ids: (N,) their ids.
        seed: an integer from 0 up.

    Returns:
        The longer table, whose last two rows are the same, and the row of each node in it.
    """
    new = np.flatnonzero(rows == len(table) - 1)
    further = np.empty((new.size, table.shape[1]), np.float32)
    for row, name in zip(further, ids[new].tolist(), strict=True):
        np.random.default_rng(int(stream(seed, f"new node {name}"))).standard_normal(dtype=np.float32, out=row)
    rows = rows.copy()
    rows[new] = len(table) - 2 + np.arange(new.size)
    own = torch.from_numpy(further / np.float32(math.sqrt(table.shape[1]))).to(table)
    return torch.cat([table[:-2], own, table[-2:]]), rows


class EmbeddingTable:
    """Hold one vector per node, one for the end of a sequence, one for the unknown node, and their moments.

    "Nodes not in the sequence stay unchanged": Adam that is lazy. A row's moments rest while it is not touched, so
    a step costs what it touches, whatever the number of nodes.

    Attributes:
        values: (N + 2, D).
        first: (N + 2, D) mean of the gradients.
        second: (N + 2, D) mean of their squares.
    """

    def __init__(self, values: Tensor) -> None:
        self.values, self.first, self.second = values, torch.zeros_like(values), torch.zeros_like(values)

    def take(self, rows: Tensor) -> Tensor:
        """Copy rows, (C,), as a leaf that gathers gradients, (C, D)."""
        return self.values[rows].requires_grad_()

    def update(self, rows: Tensor, gradient: Tensor, lr: float, step: int) -> None:
        """Move distinct rows, (C,), against their gradient, (C, D); `step` counts from 1."""
        slow, slower = BETAS
        first = self.first[rows].lerp_(gradient, 1 - slow)
        second = self.second[rows].mul_(slower).addcmul_(gradient, gradient, value=1 - slower)
        self.first[rows], self.second[rows] = first, second
        length = (second / (1 - slower**step)).sqrt_().add_(EPSILON)
        self.values[rows] = self.values[rows].addcdiv_(first, length, value=-lr / (1 - slow**step))

    def tensors(self) -> dict[str, Tensor]:
        """Give all that must be kept to go on."""
        return {"values": self.values, "first": self.first, "second": self.second}
