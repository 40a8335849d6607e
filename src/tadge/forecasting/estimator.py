"""Forecaster: who links to whom and after how long, from what both nodes had done by a moment."""

from __future__ import annotations

import logging
import warnings
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.config import TOP, ForecastConfig
from tadge.errors import InputError, TadgeWarning
from tadge.features.columns import TOE_COLUMNS, columns_left_out
from tadge.features.tables import tables_of
from tadge.features.toe_columns import toe_columns
from tadge.forecasting.ask_curves import UNKNOWN, columns_of, cuts
from tadge.forecasting.insights import Insights
from tadge.forecasting.learned import Learned, from_arrays, to_arrays
from tadge.forecasting.plain_networks import PlainScorer
from tadge.forecasting.rank_calibration import RankCalibration
from tadge.forecasting.rules import RuleCheck
from tadge.forecasting.timed_answers import ids_asked
from tadge.forecasting.toe_laws import ToeLaws
from tadge.forecasting.trees import Trees
from tadge.forecasting.waits import targets_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import NodeIds, check_kind, moments_of
from tadge.graph.past import past_of
from tadge.io.frames import data_frame
from tadge.machine import num_threads, return_memory
from tadge.progress import Bars
from tadge.protocols import Statistic
from tadge.seeding import check_seed
from tadge.storage.estimator_folder import check_about, estimator_arrays, write_estimator
from tadge.storage.folder import has_folder, one_writer
from tadge.storage.replacement import FORECASTER, begin_run, end_run, give_up_run
from tadge.units import Moment

DEFAULT = ForecastConfig()
_log = logging.getLogger(__name__)


class Forecaster(Insights):
    """Forecast links from named columns of what both ends of a pair had done by a moment.

    Small networks rank targets and give curves, the probability of a link within any time; boosted trees predict how
    long an edge takes. No walk is taken and no vector is learned: for vectors see `TADGE`.

    Args:
        config: how it learns.
        seed: the same seed gives the same answers.

    Attributes:
        graph_: the graph it was fitted to.
        scales_: what is a short and what is a long time in it.
        links_: the network that scores links.
        toe_mean_: trees that predict the mean of the squashed ToE.
        toe_median_: trees that predict its median.
        mean_laws_: how ToEs are spread around what the first predict: what is left once some time has passed.
        median_laws_: the same for the second.
        curves_: the networks that give curves, and their calibration.
        ranking_: how scores become the probabilities of `rank`.
        horizon_: the longest time, in days, that `within` can be asked about.
        trusted_: up to how many days a model of earlier events did not promise clearly more than came.
        seasonal_: whether curves know of the hours of the week.
        types_: the types of events that are looked at; none where they do not help.
        validation_: how it compares with simple rules, by kind of event, on the latest fifth.
    """

    links_: PlainScorer
    ranking_: RankCalibration
    toe_mean_: Trees
    toe_median_: Trees
    mean_laws_: ToeLaws
    median_laws_: ToeLaws
    checks_: tuple[RuleCheck, ...]

    name = "Forecaster"

    def __init__(self, config: ForecastConfig = DEFAULT, seed: int = 0) -> None:
        self.config = config
        self.seed = seed

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(self, graph: TemporalGraph, y: None = None, *, progress: bool | None = None) -> Self:
        """Learn from a graph; about a minute for 36,000 events on two cores.

        Args:
            graph: what happened.
            y: not used; scikit-learn's convention.
            progress: whether to show a progress bar; by default where somebody can see it.
        """
        check_kind(graph, TemporalGraph, "graph")
        check_kind(self.config, ForecastConfig, "config")
        seed = check_seed(self.seed)
        if not graph.num_events:
            raise InputError("nothing to learn from", expected="a graph with events", found="none", where="graph")
        from tadge.forecasting.fitting import learn_all  # here, as answers do without torch

        with Bars(progress, log=_log) as bars:
            learned = learn_all(graph, self.config, seed, bars)
        self._keep(graph, learned)
        return_memory()
        self._warn_of_rules()
        return self

    def _warn_of_rules(self) -> None:
        below = [check.sentence() for check in self.checks_ if check.is_below]
        if below:
            words = "on the latest fifth of the events a simple rule has a higher MRR than a model of those before"
            warnings.warn(f"{words}: {'; '.join(below)}", TadgeWarning, stacklevel=3)

    @property
    def validation_(self) -> Any:
        """Compare the model with simple rules on the latest fifth of what it was fitted to: a DataFrame.

        A model of the events before is asked. By `kind` of event ("all", "repeat", "answer": a first link back, "first
        contact") and by whom the true target is ranked `against` ("random" nodes, "former" targets of the source, nodes
        "alike", whose link would be of the same kind): its `mrr`, the best `rule`, its `rule_mrr`, and a 95% interval
        of the difference, `low` to `high`. Where `high` is below 0 the rule ranks better.
        """
        self._graph()
        columns = zip(*self.checks_, strict=True) if self.checks_ else ([] for _ in RuleCheck._fields)
        return data_frame(dict(zip(RuleCheck._fields, map(list, columns), strict=True)))

    def fit_folder(
        self,
        graph: TemporalGraph,
        folder: str | PathLike[str],
        *,
        resume: bool = False,
        force: bool = False,
        progress: bool | None = None,
    ) -> Self:
        """Learn from a graph and save into a folder; one that holds a Forecaster already is refused.

        Args:
            graph: what happened.
            folder: where it goes.
            resume: take the Forecaster that is there, of the same options, seed and data.
            force: replace the one that is there. It stays as it is until the new one is whole.
            progress: as in `fit`.
        """
        with one_writer(folder):
            place = begin_run(folder, (FORECASTER,), resume=resume, force=force)
            if resume and has_folder(place, FORECASTER):
                kept = type(self).load(place)
                about = {"graph": graph.fingerprint}
                check_about(kept.about() | {"graph": kept.graph_.fingerprint}, self.about() | about, place)
                self._keep(graph, kept._learned())
                return self
            try:
                self.fit(graph, progress=progress)
            finally:
                give_up_run(folder)
            self.save(place)
            if place != Path(folder):
                end_run(folder)
        return self

    def _keep(self, graph: TemporalGraph, learned: Learned) -> None:
        self.graph_ = graph
        for name, value in learned._asdict().items():
            setattr(self, f"{name}_", value)

    def _learned(self) -> Learned:
        return Learned(*(getattr(self, f"{name}_") for name in Learned._fields))

    def __getstate__(self) -> dict[str, Any]:
        learned = [f"{name}_" for name in Learned._fields]
        state = {name: value for name, value in vars(self).items() if name not in learned}
        if "graph_" in state:
            state["_arrays"] = to_arrays(self._learned())
            state["_checks"] = [list(check) for check in self.checks_]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        arrays, checks = state.pop("_arrays", None), state.pop("_checks", [])
        self.__dict__.update(state)
        if arrays is not None:
            self._keep(self.graph_, from_arrays(arrays, checks, self.config))

    # -- answers ------------------------------------------------------------------------------------------------------

    def _score(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Vectors:
        tables, left_out = tables_of(graph, self.scales_), self._left_out()
        scores = np.empty(src.size, np.float32)
        for cut in cuts(src.size):
            scores[cut] = self.links_(columns_of(tables, src[cut], dst[cut], at[cut], left_out), num_threads())
        return scores

    def rank(
        self,
        src: NodeIds,
        at: Moment | None = None,
        k: int = TOP.default,
        *,
        before: Moment | None = None,
        new: bool = False,
        graph: TemporalGraph | None = None,
    ) -> Any:
        """List the `k` nodes that each source is likeliest to link to next: a DataFrame, likeliest first.

        The columns are `src`, `target`, `probability` and `known`. The probabilities suppose that src acts then, and on
        a node that had joined: over all of these they sum to 1. The source itself is among them only where some node
        had linked to itself. Where `known` is False the source was never seen, and the answer is that for any such
        node. For how likely a link is within some time, see `next`.

        Args:
            src: ids, or None for all that had acted.
            at: as in `score_links`, one moment.
            k: how many targets of each.
            before: as in `score_links`.
            new: suppose only that src acts: each source has a last row without a target (None), for someone who had
                not joined.
            graph: as in `score_links`.
        """
        graph, best = self._graph(graph), TOP.check(k)
        moment = float(moments_of(graph, at, 1, before)[0])
        self._warn_stale(graph, moment)
        sources = self._sources(graph, src, moment)
        parts = [self._ranked(graph, source, moment, best, new) for source in sources.tolist()]
        targets = [graph.ids[found] for found, _ in parts]
        if new:
            targets = [np.array([*listed.tolist(), None], object) for listed in targets]
        counts = [listed.size for listed in targets]
        return data_frame(
            {
                "src": np.repeat(ids_asked(graph, sources, src), counts),
                "target": np.concatenate([graph.ids[:0], *targets]),
                "probability": np.concatenate([np.empty(0), *(probability for _, probability in parts)]),
                "known": np.repeat(sources != UNKNOWN, counts),
            }
        )

    def _ranked(self, graph: TemporalGraph, source: int, at: float, k: int, new: bool) -> tuple[Ints, Days]:
        """Find the k likeliest targets, (k,), and their probabilities, (k,); with `new`, one more of someone new."""
        targets = targets_of(graph, source, at)
        joined = source != UNKNOWN and bool(past_of(graph).first[source] <= at)
        someone_new = (self.ranking_.new[0 if joined else 1] if targets.size else 1.0) if new else 0.0
        likely = np.empty(0)
        if targets.size:
            scores = self._score(graph, np.full(targets.size, source), targets, np.full(targets.size, at))
            order = np.argsort(-scores, kind="stable")[:k]
            targets, likely = targets[order], (1.0 - someone_new) * self.ranking_.probabilities(scores)[order]
        return targets, np.append(likely, someone_new) if new else likely

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, statistic: Statistic) -> Days:
        trees = self.toe_median_ if statistic == "median" else self.toe_mean_
        tables, threads = tables_of(graph, self.scales_), num_threads()
        left_out = columns_left_out(self.config.without, TOE_COLUMNS)
        squashed = np.empty(src.size)
        for cut in cuts(src.size):
            pairs = src[cut], dst[cut], at[cut]
            squashed[cut] = trees.predict(toe_columns(tables, *pairs, threads, left_out=left_out))
        return squashed

    def _given_passed(self, squashed: Days, passed: Days, statistic: Statistic) -> Days:
        laws = self.median_laws_ if statistic == "median" else self.mean_laws_
        return laws.given_passed(squashed, passed)

    # -- disk ---------------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Describe all options and the seed as plain values."""
        return {"forecast": asdict(self.config), "seed": self.seed}

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the Forecaster into a folder, beside a TADGE where there is one: safetensors and JSON.

        A Forecaster that is there already is replaced, as by any `save` in Python; until the new one is whole it stays.
        """
        graph = self._graph()
        meta = self.about() | {"validation": [list(check) for check in self.checks_]}
        write_estimator(folder, FORECASTER, graph, {"learned": to_arrays(self._learned())}, meta)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a Forecaster that `save` wrote; nothing in the folder is executed."""
        with estimator_arrays(folder, FORECASTER) as (graph, parts, meta):
            forecaster = cls(ForecastConfig(**meta["forecast"]), check_seed(meta["seed"]))
            forecaster._keep(graph, from_arrays(parts["learned"], meta["validation"], forecaster.config))
        return forecaster
