"""The network with its training heads: six losses of a batch, whose weighted sum (Eq. 37) the training loop takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tadge.config import NetworkConfig
from tadge.network import losses
from tadge.network.losses import Classification
from tadge.network.network import Embedded, Network
from tadge.network.packing import Packing

LOSSES = ("self", "interval", "edge", "toe", "who", "when")


def loss_weights(weights: Sequence[float]) -> dict[str, float]:
    """Give every loss its weight in Eq. 37, in the order of LOSSES: "who" has that of edges, "when" that of ToE.

    Args:
        weights: of "self", "interval", "edge" and "toe".
    """
    of_self, of_interval, of_edge, of_toe = weights
    return dict(zip(LOSSES, (of_self, of_interval, of_edge, of_toe, of_edge, of_toe), strict=True))


class Batch(NamedTuple):
    """Hold the walks of one step, packed.

    Attributes:
        rows: (C + 2,) rows of the table that are needed: the candidates (nodes of the batch first, then the sampled
            negatives), the end of a sequence, the unknown node.
        present: how many of the candidates are nodes of the batch.
        candidate: (R,) the candidate that each row is.
        hidden: (R,) bool, whether the network is shown the unknown node, or a random vector, instead.
        toe: (R,) squashed ToE of the edge into each row; 0 in the first step.
        begin: (B,) float64 days at which the walks begin.
        packing: where the rows are.
        windows: (W, S) walks of each window.
    """

    rows: Tensor
    present: int
    candidate: Tensor
    hidden: Tensor
    toe: Tensor
    begin: Tensor
    packing: Packing
    windows: Tensor


class LossOutput(NamedTuple):
    """Hold the losses of a batch, and the predictions of those that classify.

    Attributes:
        losses: (6,) in the order of LOSSES.
        identity: self-identification, a candidate each.
        edges: edge reconstruction, a candidate each.
        who: which node is the next source, a candidate each; None where the network has seen it.
    """

    losses: Tensor
    identity: Classification
    edges: Classification
    who: Classification | None


def as_input(vectors: Tensor) -> Tensor:
    """Scale rows of the table, (n, D), to the network's input.

    The self-identification compares with the same rows. They have norm 1, so that its scores are of order 1 at first,
    and none is certain before it is learned; the network wants numbers of order 1.
    """
    return vectors * math.sqrt(vectors.shape[1])


class TrainingModel(nn.Module):
    """The network with the projections of its regressions.

    Args:
        config: widths, depth and variants.
        max_length: the number of nodes at which walks are cut.
    """

    def __init__(self, config: NetworkConfig, max_length: int) -> None:
        super().__init__()
        self.network = Network(config, max_length)
        self.interval_weight = nn.Parameter(torch.zeros(config.dim))  # w_s
        self.toe_weight = nn.Parameter(torch.zeros(config.dim))  # w_ToE
        if config.queries == "self":
            self.when = nn.Linear(2 * config.dim, 1)

    def embed(self, batch: Batch, vectors: Tensor, hidden_as: Tensor | None = None) -> Embedded:
        """Run the network on a batch.

        Args:
            batch: what to embed.
            vectors: (C + 2, D) the rows of the table that it names.
            hidden_as: (C, D) what is shown of the candidates where they are hidden; the unknown node by default.
        """
        x = as_input(vectors)
        if hidden_as is None:
            rows = x.index_select(0, torch.where(batch.hidden, len(vectors) - 1, batch.candidate))
        else:
            both = torch.cat([x, as_input(hidden_as)])
            rows = both.index_select(0, batch.candidate + len(x) * batch.hidden)
        return self.network(rows, batch.toe, x[-2], batch.packing, batch.windows)  # type: ignore[no-any-return]

    def compute_losses(
        self, batch: Batch, vectors: Tensor, embedded: Embedded, edge_candidates: str = "rows"
    ) -> LossOutput:
        """Compute all losses of a batch from what the network made of it; edges are asked among rows or nodes."""
        edges, nodes = embedded.edges.float(), embedded.nodes.float()
        ends = batch.packing.edges
        shown = torch.nonzero(~batch.hidden)[:, 0]
        identity = losses.self_identification(edges.index_select(0, shown), vectors[:-2], batch.candidate[shown])
        linked = self._linked(batch, vectors[:-2], nodes, edge_candidates)
        toe = losses.toe_regression(nodes, ends, batch.toe[ends[:, 1]], self.toe_weight)
        interval = toe.new_zeros(())
        if embedded.structures is not None:
            structures = embedded.structures.float()
            interval = losses.interval_regression(structures, batch.begin, batch.windows, self.interval_weight)
        parts = [identity.loss, interval, linked.loss, toe]
        if self.network.config.queries == "next":
            return LossOutput(torch.stack([*parts, toe.new_zeros(()), toe.new_zeros(())]), identity, linked, None)
        targets, sources = nodes.index_select(0, ends[:, 0]), batch.candidate[ends[:, 1]]
        who = losses.next_source_loss(targets, vectors[:-2], sources)
        source_inputs = as_input(vectors.index_select(0, sources))
        when = losses.future_toe_loss(targets, source_inputs, batch.toe[ends[:, 1]], self.when)
        return LossOutput(torch.stack([*parts, who.loss, when]), identity, linked, who)

    def _linked(self, batch: Batch, vectors: Tensor, nodes: Tensor, edge_candidates: str) -> Classification:
        """Reconstruct edges among rows, nodes or both; predictions are candidates, among nodes where these are asked.

        The loss of both is the mean of the two.
        """
        ends, present = batch.packing.edges, batch.present
        among_nodes = losses.edge_reconstruction_among_nodes
        if edge_candidates == "nodes":
            return among_nodes(nodes, ends, batch.candidate, vectors, present)
        linked = losses.edge_reconstruction(nodes, ends, batch.candidate, vectors[present:])
        if edge_candidates == "both":
            asked = among_nodes(nodes, ends, batch.candidate, vectors, present)
            return asked._replace(loss=(linked.loss + asked.loss) / 2)
        names = torch.cat([batch.candidate, torch.arange(present, len(vectors), device=nodes.device)])
        return Classification(linked.loss, names[linked.predicted], names[linked.target])
