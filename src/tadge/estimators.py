"""What both estimators share: scikit-learn's conventions, and questions about pairs, checked once."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from html import escape
from typing import Any, Self

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.errors import ConfigError, NotFittedError
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


class Parameters:
    """Keep scikit-learn's conventions about the arguments of a constructor, without importing it: that takes a second.

    `sklearn.base.clone`, `check_is_fitted` and pipelines take what has these calls.
    """

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the arguments of the constructor by name; `deep` changes nothing, as none is an estimator."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor anew, for the next `fit`."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                expected = ", ".join(known)
                raise ConfigError("unknown parameter", expected=expected, found=repr(name), where=type(self).__name__)
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()

    def _changed_params(self) -> dict[str, Any]:
        """Give those arguments that are not the defaults."""
        defaults = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
        return {name: value for name, value in self.get_params().items() if value != defaults[name]}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._changed_params().items())})"
        )


class PairEstimator(Parameters, ABC):
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

    def _repr_html_(self) -> str:
        """Show in a notebook what it is, what it was fitted to, and its parameters."""
        state = f"fitted to {self.graph_!r}" if hasattr(self, "graph_") else "not fitted"
        rows = [f"<tr><th>{name}</th><td>{escape(repr(value))}</td></tr>" for name, value in self.get_params().items()]
        return f"<p><b>{type(self).__name__}</b>, {escape(state)}</p><table><tbody>{''.join(rows)}</tbody></table>"
