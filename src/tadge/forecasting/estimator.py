"""Forecaster: who links to whom and after how long, from what both nodes had done by a moment."""

from __future__ import annotations

from dataclasses import asdict, replace
from os import PathLike
from typing import Any, Self

import numpy as np
import torch

from tadge.arrays import Days, Ints, Report, Vectors
from tadge.config import TOP, ForecastConfig
from tadge.errors import InputError
from tadge.features.columns import LINK_COLUMNS, TOE_COLUMNS, columns_left_out
from tadge.features.link_columns import link_columns
from tadge.features.tables import Scales, tables_of
from tadge.features.toe_columns import toe_columns
from tadge.forecasting.ask_curves import aligned, cuts
from tadge.forecasting.learn import learn_laws, learn_links, learn_toe
from tadge.forecasting.learn_curves import learn_curves
from tadge.forecasting.learned import Learned, from_tensors, to_tensors
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.rank_calibration import RankCalibration, calibrate_ranking
from tadge.forecasting.surprise import usual_surprise
from tadge.forecasting.timed_answers import TimedAnswers
from tadge.forecasting.toe_laws import ToeLaws
from tadge.forecasting.trees import Trees
from tadge.forecasting.waits import targets_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind, moments_of, one_node
from tadge.graph.past import past_of
from tadge.progress import Bars
from tadge.protocols import Statistic
from tadge.seeding import check_seed
from tadge.storage.estimator_folder import estimator_parts, write_estimator
from tadge.storage.folder import has_folder, one_writer
from tadge.units import Moment
from tadge.validation import latest_from

FORECASTER = "forecaster"  # the kind of its folder
DEFAULT = ForecastConfig()


class Forecaster(TimedAnswers):
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
    """

    links_: LinkScorer
    ranking_: RankCalibration
    toe_mean_: Trees
    toe_median_: Trees
    mean_laws_: ToeLaws
    median_laws_: ToeLaws

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
        scales = Scales.of(graph)
        with Bars(progress) as bars:
            with bars.part("who links to whom") as report:
                links = learn_links(graph, scales, self.config, seed, report)
            with bars.part("how likely those are") as report:
                ranking = self._calibrated(graph, scales, seed, report)
            with bars.part("within which time") as report:
                curves = learn_curves(graph, scales, self.config, seed, report)
                curves = replace(curves, usual=usual_surprise(curves, graph, scales, self.config, seed))
            with bars.part("how long edges take"):
                trees = learn_toe(graph, scales, self.config, seed)
                laws = learn_laws(graph, scales, self.config, seed, trees)
        self._keep(graph, Learned(scales, links, ranking, curves, *trees, *laws))
        return self

    def _calibrated(self, graph: TemporalGraph, scales: Scales, seed: int, report: Report) -> RankCalibration:
        """Learn how likely targets are on the latest fifth of the events, from a scorer that knows the others."""
        begin = latest_from(graph.num_events)
        early = graph.before(float(graph.time[begin])) if begin < graph.num_events else graph
        if not 0 < early.num_events < graph.num_events:
            return RankCalibration()
        scorer = learn_links(early, scales, self.config, seed, report)
        return calibrate_ranking(scorer, graph, scales, self.config, seed, early.num_events)

    def fit_folder(
        self, graph: TemporalGraph, folder: str | PathLike[str], *, resume: bool = False, progress: bool | None = None
    ) -> Self:
        """Learn from a graph and save into a folder; with resume, take what is there where it is of the same run."""
        if resume and has_folder(folder, FORECASTER):
            kept = type(self).load(folder)
            if kept.about() == self.about() and kept.graph_.fingerprint == graph.fingerprint:
                self._keep(graph, kept._learned())
                return self
        with one_writer(folder):
            self.fit(graph, progress=progress)
            self.save(folder)
        return self

    def _keep(self, graph: TemporalGraph, learned: Learned) -> None:
        self.graph_ = graph
        for name, value in learned._asdict().items():
            setattr(self, f"{name}_", value)

    def _learned(self) -> Learned:
        return Learned(*(getattr(self, f"{name}_") for name in Learned._fields))

    # -- answers ------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def _score(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Vectors:
        tables, threads = tables_of(graph, self.scales_), torch.get_num_threads()
        left_out = columns_left_out(self.config.without, LINK_COLUMNS)
        scores = np.empty(src.size, np.float32)
        for cut in cuts(src.size):
            columns = link_columns(tables, src[cut], dst[cut], at[cut], threads, left_out=left_out)
            scores[cut] = self.links_(aligned(columns))[: len(columns)].numpy()
        return scores

    def rank(
        self,
        src: Any,
        at: Moment | None = None,
        k: int = TOP.default,
        *,
        before: Moment | None = None,
        new: bool = False,
        graph: TemporalGraph | None = None,
    ) -> list[tuple[Any, float]]:
        """List the `k` nodes that src is likeliest to link to next, as (id, probability), likeliest first.

        The probabilities suppose that src acts then, and on a node that had joined: over all of these they sum to 1.
        The source itself is among them only where some node had linked to itself. For how likely a link is within some
        time, see `next`.

        Args:
            src: an id.
            at: as in `score_links`, one moment.
            k: how many.
            before: as in `score_links`.
            new: suppose only that src acts: the last of the list is then (None, probability), for someone who had not
                joined.
            graph: as in `score_links`.
        """
        graph = self._graph(graph)
        source = one_node(graph, src, "src", "source")
        moment = float(moments_of(graph, at, 1, before)[0])
        self._warn_stale(graph, moment)
        targets, best = targets_of(graph, source, moment), TOP.check(k)
        if not targets.size:
            return [(None, 1.0)] if new else []
        scores = self._score(graph, np.full(targets.size, source), targets, np.full(targets.size, moment))
        joined = bool(past_of(graph).first[source] <= moment)
        someone_new = self.ranking_.new[0 if joined else 1] if new else 0.0
        order = np.argsort(-scores, kind="stable")[:best]
        probability = self.ranking_.probabilities(scores)
        likely = ((1.0 - someone_new) * probability[order]).tolist()
        listed = list(zip(graph.ids[targets[order]].tolist(), likely, strict=True))
        return [*listed, (None, someone_new)] if new else listed

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, statistic: Statistic) -> Days:
        trees = self.toe_median_ if statistic == "median" else self.toe_mean_
        tables, threads = tables_of(graph, self.scales_), torch.get_num_threads()
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
        """Write the Forecaster into a folder, beside a TADGE where there is one: safetensors and JSON."""
        graph = self._graph()
        write_estimator(folder, FORECASTER, graph, {"learned": to_tensors(self._learned())}, self.about())

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a Forecaster that `save` wrote; nothing in the folder is executed."""
        with estimator_parts(folder, FORECASTER) as (graph, parts, meta):
            forecaster = cls(ForecastConfig(**meta["forecast"]), check_seed(meta["seed"]))
            forecaster._keep(graph, from_tensors(parts["learned"], forecaster.config))
        return forecaster
