"""DeepWalk: vectors of the static graph, which know no time."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.baselines.base import Baseline, NodeRows
from tadge.baselines.toe import ONE_DAY, LongerToes
from tadge.config import NetworkConfig
from tadge.deepwalk.initialise import initial_vectors
from tadge.features.pairs import timed_pairs
from tadge.graph import TemporalGraph
from tadge.graph.chains import as_of_joining
from tadge.protocols import Statistic, Unit
from tadge.units import squash, unsquash
from tadge.validation import latest_from, smallest_error

NET_PENALTIES: Days = 10.0 ** np.arange(-5.0, 0.0, 0.5)  # strongest last
PAIRS_PER_BLOCK = 16_384  # scored at a time
BALANCE = 0.5  # share of the absolute values in the elastic net, beside the squares


class DeepWalk(Baseline):
    """Embed by skip-gram on random walks over the static graph; regress ToE on the sum of both ends (Eq. 36).

    The paper's way with methods that do not learn ToE: a linear regression with an elastic net. Its penalty is the
    best on the latest fifth of what is learned from.

    Args:
        seed: the same seed gives the same vectors.
        dim: their width.

    Attributes:
        vectors_: (N, dim) float32; zeros for nodes without an event in what it was fitted to.
        rows_: where any graph's nodes are among these.
        head_: (dim + 1,) weights of the regression and, last, its constant.
    """

    name = "DeepWalk"

    def __init__(self, seed: int = 0, dim: int | None = None) -> None:
        super().__init__(seed)
        self.dim = NetworkConfig().dim if dim is None else dim

    def fit(self, graph: TemporalGraph, events: npt.ArrayLike | None = None) -> Self:
        """Learn vectors from a graph, and ToE from its events.

        Args:
            graph: what happened.
            events: (n,) numbers of the events to learn ToE from, as often as they stand there; all by default.
        """
        vectors = initial_vectors(graph, "deepwalk", self.dim, self.seed)
        self.vectors_, self.rows_ = np.where(graph.degree[:, None] > 0, vectors, np.float32(0)), NodeRows(graph)
        asked = timed_pairs(graph, events=events)
        self.head_ = elastic_net(self._sum(graph, asked.src, asked.dst), asked.toe)
        self.longest_ = float(asked.toe.max(initial=ONE_DAY))
        self.longer_ = LongerToes(asked.toe)
        return self

    def embed(self, nodes: npt.ArrayLike, at: npt.ArrayLike, *, graph: TemporalGraph) -> npt.NDArray[np.float32]:
        """Return the vectors of nodes, (n, dim), whatever the moment."""
        return self._vectors(graph, np.asarray(nodes, np.int64))

    def score_links(
        self, src: npt.ArrayLike, dst: npt.ArrayLike, at: npt.ArrayLike, *, graph: TemporalGraph
    ) -> npt.NDArray[np.float32]:
        """Score links src -> dst, (n,), by the product of their vectors, as TADGE does; 0 where one has none."""
        one, other = np.asarray(src, np.int64), np.asarray(dst, np.int64)
        scores = np.empty(one.size, np.float32)
        for first in range(0, one.size, PAIRS_PER_BLOCK):
            block = slice(first, first + PAIRS_PER_BLOCK)
            scores[block] = np.einsum("nd,nd->n", *(self._vectors(graph, ends[block]) for ends in (one, other)))
        return scores

    def predict_toe(
        self,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        graph: TemporalGraph,
        unit: Unit = "days",
        statistic: Statistic = "mean",
    ) -> Days:
        """Predict how long it takes until src links to dst, (n,) days, or squashed.

        The moment matters only where the link is still open: then it is at least the mean of longer ToEs.
        """
        targets = np.asarray(dst, np.int64)
        sums = self._sum(graph, np.asarray(src, np.int64), targets)
        predicted = np.clip(sums @ self.head_[:-1] + self.head_[-1], 0.0, self.longest_)
        passed = as_of_joining(graph, targets, np.asarray(at, np.float64))[1]
        predicted = np.where(passed > 0, np.maximum(predicted, self.longer_.mean(squash(passed))), predicted)
        return predicted if unit == "squashed" else unsquash(predicted)

    def _vectors(self, graph: TemporalGraph, nodes: Ints) -> npt.NDArray[np.float32]:
        rows = self.rows_.of(graph, nodes)
        return np.where(rows[:, None] >= 0, self.vectors_[rows], np.float32(0))

    def _sum(self, graph: TemporalGraph, src: Ints, dst: Ints) -> npt.NDArray[np.float32]:
        return self._vectors(graph, src) + self._vectors(graph, dst)


def elastic_net(features: npt.NDArray[np.float32], target: Days, constant: bool = True) -> Days:
    """Learn weights and, last, a constant, (F + 1,); the penalty is the best on the latest fifth.

    Args:
        features: (n, F), in order of time.
        target: (n,).
        constant: learn a constant; else it is 0, as Eq. 36 is printed.
    """
    cut = latest_from(target.size)
    if not 1 < cut < target.size:
        mean = float(target.mean()) if target.size else ONE_DAY
        return np.append(np.zeros(features.shape[1]), mean if constant else 0.0)
    heads = _path(features[:cut], target[:cut], NET_PENALTIES, constant)
    best = smallest_error((features[cut:] @ head[:-1] + head[-1] for head in heads), target[cut:])
    return _path(features, target, NET_PENALTIES[best:], constant)[0]


def _path(features: npt.NDArray[np.float32], target: Days, penalties: Days, constant: bool) -> list[Days]:
    """Solve for every penalty, given from weak to strong, (F + 1,) each."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import enet_path

    mean, middle = features.mean(axis=0, dtype=np.float64) * constant, float(target.mean()) * constant
    spread = np.sqrt(np.mean((features - mean) ** 2, axis=0))
    spread = np.where(spread > 1e-12, spread, np.inf)  # what does not vary tells nothing
    x = (features - mean) / spread
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the weakest penalties, which are chosen where they serve
        found = enet_path(x, target - middle, l1_ratio=BALANCE, alphas=penalties[::-1], precompute=True)
    weights = found[1][:, ::-1].T / spread  # sklearn goes from strong to weak
    return [np.append(weight, middle - mean @ weight) for weight in weights]
