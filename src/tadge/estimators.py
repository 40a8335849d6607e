"""What both estimators share: scikit-learn's conventions, and questions about pairs, checked once."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from tadge.arrays import Days, Ints, Vectors
from tadge.errors import NotFittedError
from tadge.graph.cache import per_graph
from tadge.graph.chains import as_of_joining
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import Moments, NodeIds, check_kind, pairs_of
from tadge.protocols import Statistic, Unit, check_toe_question
from tadge.units import squash, unsquash


@per_graph
def largest_toe(graph: TemporalGraph) -> float:
    """Give the largest squashed ToE of a graph; 0 where no event has one."""
    return float(squash(graph.toe_values().max(initial=0.0)))


class PairEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Answer for pairs of nodes as of a moment; `TADGE` and `Forecaster` say how.

    Attributes:
        graph_: the graph it was fitted to.
    """

    name: str
    graph_: TemporalGraph

    def score_links(
        self,
        src: NodeIds,
        dst: NodeIds,
        at: Moments = None,
        *,
        before: Moments = None,
        graph: TemporalGraph | None = None,
    ) -> Vectors:
        """Score links src -> dst, (n,): higher is likelier, for the same src and moment.

        The Forecaster's scores are unnormalised log-probabilities; TADGE's are inner products of vectors (Eq. 35).

        Args:
            src: ids; one stands for all.
            dst: ids; one stands for all.
            at: days on the graph's clock or dates, one for all or one each: what happened until then, that moment
                included, is known. The end of the graph by default.
            before: instead of `at`: what happened at that very moment is not known. To ask about an event that is in
                the graph, give its own time here.
            graph: what happened, where that is more than the estimator was fitted to.
        """
        graph = self._graph(graph)
        return self._score(graph, *pairs_of(graph, src, dst, at, before))

    def predict_toe(
        self,
        src: NodeIds,
        dst: NodeIds,
        at: Moments = None,
        *,
        before: Moments = None,
        graph: TemporalGraph | None = None,
        unit: Unit = "days",
        statistic: Statistic = "median",
    ) -> Days:
        """Predict how long it takes until src links to dst, (n,), counted from when dst last joined.

        It supposes that the link comes. The Forecaster gives what could be predicted when dst joined, given that the
        time that has passed since was not enough: so it grows with that time, and is never less. What else happened in
        that time is not looked at. TADGE gives the larger of that prediction and the time that has passed.

        Args:
            src: ids; one stands for all.
            dst: ids; one stands for all.
            at: as in `score_links`; counted from when dst last joined at or before it.
            before: as in `score_links`.
            graph: as in `score_links`.
            unit: "days", or "squashed": 2 arctan(days) / pi, the unit that the paper regresses.
            statistic: "median": half of such links come sooner; or "mean", of the squashed ToE in either unit. TADGE
                knows the mean alone (Eq. 36), and gives it for both.
        """
        check_toe_question(unit, statistic)
        graph = self._graph(graph)
        sources, targets, moments = pairs_of(graph, src, dst, at, before)
        joined, passed = as_of_joining(graph, targets, moments)
        squashed = np.clip(self._predict(graph, sources, targets, joined, statistic), 0.0, largest_toe(self.graph_))
        squashed = self._given_passed(squashed, squash(passed), statistic)
        return squashed if unit == "squashed" else unsquash(squashed)

    @abstractmethod
    def _score(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Vectors:
        """Score pairs of node numbers, (n,)."""

    @abstractmethod
    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, statistic: Statistic) -> Days:
        """Predict squashed ToEs of pairs of node numbers, (n,), as of when dst joined."""

    def _given_passed(self, squashed: Days, passed: Days, statistic: Statistic) -> Days:
        """Turn predictions as of when dst joined, (n,), into those given what has passed, (n,) squashed, both."""
        return np.maximum(squashed, passed)

    def _graph(self, graph: TemporalGraph | None = None) -> TemporalGraph:
        """Give the graph that a question is about: the estimator's own by default."""
        if not hasattr(self, "graph_"):
            kind = type(self).__name__
            raise NotFittedError(f"the {kind} is not fitted", cure=f"call fit first, or {kind}.load a fitted one")
        if graph is not None:
            check_kind(graph, TemporalGraph, "graph")
        return self.graph_ if graph is None else graph

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "graph_")
