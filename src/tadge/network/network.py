"""TADGE's network from top to bottom: t-LSTM, encoder, decoder, structures, fusion (Section 4 of the paper)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from tadge.config import NetworkConfig
from tadge.network.attention import Block, FeedForward, among_rows, among_walks, within_walks
from tadge.network.graph_attention import WalkAttention
from tadge.network.packing import Packing, PrefixTree
from tadge.network.time_lstm import TimeLSTM

LARGEST_TOE = 1 - 1e-6  # squashed; beyond, float32 cannot tell days apart


class Embedded(NamedTuple):
    """Hold the embeddings of a batch.

    Attributes:
        edges: (R, D) edge formation embedding of every row (Eq. 23).
        structures: (B, D) structure embedding of every walk (Eq. 30), or None without structures.
        nodes: (R, D) final representation of every row (Eq. 31).
    """

    edges: Tensor
    structures: Tensor | None
    nodes: Tensor


class Network(nn.Module):
    """Embed the rows of packed walks.

    Args:
        config: widths, depth and variants.
        max_length: the number of nodes at which walks are cut: structures sum over this many steps, those that a walk
            does not have yet as the end of the sequence.
    """

    def __init__(self, config: NetworkConfig, max_length: int) -> None:
        super().__init__()
        self.config, self.max_length = config, max_length
        dim, heads, dropout = config.dim, config.heads, config.dropout
        if config.encoder == "gat":
            self.graph_attention = WalkAttention(config)
        else:
            self._make_transformer()
        if config.structure:
            self.end_row = nn.Parameter(torch.zeros(dim))  # edge formation embedding of the end of a sequence
            self.structure = Block(dim, heads, dropout)
        self.fusion = FeedForward(dim, dim, dropout)
        nn.init.constant_(self.fusion.norm.weight, dim**-0.25)  # products of two results are of order 1 at first
        if config.skip:  # weights of a node itself, of the one before it and, where it may be seen, of the one after it
            self.skip = nn.Parameter(torch.full((3 if config.queries == "next" else 2,), dim**-0.25))

    def _make_transformer(self) -> None:
        """Make the time-aware Transformer: t-LSTM, encoder and decoder."""
        config = self.config
        dim, heads, dropout, residual = config.dim, config.heads, config.dropout, config.residual
        self.time_lstm = TimeLSTM(dim, config.candidate)
        self.encoder = nn.ModuleList(Block(dim, heads, dropout, residual=residual) for _ in range(config.blocks))
        self.decoder = nn.ModuleList(
            Block(dim, heads, dropout, dim if n else heads * dim, residual) for n in range(config.blocks)
        )
        for block in (*self.encoder, *self.decoder):
            if block.residual:  # deeper networks start with smaller blocks, so that they learn from the first step
                nn.init.constant_(block.feed_forward.norm.weight, 1 / config.blocks)

    def forward(self, x: Tensor, toe: Tensor, end: Tensor, packing: Packing, windows: Tensor) -> Embedded:
        """Embed a batch.

        Args:
            x: (R, D) input of every row: its node's row of the table.
            toe: (R,) squashed ToE of the edge into each row; 0 in the first step.
            end: (D,) input of the end of a sequence.
            packing: where the rows are.
            windows: (W, S) the walks of each window, in order of their start; every walk is in one of them.
        """
        edges = self.edge_formation(x, toe, end, packing)
        around = self.around_blocks(x, packing) if self.config.skip else 0.0
        if not self.config.structure:
            return Embedded(edges, None, self.fusion(edges) + around)
        structures = self.structure_by_step(edges, packing, windows)
        nodes = self.fusion(edges + structures) + around  # (R, D)                                            Eq. 31
        return Embedded(edges, structures.index_select(0, packing.last_rows), nodes)

    def edge_formation(self, x: Tensor, toe: Tensor, end: Tensor, packing: Packing | PrefixTree) -> Tensor:
        """Return the edge formation embedding of every row, (R, D) (Eq. 2 to 23, or graph attention)."""
        if self.config.encoder == "gat" and isinstance(packing, Packing):
            return self.graph_attention(x, packing)  # type: ignore[no-any-return]
        attend = within_walks(packing)
        toe = toe if self.config.timed else torch.zeros_like(toe)
        if self.config.lstm_toe == "days":
            toe = torch.tan(toe.clamp(max=LARGEST_TOE) * (torch.pi / 2))
        first: Block = self.encoder[0]  # type: ignore[assignment]
        if self.config.queries == "next" and isinstance(packing, Packing):
            h, following = self._with_end(x, toe, end, packing)
            attended = first.attention(h, h, attend)  # (R, H*D)
            queries = first.attention(following, following, attend)
        else:
            h = self.time_lstm(x, toe, packing)
            queries = attended = first.attention(h, h, attend)  # serves encoder and decoder
        context = first.finish(h, attended)  # (R, D)
        for block in self.encoder[1:]:
            context = block(context, context, attend)
        for block in self.decoder:
            queries = block(queries, context, attend)  # (R, D)
        return queries

    def around_blocks(self, x: Tensor, packing: Packing | PrefixTree) -> Tensor:
        """Add up the inputs of every row, the row before it and the row after it, weighted, (R, D): ours.

        The row after it only where the queries see it too.
        """
        shifted = [x, packing.shift(x)]
        if self.config.queries == "next" and isinstance(packing, Packing):
            shifted.append(packing.shift(x, later=True))
        return sum((weight * rows for weight, rows in zip(self.skip, shifted, strict=False)), torch.zeros_like(x))

    def _with_end(self, x: Tensor, toe: Tensor, end: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        """Return the t-LSTM's state of every row, and that of the row after it, (R, D) each; the end comes last."""
        longer = packing.with_end_token()
        same = longer.rows[packing.walk_of, packing.step_of]  # (R,)
        after = longer.rows[packing.walk_of, packing.step_of + 1]
        inputs = end.expand(longer.num_rows, -1).index_copy(0, same, x)
        toes = toe.new_zeros(longer.num_rows).index_copy(0, same, toe)
        states = self.time_lstm(inputs, toes, longer)
        return states.index_select(0, same), states.index_select(0, after)

    def structure_by_step(self, edges: Tensor, packing: Packing, windows: Tensor) -> Tensor:
        """Return the structure embedding that every row may see, (R, D): that of its walk up to this row."""
        h = self.structure_input(edges, packing)
        return self.structure(h, h, among_walks(packing, windows))  # type: ignore[no-any-return]

    def structure_input(self, edges: Tensor, packing: Packing | PrefixTree) -> Tensor:
        """Sum every walk up to each row, (R, D); steps that a walk does not have yet count as the end of a sequence."""
        left = (self.max_length - 1 - packing.step_of).to(edges.dtype)  # (R,)
        return (
            packing.prefix_sums(edges) + left[:, None] * self.end_row
        )  # (R, D)                                   Eq. 24

    def embed_rows(
        self, x: Tensor, toe: Tensor, end: Tensor, packing: Packing | PrefixTree, windows: Tensor, mask: Tensor
    ) -> Tensor:
        """Return the final representation of selected rows, (n, D), each with its own window.

        Args:
            x: (R, D), as in `forward`.
            toe: (R,).
            end: (D,).
            packing: where the rows are; a prefix tree only where queries are "self".
            windows: (n, S) the rows that each is compared with; the last is the row itself.
            mask: (n, S) bool, which of them count.
        """
        edges = self.edge_formation(x, toe, end, packing)
        selected = edges.index_select(0, windows[:, -1])  # (n, D)
        around = self.around_blocks(x, packing).index_select(0, windows[:, -1]) if self.config.skip else 0.0
        if not self.config.structure:
            return self.fusion(selected) + around  # type: ignore[no-any-return]
        h = self.structure_input(edges, packing)
        structures = self.structure(h.index_select(0, windows[:, -1]), h, among_rows(windows, mask))  # (n, D)
        return self.fusion(selected + structures) + around  # type: ignore[no-any-return]
