"""TADGE, the estimator: the paper's network, learned from a graph; vectors, and what follows from vectors alone."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from hashlib import blake2b
from os import PathLike
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from tadge.arrays import Days, Ints, Vectors
from tadge.config import LATEST, TOP, NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.checkpoint import CHECKPOINT, Run, Saver, check_about, read_checkpoint, restore
from tadge.embedding.device import faster_precision, find_device
from tadge.embedding.inference import AsOf, embed_walks
from tadge.embedding.initial import initial_table
from tadge.embedding.loop import Trainer
from tadge.embedding.memory import check_memory, estimate
from tadge.embedding.progress import TrainingBars
from tadge.embedding.source import WalkSource
from tadge.embedding.table import EmbeddingTable
from tadge.embedding.toe_head import HEAD_PAIRS, apply_toe_head, learn_toe_head
from tadge.errors import InputError, TrainingError
from tadge.estimators import PairEstimator
from tadge.features.pairs import timed_pairs
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import Moments, NodeIds, check_kind, match_ids, moments_of, node_numbers, one_node
from tadge.graph.views import both_directions
from tadge.machine import available_memory
from tadge.network.training_model import TrainingModel
from tadge.progress import Bars
from tadge.protocols import Statistic
from tadge.seeding import check_seed, seeded
from tadge.storage.estimator_folder import estimator_parts, write_estimator
from tadge.storage.folder import has_folder, one_writer, remove_kind
from tadge.units import Moment
from tadge.walks.sampler import Walks

MAX_KEPT = 1 << 29  # numbers in the vectors that `prepare` keeps: 2 GB
VECTORS = "tadge"  # of its folder
WALKS, NETWORK, TRAIN = WalkConfig(), NetworkConfig(), TrainConfig()


class TADGE(PairEstimator):
    """Embed the nodes of a temporal graph so that who connects, when, and how long it takes is kept.

    This is the paper's network and what follows from its vectors alone. Forecasts of pairs are better made by
    `Forecaster`, which is another model.

    Args:
        walk_config: how to walk.
        network_config: how large the network is, and in which variant.
        train_config: how to train.
        seed: the same seed gives the same vectors, at the same number of threads and in the same precision.
        device: "cpu", "cuda", ...; by default CUDA where there is one.

    Attributes:
        graph_: the graph it was fitted to.
        history_: figures of every epoch: losses, F1 scores, errors, seconds, walks per second, memory.
        stopped_: why training stopped: "done", "early", "interrupted" or "trouble".
        precision_: the dtype it was trained in.
    """

    name = "TADGE (vectors)"

    def __init__(
        self,
        walk_config: WalkConfig = WALKS,
        network_config: NetworkConfig = NETWORK,
        train_config: TrainConfig = TRAIN,
        seed: int = 0,
        *,
        device: str | None = None,
    ) -> None:
        self.walk_config = walk_config
        self.network_config = network_config
        self.train_config = train_config
        self.seed = seed
        self.device = device

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        graph: TemporalGraph,
        y: None = None,
        *,
        walks: Walks | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
        checkpoint_seconds: float = 60.0,
        progress: bool | None = None,
    ) -> Self:
        """Learn from a graph; Ctrl-C stops and keeps the best so far.

        A directed bipartite graph (users and items) is walked in both directions: items never act, so that otherwise
        no walk would get past one.

        Args:
            graph: what happened.
            y: not used; scikit-learn's convention.
            walks: train on these walks of the graph, instead of walking.
            checkpoint: a folder to keep the run in, so that it can go on after a stop.
            resume: go on from that folder where there is a run in it.
            checkpoint_seconds: time between two checkpoints; 0: after every step.
            progress: whether to show epoch, losses, walks per second and time left; by default where people can see it.
        """
        self._check_params()
        check_kind(graph, TemporalGraph, "graph")
        if walks is not None:
            self._check_walks(walks, graph)
        about = self._about_run(graph, walks)
        run, trouble = None, None
        if resume and checkpoint is not None and has_folder(checkpoint, CHECKPOINT):
            run = read_checkpoint(checkpoint, about)
        with TrainingBars(progress) as bars, one_writer(checkpoint) if checkpoint is not None else nullcontext():
            trainer = self._trainer(graph, walks, run, bars)
            run = None  # what was read is let go
            save = Saver(checkpoint, about, checkpoint_seconds)
            bars.begin(trainer)
            try:
                self.stopped_ = trainer.run(bars.step, save)
            except TrainingError as error:
                self.stopped_, trouble = "trouble", error
            if self.stopped_ == "interrupted":
                save.now(trainer)
            trainer.keep_best()
            self._keep(graph, trainer.tasks, trainer.table.values, trainer.precision, trainer.position.history)
            self._learn_toe_head(bars)
        if trouble is not None:
            raise trouble
        return self

    def fit_folder(
        self,
        graph: TemporalGraph,
        folder: str | PathLike[str],
        *,
        resume: bool = False,
        progress: bool | None = None,
        walks: Walks | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Learn from a graph and save into a folder, with the run's checkpoints there until it is done.

        Args:
            graph: what happened.
            folder: where the model goes.
            resume: go on with a run of the same options, seed and data; where that was done already, take its result.
            progress: as in `fit`.
            walks: as in `fit`.
            checkpoint_seconds: as in `fit`.
        """
        _check_free(folder, resume)
        if resume and not has_folder(folder, CHECKPOINT) and has_folder(folder, VECTORS):
            done = type(self).load(folder, device=self.device)
            if done.stopped_ in ("done", "early"):
                check_about(done._about_run(done.graph_, None), self._about_run(graph, None), folder)
                remove_kind(folder, CHECKPOINT)  # what is left of one where the work was killed right at the end
                self.stopped_ = done.stopped_
                self.toe_head_: Days = done.toe_head_
                self._keep(graph, done.tasks_, done.table_, done.precision_, done.history_)
                return self
        with one_writer(folder):
            options = {"walks": walks, "checkpoint_seconds": checkpoint_seconds, "progress": progress}
            try:
                self.fit(graph, checkpoint=folder, resume=resume, **options)  # type: ignore[arg-type]
            except TrainingError:
                self.save(folder)
                raise
            self.save(folder)
            if self.stopped_ != "interrupted":
                remove_kind(folder, CHECKPOINT)
        return self

    def check_folder(self, graph: TemporalGraph, folder: str | PathLike[str], *, resume: bool = False) -> None:
        """Refuse at once what `fit_folder` would refuse: bad options, or a run in the folder that is of something else.

        Args:
            graph: as in `fit_folder`.
            folder: as in `fit_folder`.
            resume: as in `fit_folder`.
        """
        self._check_params()
        find_device(self.device)
        _check_free(folder, resume)
        if has_folder(folder, CHECKPOINT):
            read_checkpoint(folder, self._about_run(graph, None))

    def _check_params(self) -> None:
        check_kind(self.walk_config, WalkConfig, "walk_config")
        check_kind(self.network_config, NetworkConfig, "network_config")
        check_kind(self.train_config, TrainConfig, "train_config")
        check_seed(self.seed)

    def _trainer(self, graph: TemporalGraph, walks: Walks | None, run: Run | None, bars: TrainingBars) -> Trainer:
        device = find_device(self.device)
        walked = graph if walks is not None else both_directions(graph)
        if walked is not graph:
            bars.say("sources and targets are different nodes: walks go in both directions")
        source = WalkSource(walked, self.walk_config, self.train_config, self.seed, walks)
        if source.note:
            bars.say(source.note)
        tasks = self._tasks()
        num_weights = sum(weight.numel() for weight in tasks.parameters())
        need = estimate(graph.num_nodes, num_weights, self.network_config, self.train_config, source.mean_length)
        bars.say(f"training takes {need}")
        check_memory(need, available_memory())
        if run is None:
            table = initial_table(graph, self.train_config.init, self.network_config.dim, self.seed, bars.part)
        else:
            table = run[0]["table"]["values"]
        precision = self.train_config.precision if run is None else run[1]["precision"]
        trainer = Trainer(
            tasks.to(device), EmbeddingTable(table.to(device)), source, self.train_config, precision, self.seed
        )
        if precision == "auto":
            trainer.precision = faster_precision(device)
        if run is not None:
            restore(trainer, *run)
        return trainer

    def _learn_toe_head(self, bars: Bars) -> None:
        """Learn the linear form of Eq. 36 from vectors as of the moment at which a forecast is asked."""
        with bars.part("how long edges take") as report:
            pairs = timed_pairs(self.graph_, HEAD_PAIRS, self.seed)
            features = self._view(None).pair_features(pairs.src, pairs.dst, pairs.at, LATEST.default, report)
            self.toe_head_ = learn_toe_head(features, pairs.toe)

    def _tasks(self) -> TrainingModel:
        return seeded(lambda: TrainingModel(self.network_config, self.walk_config.max_length), self.seed, "weights")

    def _keep(
        self, graph: TemporalGraph, tasks: TrainingModel, table: Tensor, precision: str, history: list[dict[str, Any]]
    ) -> None:
        self.graph_, self.tasks_, self.table_ = graph, tasks.eval(), table
        self.precision_, self.history_ = precision, history
        self._views: WeakKeyDictionary[TemporalGraph, tuple[Ints, Vectors | None]] = WeakKeyDictionary()

    def about(self) -> dict[str, Any]:
        """Describe all options and the seed as plain values."""
        configs: dict[str, Any] = {
            "walks": self.walk_config,
            "network": self.network_config,
            "train": self.train_config,
        }
        about = {name: asdict(config) for name, config in configs.items()} | {"seed": self.seed}
        return json.loads(json.dumps(about))  # type: ignore[no-any-return]

    def _about_run(self, graph: TemporalGraph, walks: Walks | None) -> dict[str, Any]:
        given = None if walks is None else blake2b(walks.nodes.tobytes() + walks.tov.tobytes(), digest_size=12)
        return self.about() | {"graph": graph.fingerprint, "given walks": given and given.hexdigest()}

    # -- answers ------------------------------------------------------------------------------------------------------

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
        numbers = node_numbers(graph, nodes, "nodes")
        moments, count = moments_of(graph, at, numbers.size, before), LATEST.check(latest)
        with Bars(progress) as bars, bars.part("vectors") as report:
            return view.nodes(numbers, moments, count, report)

    def embed_walks(self, walks: Walks) -> Vectors:
        """Return the representation of each node in each walk, (W, L, D); NaN beyond a walk's length.

        The walks are of the graph that the model was fitted to, or of one with the same nodes. Walks are compared with
        each other in windows, in order of their start.
        """
        view = self._view(None)
        self._check_walks(walks, view.graph)
        config = self.train_config
        return embed_walks(self.tasks_, self.table_, view.rows, walks, config.window, config.batch_size)

    def predict_walk_toe(self, walks: Walks) -> Days:
        """Read the ToE of each edge off its walk, (W, L - 1) squashed; NaN beyond a walk's length (Eq. 36).

        This is reconstruction: the network has seen the ToE that it is asked for. See `predict_toe` for a forecast.
        """
        projected = self.embed_walks(walks) @ self.tasks_.toe_weight.detach().cpu().numpy()  # (W, L)
        return (projected[:, :-1] + projected[:, 1:]).astype(np.float64)  # type: ignore[no-any-return]

    def _score(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Vectors:
        """Multiply the vectors of both ends (Eq. 35)."""
        return self._view(graph).inner_products(src, dst, at, LATEST.default)

    def _predict(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, statistic: Statistic) -> Days:
        """Predict by a linear form of both vectors (Eq. 36): the mean, whichever statistic is asked for."""
        return apply_toe_head(self._view(graph).pair_features(src, dst, at, LATEST.default), self.toe_head_)

    def similar(
        self, node: Any, k: int = TOP.default, *, at: Moment | None = None, before: Moment | None = None
    ) -> list[tuple[Any, float]]:
        """List the `k` nodes nearest to a node by the cosine about the mean vector, as (id, cosine), nearest first.

        Args:
            node: an id.
            k: how many.
            at: as in `embed`.
            before: as in `embed`.
        """
        number = one_node(self._graph(), node, "node")
        vectors = self.embed(at=at, before=before)
        vectors = vectors - vectors.mean(axis=0)
        length = np.linalg.norm(vectors, axis=1)
        cosine = vectors @ vectors[number] / np.maximum(length * length[number], 1e-12)
        cosine[number] = -np.inf
        best = np.argsort(-cosine, kind="stable")[: min(TOP.check(k), cosine.size - 1)]
        return list(zip(self.graph_.ids[best].tolist(), cosine[best].tolist(), strict=True))

    def prepare(self, graph: TemporalGraph | None = None, *, progress: bool | None = None) -> Self:
        """Embed every occurrence of a graph once and keep the vectors, before many questions about that graph.

        Answers are the same up to rounding: nothing that comes later changes a vector. A graph is let go with all that
        was kept of it; one whose vectors would take more than 2 GB is not kept.
        """
        view, graph = self._view(graph), self._graph(graph)
        if view.kept is None and view.graph.num_occurrences * self.network_config.dim <= MAX_KEPT:
            with Bars(progress) as bars, bars.part("vectors") as report:
                vectors = view.occurrences(np.arange(view.graph.num_occurrences), report)
            self._views[graph] = view.rows, vectors
        return self

    def _view(self, graph: TemporalGraph | None) -> AsOf:
        """Give what embeds a graph's nodes; those that were not there in training have the unknown row."""
        graph = self._graph(graph)
        if graph not in self._views:  # no AsOf is kept: it would hold its graph
            unknown = self.graph_.num_nodes + 1
            rows = match_ids(graph, self.graph_)
            known = (rows >= 0) & (self.graph_.degree > 0)[rows]
            self._views[graph] = np.where(known, rows, unknown), None
        rows, kept = self._views[graph]
        walked = both_directions(graph)
        return AsOf(self.tasks_.network, self.table_, rows, walked, self.train_config.window, kept)

    def _check_walks(self, walks: Walks, graph: TemporalGraph) -> None:
        check_kind(walks, Walks, "walks")
        max_length = self.walk_config.max_length
        if len(walks) and walks.nodes.max() >= graph.num_nodes:
            expected, found = f"nodes from 0 to {graph.num_nodes - 1:,}", f"{walks.nodes.max():,}"
            raise InputError("these walks are of another graph", expected=expected, found=found, where="walks")
        if len(walks) and walks.lengths.max() > max_length:
            expected, found = f"at most max_length = {max_length} nodes", str(walks.lengths.max())
            raise InputError("these walks are too long for the model", expected=expected, found=found, where="walks")

    # -- disk ---------------------------------------------------------------------------------------------------------

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the model into a folder, beside a Forecaster where there is one: safetensors and JSON."""
        graph = self._graph()
        parts = {"weights": self.tasks_.state_dict()}
        parts["table"] = {"values": self.table_, "toe_head": torch.from_numpy(self.toe_head_)}
        meta = {"precision": self.precision_, "history": self.history_, "stopped": self.stopped_}
        write_estimator(folder, VECTORS, graph, parts, self.about() | meta)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, device: str | None = None) -> Self:
        """Read a model that `save` wrote; nothing in the folder is executed."""
        where = find_device(device)
        with estimator_parts(folder, VECTORS) as (graph, parts, meta):
            configs = WalkConfig(**meta["walks"]), NetworkConfig(**meta["network"]), TrainConfig(**meta["train"])
            model = cls(*configs, check_seed(meta["seed"]), device=device)
            tasks = model._tasks()
            tasks.load_state_dict(parts["weights"])
            table, head, dim = parts["table"]["values"], parts["table"]["toe_head"].numpy(), model.network_config.dim
            if tuple(table.shape) != (graph.num_nodes + 2, dim) or head.shape != (2 * dim + 1,):
                raise ValueError("not the vectors of this graph")
            model.stopped_, model.toe_head_ = meta["stopped"], head
            model._keep(graph, tasks.to(where), table.to(where), meta["precision"], meta["history"])
        return model


def _check_free(folder: str | PathLike[str], resume: bool) -> None:
    """Refuse a folder with a run that is not done, unless it is to be resumed."""
    if has_folder(folder, CHECKPOINT) and not resume:
        cure = "say resume=True to go on with it, or name another folder"
        raise InputError("there is a run in this folder that is not done", cure=cure, where=str(folder))
