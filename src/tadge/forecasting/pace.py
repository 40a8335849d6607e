"""Whose pace has changed: counts before and since a moment, beside what chance and the past's own ups and downs give.

Given how often something happened in both periods together, how often it happened in the later one is binomial where
its pace is constant. Paces of real histories go up and down, so it is beta-binomial here: the excess of its variance
is learned from the earlier period alone, cut in the same proportion. Of many tests the false discovery rate is bounded
by the rule of Benjamini and Hochberg; tests that could never have found anything, as the total is too small, are left
out before. Axes: n nodes or pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tadge.arrays import Days, Flags, Ints

LARGEST_EXCESS = 0.999
LEAST_EXCESS = 1e-6  # as good as none: the law is binomial


class Paces(NamedTuple):
    """Hold counts of two periods, (n,) each.

    Attributes:
        before: how often in the earlier period.
        since: how often in the later one.
        days_before: how long it could have happened in the earlier one.
        days_since: how long in the later one.
    """

    before: Ints
    since: Ints
    days_before: Days
    days_since: Days

    @property
    def share(self) -> Days:
        """Give the fraction of all that would fall into the later period at a constant pace, (n,)."""
        return self.days_since / (self.days_before + self.days_since)

    def take(self, places: Ints | Flags) -> Paces:
        """Keep some."""
        return Paces(self.before[places], self.since[places], self.days_before[places], self.days_since[places])


def excess_variance(paces: Paces) -> float:
    """Find how much more than by chance counts vary between two periods: the correlation of a beta-binomial law.

    It is that of all rows together, found by their squared deviations.
    """
    total, share = (paces.before + paces.since).astype(np.float64), paces.share
    chance = total * share * (1.0 - share)
    seen = ((paces.since - total * share) ** 2 - chance).sum()
    most = (chance * (total - 1.0)).sum()
    return float(np.clip(seen / most, 0.0, LARGEST_EXCESS)) if most > 0 else 0.0


def _law(paces: Paces, excess: Days) -> Any:
    """Give the law of counts in the later period at a constant pace, given those of both together."""
    from scipy.stats import betabinom

    strength = 1.0 / np.maximum(excess, LEAST_EXCESS) - 1.0
    return betabinom(paces.before + paces.since, paces.share * strength, (1.0 - paces.share) * strength)


def changed_pace(paces: Paces, excess: Days, level: float) -> tuple[Days, Flags]:
    """Test who has changed its pace: adjusted p-values, (n,), and which are significant, (n,)."""
    law, p = _law(paces, excess), np.ones(paces.before.size)
    surest = 2.0 * np.minimum(law.pmf(0), law.pmf(paces.before + paces.since))
    tested = np.flatnonzero(surest <= level)
    some, counts = _law(paces.take(tested), excess[tested]), paces.since[tested]
    p[tested] = np.minimum(1.0, 2.0 * np.minimum(some.cdf(counts), some.sf(counts - 1)))
    return adjusted(p, surest <= level, level)


def fell_silent(paces: Paces, excess: Days, level: float) -> tuple[Days, Flags]:
    """Test who has stopped: adjusted p-values, (n,), and which are significant, (n,)."""
    none = _law(paces, excess).pmf(0)
    return adjusted(np.where(paces.since == 0, none, 1.0), none <= level, level)


def adjusted(p: Days, tested: Flags, level: float) -> tuple[Days, Flags]:
    """Adjust p-values, (n,), for how many were tested, (n,); 1 where not. And tell which are at most `level`."""
    places = np.flatnonzero(tested)
    values = np.ones(p.size)
    order = places[np.argsort(p[places], kind="stable")]
    scaled = p[order] * order.size / np.arange(1, order.size + 1)
    values[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return values, tested & (values <= level)
