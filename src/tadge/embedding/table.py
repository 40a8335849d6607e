"""The table of input vectors: only the rows that a step has touched are moved."""

from __future__ import annotations

import torch
from torch import Tensor

BETAS = 0.9, 0.999
EPSILON = 1e-8


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
