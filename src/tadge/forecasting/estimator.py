"""Forecaster: who links to whom and after how long, from what both nodes had done by a moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from os import PathLike
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tadge.arrays import Days, Ints, NodeNumbers, Vectors
from tadge.config import TOP, ForecastConfig
from tadge.errors import InputError
from tadge.estimators import PairEstimator
from tadge.features.columns import LINK_COLUMNS, NUM_SCALES, TOE_COLUMNS, columns_left_out
from tadge.features.link_columns import LINK_WIDTH, link_columns
from tadge.features.tables import Scales, tables_of
from tadge.features.toe_columns import toe_columns
from tadge.forecasting.learn import learn_laws, learn_links, learn_toe
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.toe_laws import ToeLaws
from tadge.forecasting.trees import Trees
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind, one_node
from tadge.progress import Bars
from tadge.protocols import Statistic
from tadge.seeding import check_seed
from tadge.storage.estimator_folder import estimator_parts, write_estimator
from tadge.storage.folder import has_folder, one_writer
from tadge.units import Moment

FORECASTER = "forecaster"  # the kind of its folder
PAIRS_AT_ONCE = 1 << 14  # pairs answered for at once: bounds the memory
ALIGNED_ROWS = 16  # rows are padded to a multiple: BLAS rounds leftover rows differently, so equal pairs could differ
TREES = ("toe_mean", "toe_median")
LAWS: tuple[Statistic, Statistic] = ("mean", "median")
DEFAULT = ForecastConfig()


class Forecaster(PairEstimator):
    """Forecast links from named columns of what both ends of a pair had done by a moment.

    A small network ranks targets, boosted trees predict how long an edge takes. No walk is taken and no vector is
    learned: for vectors see `TADGE`.

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
            with bars.part("how long edges take"):
                trees = learn_toe(graph, scales, self.config, seed)
                laws = learn_laws(graph, scales, self.config, seed, trees)
        self._keep(graph, scales, links, trees, laws)
        return self

    def fit_folder(
        self, graph: TemporalGraph, folder: str | PathLike[str], *, resume: bool = False, progress: bool | None = None
    ) -> Self:
        """Learn from a graph and save into a folder; with resume, take what is there where it is of the same run."""
        if resume and has_folder(folder, FORECASTER):
            kept = type(self).load(folder)
            if kept.about() == self.about() and kept.graph_.fingerprint == graph.fingerprint:
                trees, laws = (kept.toe_mean_, kept.toe_median_), (kept.mean_laws_, kept.median_laws_)
                self._keep(graph, kept.scales_, kept.links_, trees, laws)
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
        trees: tuple[Trees, Trees],
        laws: tuple[ToeLaws, ToeLaws],
    ) -> None:
        self.graph_, self.scales_, self.links_ = graph, scales, links
        (self.toe_mean_, self.toe_median_), (self.mean_laws_, self.median_laws_) = trees, laws

    # -- answers ------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def _score(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Vectors:
        tables, threads = tables_of(graph, self.scales_), torch.get_num_threads()
        left_out = columns_left_out(self.config.without, LINK_COLUMNS)
        scores = np.empty(src.size, np.float32)
        for cut in _cuts(src.size):
            pairs = src[cut], dst[cut], at[cut]
            columns = link_columns(tables, *pairs, threads, left_out=left_out)
            rows = functional.pad(torch.from_numpy(columns), (0, 0, 0, -len(columns) % ALIGNED_ROWS))
            scores[cut] = self.links_(rows)[: len(columns)].numpy()
        return scores

    def rank(
        self,
        src: Any,
        at: Moment | None = None,
        k: int = TOP.default,
        *,
        before: Moment | None = None,
        graph: TemporalGraph | None = None,
    ) -> list[tuple[Any, float]]:
        """List the `k` nodes that src is likeliest to link to next, as (id, probability), likeliest first.

        The probabilities of all nodes (of all targets, in a bipartite graph) sum to 1: they suppose that src acts then.

        Args:
            src: an id.
            at: as in `score_links`, one moment.
            k: how many.
            before: as in `score_links`.
            graph: as in `score_links`.
        """
        graph = self._graph(graph)
        source = NodeNumbers([one_node(graph, src, "src", "source")])
        targets = NodeNumbers(np.arange(graph.num_sources, graph.num_nodes))
        scores = self.score_links(source, targets, at, before=before, graph=graph).astype(np.float64)
        probability = np.exp(scores - scores.max())
        probability /= probability.sum()
        best = np.argsort(-scores, kind="stable")[: TOP.check(k)]
        return list(zip(graph.ids[targets[best]].tolist(), probability[best].tolist(), strict=True))

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, statistic: Statistic) -> Days:
        trees = self.toe_median_ if statistic == "median" else self.toe_mean_
        tables, threads = tables_of(graph, self.scales_), torch.get_num_threads()
        left_out = columns_left_out(self.config.without, TOE_COLUMNS)
        squashed = np.empty(src.size)
        for cut in _cuts(src.size):
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
        learned = {"scales": torch.tensor([self.scales_.log_unit_days, *self.scales_.decay_days], dtype=torch.float64)}
        learned |= {f"links.{key}": value for key, value in self.links_.state_dict().items()}
        for name in TREES:
            trees = getattr(self, f"{name}_")
            learned |= {f"{name}.{part.name}": torch.from_numpy(getattr(trees, part.name)) for part in fields(Trees)}
        for name in LAWS:
            laws = getattr(self, f"{name}_laws_")
            learned |= {f"{name}_laws.{part}": torch.from_numpy(getattr(laws, part)) for part in ("knots", "longer")}
        write_estimator(folder, FORECASTER, graph, {"learned": learned}, self.about())

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a Forecaster that `save` wrote; nothing in the folder is executed."""
        with estimator_parts(folder, FORECASTER) as (graph, parts, meta):
            forecaster = cls(ForecastConfig(**meta["forecast"]), check_seed(meta["seed"]))
            forecaster._keep(graph, *_learned(parts["learned"], forecaster.config))
        return forecaster


def _learned(
    tensors: dict[str, Tensor], config: ForecastConfig
) -> tuple[Scales, LinkScorer, tuple[Trees, Trees], tuple[ToeLaws, ToeLaws]]:
    """Build what was learned from tensors; a ValueError, KeyError, TypeError or RuntimeError where they do not fit."""

    def under(name: str) -> dict[str, Tensor]:
        return {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{name}.")}

    times = tensors["scales"]
    if times.shape != (1 + NUM_SCALES,) or not bool((torch.isfinite(times) & (times > 0)).all()):
        raise ValueError("not scales")
    log_unit_days, *decay_days = times.tolist()
    links = LinkScorer(LINK_WIDTH, config.hidden)
    links.load_state_dict(under("links"))
    mean, median = (Trees(**{part: value.numpy() for part, value in under(name).items()}).checked() for name in TREES)
    mean_laws, median_laws = (
        ToeLaws(**{part: value.numpy() for part, value in under(f"{name}_laws").items()}, statistic=name).checked()
        for name in LAWS
    )
    return Scales(log_unit_days, tuple(decay_days)), links.eval(), (mean, median), (mean_laws, median_laws)


def _cuts(size: int) -> Iterator[slice]:
    return (slice(first, min(first + PAIRS_AT_ONCE, size)) for first in range(0, size, PAIRS_AT_ONCE))
