"""Static and time-aware edge prediction on walks: which places are asked about, and what the answers are worth.

A class is a node; its decisions are the ends of its edges and, for each, a place that it has no link with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tadge.arrays import Days, Flags, Ints, NodeNumbers, Vectors
from tadge.evaluation.figures import Measured
from tadge.evaluation.metrics import f1_per_class, micro_f1
from tadge.evaluation.tasks import EPSILONS, checked
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.protocols import ScoresLinks, name_of
from tadge.units import squash
from tadge.walks.sampler import Walks

Score = Callable[[Ints, Ints, Ints], Days]  # places that ask, places asked about, which end of the edge asks

MAX_DRAWS = 100  # draws of a place without a link, before all places are looked at


@dataclass(frozen=True, eq=False)
class Edges:
    """Hold the edges of some walks, and for each end of each a place that it has no link with.

    A place is (walk, step), as walk * L + step. The end that is linked to comes first in a walk.

    Attributes:
        walk: (M,) of each edge; `step` the place of its earlier end.
        src: (M,) the node that acts, `dst` the one it links to, `joined` when that joined, `toe` in days.
        nodes: (P,) node of each place, PAD where there is none.
        query_places: (2M,) places that ask: all earlier ends, then all later ones.
        positive: (2M,) the other end of each.
        negative: (2M,) a place whose node it has no link with; any place, where it has one with all.
        same_walk_negatives: (K, 2) a number of a query, and a place of its own walk that it has no link with; K may
            be 0.
        no_negative_count: how many queries have a link with all.
    """

    walk: Ints
    step: Ints
    src: Ints
    dst: Ints
    joined: Days
    toe: Days
    nodes: Ints
    query_places: Ints
    positive: Ints
    negative: Ints
    same_walk_negatives: Ints
    no_negative_count: int

    def scored(self, score: Score) -> EdgeScores:
        """Score all pairs."""
        end = np.repeat([0, 1], self.walk.size)
        query, place = self.same_walk_negatives.T
        return EdgeScores(
            score(self.query_places, self.positive, end),
            score(self.query_places, self.negative, end),
            score(self.query_places[query], place, end[query]) if query.size else np.empty(0),
        )


@dataclass(frozen=True, eq=False)
class EdgeScores:
    """Hold the scores of all pairs: (2M,) with the other end, (2M,) with the negative, (K,) in the same walk."""

    positive: Days
    negative: Days
    same_walk: Days


def edges_of(walks: Walks, graph: TemporalGraph, rng: np.random.Generator) -> Edges:
    """Find the edges of walks, and draw places that have no link with their ends in a graph."""
    length = walks.nodes.shape[1]
    walk, step = np.nonzero(np.arange(length - 1) < walks.lengths[:, None] - 1)
    nodes = walks.nodes.reshape(-1).astype(np.int64)
    earlier = walk * length + step
    queries, positive = np.concatenate([earlier, earlier + 1]), np.concatenate([earlier + 1, earlier])
    linked = past_of(graph).ever_linked
    negative, no_negative_count = _without_link(nodes, queries, np.flatnonzero(nodes >= 0), linked, rng)
    query = np.repeat(np.arange(queries.size), length)
    place = ((queries // length)[:, None] * length + np.arange(length)).reshape(-1)
    unlinked = (nodes[place] >= 0) & ~linked(nodes[queries[query]], nodes[place])
    same_walk = np.stack([query[unlinked], place[unlinked]], axis=1)
    src, dst = nodes[earlier + 1], nodes[earlier]
    times = walks.tov[walk, step], walks.toe[walk, step + 1]
    return Edges(walk, step, src, dst, *times, nodes, queries, positive, negative, same_walk, no_negative_count)


def _without_link(
    nodes: Ints, queries: Ints, places: Ints, linked: Callable[[Any, Any], Flags], rng: np.random.Generator
) -> tuple[Ints, int]:
    """Draw for each query a place that it has no link with; and count the queries for which there is none."""
    drawn, left, none_count = np.empty_like(queries), np.arange(queries.size), 0
    for _ in range(MAX_DRAWS):
        drawn[left] = rng.choice(places, left.size)
        left = left[linked(nodes[queries[left]], nodes[drawn[left]])]
        if not left.size:
            break
    for node in np.unique(nodes[queries[left]]):
        of_node, free = left[nodes[queries[left]] == node], places[~linked(node, nodes[places])]
        none_count += 0 if free.size else of_node.size
        drawn[of_node] = rng.choice(free if free.size else places, of_node.size)
    return drawn, none_count


# -- scores -----------------------------------------------------------------------------------------------------------


def vector_score(vectors: Vectors) -> Score:
    """Score places by the cosine of their vectors, (P, D)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(length > 0, length, 1.0)
    return lambda queries, places, _: np.einsum("nd,nd->n", unit[queries], unit[places]).astype(np.float64)


def method_score(method: ScoresLinks, edges: Edges, graph: TemporalGraph) -> Score:
    """Score places by how a method scores their nodes at the end of a graph: the later end of an edge acts."""

    def score(queries: Ints, places: Ints, end: Ints) -> Days:
        asking, asked = edges.nodes[queries], edges.nodes[places]
        src, dst = np.where(end == 1, asking, asked), np.where(end == 1, asked, asking)
        scores = method.score_links(NodeNumbers(src), NodeNumbers(dst), np.full(src.size, graph.time[-1]), graph=graph)
        return checked(scores, src.shape, f"the link scores of {name_of(method)}", np.isnan)

    return score


def node_means(vectors: Vectors, nodes: Ints, num_nodes: int) -> Vectors:
    """Average the vectors of each node, (P, D), over its places, (P,), as (N, D); 0 where it has none."""
    mask = nodes >= 0
    sums = np.zeros((num_nodes, vectors.shape[1]))
    np.add.at(sums, nodes[mask], vectors[mask])
    counts = np.bincount(nodes[mask], minlength=num_nodes)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)


def threshold(scores: EdgeScores) -> float:
    """Find the score from which on a pair counts as linked, at the best Micro-F1; of equal ones the highest."""
    both, positives = np.concatenate([scores.positive, scores.negative]), scores.positive.size
    order = np.argsort(-both, kind="stable")
    ordered, right = both[order], np.cumsum(order < positives)
    last = np.append(ordered[1:] != ordered[:-1], True)
    f1 = np.where(last, 2 * right / (np.arange(1, both.size + 1) + positives), -1.0)
    best = int(np.argmax(f1))
    below = ordered[best + 1] if best + 1 < ordered.size else -np.inf
    middle = ordered[best] / 2 + below / 2 if np.isfinite(below) else below
    return float(middle if middle > below else ordered[best])


# -- figures ----------------------------------------------------------------------------------------------------------


def measure_edges(edges: Edges, scores: EdgeScores, least: float) -> Measured:
    """Measure decisions node by node: Micro- and Macro-F1, and what needs no threshold: AP and AUC."""
    nodes, group = np.unique(edges.nodes[edges.query_places], return_inverse=True)

    def per_node(values: Flags | Days) -> Days:
        return np.bincount(group, values.astype(np.float64), nodes.size).astype(np.float64)

    hit, false_alarm = scores.positive >= least, scores.negative >= least
    counts = np.stack([per_node(hit), per_node(false_alarm), per_node(~hit)], axis=1)  # (V, 3)
    f1, _ = f1_per_class(counts[:, :, None])
    fractions = {"AP": _precisions(scores), "AUC": _fractions_below(scores)}
    if scores.same_walk.size:
        fractions["AUC same walk"] = _fractions_below_in_walk(edges, scores)
    measured: dict[str, Any] = {
        "micro-f1": (lambda means: micro_f1(means[:, :, None]), counts),
        "macro-f1": ("mean", f1[:, 0]),
    }
    for name, fraction in fractions.items():
        mask = ~np.isnan(fraction)
        sums = np.stack([per_node(np.where(mask, fraction, 0.0)), per_node(mask)], axis=1)
        measured[name] = (_mean_fraction, sums)
    return measured


def _mean_fraction(means: Days) -> Days:
    """Divide sums of fractions by how many there are, (r, 2), as (r,); one half where there is none."""
    some = means[:, 1] > 0
    return np.where(some, means[:, 0] / np.where(some, means[:, 1], 1.0), 0.5)


def measure_timely_edges(edges: Edges, scores: EdgeScores, least: float, toe: Days) -> Measured:
    """Measure true edges that are recognised and whose squashed ToE, (M,), is less than epsilon off, at either end."""
    error = np.tile(np.abs(toe - squash(edges.toe)), 2)
    hit = scores.positive >= least
    return {f"within {eps:.2f}": ("mean", hit & (error < eps)) for eps in EPSILONS}


def _precisions(scores: EdgeScores) -> Days:
    """Compute the precision at the score of each positive; their mean is the average precision."""
    positive, negative = np.sort(scores.positive), np.sort(scores.negative)
    above = positive.size - np.searchsorted(positive, scores.positive)
    return np.asarray(above / (above + negative.size - np.searchsorted(negative, scores.positive)), np.float64)


def _fractions_below(scores: EdgeScores) -> Days:
    """Compute the fraction of negatives that each positive scores above, ties at one half; their mean is the AUC."""
    ordered = np.sort(scores.negative)
    below, upto = (np.searchsorted(ordered, scores.positive, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2.0 * ordered.size), np.float64)


def _fractions_below_in_walk(edges: Edges, scores: EdgeScores) -> Days:
    """Compute the fraction of the negatives of its own walk that each positive scores above; NaN without one."""
    query = edges.same_walk_negatives[:, 0]
    positive = scores.positive[query]
    wins = (scores.same_walk < positive) + (scores.same_walk == positive) / 2
    count = np.bincount(query, minlength=scores.positive.size)
    sums = np.bincount(query, wins, scores.positive.size)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)
