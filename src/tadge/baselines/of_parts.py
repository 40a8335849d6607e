"""Methods of the paper's tables behind one interface: they learn from one part of its split and embed the others.

`rows` is there for methods that read walks, `toe` for those that learn ToE. The others are given an elastic net.
"""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np

from tadge.arrays import Days, Vectors
from tadge.baselines.classes import DegreeAge
from tadge.config import NetworkConfig
from tadge.deepwalk.initialise import DEEPWALK, SkipGramPlan, initial_vectors
from tadge.errors import NotFittedError
from tadge.graph import TemporalGraph
from tadge.graph.inputs import last_moment
from tadge.protocols import EmbedsWalks
from tadge.seeding import check_seed, stream
from tadge.walks.parts import Part, PartName, WalkParts, mean_rows
from tadge.walks.sampler import Walks

DIM = NetworkConfig().dim


@runtime_checkable
class PartMethod(Protocol):
    """Learns from the part "learn" alone, may choose on the part "choose", and embeds any part."""

    @property
    def name(self) -> str:
        """Give what its row in a table is called."""

    def fit(self, parts: WalkParts) -> Self:
        """Learn."""

    def nodes(self, part: PartName) -> Vectors:
        """Give one vector per node as that part shows it, (N, D); 0 for nodes that do not stand in it."""

    def rows(self, part: PartName) -> Vectors | None:
        """Give one vector per place of its walks, (W, L, D), NaN beyond a walk's length; None: it reads no walks."""

    def toe(self, part: PartName) -> Days | None:
        """Give the squashed ToE of each edge of its walks, (W, L - 1), NaN beyond; None: it learns no ToE."""


class NodeVectors:
    """Hold what methods with one vector per node share: each part is embedded when it is first asked for, once.

    Args:
        seed: the same seed gives the same vectors.
        dim: their width.
    """

    name: str

    def __init__(self, seed: int = 0, dim: int = DIM) -> None:
        self.seed, self.dim = check_seed(seed), dim

    def fit(self, parts: WalkParts) -> Self:
        """Take the parts; what there is to learn is learned in `_learn`."""
        self.parts_ = parts
        self.vectors_: dict[PartName, Vectors] = {}
        self._learn(parts)
        return self

    def nodes(self, part: PartName) -> Vectors:
        """Give one vector per node as that part shows it, (N, dim); 0 for nodes that do not stand in it."""
        parts = fitted_parts(self)
        if part not in self.vectors_:
            vectors = np.zeros((parts.graph.num_nodes, self.dim), np.float32)
            present = parts[part].nodes
            vectors[present] = self._embed(parts[part], part)[present]
            self.vectors_[part] = vectors
        return self.vectors_[part]

    def rows(self, part: PartName) -> Vectors | None:
        """Give nothing: a node has one vector, whatever walk it stands in."""
        return None

    def toe(self, part: PartName) -> None:
        """Give nothing: ToE is not learned."""

    def _learn(self, parts: WalkParts) -> None:
        """Learn nothing, unless a method says otherwise."""

    def _embed(self, part: Part, name: PartName) -> Vectors:
        """Embed a part, (N, dim); rows of nodes that do not stand in it may be anything."""
        raise NotImplementedError

    def _seed_of(self, name: PartName) -> int:
        """Give each part a seed of its own, so that no vector is like another only because both began alike."""
        return int(stream(self.seed, f"{self.name}/{name}") >> np.uint64(1))


class StaticDeepWalk(NodeVectors):
    """Embed the static graph of each part apart, by skip-gram on uniform walks as DeepWalk's own paper has it.

    Vectors of two parts have no axes in common.

    Args:
        seed: the same seed gives the same vectors.
        dim: their width.
        plan: walks per node, their length, the window.
    """

    name = "DeepWalk"

    def __init__(self, seed: int = 0, dim: int = DIM, plan: SkipGramPlan = DEEPWALK) -> None:
        super().__init__(seed, dim)
        self.plan = plan

    def _embed(self, part: Part, name: PartName) -> Vectors:
        return initial_vectors(part.graph, "deepwalk", self.dim, self._seed_of(name), plan=self.plan)


class RandomVectors(NodeVectors):
    """Give every node a random vector, the same in all parts: what is reached with it is reached by its name alone."""

    name = "random vectors"

    def _embed(self, part: Part, name: PartName) -> Vectors:
        return initial_vectors(part.graph.before(-np.inf), "random", self.dim, self.seed)


class NeighbourSums(RandomVectors):
    """Give every place of a walk the random vectors of its node and of both neighbours there, added up.

    Nothing is learned: what is reached with it is reached by keeping the edges that a part shows.
    """

    name = "random vectors + neighbours"

    def rows(self, part: PartName) -> Vectors:
        """Give one vector per place of its walks, (W, L, D); NaN beyond a walk's length."""
        parts = fitted_parts(self)
        vectors = initial_vectors(parts.graph.before(-np.inf), "random", self.dim, self.seed)
        nodes = parts[part].walks.nodes
        own = np.where(nodes[..., None] >= 0, vectors[nodes], np.float32(0))
        sums = own.copy()
        sums[:, 1:] += own[:, :-1]
        sums[:, :-1] += own[:, 1:]
        return np.where(nodes[..., None] >= 0, sums, np.float32(np.nan))

    def _embed(self, part: Part, name: PartName) -> Vectors:
        return mean_rows(part, self.rows(name))


class DegreeAgeVectors(NodeVectors):
    """Give every node how often it acted and was linked to in a part, its age and how long it has been quiet."""

    name = "degree + age"

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed, 4)

    def _embed(self, part: Part, name: PartName) -> Vectors:
        nodes = np.arange(part.graph.num_nodes)
        at = np.full(nodes.size, last_moment(part.graph))
        return DegreeAge().embed(nodes, at, graph=part.graph).astype(np.float32)


class WalkEstimator(EmbedsWalks, Protocol):
    """Is an estimator that learns from given walks and reads others."""

    def fit(self, graph: TemporalGraph, *, walks: Walks, progress: bool | None = None) -> Self:
        """Learn from walks of a graph."""


class OfWalks:
    """Let an estimator that reads walks stand in the paper's tables; a node's vector is the mean of its rows.

    Args:
        name: what its row in a table is called.
        estimator: a TADGE, in whatever variant.
        progress: as in its `fit`.
    """

    def __init__(self, name: str, estimator: WalkEstimator, progress: bool | None = None) -> None:
        self.name, self.estimator, self.progress = name, estimator, progress

    def fit(self, parts: WalkParts) -> Self:
        """Learn from the walks of "learn", over their graph."""
        learn = parts["learn"]
        self.estimator.fit(learn.graph, walks=learn.walks, progress=self.progress)
        self.parts_ = parts
        self.rows_: dict[PartName, Vectors] = {}
        return self

    def nodes(self, part: PartName) -> Vectors:
        """Average the rows of each node, (N, D); 0 for nodes that do not stand in the part."""
        rows = self.rows(part)
        return mean_rows(self.parts_[part], rows)

    def rows(self, part: PartName) -> Vectors:
        """Give one vector per place of its walks, (W, L, D); NaN beyond a walk's length."""
        parts = fitted_parts(self)
        if part not in self.rows_:
            self.rows_[part] = self.estimator.embed_walks(parts[part].walks)
        return self.rows_[part]

    def toe(self, part: PartName) -> Days:
        """Read the squashed ToE of each edge off its walk, (W, L - 1); NaN beyond a walk's length (Eq. 36)."""
        return self.estimator.predict_walk_toe(fitted_parts(self)[part].walks)


def fitted_parts(method: NodeVectors | OfWalks) -> WalkParts:
    """Give the parts that a method was fitted to, or say that it was not."""
    if not hasattr(method, "parts_"):
        raise NotFittedError(f"{method.name} is not fitted", cure="call fit with the parts of a graph first")
    return method.parts_
