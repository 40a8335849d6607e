"""Static and time-aware edge prediction on walks: which places are asked about, and what the answers are worth.

A class is a vertex; its decisions are the ends of its edges and, for each, a place that it has no link with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, NodeNumbers
from tadge.evaluation.figures import Columns
from tadge.evaluation.metrics import f1_per_class, micro_f1
from tadge.evaluation.tasks import EPSILONS, Method, checked, name_of
from tadge.graph import TemporalGraph
from tadge.units import squash
from tadge.walks.sampler import Walks

Score = Callable[[Ints, Ints, Ints], Days]  # places that ask, places asked about, which end of the edge asks

TRIES = 100  # draws of a place without a link, before all places are looked at


@dataclass(frozen=True, eq=False)
class Edges:
    """Hold the edges of some walks, and for each end of each a place that it has no link with.

    A place is (walk, step), as walk * L + step. The end that is linked to comes first in a walk.

    Attributes:
        walk: (M,) of each edge; `step` the place of its earlier end.
        src: (M,) the vertex that acts, `dst` the one it links to, `joined` when that joined, `toe` in days.
        nodes: (P,) vertex of each place, PAD where there is none.
        asking: (2M,) places that ask: all earlier ends, then all later ones.
        right: (2M,) the other end of each.
        wrong: (2M,) a place whose vertex it has no link with; any place, where it has one with all.
        apart: (K, 2) which asker, and a place of the same walk that it has no link with; `apart` may be empty.
        crowded: how many of those that ask have a link with all.
    """

    walk: Ints
    step: Ints
    src: Ints
    dst: Ints
    joined: Days
    toe: Days
    nodes: Ints
    asking: Ints
    right: Ints
    wrong: Ints
    apart: Ints
    crowded: int

    def ask(self, score: Score) -> Asked:
        """Score all pairs."""
        end = np.repeat([0, 1], self.walk.size)
        right, wrong = score(self.asking, self.right, end), score(self.asking, self.wrong, end)
        who, place = self.apart.T
        apart = score(self.asking[who], place, end[who]) if who.size else np.empty(0)
        return Asked(right, wrong, apart)


@dataclass(frozen=True, eq=False)
class Asked:
    """Hold the scores of all pairs: (2M,) with the right place, (2M,) with the wrong one, (K,) in the same walk."""

    right: Days
    wrong: Days
    apart: Days


def edges_of(walks: Walks, graph: TemporalGraph, rng: np.random.Generator) -> Edges:
    """Find the edges of walks, and draw places that have no link with their ends in a graph."""
    length = walks.nodes.shape[1]
    walk, step = np.nonzero(np.arange(length - 1) < walks.lengths[:, None] - 1)
    nodes = walks.nodes.reshape(-1).astype(np.int64)
    first = walk * length + step
    asking, right = np.concatenate([first, first + 1]), np.concatenate([first + 1, first])
    linked = _Linked(graph)
    wrong, crowded = _without_link(nodes, asking, np.flatnonzero(nodes >= 0), linked, rng)
    others = asking // length
    pairs = np.repeat(np.arange(asking.size), length), (others[:, None] * length + np.arange(length)).reshape(-1)
    far = (nodes[pairs[1]] >= 0) & ~linked(nodes[asking[pairs[0]]], nodes[pairs[1]])
    apart = np.stack([pairs[0][far], pairs[1][far]], axis=1)
    src, dst = nodes[first + 1], nodes[first]
    times = walks.tov[walk, step], walks.toe[walk, step + 1]
    return Edges(walk, step, src, dst, *times, nodes, asking, right, wrong, apart, crowded)


class _Linked:
    """Tell whether two vertices have a link, in whatever direction; a vertex counts as linked with itself."""

    def __init__(self, graph: TemporalGraph) -> None:
        self.vertices = graph.num_nodes
        self.keys = np.unique(self._key(graph.src.astype(np.int64), graph.dst.astype(np.int64)))

    def _key(self, one: Ints, other: Ints) -> Ints:
        return np.minimum(one, other) * self.vertices + np.maximum(one, other)

    def __call__(self, one: Ints, other: Ints) -> npt.NDArray[np.bool_]:
        key = self._key(one, other)
        place = np.minimum(np.searchsorted(self.keys, key), self.keys.size - 1)
        return (self.keys[place] == key) | (one == other)  # type: ignore[no-any-return]


def _without_link(
    nodes: Ints, asking: Ints, places: Ints, linked: _Linked, rng: np.random.Generator
) -> tuple[Ints, int]:
    """Draw for each that asks a place that it has no link with; and count those for which there is none."""
    drawn, left, crowded = np.empty_like(asking), np.arange(asking.size), 0
    for _ in range(TRIES):
        drawn[left] = rng.choice(places, left.size)
        left = left[linked(nodes[asking[left]], nodes[drawn[left]])]
        if not left.size:
            break
    for node in np.unique(nodes[asking[left]]):
        mine, free = left[nodes[asking[left]] == node], places[~linked(node, nodes[places])]
        crowded += 0 if free.size else mine.size
        drawn[mine] = rng.choice(free if free.size else places, mine.size)
    return drawn, crowded


# -- scores -----------------------------------------------------------------------------------------------------------


def rows_score(rows: npt.NDArray[np.float32]) -> Score:
    """Score places by the cosine of their rows, (P, D)."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(length > 0, length, 1.0)
    return lambda one, other, end: np.einsum("nd,nd->n", unit[one], unit[other]).astype(np.float64)


def rule_score(method: Method, edges: Edges, graph: TemporalGraph) -> Score:
    """Score places by what a rule says of their vertices at the end of a graph: the later end of an edge acts."""

    def score(one: Ints, other: Ints, end: Ints) -> Days:
        asks, asked = edges.nodes[one], edges.nodes[other]
        src, dst = np.where(end == 1, asks, asked), np.where(end == 1, asked, asks)
        at = np.full(src.size, graph.time[-1])
        found = method.score_links(NodeNumbers(src), NodeNumbers(dst), at, graph=graph)
        return checked(found, src.shape, f"the link scores of {name_of(method)}", np.isnan)

    return score


def vertex_means(rows: npt.NDArray[np.float32], nodes: Ints, vertices: int) -> npt.NDArray[np.float32]:
    """Average the rows of each vertex, (P, D), over its places, (P,), as (N, D); 0 where it has none."""
    there = nodes >= 0
    sums = np.zeros((vertices, rows.shape[1]))
    np.add.at(sums, nodes[there], rows[there])
    counts = np.bincount(nodes[there], minlength=vertices)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)


def threshold(asked: Asked) -> float:
    """Find the score from which on a pair counts as linked, at the best Micro-F1; of equal ones the highest."""
    scores = np.concatenate([asked.right, asked.wrong])
    order = np.argsort(-scores, kind="stable")
    ordered, right = scores[order], np.cumsum(order < asked.right.size)
    last = np.append(ordered[1:] != ordered[:-1], True)
    f1 = np.where(last, 2 * right / (np.arange(1, scores.size + 1) + asked.right.size), -1.0)
    best = int(np.argmax(f1))
    below = ordered[best + 1] if best + 1 < ordered.size else -np.inf
    middle = ordered[best] / 2 + below / 2 if np.isfinite(below) else below
    return float(middle if middle > below else ordered[best])


# -- figures ----------------------------------------------------------------------------------------------------------


def edge_columns(edges: Edges, asked: Asked, least: float) -> Columns:
    """Measure decisions vertex by vertex: Micro- and Macro-F1, and what needs no threshold: AP and AUC."""
    vertices, own = np.unique(edges.nodes[edges.asking], return_inverse=True)

    def per_vertex(flags: npt.NDArray[np.generic]) -> Days:
        return np.bincount(own, flags.astype(np.float64), vertices.size).astype(np.float64)

    right, wrong = asked.right >= least, asked.wrong >= least
    counts = np.stack([per_vertex(right), per_vertex(wrong), per_vertex(~right)], axis=1)  # (V, 3)
    each, _ = f1_per_class(counts[:, :, None])
    found: Columns = {
        "micro-f1": (lambda means: micro_f1(means[:, :, None]), counts),
        "macro-f1": ("mean", each[:, 0]),
    }
    shares = {"AP": _precisions(asked), "AUC": _shares_below(asked.right, asked.wrong)}
    if asked.apart.size:
        shares["AUC same walk"] = _shares_below_own(edges, asked)
    for name, share in shares.items():
        known = ~np.isnan(share)
        both = np.stack([per_vertex(np.where(known, share, 0.0)), per_vertex(known)], axis=1)
        found = {**found, name: (_mean_share, both)}
    return found


def _mean_share(means: Days) -> Days:
    """Divide sums of shares by how many there are, (r, 2), as (r,); one half where there is none."""
    some = means[:, 1] > 0
    return np.where(some, means[:, 0] / np.where(some, means[:, 1], 1.0), 0.5)


def timely_columns(edges: Edges, asked: Asked, least: float, guess: Days) -> Columns:
    """Measure true edges that are found and whose ToE is less than epsilon off, at either end."""
    error = np.tile(np.abs(guess - squash(edges.toe)), 2)
    found = asked.right >= least
    return {f"within {eps:.2f}": ("mean", found & (error < eps)) for eps in EPSILONS}


def _precisions(asked: Asked) -> Days:
    """Give the precision at the score of each right pair; their mean is the average precision."""
    right, wrong = np.sort(asked.right), np.sort(asked.wrong)
    above = right.size - np.searchsorted(right, asked.right)
    return np.asarray(above / (above + wrong.size - np.searchsorted(wrong, asked.right)), np.float64)


def _shares_below(right: Days, wrong: Days) -> Days:
    """Give the share of wrong pairs that each right one scores above, ties at one half; their mean is the AUC."""
    ordered = np.sort(wrong)
    below, upto = (np.searchsorted(ordered, right, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2.0 * wrong.size), np.float64)


def _shares_below_own(edges: Edges, asked: Asked) -> Days:
    """Give the share of the unlinked places in its own walk that each right pair scores above; NaN without one."""
    who = edges.apart[:, 0]
    own = asked.right[who]
    wins = (asked.apart < own) + (asked.apart == own) / 2
    count = np.bincount(who, minlength=asked.right.size)
    wins = np.bincount(who, wins, asked.right.size)
    return np.where(count > 0, wins / np.maximum(count, 1), np.nan)
