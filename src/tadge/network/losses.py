"""The three self-supervised tasks and their joint loss (Eq. 32 to 37)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class Choice(NamedTuple):
    """Hold the answers to questions with one right candidate each.

    Attributes:
        loss: the mean cross-entropy.
        chosen: (n,) the likeliest candidate of each question.
        right: (n,) the right one.
    """

    loss: Tensor
    chosen: Tensor
    right: Tensor


def one_of_many(scores: Tensor, target: Tensor, excluded: Tensor | None = None) -> Choice:
    """Ask the softmax cross-entropy as the paper prints it, averaged over rows.

    For every row: minus the log of the target's share, minus the log of (1 - share) of every other candidate.

    Args:
        scores: (n, C) of each candidate.
        target: (n,) the right candidate.
        excluded: (n, C) bool, candidates that do not count; never the target.
    """
    if excluded is not None:
        scores = scores.masked_fill(excluded, -torch.inf)
    log_share = functional.log_softmax(scores.float() if scores.dtype != torch.float64 else scores, dim=1)  # (n, C)
    right = log_share.gather(1, target[:, None])[:, 0]  # (n,)
    share = log_share.exp().scatter(1, target[:, None], 0.0)  # (n, C): of all but the target
    tiny = torch.finfo(share.dtype).eps
    loss = -_mean(right + torch.log1p(-share.clamp(max=1 - tiny)).sum(1))
    return Choice(loss, scores.detach().argmax(1), target)


def self_identification(edges: Tensor, vectors: Tensor, own: Tensor) -> Choice:
    """Ask every row's edge formation embedding which vertex it belongs to (Eq. 32).

    Args:
        edges: (R, D) edge formation embeddings.
        vectors: (C, D) vectors of the candidate vertices: those of the batch and sampled others, or all there are.
        own: (R,) which candidate is the row's own vertex.
    """
    return one_of_many(edges @ vectors.T, own)


def edge_reconstruction(nodes: Tensor, ends: Tensor, vertex: Tensor, negatives: Tensor | None = None) -> Choice:
    """Ask every end of every edge which row is its other end (Eq. 35).

    The candidates are all rows of the batch and sampled others; neither the asking row itself (its own product is the
    largest of all), nor any other row of a vertex that it has an edge with: that would not be wrong.

    Args:
        nodes: (R, D) final representations.
        ends: (M, 2) rows of both ends of every edge.
        vertex: (R,) vertex of every row.
        negatives: (K, D) further vectors that are wrong, or None.
    """
    asking, right = torch.cat([ends, ends.flip(1)]).T  # (2M,) each
    before, after = (torch.full_like(vertex, -1) for _ in range(2))  # (R,) the rows next to each in its walk
    before[ends[:, 1]], after[ends[:, 0]] = ends[:, 0], ends[:, 1]
    other = torch.cat([before[ends[:, 0]], after[ends[:, 1]]])  # (2M,) where the asking row has a second edge
    candidates = nodes if negatives is None else torch.cat([nodes, negatives])
    scores = nodes.index_select(0, asking) @ candidates.T  # (2M, R + K)
    excluded = torch.zeros_like(scores, dtype=torch.bool)
    second = torch.where(other >= 0, vertex[other], vertex[right])
    excluded[:, : len(nodes)] = (vertex[right][:, None] == vertex) | (second[:, None] == vertex)
    excluded.scatter_(1, asking[:, None], True)
    excluded.scatter_(1, right[:, None], False)
    return one_of_many(scores, right, excluded)


def toe_regression(nodes: Tensor, ends: Tensor, toe: Tensor, weight: Tensor) -> Tensor:
    """Regress the squashed ToE of every edge on the sum of its ends (Eq. 36): half the mean squared error.

    Args:
        nodes: (R, D) final representations.
        ends: (M, 2) rows of both ends of every edge.
        toe: (M,) squashed ToE.
        weight: (D,) the linear projection.
    """
    return _mean((predict_toe(nodes, ends, weight) - toe) ** 2) / 2


def predict_toe(nodes: Tensor, ends: Tensor, weight: Tensor) -> Tensor:
    """Guess the squashed ToE of edges, (M,), from the rows of both ends, (M, 2), of representations, (R, D)."""
    each = nodes @ weight  # (R,)
    return each[ends[:, 0]] + each[ends[:, 1]]


def who_acts(nodes: Tensor, vectors: Tensor, actor: Tensor) -> Choice:
    """Ask every target, as of its joining, which vertex will link to it next: softmax cross-entropy.

    Ours: the edge reconstruction looks at both ends after the fact.

    Args:
        nodes: (M, D) final representations of the targets, in which nothing later is seen.
        vectors: (C, D) vectors of the candidate vertices.
        actor: (M,) which candidate it is.
    """
    log_share = functional.log_softmax(nodes @ vectors.T, dim=1)  # (M, C)
    loss = -_mean(log_share.gather(1, actor[:, None])[:, 0])
    return Choice(loss, log_share.detach().argmax(1), actor)


def toe_ahead(nodes: Tensor, acting: Tensor, toe: Tensor, project: Callable[[Tensor], Tensor]) -> Tensor:
    """Regress the squashed ToE of every edge on what is known when its target has joined: half the mean squared error.

    Ours: Eq. 36 looks at both ends after the fact. Here the target is as of its joining, and the vertex that acts is
    known by its input alone.

    Args:
        nodes: (M, D) final representations of the targets, in which nothing later is seen.
        acting: (M, D) input vectors of the vertices that act.
        toe: (M,) squashed ToE.
        project: a linear map of (M, 2 D) to (M, 1).
    """
    return _mean((project(torch.cat([nodes, acting], dim=1))[:, 0] - toe) ** 2) / 2


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
    one, other = torch.triu_indices(size, size, offset=1, device=windows.device)
    times = begin[windows]  # (W, S)
    apart = torch.atan((times[:, one] - times[:, other]).abs()) * (2 / torch.pi)  # (W, pairs)
    score = (structures @ weight)[windows]  # (W, S)
    error = score[:, one] + score[:, other] - apart.to(score.dtype)
    return (error**2).sum(1).mean() / (size * (size - 1))


def _mean(values: Tensor) -> Tensor:
    """Average over questions, (n,); 0 where nothing is asked."""
    return values.sum() / max(1, values.numel())
