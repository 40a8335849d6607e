"""What users ask of TADGE: vectors as of any moment, who is alike, and what follows from vectors alone."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from torch import Tensor

from tadge.arrays import Days, Ints, Vectors
from tadge.config import LATEST, STEPS, TOP, NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.checkpoint import FINISHED, unfinished_words
from tadge.embedding.inference import AsOf, embed_walks
from tadge.embedding.likeness import nearest
from tadge.embedding.table import with_own_rows
from tadge.embedding.toe_head import apply_toe_head
from tadge.embedding.trajectory import Trajectory, movements
from tadge.errors import InputError, TadgeWarning
from tadge.estimators import PairEstimator
from tadge.graph.cache import GraphCache
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import Moments, NodeIds, check_kind, last_moment, match_ids, moments_of, node_numbers
from tadge.graph.past import past_of
from tadge.graph.views import both_directions
from tadge.io.frames import data_frame
from tadge.network.training_model import TrainingModel
from tadge.progress import Bars
from tadge.protocols import Statistic
from tadge.seeding import check_seed
from tadge.units import Moment, date_text, moment
from tadge.walks.sampler import Walks

_log = logging.getLogger(__name__)
MAX_KEPT = 1 << 29  # numbers in the vectors that `prepare` keeps: 2 GB


@dataclass
class Kept:
    """Hold what is found once about a graph that is asked about.

    Attributes:
        table: (N' + 2, D) input vectors.
        rows: (N,) the row of the table of each node.
        occurrences: (O, D) vectors of all occurrences, where `prepare` made them.
        whole: the moment of the latest question about all nodes, and their vectors, (N, D).
    """

    table: Tensor
    rows: Ints
    occurrences: Vectors | None = None
    whole: tuple[float, Vectors] | None = None


class VectorAnswers(PairEstimator):
    """Answer from vectors as of a moment."""

    walk_config: WalkConfig
    network_config: NetworkConfig
    train_config: TrainConfig
    seed: int
    tasks_: TrainingModel
    table_: Tensor
    toe_head_: Days
    stopped_: str
    history_: list[dict[str, Any]]
    _views: GraphCache[Kept]

    def embed(
        self,
        nodes: NodeIds = None,
        at: Moments = None,
        *,
        before: Moments = None,
        graph: TemporalGraph | None = None,
        latest: int = LATEST.default,
        progress: bool | None = None,
    ) -> Vectors:
        """Return a vector for every node asked for, (n, D), as of a moment, from what happened until then.

        A node's vector is the mean over its latest occurrences at or before that moment. Nodes that joined after
        training are embedded through the nodes that their chains pass; nodes that have not joined yet, as the unknown
        node.

        Args:
            nodes: ids; all nodes by default, in the order of `graph.ids`.
            at: days on the graph's clock or dates, one for all or one each: what happened until then, that moment
                included, is known. The end of the graph by default.
            before: instead of `at`: what happened at that very moment is not known.
            graph: what happened, where that is more than the model was fitted to.
            latest: how many occurrences.
            progress: whether to show how far it is; by default where people can see it.
        """
        view, graph = self._view(graph), self._graph(graph)
        self._warn_unfinished()
        numbers = node_numbers(graph, nodes, "nodes")
        moments, count = moments_of(graph, at, numbers.size, before), LATEST.check(latest)
        if nodes is None and count == LATEST.default and numbers.size and moments.min() == moments.max():
            return self._whole(graph, float(moments[0]), progress).copy()
        with Bars(progress, log=_log) as bars, bars.part("vectors") as report:
            return view.nodes(numbers, moments, count, report)

    def embed_walks(self, walks: Walks) -> Vectors:
        """Return the representation of each node in each walk, (W, L, D); NaN beyond a walk's length.

        The walks are of the graph that the model was fitted to, or of one with the same nodes. Walks are compared with
        each other in windows, in order of their start.
        """
        view = self._view(None)
        self._check_walks(walks, view.graph)
        config = self.train_config
        return embed_walks(self.tasks_, view.table, view.rows, walks, config.window, config.batch_size)

    def predict_walk_toe(self, walks: Walks) -> Days:
        """Read the ToE of each edge off its walk, (W, L - 1) squashed; NaN beyond a walk's length (Eq. 36).

        This is reconstruction: the network has seen the ToE that it is asked for. See `predict_toe` for a forecast.
        """
        projected = self.embed_walks(walks) @ self.tasks_.toe_weight.detach().cpu().numpy()  # (W, L)
        return (projected[:, :-1] + projected[:, 1:]).astype(np.float64)  # type: ignore[no-any-return]

    def _score(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Vectors:
        """Multiply the vectors of both ends' latest occurrences (Eq. 35): older ones tell less of who is next."""
        self._warn_unfinished()
        return self._view(graph).inner_products(src, dst, at, 1)

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, statistic: Statistic) -> Days:
        """Predict by a linear form of both vectors (Eq. 36): the mean, whichever statistic is asked for."""
        self._warn_unfinished()
        return apply_toe_head(self._view(graph).pair_features(src, dst, at, LATEST.default), self.toe_head_)

    def similar(
        self,
        nodes: NodeIds,
        k: int = TOP.default,
        *,
        at: Moment | None = None,
        before: Moment | None = None,
        graph: TemporalGraph | None = None,
    ) -> Any:
        """List the `k` nodes nearest to each node: a DataFrame of `id`, `neighbour` and `similarity`, nearest first.

        The similarity is the cosine of vectors about the mean vector. The vectors of all nodes are kept for the next
        question about the same moment; those as of the end are kept beside a saved model too.

        Args:
            nodes: ids; None for all nodes.
            k: how many of each.
            at: as in `embed`, one moment.
            before: as in `embed`.
            graph: as in `embed`.
        """
        graph, most = self._graph(graph), TOP.check(k)
        self._warn_unfinished()
        numbers = node_numbers(graph, nodes, "nodes")
        as_of = float(moments_of(graph, at, 1, before)[0])
        near, cosine = nearest(self._whole(graph, as_of), numbers, min(most, graph.num_nodes - 1))
        ids, neighbours = np.repeat(graph.ids[numbers], near.shape[1]), graph.ids[near.reshape(-1)]
        return data_frame({"id": ids, "neighbour": neighbours, "similarity": cosine.reshape(-1)})

    def trajectory(
        self,
        nodes: NodeIds,
        steps: int = STEPS.default,
        *,
        k: int = TOP.default,
        since: Moment | None = None,
        at: Moment | None = None,
        graph: TemporalGraph | None = None,
    ) -> Trajectory:
        """Tell how far nodes moved, when, and towards whom: two DataFrames, `steps` and `neighbours`.

        A node moves only by links of its own. So that "moved" means something, every step also has how far others went
        that had links in the same time: their median, and the fraction that moved less.

        Args:
            nodes: ids.
            steps: so many moments, evenly from the first to the last.
            k: how many of the nearest neighbours, then and now, are compared.
            since: the first moment, as in `embed`; by default each node's own, when it was first seen.
            at: the last moment, as in `embed`.
            graph: as in `embed`.
        """
        graph, count, most = self._graph(graph), STEPS.check(steps), TOP.check(k)
        self._warn_unfinished()
        numbers = node_numbers(graph, nodes, "nodes")
        last = float(moments_of(graph, at, 1)[0])
        first = np.maximum(past_of(graph).first[numbers], -np.inf if since is None else moment(since, graph.clock))
        if (first >= last).any():
            late = int(np.argmax(first >= last))
            expected, found = f"before {date_text(last, graph.clock)}", date_text(float(first[late]), graph.clock)
            what = f"{graph.ids[numbers[late]]!r} has no past to look at"
            raise InputError(what, expected=expected, found=found, where="nodes" if since is None else "since")
        whole, seed = self._whole(graph, last), check_seed(self.seed)
        parts = [
            movements(self._view(graph), whole, int(node), np.linspace(begin, last, count), most, seed)
            for node, begin in zip(numbers, first, strict=True)
        ]
        return Trajectory.of(graph, numbers, parts)

    def _whole(self, graph: TemporalGraph, at: float, progress: bool | None = False) -> Vectors:
        """Give the vectors of all nodes as of a moment, (N, D); those of the latest question are kept."""
        view = self._view(graph)
        kept = self._views[graph].whole
        if kept is None or kept[0] != at:
            with Bars(progress, log=_log) as bars, bars.part("vectors") as report:
                numbers = np.arange(graph.num_nodes)
                kept = at, view.nodes(numbers, np.full(numbers.size, at), LATEST.default, report)
            self._views[graph].whole = kept
        return kept[1]

    def prepare(self, graph: TemporalGraph | None = None, *, progress: bool | None = None) -> Self:
        """Embed every occurrence of a graph once and keep the vectors, before many questions about that graph.

        Answers are the same up to rounding: nothing that comes later changes a vector. A graph is let go with all that
        was kept of it; one whose vectors would take more than 2 GB is not kept.
        """
        view, graph = self._view(graph), self._graph(graph)
        if view.kept is None and view.graph.num_occurrences * self.network_config.dim <= MAX_KEPT:
            with Bars(progress, log=_log) as bars, bars.part("vectors") as report:
                vectors = view.occurrences(np.arange(view.graph.num_occurrences), report)
            self._views[graph].occurrences = vectors
        return self

    def _view(self, graph: TemporalGraph | None) -> AsOf:
        """Give what embeds a graph's nodes; those not there in training have the unknown row, or one of their own."""
        graph = self._graph(graph)
        if graph not in self._views:  # no AsOf is kept: it would hold its graph
            unknown = self.graph_.num_nodes + 1
            rows = match_ids(graph, self.graph_)
            known = (rows >= 0) & (self.graph_.degree > 0)[rows]
            table, rows = self.table_, np.where(known, rows, unknown)
            if self.train_config.new_nodes == "own":
                table, rows = with_own_rows(table, rows, graph.ids, check_seed(self.seed))
            self._views[graph] = Kept(table, rows)
        kept, walked = self._views[graph], both_directions(graph)
        return AsOf(self.tasks_.network, kept.table, kept.rows, walked, self.train_config.window, kept.occurrences)

    def _warn_unfinished(self, where: str = "") -> None:
        """Say what the answers of a TADGE are whose training was not brought to its end."""
        if self.stopped_ in FINISHED or (self.stopped_ == "budget" and self.history_):  # as long as was planned
            return
        words = unfinished_words(self.stopped_, len(self.history_), self.train_config.epochs)
        warnings.warn(f"{where}{words}", TadgeWarning, stacklevel=4)

    def _check_walks(self, walks: Walks, graph: TemporalGraph) -> None:
        check_kind(walks, Walks, "walks")
        max_length = self.walk_config.max_length
        if len(walks) and walks.nodes.max() >= graph.num_nodes:
            expected, found = f"nodes from 0 to {graph.num_nodes - 1:,}", f"{walks.nodes.max():,}"
            raise InputError("these walks are of another graph", expected=expected, found=found, where="walks")
        if len(walks) and walks.lengths.max() > max_length:
            expected, found = f"at most max_length = {max_length} nodes", str(walks.lengths.max())
            raise InputError("these walks are too long for the model", expected=expected, found=found, where="walks")

    def _keep_whole(self, vectors: Vectors) -> None:
        """Keep the vectors of all nodes as of the end."""
        self._view(self.graph_)
        self._views[self.graph_].whole = last_moment(self.graph_), vectors
