"""Vectors that know next to nothing: what a classifier reaches with them is for free."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days
from tadge.baselines.base import Baseline
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of


class Majority(Baseline):
    """Give every node the same vector, so that any classifier falls back to the largest class."""

    name = "majority"

    def embed(self, nodes: npt.ArrayLike, at: npt.ArrayLike, *, graph: TemporalGraph) -> Days:
        """Return ones, (n, 1)."""
        return np.ones((np.size(nodes), 1))


class DegreeAge(Baseline):
    """Give a node how often it had acted and been linked to, how old it is, and how long it has been quiet."""

    name = "degree + age"

    def embed(self, nodes: npt.ArrayLike, at: npt.ArrayLike, *, graph: TemporalGraph) -> Days:
        """Return logarithms, (n, 4): acts, links received, days since first seen, days since it acted or joined.

        Args:
            nodes: (n,) node numbers.
            at: (n,) days: nothing later is looked at.
            graph: what happened.
        """
        past, node, moments = past_of(graph), np.asarray(nodes, np.int64), np.asarray(at, np.float64)
        first = past.first[node]
        first = np.where(first <= moments, first, moments)  # who has not been seen has no age
        quiet = moments - np.maximum(past.last_outgoing(node, moments), first)
        counts = past.count_outgoing(node, moments), past.count_incoming(node, moments)
        return np.log1p(np.stack([*counts, moments - first, quiet], axis=1).astype(np.float64))
