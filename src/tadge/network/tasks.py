"""The three self-supervised tasks on one batch, and their joint loss (Eq. 37)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tadge.config import ModelConfig
from tadge.network import losses
from tadge.network.losses import Choice
from tadge.network.network import Embedded, Network
from tadge.network.packing import Packing

LOSSES = ("self", "interval", "edge", "toe", "who", "when")
WEIGHT_OF = (0, 1, 2, 3, 2, 3)  # the place of each loss's weight: who is about edges, when about ToE


class Batch(NamedTuple):
    """Hold the walks of one step, packed.

    Attributes:
        rows: (C + 2,) rows of the table that are needed: the candidates (vertices of the batch first, then those drawn
            as wrong answers), the end of a sequence, the unknown vertex.
        present: how many of the candidates are vertices of the batch.
        vertex: (R,) candidate that each row is of.
        hidden: (R,) bool, whether the network is shown the unknown vertex instead.
        toe: (R,) squashed ToE of the edge into each row; 0 in the first step.
        begin: (B,) float64 days at which the walks begin.
        packing: where the rows are.
        windows: (W, S) walks of each window.
    """

    rows: Tensor
    present: int
    vertex: Tensor
    hidden: Tensor
    toe: Tensor
    begin: Tensor
    packing: Packing
    windows: Tensor


class Outcome(NamedTuple):
    """Hold the answers to the tasks.

    Attributes:
        losses: (6,) in the order of LOSSES.
        identity: the choices of the self-identification, a candidate each.
        edges: the choices of the edge reconstruction: a row each, or R plus the place among the drawn vertices.
        who: the choices of who acts next, a candidate each; None where the network has seen it.
    """

    losses: Tensor
    identity: Choice
    edges: Choice
    who: Choice | None


def as_input(vectors: Tensor) -> Tensor:
    """Scale rows of the table, (n, D), to what the network takes in.

    The same rows are what the self-identification compares with. They are of length 1, so that its scores are of
    order 1 at first and nothing is sure before it is learned; the network wants numbers of order 1.
    """
    return vectors * math.sqrt(vectors.shape[1])


class Tasks(nn.Module):
    """The network with the projections of its regressions.

    Args:
        config: widths, depth and variants.
        max_length: the number of vertices at which walks are cut.
    """

    def __init__(self, config: ModelConfig, max_length: int) -> None:
        super().__init__()
        self.network = Network(config, max_length)
        self.interval_weight = nn.Parameter(torch.zeros(config.dim))  # w_s
        self.toe_weight = nn.Parameter(torch.zeros(config.dim))  # w_ToE
        if config.queries == "self":
            self.when = nn.Linear(2 * config.dim, 1)

    def embed(self, batch: Batch, vectors: Tensor) -> Embedded:
        """Run the network on a batch; `vectors` are the (C + 2, D) rows of the table that it names."""
        inputs = torch.where(batch.hidden, len(vectors) - 1, batch.vertex)
        x = as_input(vectors)
        return self.network(x.index_select(0, inputs), batch.toe, x[-2], batch.packing, batch.windows)  # type: ignore[no-any-return]

    def ask(self, batch: Batch, vectors: Tensor, made: Embedded) -> Outcome:
        """Ask the three tasks about what the network made of a batch."""
        edges, nodes = made.edges.float(), made.nodes.float()
        ends = batch.packing.edges
        shown = torch.nonzero(~batch.hidden)[:, 0]
        identity = losses.self_identification(edges.index_select(0, shown), vectors[:-2], batch.vertex[shown])
        linked = losses.edge_reconstruction(nodes, ends, batch.vertex, vectors[batch.present : -2])
        toe = losses.toe_regression(nodes, ends, batch.toe[ends[:, 1]], self.toe_weight)
        interval = toe.new_zeros(())
        if made.structures is not None:
            structures = made.structures.float()
            interval = losses.interval_regression(structures, batch.begin, batch.windows, self.interval_weight)
        parts = [identity.loss, interval, linked.loss, toe]
        if self.network.config.queries == "next":
            return Outcome(torch.stack([*parts, toe.new_zeros(()), toe.new_zeros(())]), identity, linked, None)
        targets, actors = nodes.index_select(0, ends[:, 0]), batch.vertex[ends[:, 1]]
        who = losses.who_acts(targets, vectors[:-2], actors)
        acting = as_input(vectors.index_select(0, actors))
        when = losses.toe_ahead(targets, acting, batch.toe[ends[:, 1]], self.when)
        return Outcome(torch.stack([*parts, who.loss, when]), identity, linked, who)
