"""What users ask of a Forecaster about time: within how long, when, who next, what is surprising, who is overdue."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints
from tadge.config import AHEAD, LEAST, LEVEL, TOP, ForecastConfig
from tadge.errors import InputError, TadgeWarning
from tadge.estimators import PairEstimator
from tadge.features.columns import LINK_COLUMNS, columns_left_out
from tadge.features.tables import Scales, tables_of
from tadge.forecasting.ask_curves import UNKNOWN, act_curves, pair_curves
from tadge.forecasting.curve_models import CurveModels
from tadge.forecasting.curves import TRUSTED, Curves
from tadge.forecasting.events import events_asked
from tadge.forecasting.overdue import open_pairs, overdue_pairs
from tadge.forecasting.surprise import HOUR, events_before, lately, surprise_of
from tadge.forecasting.waits import targets_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.ids import close_ids
from tadge.graph.inputs import Moments, NodeIds, moments_of, node_numbers, same_length
from tadge.graph.past import past_of
from tadge.io.frames import data_frame
from tadge.units import Moment, date_text, dates_of_days

INTERVALS = {"low_80": 0.1, "high_80": 0.9, "low_95": 0.025, "high_95": 0.975}
STALE = 0.25  # of the span that was learned from: questions so much later are answered with a warning
SHORTEST = 1e-9  # of that span: probabilities within less are lost in rounding
BEYOND = "beyond what could be checked on the latest events"
SHOWN_IDS = 20  # of those that are not known


class TimedAnswers(PairEstimator):
    """Answer for pairs and sources as of a moment, from curves: the probability of a link within any time."""

    config: ForecastConfig
    scales_: Scales
    curves_: CurveModels

    @property
    def horizon_(self) -> float:
        """Give the longest time that can be asked about, in days: half of the span that was learned from."""
        self._graph()
        return float(self.curves_.edges[-1])

    @property
    def trusted_(self) -> float:
        """Give the time, in days, up to which a model of earlier events did not promise clearly more than came.

        It is 0 where there was nothing to look at. Answers about longer times, up to `horizon_`, come with a warning.
        """
        self._graph()
        return float(min(self.curves_.trusted, self.curves_.edges[-1]))

    @property
    def seasonal_(self) -> bool:
        """Tell whether curves know of the hours of the week: where these helped on the latest fifth of the events."""
        self._graph()
        return self.curves_.season is not None

    @property
    def types_(self) -> tuple[str, ...]:
        """Name the types of events that forecasts look at: where these helped on the latest fifth; else none."""
        self._graph()
        return self.scales_.types

    def within(
        self,
        src: NodeIds,
        dst: NodeIds,
        days: float | Sequence[float] | npt.NDArray[Any] | None = None,
        at: Moments = None,
        *,
        before: Moments = None,
        graph: TemporalGraph | None = None,
    ) -> Any:
        """Give the probability that src links to dst within so many days of a moment.

        A float for one pair and one horizon; (n,) for several pairs; (n, H) for several horizons, a row per pair.

        Args:
            src: ids; one stands for all. One that was never seen is answered for as such, with a warning.
            dst: ids, alike.
            days: horizons, up to `horizon_`; beyond `trusted_` with a warning. By default a week, or `horizon_` where
                that is less.
            at: days on the graph's clock or dates: what happened until then, that moment included, is known. The end of
                the graph by default.
            before: instead of `at`: what happened at that very moment is not known.
            graph: what happened, where that is more than the Forecaster was fitted to.
        """
        graph = self._graph(graph)
        horizons = self._horizons(self._week_or_less(days))
        sources, targets, moments, _ = self._pairs(graph, src, dst, at, before)
        probability = np.empty((sources.size, horizons.size))
        for cut, curves in self._curves(graph, sources, targets, moments):
            probability[cut] = curves.within(horizons)
        if days is not None and np.ndim(days):
            return probability
        return float(probability[0, 0]) if _is_one(src) and _is_one(dst) else probability[:, 0]

    def when(
        self,
        src: NodeIds,
        dst: NodeIds,
        at: Moments = None,
        *,
        before: Moments = None,
        graph: TemporalGraph | None = None,
    ) -> Any:
        """Tell how long it takes from a moment until src links to dst: a DataFrame with a row per pair.

        Waits are in days from the moment, given that the link has not come by then: `median_wait`, and the intervals
        `low_80` to `high_80` and `low_95` to `high_95`, of links that come within `horizon_`. `never` is the
        probability that it does not come by then; `median_date` stands there where times are dates. Where `known` is
        False, one of the two was never seen, and the answer is that for any such node.

        Args:
            src: as in `within`, as all others.
            dst: ids.
            at: moments.
            before: moments.
            graph: what happened.
        """
        graph = self._graph(graph)
        sources, targets, moments, known = self._pairs(graph, src, dst, at, before)
        table = {"src": ids_asked(graph, sources, src), "dst": ids_asked(graph, targets, dst)}
        return data_frame(table | self._waits(graph, sources, targets, moments) | {"known": known})

    def next(
        self,
        src: NodeIds,
        k: int = TOP.default,
        days: float | None = None,
        at: Moment | None = None,
        *,
        before: Moment | None = None,
        new: bool = False,
        graph: TemporalGraph | None = None,
    ) -> Any:
        """List whom sources are likeliest to link to within so many days: a DataFrame, likeliest first.

        For each source `k` rows: `target`, the `probability` of a link within that time, and the waits of `when`. A
        source is its own target only where some node had linked to itself; nodes that had not joined are none. Where
        `known` is False the source was never seen, and the answer is that for any such node.

        Args:
            src: ids, or None for all that had acted.
            k: how many targets of each.
            days: the horizon; by default a week, or `horizon_` where that is less.
            at: as in `within`, one moment.
            before: as in `within`.
            new: add a row without a target (None, which pandas may show as NaN): the probability of a link to someone
                who had not joined.
            graph: as in `within`.
        """
        graph = self._graph(graph)
        horizon = self._one_horizon(self._week_or_less(days))
        moment = float(moments_of(graph, at, 1, before)[0])
        self._warn_stale(graph, moment)
        sources = self._sources(graph, src, moment)
        k = TOP.check(k)
        parts = [self._likeliest(graph, source, moment, horizon, k) for source in sources.tolist()]
        counts = [targets.size for targets, _ in parts]
        asked = np.repeat(sources, counts)
        found = np.concatenate([np.empty(0, np.int64), *(targets for targets, _ in parts)])
        table: dict[str, Any] = {
            "src": np.repeat(ids_asked(graph, sources, src), counts),
            "target": graph.ids[found],
            "probability": np.concatenate([np.empty(0), *(probability for _, probability in parts)]),
        }
        table |= self._waits(graph, asked, found, np.full(asked.size, moment)) | {"known": asked != UNKNOWN}
        return data_frame(self._with_new(graph, table, sources, src, moment, horizon) if new else table)

    def surprise(self, events: Any = None, *, graph: TemporalGraph | None = None) -> Any:
        """Tell how unlikely events were the instant before they came: a DataFrame with a row per event.

        `surprise` is -log10 of `probability`, and the sum of two: `when`, that src acts after so short, or so long, a
        time since it last did; and `who`, that it then acts on dst. `lately` sums what exceeds the usual surprise
        along the acts of src within the last hours: incidents stand out in it.

        Args:
            events: a table of events (a DataFrame, or a TemporalGraph) or a list of (src, dst, time); by default all
                events of the graph. Those later than the graph are learned of one after the other.
            graph: as in `within`.
        """
        graph, chosen = events_asked(self._graph(graph), events)
        tables, hours = tables_of(graph, self.scales_), self.scales_.decay_days[HOUR]
        src, dst, time = graph.src[chosen].astype(np.int64), graph.dst[chosen], graph.time[chosen]
        every = events_before(tables, hours, chosen, src, time)
        ends = graph.src[every].astype(np.int64), graph.dst[every].astype(np.int64)
        answer = surprise_of(self.curves_, tables, self.scales_, *ends, graph.time[every], self._left_out())
        run = lately(tables, hours, self.curves_.usual, every, answer.surprise, chosen, src, time)
        place = np.searchsorted(every, chosen)
        table = {"src": graph.ids[src], "dst": graph.ids[dst], "time": _times(graph, time)}
        columns = {name: column[place] for name, column in answer._asdict().items()}
        return data_frame(table | columns | {"lately": run})

    def overdue(
        self,
        at: Moment | None = None,
        level: float = LEVEL.default,
        *,
        least: float = LEAST.default,
        before: Moment | None = None,
        graph: TemporalGraph | None = None,
    ) -> Any:
        """List pairs that are past their usual time, longest first: a DataFrame.

        A pair's curve counts from when the two last had to do with each other (`since`), in either direction. It is
        overdue where a fraction `level` of such links that come at all has come within less time (`due` days), but src
        has not linked to dst: it is `late` by so many days. `waits_for` says whether that is an "answer" to dst or
        another link of src, a "repeat". `comes` is the probability that it would come, as of `since`; `still` is that
        as of now. A pair stands here once.

        Args:
            at: as in `within`, one moment.
            level: the point of the curve.
            least: pairs whose link was less likely to come at all are left out.
            before: as in `within`.
            graph: as in `within`.
        """
        graph = self._graph(graph)
        level, least = LEVEL.check(level), LEAST.check(least)
        moment = float(moments_of(graph, at, 1, before)[0])
        self._warn_stale(graph, moment)
        pairs = open_pairs(past_of(graph).pairs, moment, graph.directed and not graph.bipartite)
        tables, left_out = tables_of(graph, self.scales_), self._left_out()
        late = overdue_pairs(self.curves_, tables, self.scales_, pairs, moment, level, least, left_out)
        src, dst, still = pairs.src[late.place], pairs.dst[late.place], np.empty(late.place.size)
        for cut, curves in self._curves(graph, src, dst, np.full(src.size, moment)):
            still[cut] = 1.0 - curves.never
        return data_frame(
            {
                "src": graph.ids[src],
                "dst": graph.ids[dst],
                "waits_for": np.where(pairs.answer[late.place], "answer", "repeat").astype(object),
                "since": _times(graph, pairs.since[late.place]),
                "due": late.due,
                "late": late.late,
                "comes": late.comes,
                "still": still,
            }
        )

    # -- parts of answers ---------------------------------------------------------------------------------------------

    def _graph(self, graph: TemporalGraph | None = None) -> TemporalGraph:
        found = super()._graph(graph)
        if self.curves_.season is not None and found.clock != self.graph_.clock:
            expected = f"the clock {self.graph_.clock!r}, as forecasts know of hours of the week"
            raise InputError("a graph on another clock", expected=expected, found=repr(found.clock), where="graph")
        if self.scales_.types and found.type is None:
            expected, cure = "types of events, as forecasts look at them", "name their column: type"
            raise InputError("a graph without types", expected=expected, found="none", cure=cure, where="graph")
        return found

    def _curves(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Any:
        tables = tables_of(graph, self.scales_)
        return pair_curves(self.curves_, tables, self.scales_, src, dst, at, self._left_out())

    def _acting(self, graph: TemporalGraph, at: float) -> Ints:
        """List all that had acted by a moment, (n,) node numbers."""
        return np.flatnonzero(past_of(graph).count_outgoing(np.arange(graph.num_nodes), at) > 0)

    def _left_out(self) -> Ints:
        return columns_left_out(self.config.without, LINK_COLUMNS)

    def _likeliest(self, graph: TemporalGraph, source: int, at: float, horizon: Days, k: int) -> tuple[Ints, Days]:
        """Find the k likeliest targets of a source, (k,) node numbers, and their probabilities, (k,)."""
        targets = targets_of(graph, source, at)
        probability = np.empty(targets.size)
        for cut, curves in self._curves(graph, np.full(targets.size, source), targets, np.full(targets.size, at)):
            probability[cut] = curves.within(horizon)[:, 0]
        order = np.argsort(-probability, kind="stable")[:k]
        return targets[order], probability[order]

    def _waits(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> dict[str, Any]:
        return _wait_columns(graph, at, self._curves(graph, src, dst, at))

    def _with_new(
        self, graph: TemporalGraph, table: dict[str, Any], sources: Ints, given: NodeIds, at: float, horizon: Days
    ) -> dict[str, Any]:
        """Add a row per source for someone who had not joined."""
        moments, probability = np.full(sources.size, at), np.empty(sources.size)
        acts = list(act_curves(self.curves_, tables_of(graph, self.scales_), sources, moments))
        for cut, _, someone in acts:
            probability[cut] = someone.within(horizon)[:, 0]
        rows = {
            "src": ids_asked(graph, sources, given),
            "target": np.full(sources.size, None),
            "probability": probability,
        }
        rows |= _wait_columns(graph, moments, ((cut, someone) for cut, _, someone in acts))
        rows["known"] = sources != UNKNOWN
        table = {
            name: np.concatenate([np.asarray(column, object if name == "target" else None), rows[name]])
            for name, column in table.items()
        }
        order = np.argsort(_first_places(table["src"]), kind="stable")
        return {name: column[order] for name, column in table.items()}

    # -- questions ----------------------------------------------------------------------------------------------------

    def _pairs(
        self, graph: TemporalGraph, src: NodeIds, dst: NodeIds, at: Moments, before: Moments
    ) -> tuple[Ints, Ints, Days, Flags]:
        sources = node_numbers(graph, src, "src", "source", unknown=True)
        targets = node_numbers(graph, dst, "dst", "target", unknown=True)
        _warn_unknown(graph, {"src": (src, sources), "dst": (dst, targets)})
        sources, targets = same_length(sources, targets)
        moments = moments_of(graph, at, sources.size, before)
        if moments.size:
            self._warn_stale(graph, float(moments.max()))
        return sources, targets, moments, (sources != UNKNOWN) & (targets != UNKNOWN)

    def _sources(self, graph: TemporalGraph, src: NodeIds, at: float) -> Ints:
        """Find the node numbers of sources, (n,), with a warning for those never seen; None is all that had acted."""
        if src is None:
            return self._acting(graph, at)
        sources = node_numbers(graph, src, "src", "source", unknown=True)
        _warn_unknown(graph, {"src": (src, sources)})
        return sources

    def _horizons(self, days: Any) -> Days:
        try:
            horizons = np.atleast_1d(np.asarray(days, np.float64))
        except (TypeError, ValueError):
            raise InputError("not a horizon", expected="numbers of days", found=repr(days)[:80], where="days") from None
        longest = self.horizon_
        shortest = SHORTEST / TRUSTED * longest
        wrong = ~((horizons >= shortest) & (horizons <= longest))
        if horizons.ndim != 1 or wrong.any():
            expected = f"from {shortest:,.2g} days, a billionth of the history that was learned from, to half of it"
            expected += f", {longest:,.4g} days"
            found = f"{horizons.ndim} dimensions" if horizons.ndim != 1 else f"{horizons[np.argmax(wrong)]:,.6g}"
            raise InputError("a horizon that cannot be trusted", expected=expected, found=found, where="days")
        if horizons.size and horizons.max() > self.trusted_:
            words = f"{float(horizons.max()):,.4g} days are {BEYOND} ({self.trusted_:,.4g} days): it may be less likely"
            warnings.warn(f"days: {words} than is said", TadgeWarning, stacklevel=4)
        return horizons

    def _week_or_less(self, days: Any) -> Any:
        return min(AHEAD.default, self.horizon_) if days is None else days

    def _one_horizon(self, days: Any) -> Days:
        horizon = self._horizons(days)
        if horizon.size != 1:
            raise InputError("several horizons", expected="one number of days", found=f"{horizon.size}", where="days")
        return horizon

    def _warn_stale(self, graph: TemporalGraph, at: float) -> None:
        """Warn where a question is much later than anything that was learned from."""
        times = self.graph_.time
        if at - times[-1] > STALE * (times[-1] - times[0]):
            words = (
                f"the Forecaster has learned from what happened until {date_text(float(times[-1]), graph.clock)} and "
                f"is asked as of {date_text(at, graph.clock)}, {at - times[-1]:,.4g} days later: fit it again"
            )
            warnings.warn(words, TadgeWarning, stacklevel=4)


def _warn_unknown(graph: TemporalGraph, ends: dict[str, tuple[NodeIds, Ints]]) -> None:
    """Name ids that were never seen, of all ends in one warning."""
    unknown: dict[str, str] = {}
    for name, (given, numbers) in ends.items():
        missing = np.flatnonzero(numbers == UNKNOWN)
        for node in np.atleast_1d(np.asarray(given, object))[missing].tolist() if missing.size else ():
            close = " or ".join(repr(one) for one in close_ids(graph.ids, node)) if len(unknown) < SHOWN_IDS else ""
            unknown.setdefault(f"{name} {node!r}", close)
    if unknown:
        some = [f"{name} (did you mean {close}?)" if close else name for name, close in unknown.items()]
        more = f" and {len(some) - SHOWN_IDS:,} more" if len(some) > SHOWN_IDS else ""
        words = f"never seen in this history: {', '.join(some[:SHOWN_IDS])}{more}"
        words += "; answered as for any node that was never seen (known = False)"
        warnings.warn(words, TadgeWarning, stacklevel=4)


def _is_one(nodes: NodeIds) -> bool:
    return np.ndim(nodes) == 0 and nodes is not None  # type: ignore[arg-type]


def _wait_columns(graph: TemporalGraph, at: Days, parts: Iterable[tuple[slice, Curves]]) -> dict[str, Any]:
    """Read waits off curves as of moments, (n,), that come part by part: columns of (n,)."""
    quantiles, never = np.empty((at.size, 1 + len(INTERVALS))), np.empty(at.size)
    for cut, curves in parts:
        quantiles[cut], never[cut] = curves.quantiles([0.5, *INTERVALS.values()]), curves.never
    waits = dict(zip(("median_wait", *INTERVALS), quantiles.T, strict=True))
    dates = {"median_date": dates_of_days(at + quantiles[:, 0])} if graph.clock == "unix" else {}
    return {**waits, "never": never, **dates}


def ids_asked(graph: TemporalGraph, numbers: Ints, given: NodeIds) -> npt.NDArray[Any]:
    """Give ids of node numbers, (n,); those of nodes that were never seen as they were given."""
    ids = graph.ids[np.maximum(numbers, 0)]
    unknown = numbers == UNKNOWN
    if unknown.any():
        asked = np.atleast_1d(np.asarray(given, object))
        ids = ids.astype(object)
        ids[unknown] = asked[unknown] if asked.size == numbers.size else asked[0]
    return ids


def _times(graph: TemporalGraph, days: Days) -> npt.NDArray[Any]:
    return dates_of_days(days) if graph.clock == "unix" else days


def _first_places(values: npt.NDArray[Any]) -> Ints:
    """Number values by where each first stands, (n,)."""
    first: dict[Any, int] = {}
    return np.array([first.setdefault(value, place) for place, value in enumerate(values.tolist())], np.int64)
