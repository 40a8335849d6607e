"""The network that scores a pair, in torch only."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Standardise(nn.Module):
    """Bring columns to mean 0 and spread 1, as found in what was learned from; nothing beyond 5 spreads."""

    mean: Tensor
    spread: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))

    @torch.no_grad()
    def learn(self, columns: Tensor) -> None:
        """Take mean and spread from columns, (n, F); one that does not vary is not looked at."""
        spread = columns.double().std(0)
        self.mean.copy_(columns.double().mean(0))
        self.spread.copy_(torch.where(spread > 1e-6, spread, torch.full_like(spread, torch.inf)))

    def forward(self, columns: Tensor) -> Tensor:
        """Standardise columns, (..., F)."""
        return ((columns - self.mean) / self.spread).clamp(-5.0, 5.0)


class LinkScorer(nn.Module):
    """Score how likely src links to dst now, from the columns of the pair."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.normalise = Standardise(width)
        first, second = nn.Linear(width, hidden), nn.Linear(hidden, hidden)
        self.layers = nn.Sequential(first, nn.GELU(), second, nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, columns: Tensor) -> Tensor:
        """Score pairs, (..., F), as (...)."""
        return self.layers(self.normalise(columns))[..., 0]  # type: ignore[no-any-return]
