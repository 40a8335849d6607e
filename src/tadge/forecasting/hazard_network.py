"""The network that gives a whole curve for a row of columns, in torch only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tadge.forecasting.link_scorer import Standardise

LARGEST = 6.0  # of a bin's log hazard: by then it is certain


class HazardNetwork(nn.Module):
    """Give the log hazard of every bin of time, from columns."""

    def __init__(self, width: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.normalise = Standardise(width)
        first, second, last = nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, outputs)
        nn.init.zeros_(last.weight)
        self.layers, self.last = nn.Sequential(first, nn.GELU(), second, nn.GELU()), last

    @torch.no_grad()
    def begin(self, columns: Tensor, observed: Tensor, exposed: Tensor) -> None:
        """Start from the hazard of all: what was observed, (K,), to how much was exposed, (K,)."""
        self.normalise.learn(columns)
        self.last.bias.copy_(torch.log((observed + 0.5) / (exposed + 1.0)))

    def forward(self, columns: Tensor) -> Tensor:
        """Give log hazards, (n, F) to (n, K)."""
        return self.last(self.layers(self.normalise(columns))).clamp(max=LARGEST)  # type: ignore[no-any-return]


def survival_loss(log_hazard: Tensor, exposed: Tensor, observed: Tensor) -> Tensor:
    """Give the negative log-likelihood of waits, (n,), one part per bin: exposed * hazard - observed * log hazard.

    Args:
        log_hazard: (n, K).
        exposed: (n, K) how much of each bin was seen before it came or was no longer looked at, times its weight.
        observed: (n, K) 1 in the bin in which it came, times its weight.
    """
    return (exposed * torch.exp(log_hazard) - observed * log_hazard).sum(dim=1)
