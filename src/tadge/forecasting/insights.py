"""What users ask of a Forecaster to understand it: why a forecast is as it is, and what has changed of late."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.config import FALSE_DISCOVERIES
from tadge.errors import InputError, TadgeWarning
from tadge.features.link_columns import LINK_WIDTH
from tadge.features.tables import tables_of
from tadge.forecasting.ask_curves import columns_of, cuts, hazards
from tadge.forecasting.attribution import Typical, attribute, column_groups, typical_questions
from tadge.forecasting.changes import Changes, Periods, changed_paces, drift_of, new_nodes, new_pairs, silent_pairs
from tadge.forecasting.curve_models import bands_of, kinds_of_rows, with_season
from tadge.forecasting.curves import Curves
from tadge.forecasting.overdue import open_pairs
from tadge.forecasting.plain_networks import PlainScorer
from tadge.forecasting.rank_calibration import RankCalibration
from tadge.forecasting.reasons import HOURS_OF_WEEK, TYPES_OF_EVENTS, PairFacts
from tadge.forecasting.timed_answers import TimedAnswers, ids_asked
from tadge.forecasting.waits import next_links, targets_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import Moments, NodeIds, moments_of
from tadge.graph.past import past_of
from tadge.io.frames import data_frame
from tadge.machine import num_threads
from tadge.seeding import check_seed, stream
from tadge.units import Moment, date_text, moment, span_text

WEEK = 2  # which of the scales counts as lately
TYPICAL_OTHERS = 128  # of a source's targets that its ranking is explained beside
FEW_EVENTS = 5  # since a moment: too few to tell what has changed
KNOWN_PAIRS = 20_000  # that are asked about, at the most


class Insights(TimedAnswers):
    """Say why a forecast is as it is, and what has changed of late."""

    seed: int
    links_: PlainScorer
    ranking_: RankCalibration

    def explain(
        self,
        src: NodeIds,
        dst: NodeIds,
        days: float | None = None,
        at: Moments = None,
        *,
        before: Moments = None,
        graph: TemporalGraph | None = None,
    ) -> Any:
        """Say why src is, or is not, likely to link to dst: a DataFrame, what moved the forecast most first.

        What is known of a pair falls into a handful of causes, such as the links of src to dst, or the acts of src. For
        each, `reason` says it in words with times, and `moved` is its part in the `probability` of a link within so
        many days: all parts of a pair add up to that probability less the `typical` one, which is that of any pair of
        this history. They are Shapley values. `moved_score` are those of the ranking, in units of log odds: they add up
        to what tells dst from a typical target of src, supposed that src acts.

        Args:
            src: as in `within`, as all others; a row for each pair and cause.
            dst: ids.
            days: the horizon; by default a week, or `horizon_` where that is less.
            at: moments.
            before: moments.
            graph: what happened.
        """
        graph = self._graph(graph)
        horizon = self._one_horizon(self._week_or_less(days))
        sources, targets, moments, _ = self._pairs(graph, src, dst, at, before)
        names = ids_asked(graph, sources, src), ids_asked(graph, targets, dst)
        groups = column_groups(graph.directed, graph.bipartite)
        columns = columns_of(tables_of(graph, self.scales_), sources, targets, moments, self._left_out())
        known = columns.shape[1]
        columns = self._with_season(columns, moments)
        further = {TYPES_OF_EVENTS: (LINK_WIDTH, known), HOURS_OF_WEEK: (known, columns.shape[1])}
        groups |= {name: np.arange(*places) for name, places in further.items() if places[0] < places[1]}
        typical = {now: self._typical(graph, now) for now in np.unique(moments).tolist()}
        labels, places = list(groups), list(groups.values())
        table: dict[str, list[Any]] = {"cause": [], "reason": []}
        numbers = np.empty((4, sources.size, len(groups)))  # moved, moved_score, probability, typical
        for pair, now in enumerate(moments.tolist()):
            ends, row = (int(sources[pair]), int(targets[pair])), columns[pair]
            known_as = str(names[0][pair]), str(names[1][pair])
            facts = PairFacts(graph, *ends, now, known_as, self.scales_.decay_days[WEEK])
            hour = float(np.exp(row[known])) if row.size > known else 1.0
            moved, likely, usual = self._parts_of_probability(row, *typical[now], places, horizon)
            score = self._parts_of_score(graph, row, ends[0], now, places)
            order = np.argsort(-np.abs(moved), kind="stable")
            table["cause"] += [labels[cause] for cause in order]
            table["reason"] += [facts.sentence(labels[cause], row, hour) for cause in order]
            numbers[:2, pair] = moved[order], score[order]
            numbers[2, pair], numbers[3, pair] = likely, usual
        fields = ("moved", "moved_score", "probability", "typical")
        ids = {name: np.repeat(one, len(groups)) for name, one in zip(("src", "dst"), names, strict=True)}
        words = {name: np.array(column, object) for name, column in table.items()}
        return data_frame(ids | words | dict(zip(fields, numbers.reshape(4, -1), strict=True)))

    def changes(
        self,
        since: Moment,
        until: Moment | None = None,
        *,
        level: float = FALSE_DISCOVERIES.default,
        graph: TemporalGraph | None = None,
    ) -> Changes:
        """Tell what is new since a moment: nodes, pairs, paces, pairs that fell silent, and the drift of the whole.

        The time since then is set beside the time before, at most four times as long. Paces are tested: what chance and
        the past's own ups and downs explain is not listed, and of what is listed about a fraction `level` is expected
        to be false. The drift has, beside how much happened, what the Forecaster said that pairs which had met would
        do, and what they did.

        Args:
            since: days on the graph's clock, or a date; what happened at that very moment belongs to the new.
            until: the end, included; that of the graph by default.
            level: the rate of false discoveries.
            graph: as in `within`.
        """
        graph, level = self._graph(graph), FALSE_DISCOVERIES.check(level)
        end, first = float(moments_of(graph, until, 1)[0]), float(graph.time[0])
        start = moment(since, graph.clock)
        if not first < start < end:
            expected = f"after {date_text(first, graph.clock)} and before {date_text(end, graph.clock)}"
            found = date_text(start, graph.clock)
            raise InputError("no period to look at", expected=expected, found=found, where="since")
        periods = Periods.of(graph, start, end)
        count = int(np.count_nonzero((graph.time >= start) & (graph.time <= end)))
        if count < FEW_EVENTS:
            happened = f"{count:,} event{'s' * (count != 1)} since {date_text(start, graph.clock)}"
            warnings.warn(f"since: only {happened}: hardly anything to compare", TadgeWarning, stacklevel=2)
        return Changes(
            nodes=data_frame(new_nodes(graph, periods)),
            pairs=data_frame(new_pairs(graph, periods)),
            paces=data_frame(changed_paces(graph, periods, level)),
            silent=data_frame(silent_pairs(graph, periods, level)),
            drift=data_frame(drift_of(graph, periods, self._said_and_came(graph, periods))),
            periods=periods,
            learned=bool(self.graph_.time[-1] >= start),
            clock=graph.clock,
        )

    def _said_and_came(self, graph: TemporalGraph, periods: Periods) -> dict[str, tuple[float, float]]:
        """Tell which fraction of pairs that had met was said to link again, and did, before and since."""
        days = min(periods.days[0] / 2, periods.days[1], self.horizon_)
        both = graph.directed and not graph.bipartite
        said, came = [], []
        for begin in (periods.since - days, periods.since):
            at = float(np.nextafter(begin, -np.inf))
            pairs = open_pairs(past_of(graph).pairs, at, both)
            rng = np.random.default_rng(int(stream(check_seed(self.seed), "known pairs")))
            some = np.sort(rng.permutation(pairs.src.size)[:KNOWN_PAIRS])
            src, dst, moments = pairs.src[some], pairs.dst[some], np.full(some.size, at)
            probability = np.empty(some.size)
            for cut, curves in self._curves(graph, src, dst, moments):
                probability[cut] = curves.within(days)[:, 0]
            said.append(float(probability.mean()) if some.size else np.nan)
            came.append(float(np.mean(next_links(graph, src, dst, moments) <= days)) if some.size else np.nan)
        within = f"within {span_text(days)}"
        rows = {f"known pairs that link {within}, said": said, f"known pairs that link {within}, came": came}
        return {name: (pair[0], pair[1]) for name, pair in rows.items()}

    # -- parts of a forecast ------------------------------------------------------------------------------------------

    def _typical(self, graph: TemporalGraph, at: float) -> tuple[Vectors, Days]:
        """Give the columns of typical questions, (B, F), and how much each counts, (B,)."""
        typical: Typical = typical_questions(graph, at, check_seed(self.seed))
        tables = tables_of(graph, self.scales_)
        columns = columns_of(tables, typical.src, typical.dst, typical.at, self._left_out())
        return self._with_season(columns, typical.at), typical.weight

    def _with_season(self, columns: Vectors, at: Days) -> Vectors:
        return with_season(columns, at, self.curves_.edges, self.curves_.season)

    def _parts_of_probability(
        self, row: Vectors, typical: Vectors, weight: Days, groups: list[Ints], horizon: Days
    ) -> tuple[Days, float, float]:
        """Give the parts of groups in the probability within a horizon, (G,), that itself, and the typical one."""

        def probability(rows: Vectors) -> Days:
            models, answer = self.curves_, np.empty(len(rows))
            bands = bands_of(models.edges, self.scales_)
            for cut in cuts(len(rows)):
                ratio = models.ratio[:, bands][kinds_of_rows(rows[cut])]
                answer[cut] = Curves(models.edges, hazards(models.pairs, rows[cut]) * ratio).within(horizon)[:, 0]
            return answer

        moved = attribute(probability, row, typical, weight, groups)
        return moved, float(probability(row[None])[0]), float(probability(typical) @ weight)

    def _parts_of_score(self, graph: TemporalGraph, row: Vectors, src: int, at: float, groups: list[Ints]) -> Days:
        """Give the parts of groups in what tells a target from others of its source, (G,)."""
        targets = targets_of(graph, max(src, 0), at)
        if not targets.size:
            return np.zeros(len(groups))
        tables, sources, moments = tables_of(graph, self.scales_), np.full(targets.size, src), np.full(targets.size, at)
        every = columns_of(tables, sources, targets, moments, self._left_out())
        slope = self.ranking_.slope_of(self._scores_of_rows(every))
        typical = every[np.unique(np.linspace(0, targets.size - 1, TYPICAL_OTHERS).astype(np.int64))]
        weight = np.full(len(typical), 1 / len(typical))
        width = every.shape[1]
        known = [group for group in groups if group[0] < width]  # the hour is the same for all targets
        parts = attribute(self._scores_of_rows, row[:width], typical, weight, known)
        return slope * np.append(parts, np.zeros(len(groups) - len(known)))

    def _scores_of_rows(self, rows: Vectors) -> Days:
        return self.links_(rows, num_threads()).astype(np.float64)
