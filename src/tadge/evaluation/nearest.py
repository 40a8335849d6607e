"""Static edge prediction as a choice among many (section 5): the likeliest other end among all nodes, or all rows.

Every end of every test edge asks. A hit is any node that it has an edge with in the part that is asked about: the
choice is right where an edge is. Micro-F1 is then the fraction of hits over ends, Macro-F1 its mean over asking nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tadge.arrays import Flags, Ints
from tadge.walks.parts import Part

BLOCK = 1_024  # nodes that ask at a time
BATCH = 200  # test walks whose rows are candidates together: the paper's batch for its smallest data set

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Choices:
    """Hold what every end of every edge chose.

    Attributes:
        asking: (2M,) the node that asks: all earlier ends, then all later ones.
        chosen: (2M,) the node that it takes for its other end.
        hit: (2M,) whether they share an edge.
    """

    asking: Ints
    chosen: Ints
    hit: Flags

    @property
    def micro_f1(self) -> float:
        """Give the fraction of hits."""
        return float(self.hit.mean())

    @property
    def macro_f1(self) -> float:
        """Give the fraction of hits of each asking node, averaged over nodes."""
        _, node = np.unique(self.asking, return_inverse=True)
        return float(np.mean(np.bincount(node, self.hit) / np.bincount(node)))


def choose_among_nodes(part: Part, vectors: Vectors) -> Choices:
    """Let every end choose the nearest of all nodes of a part by the cosine of vectors, (N, D); never itself."""
    nodes = part.nodes
    unit = _unit(vectors[nodes])
    nearest = np.empty(nodes.size, np.int64)
    for first in range(0, nodes.size, BLOCK):
        block = np.arange(first, min(first + BLOCK, nodes.size))
        cosine = unit[block] @ unit.T
        cosine[block - first, block] = -np.inf
        nearest[block] = cosine.argmax(axis=1)
    asking = _ends(part)
    chosen = nodes[nearest[np.searchsorted(nodes, asking)]]
    return Choices(asking, chosen, _adjacent(part, asking, chosen))


def choose_among_rows(part: Part, rows: Vectors, batch: int = BATCH) -> Choices:
    """Let every end choose the likeliest of all rows of its batch of walks by the product of rows, (W, L, D): Eq. 35.

    The walks are taken in order of their beginning, `batch` at a time. A row is never its own choice; the row of a node
    that it shares an edge with is a hit, in whatever walk it stands.
    """
    walks = part.walks
    order = np.argsort(walks.tov[:, 0], kind="stable")
    asking: list[Ints] = []
    chosen: list[Ints] = []
    for first in range(0, order.size, batch):
        taken = order[first : first + batch]
        present = walks.nodes[taken] >= 0
        nodes, vectors = walks.nodes[taken][present].astype(np.int64), rows[taken][present]
        place = np.cumsum(present).reshape(present.shape) - 1
        inner = present[:, 1:]  # an edge leads into each of these
        ends = np.concatenate([place[:, :-1][inner], place[:, 1:][inner]])
        scores = vectors[ends] @ vectors.T
        scores[np.arange(ends.size), ends] = -np.inf
        asking.append(nodes[ends])
        chosen.append(nodes[scores.argmax(axis=1)])
    of, to = np.concatenate(asking), np.concatenate(chosen)
    return Choices(of, to, _adjacent(part, of, to))


def _ends(part: Part) -> Ints:
    walk, step = part.steps
    nodes = part.walks.nodes
    return np.concatenate([nodes[walk, step], nodes[walk, step + 1]]).astype(np.int64)


def _adjacent(part: Part, one: Ints, other: Ints) -> Flags:
    """Look up whether two nodes share an edge of a part, (n,) each."""
    graph = part.graph
    count = graph.num_nodes
    ends = np.sort(np.stack([graph.src, graph.dst]).astype(np.int64), axis=0)
    asked = np.sort(np.stack([one, other]), axis=0)
    return np.isin(asked[0] * count + asked[1], ends[0] * count + ends[1])


def _unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1.0)).astype(np.float32)
