"""Curves: the probability that something has come after any time, from the hazards of bins of time.

A bin's hazard is what it adds to the cumulative hazard C; within a bin that grows evenly. The probability within h is
1 - exp(-C(h)). Bins are spaced on a log scale, from what the clock of a graph can tell to the longest time that its
history can be trusted for. What has not come by then counts as never. Axes: n curves, K bins, H horizons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.features.tables import INSTANT
from tadge.graph.graph import TemporalGraph

NUM_BINS = 32
FINEST = 1e-6  # of the span of a history: no bin is finer
TRUSTED = 0.5  # of the span: for any longer time, too few moments of the past have seen what followed
ROUNDING = 1e-9  # times of a clock that counts in steps differ by so much where they are the same


def bins_of(graph: TemporalGraph) -> Days:
    """Find the upper edges of bins of time for a graph, (K,) days; the last is the longest trusted time."""
    times = np.unique(graph.time)
    span = float(times[-1] - times[0]) if times.size else 0.0
    if span < INSTANT:
        return np.geomspace(FINEST, 1.0, NUM_BINS)
    finest = max(float(np.diff(times).min()), FINEST * span) * (1 + ROUNDING)
    return np.geomspace(finest, max(TRUSTED * span, 2 * finest), NUM_BINS)


def exposure(edges: Days, days: Days) -> Days:
    """Tell which fraction of each bin lies within so many days, (n,): (n, K)."""
    lower = np.concatenate([[0.0], edges[:-1]])
    return np.clip((days[:, None] - lower) / (edges - lower), 0.0, 1.0)  # type: ignore[no-any-return]


def bin_of(edges: Days, days: Days) -> Ints:
    """Find the bin of times, (n,); K where they lie beyond the last one."""
    return np.searchsorted(edges, days)


@dataclass(frozen=True, eq=False)
class Curves:
    """Hold curves, one per row.

    Attributes:
        edges: (K,) days, upper edges of the bins.
        hazard: (n, K) what each bin adds to the cumulative hazard.
    """

    edges: Days
    hazard: Days

    def __len__(self) -> int:
        return len(self.hazard)

    @property
    def horizon(self) -> float:
        """Give the longest time that can be asked about, in days."""
        return float(self.edges[-1])

    @property
    def never(self) -> Days:
        """Give the probability that it does not come within the horizon, (n,)."""
        return np.exp(-self.hazard.sum(axis=1))  # type: ignore[no-any-return]

    def within(self, days: npt.ArrayLike) -> Days:
        """Give the probability that it comes within so many days, (H,): (n, H)."""
        parts = exposure(self.edges, np.atleast_1d(np.asarray(days, np.float64)))
        return np.asarray(-np.expm1(-np.einsum("nk,hk->nh", self.hazard, parts)))

    def reached(self, days: Days) -> Days:
        """Give the probability that it comes within so many days each, (n,), where it comes within the horizon."""
        cumulative = np.einsum("nk,nk->n", self.hazard, exposure(self.edges, days))
        comes = np.maximum(1.0 - self.never, np.finfo(np.float64).tiny)
        return np.asarray(-np.expm1(-cumulative) / comes)

    def quantiles(self, levels: npt.ArrayLike) -> Days:
        """Find the times by which such fractions, (L,), have come of what comes within the horizon: (n, L) days."""
        levels, lower = np.atleast_1d(np.asarray(levels, np.float64)), np.concatenate([[0.0], self.edges[:-1]])
        cumulative = np.cumsum(self.hazard, axis=1)
        comes, row = -np.expm1(-cumulative[:, -1]), np.arange(len(self))
        times = np.empty((len(self), levels.size))
        for place, level in enumerate(levels):
            wanted = -np.log1p(-level * comes)
            bin_ = np.minimum((cumulative < wanted[:, None]).sum(axis=1), self.edges.size - 1)
            hazard = self.hazard[row, bin_]
            missing = wanted - (cumulative[row, bin_] - hazard)
            part = np.divide(missing, hazard, out=np.ones(len(self)), where=hazard > 0)
            times[:, place] = lower[bin_] + np.clip(part, 0.0, 1.0) * (self.edges - lower)[bin_]
        return times
