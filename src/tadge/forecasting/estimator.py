"""Forecaster: who links to whom and after how long, from what both nodes had done by a moment."""

from __future__ import annotations

from dataclasses import asdict, fields
from os import PathLike
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from tadge.arrays import Days, Ints, Report, Vectors
from tadge.config import TOP, ForecastConfig
from tadge.errors import InputError
from tadge.features.columns import LINK_COLUMNS, NUM_SCALES, TOE_COLUMNS, columns_left_out
from tadge.features.link_columns import LINK_WIDTH, NODE_WIDTH, link_columns
from tadge.features.tables import Scales, tables_of
from tadge.features.toe_columns import toe_columns
from tadge.forecasting.ask_curves import aligned, cuts
from tadge.forecasting.curves import NUM_BINS
from tadge.forecasting.hazard_network import HazardNetwork
from tadge.forecasting.learn import learn_links, learn_toe
from tadge.forecasting.learn_curves import NUM_BANDS, CurveModels, learn_curves
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.rank_calibration import RankCalibration, calibrate_ranking
from tadge.forecasting.timed_answers import TimedAnswers
from tadge.forecasting.trees import Trees
from tadge.forecasting.waits import targets_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind, moments_of, one_node
from tadge.graph.past import NUM_KINDS, past_of
from tadge.progress import Bars
from tadge.protocols import Statistic
from tadge.seeding import check_seed
from tadge.storage.estimator_folder import estimator_parts, write_estimator
from tadge.storage.folder import has_folder, one_writer
from tadge.units import Moment
from tadge.validation import latest_from

FORECASTER = "forecaster"  # the kind of its folder
TREES = ("toe_mean", "toe_median")
CURVES = {"pairs": (LINK_WIDTH, 1), "acts": (NODE_WIDTH, 2)}  # the networks: their columns, and curves for each row
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
        curves_: the networks that give curves, and their calibration.
        ranking_: how scores become the probabilities of `rank`.
        horizon_: the longest time, in days, that `within` can be asked about.
    """

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
            with bars.part("how long edges take"):
                toe_mean, toe_median = learn_toe(graph, scales, self.config, seed)
        self._keep(graph, scales, links, toe_mean, toe_median, curves, ranking)
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
                self._keep(graph, *kept._learned())
                return self
        with one_writer(folder):
            self.fit(graph, progress=progress)
            self.save(folder)
        return self

    def _keep(
        self,
        graph: TemporalGraph,
        scales: Scales,
        links: LinkScorer,
        toe_mean: Trees,
        toe_median: Trees,
        curves: CurveModels,
        ranking: RankCalibration,
    ) -> None:
        self.graph_, self.scales_, self.links_ = graph, scales, links
        self.toe_mean_, self.toe_median_ = toe_mean, toe_median
        self.curves_, self.ranking_ = curves, ranking

    def _learned(self) -> tuple[Scales, LinkScorer, Trees, Trees, CurveModels, RankCalibration]:
        return self.scales_, self.links_, self.toe_mean_, self.toe_median_, self.curves_, self.ranking_

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

    # -- disk ---------------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Describe all options and the seed as plain values."""
        return {"forecast": asdict(self.config), "seed": self.seed}

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the Forecaster into a folder, beside a TADGE where there is one: safetensors and JSON."""
        graph = self._graph()
        learned = {"scales": torch.tensor([self.scales_.log_unit_days, *self.scales_.decay_days], dtype=torch.float64)}
        learned |= {f"links.{key}": value for key, value in self.links_.state_dict().items()}
        for name in TREES:
            trees = getattr(self, f"{name}_")
            learned |= {f"{name}.{part.name}": torch.from_numpy(getattr(trees, part.name)) for part in fields(Trees)}
        for name in CURVES:
            learned |= {f"{name}.{key}": value for key, value in getattr(self.curves_, name).state_dict().items()}
        ranking = [self.ranking_.slope, *self.ranking_.new]
        learned["edges"], learned["ratio"] = torch.from_numpy(self.curves_.edges), torch.from_numpy(self.curves_.ratio)
        learned["ranking"] = torch.tensor(ranking, dtype=torch.float64)
        write_estimator(folder, FORECASTER, graph, {"learned": learned}, self.about())

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a Forecaster that `save` wrote; nothing in the folder is executed."""
        with estimator_parts(folder, FORECASTER) as (graph, parts, meta):
            forecaster = cls(ForecastConfig(**meta["forecast"]), check_seed(meta["seed"]))
            forecaster._keep(graph, *_read_learned(parts["learned"], forecaster.config))
        return forecaster


def _read_learned(
    tensors: dict[str, Tensor], config: ForecastConfig
) -> tuple[Scales, LinkScorer, Trees, Trees, CurveModels, RankCalibration]:
    """Build what was learned from tensors; a ValueError, KeyError, TypeError or RuntimeError where they do not fit."""

    def under(name: str) -> dict[str, Tensor]:
        return {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{name}.")}

    log_unit_days, *decay_days = _positive(tensors["scales"], (1 + NUM_SCALES,)).tolist()
    edges = _positive(tensors["edges"], (NUM_BINS,)).numpy()
    if not (np.diff(edges) > 0).all():
        raise ValueError("not bins of time")
    ratio = _positive(tensors["ratio"], (NUM_KINDS, NUM_BANDS)).numpy()
    links = LinkScorer(LINK_WIDTH, config.hidden)
    links.load_state_dict(under("links"))
    mean, median = (Trees(**{part: value.numpy() for part, value in under(name).items()}).checked() for name in TREES)
    networks = []
    for name, (width, count) in CURVES.items():
        networks.append(HazardNetwork(width, config.hidden, count * NUM_BINS))
        networks[-1].load_state_dict(under(name))
    curves = CurveModels(edges, networks[0].eval(), networks[1].eval(), ratio)
    return Scales(log_unit_days, tuple(decay_days)), links.eval(), mean, median, curves, _ranking(tensors["ranking"])


def _ranking(values: Tensor) -> RankCalibration:
    slope, joined, unseen = values.tolist()
    if not (slope > 0 and 0.0 <= joined <= 1.0 and 0.0 <= unseen <= 1.0):
        raise ValueError("not a calibration")
    return RankCalibration(slope, (joined, unseen))


def _positive(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    if (
        values.shape != shape
        or values.dtype != torch.float64
        or not bool((torch.isfinite(values) & (values > 0)).all())
    ):
        raise ValueError("not positive numbers")
    return values
