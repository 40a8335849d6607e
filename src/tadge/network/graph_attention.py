"""A graph attention network over walks, in place of the time-aware Transformer: the paper's baselines GAT, GAT-strc."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.config import NetworkConfig
from tadge.errors import MissingExtraError
from tadge.network.packing import Packing


class WalkAttention(nn.Module):
    """Let every row attend to its neighbours in its walk and to itself, N times (Velickovic et al., 2018).

    Heads are as wide as the model, and concatenated; those of the last layer are averaged. A row sees what comes before
    it and after it, and no ToE.

    Args:
        config: width, heads, layers (`blocks`), dropout of the attention, residual connections.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        layer = geometric_layers("the encoder gat").GATConv
        dim, heads, last = config.dim, config.heads, config.blocks - 1
        self.layers = nn.ModuleList(
            layer(
                heads * dim if number else dim,
                dim,
                heads,
                concat=number < last,
                dropout=config.dropout,
                add_self_loops=True,
                residual=config.residual,
            )
            for number in range(config.blocks)
        )

    def forward(self, x: Tensor, packing: Packing) -> Tensor:
        """Embed the rows of packed walks, (R, D), as (R, D)."""
        links = torch.cat([packing.edges, packing.edges.flip(1)]).T.contiguous()  # (2, 2M): both directions
        with torch.autocast(x.device.type, enabled=False):  # sums over neighbours, in one dtype
            rows = x.to(next(self.parameters()).dtype)
            for number, layer in enumerate(self.layers):
                rows = layer(functional.elu(rows) if number else rows, links)
        return rows


def geometric_layers(who: str) -> Any:
    """Give the layers of PyTorch Geometric, or say how to install it.

    Args:
        who: needs them.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what another package warns of on import is not our user's business
            return import_module("torch_geometric.nn")
    except ImportError:
        expected, cure = "the extra gnn", "pip install 'tadge[gnn]'"
        raise MissingExtraError(f"{who} needs torch_geometric", expected=expected, cure=cure) from None
