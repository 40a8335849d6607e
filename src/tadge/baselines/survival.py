"""What survival analysis knows without a graph: one curve for all pairs, and Cox's proportional hazards on columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.baselines.base import is_there
from tadge.baselines.drawn_pairs import DrawnPairs
from tadge.baselines.within import LEAST_QUESTIONS, MOST_QUESTIONS, SMALLEST, WithinRule
from tadge.errors import MissingExtraError
from tadge.features.plain import NEVER, plain_columns
from tadge.forecasting.curves import Curves, bin_of, bins_of, exposure
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.validation import latest_from

PENALTIES = (0.001, 0.01, 0.1)  # of which the one with the best order on the latest fifth is taken
FEW_LINKS = 20  # with fewer, all pairs have one hazard
FARTHEST = 5.0  # standard deviations: columns are cut there


class OneCurve(WithinRule):
    """Give every pair the same curve: how often links of pairs as they are asked about came, by the time since then.

    Attributes:
        curves_: the one curve, a life table.
        horizon_: the longest time that can be asked about, in days.
    """

    name = "one curve for all"

    def _learn(self, graph: TemporalGraph) -> None:
        edges, drawn = bins_of(graph), self._drawn(graph, self.scales_.decay_days[-1])
        self.horizon_ = float(edges[-1])
        soon = drawn.wait[drawn.wait <= edges[-1]]
        looked_at = exposure(edges, drawn.passed).sum(axis=0)
        came = np.bincount(bin_of(edges, soon), minlength=looked_at.size).astype(np.float64)
        self.curves_ = Curves(edges, ((came + SMALLEST) / (looked_at + 1.0))[None, :])

    def _within(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, days: Days) -> Days:
        return np.repeat(self.curves_.within(days), src.size, axis=0)


class Cox(WithinRule):
    """Multiply one hazard over time by a factor for each pair, exp of a linear form of the columns of the baselines.

    Cox's partial likelihood with a ridge penalty, by lifelines (`pip install 'tadge[survival]'`). Spans and counts come
    as logarithms, what has never happened as a column of its own. The penalty is the best by concordance on the latest
    fifth of the pairs learned from.

    Attributes:
        penalty_: the penalty.
        weights_: (C,) of the columns.
        times_: (T,) days at which the cumulative hazard steps up.
        hazard_: (T,) the cumulative hazard of a pair whose columns have their means, from then on.
    """

    name = "Cox"
    needs = "lifelines"

    def _learn(self, graph: TemporalGraph) -> None:
        if not is_there(self):
            cure = "pip install 'tadge[survival]'"
            raise MissingExtraError(f"{self.name} needs {self.needs}", expected="the extra survival", cure=cure)
        drawn = self._drawn(graph, self.scales_.decay_days[-1])
        drawn = drawn.take(drawn.passed > 0)
        if drawn.src.size > MOST_QUESTIONS:
            rng = np.random.default_rng(int(stream(self.seed, "pairs of Cox")))
            drawn = drawn.take(rng.choice(drawn.src.size, MOST_QUESTIONS, replace=False))
        drawn = drawn.take(np.argsort(drawn.at, kind="stable"))
        raw = log_columns(graph, drawn.src, drawn.dst, drawn.at)
        self._mean, self._scale = raw.mean(axis=0), raw.std(axis=0)
        self._kept = self._scale > SMALLEST
        columns, self.penalty_, self.weights_ = self._standard(raw), PENALTIES[-1], np.zeros(int(self._kept.sum()))
        if np.count_nonzero(drawn.came) >= FEW_LINKS and drawn.src.size >= LEAST_QUESTIONS and columns.shape[1]:
            self._fit(columns, drawn)
        self.times_, self.hazard_ = breslow(columns @ self.weights_, drawn)

    def _fit(self, columns: Days, drawn: DrawnPairs) -> None:
        from lifelines.utils import concordance_index

        cut, found = latest_from(drawn.src.size), []
        late = drawn.passed[cut:], drawn.came[cut:]
        if drawn.came[:cut].sum() >= FEW_LINKS and late[1].any():
            for penalty in PENALTIES:
                risk = columns[cut:] @ partial_likelihood(columns[:cut], drawn.passed[:cut], drawn.came[:cut], penalty)
                found.append(float(concordance_index(late[0], -risk, late[1])))
            self.penalty_ = PENALTIES[int(np.argmax(found))]
        self.weights_ = partial_likelihood(columns, drawn.passed, drawn.came, self.penalty_)

    def _standard(self, raw: Days) -> Days:
        standard = (raw[:, self._kept] - self._mean[self._kept]) / self._scale[self._kept]
        return np.asarray(np.clip(standard, -FARTHEST, FARTHEST))

    def _within(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, days: Days) -> Days:
        risk = np.exp(self._standard(log_columns(graph, src, dst, at)) @ self.weights_)
        hazard = np.concatenate([[0.0], self.hazard_])[np.searchsorted(self.times_, days, side="right")]
        return np.asarray(-np.expm1(-risk[:, None] * hazard))


def log_columns(graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
    """Give the columns of the baselines as logarithms, and which of them have never happened, (n, 2 F)."""
    plain = plain_columns(graph, src, dst, at)
    never = plain == NEVER
    return np.concatenate([np.log1p(np.where(never, 0.0, np.maximum(plain, 0.0))), never], axis=1)


def partial_likelihood(columns: Days, passed: Days, came: Flags, penalty: float) -> Days:
    """Fit the weights of columns, (C,), by Cox's partial likelihood with a ridge penalty."""
    from lifelines import CoxPHFitter
    from pandas import DataFrame

    frame = DataFrame(columns, columns=[f"c{k}" for k in range(columns.shape[1])])
    frame["passed"], frame["came"] = passed, came
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lifelines warns of columns that are alike; the penalty is there for that
        fitter: Any = CoxPHFitter(penalizer=penalty)
        fitter.fit(frame, "passed", "came")
    return np.asarray(fitter.params_.to_numpy(), np.float64)


def breslow(log_risk: Days, drawn: DrawnPairs) -> tuple[Days, Days]:
    """Estimate the cumulative hazard of a pair of risk 1 (Breslow): times of links, and it from then on, (T,) each.

    At each time the links that came are divided by the risks of all pairs that were still looked at.
    """
    order = np.argsort(drawn.passed, kind="stable")
    passed, came, risk = drawn.passed[order], drawn.came[order], np.exp(log_risk[order])
    still = np.cumsum(risk[::-1])[::-1]  # of this one and all later ones
    times, first = np.unique(passed, return_index=True)
    links = np.add.reduceat(came.astype(np.float64), first) if passed.size else np.empty(0)
    steps = links > 0
    return times[steps], np.cumsum(links[steps] / still[first[steps]])
