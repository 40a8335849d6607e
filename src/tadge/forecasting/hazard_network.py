"""The network that gives a whole curve for a row of columns, in torch only."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tadge.forecasting.link_scorer import Standardise
from tadge.forecasting.plain_networks import LARGEST


class HazardNetwork(nn.Module):
    """Give the log hazard of every bin of time, from columns.

    Args:
        width: number of columns.
        hidden: width of the two hidden layers.
        outputs: number of bins.
        rates: pairs of columns, a count and a time on log scales, whose difference is one more: events per time.
        offsets: number of further columns, behind the others, that are added to the log hazards; several times where
            there are as many bins.
    """

    def __init__(
        self, width: int, hidden: int, outputs: int, rates: Sequence[tuple[int, int]], offsets: int = 0
    ) -> None:
        super().__init__()
        self.width, self.times_offsets = width, outputs // offsets if offsets else 0
        self.counts, self.times = [count for count, _ in rates], [time for _, time in rates]
        width += len(rates)
        self.normalise = Standardise(width)
        first, second = nn.Linear(width, hidden), nn.Linear(hidden, hidden)
        self.layers = nn.Sequential(first, nn.GELU(), second, nn.GELU())
        self.level, self.shape = nn.Linear(hidden, 1, bias=False), nn.Linear(hidden, outputs)
        nn.init.zeros_(self.level.weight)
        nn.init.zeros_(self.shape.weight)

    @torch.no_grad()
    def begin(self, columns: Tensor, observed: Tensor, exposed: Tensor) -> None:
        """Start from the hazard of all: what was observed, (n, K), to how much was exposed, (n, K)."""
        self.normalise.learn(self._with_rates(columns))
        looked_at = (exposed * torch.exp(self._offsets(columns))).sum(dim=0)
        self.shape.bias.copy_(torch.log((observed.sum(dim=0) + 0.5 / observed.shape[1]) / (looked_at + 1.0)))

    def forward(self, columns: Tensor) -> Tensor:
        """Give log hazards, (n, F) to (n, K)."""
        hidden = self.layers(self.normalise(self._with_rates(columns)))
        return (self.level(hidden) + self.shape(hidden) + self._offsets(columns)).clamp(max=LARGEST)  # type: ignore[no-any-return]

    def _with_rates(self, columns: Tensor) -> Tensor:
        return torch.cat([columns[:, : self.width], columns[:, self.counts] - columns[:, self.times]], dim=1)

    def _offsets(self, columns: Tensor) -> Tensor:
        if not self.times_offsets:
            return torch.zeros(1)
        return columns[:, self.width :].repeat(1, self.times_offsets)


def survival_loss(log_hazard: Tensor, exposed: Tensor, observed: Tensor) -> Tensor:
    """Give the negative log-likelihood of waits, (n,), one part per bin: exposed * hazard - observed * log hazard.

    Args:
        log_hazard: (n, K).
        exposed: (n, K) how much of each bin was seen before it came or was no longer looked at, times its weight.
        observed: (n, K) 1 in the bin in which it came, times its weight.
    """
    return (exposed * torch.exp(log_hazard) - observed * log_hazard).sum(dim=1)
