"""What all baselines share: a name, a seed, and that there may be nothing to learn."""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar, Self

import numpy as np

from tadge.arrays import Ints
from tadge.graph.cache import GraphCache
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import match_ids
from tadge.seeding import check_seed


class Baseline:
    """Stand in tables under a name, and learn nothing unless a baseline says otherwise.

    Args:
        seed: the same seed gives the same answers.
    """

    name: ClassVar[str]
    needs: ClassVar[str | None] = None  # a package that comes with an extra

    def __init__(self, seed: int = 0) -> None:
        self.seed = check_seed(seed)

    def fit(self, graph: TemporalGraph) -> Self:
        """Learn nothing."""
        return self


def is_there(baseline: type[Baseline] | Baseline) -> bool:
    """Tell whether the package that a baseline needs is installed."""
    return baseline.needs is None or find_spec(baseline.needs) is not None


class NodeRows:
    """Find the nodes of any graph among those that something was learned of, by their ids.

    Args:
        graph: what was learned from; its nodes, but none of its events, are kept.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self.nodes = graph.before(-np.inf)
        self.kept: GraphCache[Ints] = GraphCache()

    def of(self, graph: TemporalGraph, nodes: Ints) -> Ints:
        """Give the numbers that nodes of a graph, (n,), had in learning; -1 where one is new."""
        if graph not in self.kept:
            self.kept[graph] = match_ids(graph, self.nodes)
        return self.kept[graph][nodes]
