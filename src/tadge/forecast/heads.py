"""The networks that answer for a pair, in torch only."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Standard(nn.Module):
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


def perceptron(width: int, hidden: int, dropout: float = 0.0) -> nn.Sequential:
    """Put two hidden layers in front of one number."""
    first = nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout)
    second = nn.Linear(hidden, hidden), nn.GELU(), nn.Dropout(dropout)
    return nn.Sequential(*first, *second, nn.Linear(hidden, 1))


class LinkHead(nn.Module):
    """Score how likely src links to dst now, from the columns of the pair."""

    def __init__(self, width: int, hidden: int = 128) -> None:
        super().__init__()
        self.standard = Standard(width)
        self.layers = perceptron(width, hidden)

    def forward(self, columns: Tensor) -> Tensor:
        """Score pairs, (..., F), as (...)."""
        return self.layers(self.standard(columns))[..., 0]  # type: ignore[no-any-return]


class ToeHead(nn.Module):
    """Guess the squashed ToE of src -> dst when dst has joined: from the latest events of both ends, and the columns.

    Args:
        width: of the columns.
        token_width: of a token.
        num_tokens: of a pair.
        dim: width of the attention.
        blocks: how many there are.
        dropout: share of numbers hidden in training.
    """

    def __init__(
        self, width: int, token_width: int, num_tokens: int, dim: int = 64, blocks: int = 2, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.standard = Standard(width)
        self.token = nn.Linear(token_width, dim)
        self.place = nn.Parameter(0.02 * torch.randn(num_tokens, dim))
        self.read = nn.Parameter(0.02 * torch.randn(dim))
        block = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, blocks, enable_nested_tensor=False)
        self.layers = perceptron(dim + width, 128, dropout)

    @property
    def last(self) -> nn.Linear:
        """Give the last layer."""
        return self.layers[-1]  # type: ignore[return-value]

    def forward(self, columns: Tensor, tokens: Tensor) -> Tensor:
        """Guess from columns, (n, F), and tokens, (n, T, C), as (n,)."""
        x = torch.cat([self.read.expand(len(tokens), 1, -1), self.token(tokens) + self.place], dim=1)  # (n, 1 + T, D)
        missing = nn.functional.pad(tokens[:, :, 0] == 0, (1, 0))  # (n, 1 + T)
        read = self.blocks(x, src_key_padding_mask=missing)[:, 0]  # (n, D)
        return self.layers(torch.cat([read, self.standard(columns)], dim=1))[:, 0]  # type: ignore[no-any-return]
