"""What a method can do: the one interface of both estimators, of every baseline, and of methods that users bring.

A method has a name and learns from a graph; beyond that it has those of `CALLS` that it can answer. Questions come as
arrays of equal length: `NodeNumbers` of the graph that is passed along, and moments in days on its clock. Nothing later
than its moment may reach an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from os import PathLike
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy.typing as npt

from tadge.arrays import Days, NodeNumbers
from tadge.errors import ConfigError
from tadge.graph.graph import TemporalGraph

Unit = Literal["days", "squashed"]
Statistic = Literal["median", "mean"]

UNITS: tuple[Unit, ...] = ("days", "squashed")
STATISTICS: tuple[Statistic, ...] = ("median", "mean")
TIMED_CALLS = ("within", "when", "rank", "next", "surprise", "overdue")
CALLS = ("embed", "score_links", "predict_toe", *TIMED_CALLS)  # what a method can be asked


@runtime_checkable
class Method(Protocol):
    """Has a name and learns from a graph."""

    @property
    def name(self) -> str:
        """Give the name under which the method stands in tables."""

    def fit(self, graph: TemporalGraph) -> Self:
        """Learn from a graph."""


@runtime_checkable
class EmbedsNodes(Protocol):
    """Has a vector for every node."""

    def embed(self, nodes: NodeNumbers, at: Days, *, graph: TemporalGraph) -> npt.NDArray[Any]:
        """Return the vectors of nodes, (n, D), each as of its moment, (n,)."""


@runtime_checkable
class ScoresLinks(Protocol):
    """Ranks targets."""

    def score_links(self, src: NodeNumbers, dst: NodeNumbers, at: Days, *, graph: TemporalGraph) -> npt.NDArray[Any]:
        """Score links src -> dst as of moments, (n,) each, as (n,): higher is likelier for the same src and moment."""


@runtime_checkable
class PredictsToe(Protocol):
    """Predicts how long edges take."""

    def predict_toe(
        self,
        src: NodeNumbers,
        dst: NodeNumbers,
        at: Days,
        *,
        graph: TemporalGraph,
        unit: Unit = "days",
        statistic: Statistic = "median",
    ) -> Days:
        """Predict the ToE of src -> dst as of moments, (n,) each, as (n,), in a unit.

        The statistic is that of the squashed ToE, 2 arctan(days) / pi, in whichever unit it is given. A method that has
        only one of the two gives that for both.
        """


@runtime_checkable
class PredictsWithin(Protocol):
    """Tells how likely a link is within some time."""

    def within(
        self, src: NodeNumbers, dst: NodeNumbers, days: Days, at: Days, *, graph: TemporalGraph
    ) -> npt.NDArray[Any]:
        """Give the probability that src links to dst within so many days, (H,), of moments, (n,): (n, H).

        A method that can be asked about a limited time only has the longest, in days, as `horizon_`.
        """


Answerer = EmbedsNodes | ScoresLinks | PredictsToe | PredictsWithin  # what can be judged; `fit`, `name` may be missing


@runtime_checkable
class PredictsWhen(Protocol):
    """Knows how long it is until a link comes."""

    def when(self, src: NodeNumbers, dst: NodeNumbers, at: Days, *, graph: TemporalGraph) -> Any:
        """Give a table with a row per pair, (n,): a DataFrame, or a dict of columns."""


@runtime_checkable
class RanksTargets(Protocol):
    """Lists the likeliest targets of a source that acts."""

    def rank(
        self,
        src: NodeNumbers,
        at: float | None = None,
        k: int = 10,
        *,
        before: float | None = None,
        graph: TemporalGraph,
    ) -> Any:
        """List the k likeliest targets of one source as of a moment, or right before it, likeliest first.

        A table with the columns `target` (ids) and `probability`, or a list of (id, probability).
        """


def ranking_of(answer: Any) -> list[tuple[Any, float]]:
    """Take what `rank` gives of one source as a list of (id, probability)."""
    if hasattr(answer, "columns"):
        return list(zip(answer["target"].to_list(), answer["probability"].to_list(), strict=True))
    return list(answer)


@runtime_checkable
class ListsNext(Protocol):
    """Lists the likeliest links within a time."""

    def next(self, src: NodeNumbers, k: int, days: float, at: float, *, graph: TemporalGraph) -> Any:
        """Give a table of the k likeliest links of each source, (n,), within so many days."""


@runtime_checkable
class TellsSurprise(Protocol):
    """Tells how unlikely events were the instant before they came."""

    def surprise(self, events: Sequence[tuple[Any, Any, float]], *, graph: TemporalGraph) -> Any:
        """Give a table with a row per event, in order of time; an event of the graph is (src id, dst id, days)."""


@runtime_checkable
class ListsOverdue(Protocol):
    """Lists pairs that are past their usual time."""

    def overdue(self, at: float, *, graph: TemporalGraph) -> Any:
        """Give a table of pairs that are overdue as of a moment."""


Auditable = Answerer | PredictsWithin | PredictsWhen | RanksTargets | ListsNext | TellsSurprise | ListsOverdue


@runtime_checkable
class EmbedsWalks(Protocol):
    """Reads walks: a vector per place, and the ToE of each step."""

    def embed_walks(self, walks: Any) -> npt.NDArray[Any]:
        """Return the representation of each node in each walk, (W, L, D); NaN beyond a walk's length."""

    def predict_walk_toe(self, walks: Any) -> Days:
        """Read the ToE of each edge off its walk, (W, L - 1) squashed; NaN beyond a walk's length."""


@runtime_checkable
class Prepares(Protocol):
    """Can do the work that many questions about one graph share once, before they are asked."""

    def prepare(self, graph: TemporalGraph, *, progress: bool | None = None) -> Self:
        """Do that work and keep it."""


@runtime_checkable
class Fitted(Protocol):
    """Remembers the graph that it has learned from."""

    graph_: TemporalGraph


@runtime_checkable
class Estimator(Method, Protocol):
    """Is one of our own: can be described, made anew, saved and loaded; `Fitted` once it has learned."""

    seed: int

    def fit(self, graph: TemporalGraph, *, progress: bool | None = None) -> Self:
        """Learn from a graph, with a progress bar where somebody looks."""

    def fit_folder(
        self, graph: TemporalGraph, folder: str | PathLike[str], *, resume: bool = False, progress: bool | None = None
    ) -> Self:
        """Learn from a graph and save into a folder; with resume, go on with a run that was stopped."""

    def about(self) -> dict[str, Any]:
        """Describe all options and the seed as plain values."""

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted estimator into a folder."""

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a fitted estimator from a folder."""


def accepts(function: object, argument: str) -> bool:
    """Tell whether a function has an argument of this name; False where nobody can say."""
    try:
        return callable(function) and argument in signature(function).parameters
    except (TypeError, ValueError):
        return False


def supports(method: object, call: str) -> bool:
    """Tell whether a method has a call, such as one of `CALLS`."""
    return callable(getattr(method, call, None))


def name_of(method: object) -> str:
    """Give the name under which a method stands in tables; its class's where it has none."""
    return str(getattr(method, "name", type(method).__name__))


def check_toe_question(unit: str, statistic: str) -> None:
    """Refuse an unknown unit or statistic."""
    for name, value, known in (("unit", unit, UNITS), ("statistic", statistic, STATISTICS)):
        if value not in known:
            raise ConfigError(f"unknown {name}", expected=" or ".join(known), found=repr(value), where=name)
