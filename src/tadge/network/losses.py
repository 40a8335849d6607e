"""The six losses of training: four of the paper's tasks (Eq. 32, 33, 35, 36), two of our own for forecasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

SHARPNESS = 20.0  # of cosines: at 1, the softmax over a thousand candidates could not single one out


class Classification(NamedTuple):
    """Hold the predictions for questions with one correct candidate each.

    Attributes:
        loss: scalar, the mean cross-entropy.
        predicted: (n,) the candidate with the highest score.
        target: (n,) the correct candidate.
    """

    loss: Tensor
    predicted: Tensor
    target: Tensor


def softmax_loss_with_negatives(scores: Tensor, target: Tensor, excluded: Tensor | None = None) -> Classification:
    """Compute the softmax cross-entropy as the paper prints it, averaged over rows.

    For every row: minus the log of the target's probability, minus the log of (1 - probability) of every negative.

    Args:
        scores: (n, C) of each candidate.
        target: (n,) the correct candidate.
        excluded: (n, C) bool, candidates that do not count; never the target.
    """
    if excluded is not None:
        scores = scores.masked_fill(excluded, -torch.inf)
    if scores.dtype != torch.float64:
        scores = scores.float()
    total: Tensor = _PrintedLoss.apply(scores, target)  # type: ignore[no-untyped-call]
    return Classification(total / max(1, target.numel()), scores.detach().argmax(1), target)


class _PrintedLoss(torch.autograd.Function):
    """Sum, over rows, minus the log of the target's probability and of (1 - probability) of every negative.

    The gradient in closed form: by rule torch would pass over all scores some twenty times.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, target: Tensor) -> Tensor:
        """Take scores, (n, C), and the target of each row, (n,)."""
        log_softmax = functional.log_softmax(scores, dim=1)  # (n, C)
        of_target = log_softmax.gather(1, target[:, None])  # (n, 1)
        softmax = log_softmax.exp_()
        others = softmax.clamp(max=1 - torch.finfo(scores.dtype).eps).scatter_(1, target[:, None], 0.0)
        ctx.save_for_backward(softmax, target)
        return -(of_target[:, 0] + others.neg_().log1p_().sum(1)).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Give the gradient of the scores: with p the softmax and w = p / (1 - p), -1 at the target, w - p sum(w)."""
        softmax, target = ctx.saved_tensors
        rest = (1 - softmax).clamp_(min=torch.finfo(softmax.dtype).eps)
        pull = torch.div(softmax, rest, out=rest).scatter_(1, target[:, None], -1.0)  # (n, C)
        return torch.addcmul(pull, softmax, pull.sum(1, keepdim=True), value=-1).mul_(gradient), None


def self_identification(edges: Tensor, vectors: Tensor, target: Tensor) -> Classification:
    """Classify every row's edge formation embedding: which node it belongs to (Eq. 32).

    Args:
        edges: (R, D) edge formation embeddings.
        vectors: (C, D) vectors of the candidates: the nodes of the batch and sampled others, or all nodes.
        target: (R,) which candidate is the row's node.
    """
    return softmax_loss_with_negatives(edges @ vectors.T, target)


def edge_reconstruction(
    nodes: Tensor, ends: Tensor, node_of: Tensor, negatives: Tensor | None = None
) -> Classification:
    """Classify, for every end of every edge, which row is its other end (Eq. 35).

    The candidates are all rows of the batch and sampled others, except the asking row itself (its product with itself
    is the largest of all) and any other row of a node that it has an edge with, which would be no negative.

    Args:
        nodes: (R, D) final representations.
        ends: (M, 2) rows of both ends of every edge.
        node_of: (R,) node of every row.
        negatives: (K, D) vectors of further negatives, or None.
    """
    asking, target = torch.cat([ends, ends.flip(1)]).T  # (2M,) each
    before, after = (torch.full_like(node_of, -1) for _ in range(2))  # (R,) the rows next to each in its walk
    before[ends[:, 1]], after[ends[:, 0]] = ends[:, 0], ends[:, 1]
    second = torch.cat(
        [before[ends[:, 0]], after[ends[:, 1]]]
    )  # (2M,) other end of the asking row's second edge, or -1
    candidates = nodes if negatives is None else torch.cat([nodes, negatives])
    scores = nodes.index_select(0, asking) @ candidates.T  # (2M, R + K)
    excluded = torch.zeros_like(scores, dtype=torch.bool)
    target_node = node_of[target]
    second_node = torch.where(second >= 0, node_of[second], target_node)
    excluded[:, : len(nodes)] = (target_node[:, None] == node_of) | (second_node[:, None] == node_of)
    excluded.scatter_(1, asking[:, None], True)
    excluded.scatter_(1, target[:, None], False)
    return softmax_loss_with_negatives(scores, target, excluded)


def edge_reconstruction_among_nodes(
    nodes: Tensor, ends: Tensor, node_of: Tensor, vectors: Tensor, present: int
) -> Classification:
    """Classify, for every two nodes that share an edge, which node of the batch is the other one (Eq. 35, our form).

    A node is the mean of its rows, nodes are compared by the cosine times `SHARPNESS`, and every pair asks once in each
    direction. The candidates are the nodes of the batch and sampled others, except the asking node itself and the other
    nodes that it shares an edge with, which would be no negatives.

    Args:
        nodes: (R, D) final representations.
        ends: (M, 2) rows of both ends of every edge.
        node_of: (R,) node of every row, from 0 to P - 1.
        vectors: (C, D) input vectors of the candidates; those from P on are no nodes of the batch.
        present: P.
    """
    count = torch.bincount(node_of, minlength=present)[:, None]
    means = nodes.new_zeros(present, nodes.shape[1]).index_add(0, node_of, nodes) / count  # (P, D)
    unit = functional.normalize(torch.cat([means, vectors[present:]]), dim=1)  # (C, D)
    pairs = node_of[torch.cat([ends, ends.flip(1)])]
    asking, target = torch.unique(pairs[pairs[:, 0] != pairs[:, 1]], dim=0).T  # (Q,) each
    near = torch.eye(present, len(unit), dtype=torch.bool, device=nodes.device)
    near[asking, target] = True
    excluded = near.index_select(0, asking).scatter(1, target[:, None], False)  # (Q, C)
    return softmax_loss_with_negatives(SHARPNESS * unit.index_select(0, asking) @ unit.T, target, excluded)


def toe_regression(nodes: Tensor, ends: Tensor, toe: Tensor, weight: Tensor) -> Tensor:
    """Regress the squashed ToE of every edge on the sum of its ends (Eq. 36): half the mean squared error.

    Args:
        nodes: (R, D) final representations.
        ends: (M, 2) rows of both ends of every edge.
        toe: (M,) squashed ToE.
        weight: (D,) the linear projection.
    """
    score = nodes @ weight  # (R,)
    return _mean((score[ends[:, 0]] + score[ends[:, 1]] - toe) ** 2) / 2


def next_source_loss(nodes: Tensor, vectors: Tensor, source: Tensor) -> Classification:
    """Classify, for every target as of its joining, which node will link to it next: softmax cross-entropy.

    Ours: Eq. 35 looks at both ends after the fact.

    Args:
        nodes: (M, D) final representations of the targets, computed without anything later.
        vectors: (C, D) vectors of the candidate nodes.
        source: (M,) which candidate it is.
    """
    log_softmax = functional.log_softmax(nodes @ vectors.T, dim=1)  # (M, C)
    loss = -_mean(log_softmax.gather(1, source[:, None])[:, 0])
    return Classification(loss, log_softmax.detach().argmax(1), source)


def future_toe_loss(nodes: Tensor, sources: Tensor, toe: Tensor, project: Callable[[Tensor], Tensor]) -> Tensor:
    """Regress the squashed ToE of every edge on what is known when its target has joined: half the mean squared error.

    Ours: Eq. 36 looks at both ends after the fact. Here the target is as of its joining, and the source is known by its
    input vector alone.

    Args:
        nodes: (M, D) final representations of the targets, computed without anything later.
        sources: (M, D) input vectors of the sources.
        toe: (M,) squashed ToE.
        project: a linear map of (M, 2 D) to (M, 1).
    """
    return _mean((project(torch.cat([nodes, sources], dim=1))[:, 0] - toe) ** 2) / 2


def interval_regression(structures: Tensor, begin: Tensor, windows: Tensor, weight: Tensor) -> Tensor:
    """Regress the squashed time between the beginnings of any two walks of a window on the sum of their embeddings.

    This is Eq. 33 for every window, averaged over windows: the sum over pairs divided by S (S - 1).

    Args:
        structures: (B, D) structure embeddings.
        begin: (B,) days at which the walks begin, float64: differences of large numbers.
        windows: (W, S) walks of each window.
        weight: (D,) the linear projection.
    """
    size = windows.shape[1]
    if size < 2:
        return structures.sum() * 0.0
    first, second = torch.triu_indices(size, size, offset=1, device=windows.device)
    times = begin[windows]  # (W, S)
    apart = torch.atan((times[:, first] - times[:, second]).abs()) * (2 / torch.pi)  # (W, pairs)
    score = (structures @ weight)[windows]  # (W, S)
    error = score[:, first] + score[:, second] - apart.to(score.dtype)
    return (error**2).sum(1).mean() / (size * (size - 1))


def _mean(values: Tensor) -> Tensor:
    """Average over questions, (n,); 0 where there are none."""
    return values.sum() / max(1, values.numel())
