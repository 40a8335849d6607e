"""What is left of a ToE once some of it has passed: how edges of about the same prediction are spread.

Edges are put into groups by what the trees predicted for them. Each group has a law of squashed ToEs, kept as the
fraction that is longer, S(s), at some knots, straight between them. A prediction g stands for a mixture of the two laws
whose levels (means, or medians) enclose it, such that the mixture has exactly the level g. Given that s has passed, the
mean is s + (area below S beyond s) / S(s), and the median is where S has halved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tadge.arrays import Days, Ints
from tadge.protocols import Statistic
from tadge.units import squash, unsquash

MOST_GROUPS, LEAST_EDGES = 16, 100  # groups by prediction; edges in one
KNOTS, TAIL = 200, 8.0  # quantiles at even steps of log odds, from exp(-TAIL) to its inverse
PRIOR_EDGES = 1.0  # each group has so many more edges, uniform when squashed: half a Cauchy law, in days
PACES = (4.0, 16.0, 64.0, 256.0)  # the outermost groups are there so many times as quick, and as slow, too
NARROW = 1e-6  # part of a quantile that its own cell is wide: ToEs that many edges have stay where they are
EDGE = 1e-6  # of the two laws at the ends, so much is that of the next law; the rest is at once, or after all


@dataclass(frozen=True, eq=False)
class ToeLaws:
    """Hold laws of squashed ToEs, G of them, in order of their levels.

    Attributes:
        knots: (k,) squashed, ascending from 0 to 1.
        longer: (G, k) the fraction of a law that is longer than a knot, from 1 down to 0.
        statistic: what predictions are: "mean" or "median".
    """

    knots: Days
    longer: Days
    statistic: Statistic

    @classmethod
    def learn(cls, prediction: Days, toe: Days, weight: Days, statistic: Statistic) -> ToeLaws:
        """Learn from predictions, (n,), the squashed ToEs that followed, (n,), and the weights of rows, (n,)."""
        odds = np.exp(np.linspace(-TAIL, TAIL, KNOTS))
        quantiles = np.quantile(toe, np.concatenate([[0.0], odds / (1 + odds), [1.0]])) if toe.size else toe
        below = (1 - NARROW) * quantiles
        knots = np.unique(np.concatenate([[0.0], EDGE * quantiles[:1], below, quantiles, [1.0]]))
        cell = np.clip(np.searchsorted(knots, toe) - 1, 0, knots.size - 2)
        groups = max(1, min(MOST_GROUPS, toe.size // LEAST_EDGES))
        order, share = np.argsort(prediction, kind="stable"), weight * (weight.size / max(weight.sum(), 1.0))
        cuts = np.searchsorted(np.cumsum(share[order]), share.sum() * np.arange(1, groups) / groups)
        mass = np.empty((groups, knots.size - 1))
        for group, rows in enumerate(np.split(order, cuts)):
            mass[group] = np.bincount(cell[rows], share[rows], mass.shape[1]) + PRIOR_EDGES * np.diff(knots)
        return cls(knots, _longer(mass), statistic)._in_order()._with_ends()

    def checked(self) -> ToeLaws:
        """Return these laws; a ValueError where they are none: what is read from a file may be anything."""
        knots, longer = self.knots, self.longer
        if any(part.dtype != np.float64 for part in (knots, longer)) or knots.ndim != 1 or knots.size < 2:
            raise ValueError("not the numbers of laws")
        if longer.ndim != 2 or len(longer) < 3 or longer.shape[1] != knots.size:
            raise ValueError("not all of the laws")
        if knots[0] != 0.0 or knots[-1] != 1.0 or not (np.diff(knots) > 0).all():
            raise ValueError("laws at no knots")
        if not ((longer[:, 0] == 1.0).all() and (longer[:, -1] == 0.0).all() and (np.diff(longer) <= 0).all()):
            raise ValueError("not laws")
        if not ((longer[:, :-1] > 0).all() and (np.diff(self.levels) >= 0).all()):
            raise ValueError("laws in no order")
        return self

    def given_passed(self, prediction: Days, passed: Days) -> Days:
        """Predict squashed ToEs, (n,), once some of them has passed, from what was predicted before, (n,).

        Args:
            prediction: (n,) squashed, of when nothing had passed: the answer where that is so.
            passed: (n,) squashed: no answer is below.
        """
        answer, open_ = prediction.copy(), np.flatnonzero(passed > 0)
        since = passed[open_]
        lower, share = self._mixture(prediction[open_])
        beyond = self._mean(lower, share, since) if self.statistic == "mean" else self._median(lower, share, since)
        answer[open_] = np.maximum(beyond, since)
        return answer

    @cached_property
    def levels(self) -> Days:
        """Give the means, or the medians, of all laws, (G,)."""
        law, one, zero = np.arange(len(self.longer)), np.ones(len(self.longer)), np.zeros(len(self.longer))
        if self.statistic == "mean":
            return self._area[:, 0]
        return self._median(np.minimum(law, law.size - 2), np.where(law < law.size - 1, one, zero), zero)

    def _in_order(self) -> ToeLaws:
        """Put the laws in order of their levels."""
        return replace(self, longer=self.longer[np.argsort(self.levels, kind="stable")])

    def _with_ends(self) -> ToeLaws:
        """Add laws below the lowest and above the highest, so that every prediction lies between two."""
        days, first, last = unsquash(self.knots[:-1]), self.longer[0], self.longer[-1]
        quick = [np.append(np.interp(squash(days * pace), self.knots, first), 0.0) for pace in PACES]
        slow = [np.append(np.interp(squash(days / pace), self.knots, last), 0.0) for pace in PACES]
        at_once, after_all = EDGE * quick[-1], EDGE * slow[-1]
        at_once[0], after_all[:-1] = 1.0, after_all[:-1] + (1 - EDGE)
        ends = np.concatenate([[at_once], quick, self.longer, slow, [after_all]])
        return replace(self, longer=ends)._in_order()

    # -- mixtures of a law, in a share, and the next ------------------------------------------------------------------

    def _mixture(self, prediction: Days) -> tuple[Ints, Days]:
        """Find mixtures whose levels are the predictions, (n,): the lower laws, (n,), and their shares, (n,)."""
        level = np.clip(prediction, self.levels[0], self.levels[-1])
        lower = np.clip(np.searchsorted(self.levels, level, side="right") - 1, 0, self.levels.size - 2)
        if self.statistic == "mean":
            above, below = self.levels[lower + 1] - level, level - self.levels[lower]
        else:
            above, below = self._longer_at(lower + 1, level) - 0.5, 0.5 - self._longer_at(lower, level)
        whole = above + below
        return lower, np.clip(np.divide(above, whole, out=np.zeros(level.size), where=whole > 0), 0.0, 1.0)

    def _mean(self, lower: Ints, share: Days, since: Days) -> Days:
        longer = share * self._longer_at(lower, since) + (1 - share) * self._longer_at(lower + 1, since)
        area = share * self._area_at(lower, since) + (1 - share) * self._area_at(lower + 1, since)
        return since + np.divide(area, longer, out=np.zeros(since.size), where=longer > 0)

    def _median(self, lower: Ints, share: Days, since: Days) -> Days:
        def at_knot(knot: Ints) -> Days:
            return share * self.longer[lower, knot] + (1 - share) * self.longer[lower + 1, knot]

        half = (share * self._longer_at(lower, since) + (1 - share) * self._longer_at(lower + 1, since)) / 2
        first, last = self._cell(since), np.full(since.size, self.knots.size - 1)
        while (last - first > 1).any():
            middle = (first + last) // 2
            before = at_knot(middle) >= half
            first, last = np.where(before, middle, first), np.where(before, last, middle)
        above, whole = at_knot(first) - half, at_knot(first) - at_knot(last)
        part: Days = np.divide(above, whole, out=np.zeros(since.size), where=whole > 0)
        return np.asarray(self.knots[first] + part * (self.knots[last] - self.knots[first]))

    # -- single laws --------------------------------------------------------------------------------------------------

    @cached_property
    def _area(self) -> Days:
        """Give the area below each law beyond each knot, (G, k)."""
        pieces = (self.longer[:, 1:] + self.longer[:, :-1]) / 2 * np.diff(self.knots)
        return np.concatenate([np.cumsum(pieces[:, ::-1], 1)[:, ::-1], np.zeros((len(pieces), 1))], 1)

    def _cell(self, since: Days) -> Ints:
        return np.clip(np.searchsorted(self.knots, since, side="right") - 1, 0, self.knots.size - 2)

    def _longer_at(self, law: Ints, since: Days) -> Days:
        cell = self._cell(since)
        part = (since - self.knots[cell]) / (self.knots[cell + 1] - self.knots[cell])
        return (1 - part) * self.longer[law, cell] + part * self.longer[law, cell + 1]

    def _area_at(self, law: Ints, since: Days) -> Days:
        after = self._cell(since) + 1
        piece = (self._longer_at(law, since) + self.longer[law, after]) / 2 * (self.knots[after] - since)
        return self._area[law, after] + piece


def _longer(mass: Days) -> Days:
    """Turn the mass of laws in cells, (G, k-1), into the fraction beyond each knot, (G, k)."""
    beyond = np.cumsum(mass[:, ::-1], 1)[:, ::-1]
    return np.concatenate([beyond / beyond[:, :1], np.zeros((len(mass), 1))], 1)
