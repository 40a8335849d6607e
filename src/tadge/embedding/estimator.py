"""TADGE, the estimator: learn from a graph, embed its nodes, answer who, when and who else."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from dataclasses import asdict
from hashlib import blake2b
from importlib.metadata import version
from os import PathLike
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch

from tadge.arrays import Days, Ints
from tadge.config import ModelConfig, Option, TrainConfig, WalkConfig
from tadge.deepwalk.initialise import initial_vectors
from tadge.embedding.batches import Sequences, batch_windows, pack_batch, window_starts
from tadge.embedding.checkpoint import KIND as CHECKPOINT
from tadge.embedding.checkpoint import Run, Saver, check_about, read_checkpoint, restore
from tadge.embedding.inference import AsOf, Report, Vectors
from tadge.embedding.loop import Trainer
from tadge.embedding.memory import available, check_memory, estimate
from tadge.embedding.precision import faster_precision
from tadge.embedding.progress import Progress
from tadge.embedding.source import WalkSource
from tadge.embedding.table import Table
from tadge.embedding.toe_head import MOST_PAIRS, apply_head, ridge
from tadge.errors import InputError, TrainingError
from tadge.features.pairs import timed_pairs
from tadge.forecasting.estimator import Forecaster
from tadge.forecasting.learn import seeded
from tadge.graph import TemporalGraph
from tadge.graph.chains import last_joined
from tadge.graph.inputs import (
    At,
    Nodes,
    check_kind,
    find_device,
    match_ids,
    moments_of,
    node_numbers,
    one_node,
    pairs_of,
)
from tadge.network.training_model import TrainingModel
from tadge.seeding import check_seed, stream
from tadge.storage.folder import has_folder, one_writer, read_folder, remove_kind, write_folder
from tadge.storage.graph_file import graph_from, graph_tensors
from tadge.units import Moment, squash, unsquash
from tadge.walks.sampler import Walks

LATEST = 5  # occurrences whose mean a node is
PAIRS = 1 << 16  # pairs scored at once: bounds the memory
MOST_KEPT = 1 << 29  # numbers in the vectors that `prepare` keeps: 2 GB
MODEL = "model"
_LATEST = Option("latest", int, LATEST, "latest occurrences that a node is the mean of", low=1)
_K = Option("k", int, 10, "how many nodes", low=1)


class TADGE:
    """Embed the nodes of a temporal graph so that who connects, when, and how long it takes is kept.

    Args:
        walks: how to walk.
        model: how large the network is.
        train: how to train.
        seed: the same seed gives the same vectors, at the same number of threads and in the same number format.
        device: "cpu", "cuda", ...; by default CUDA where there is one.

    Attributes:
        graph_: the graph it was fitted to.
        history_: figures of every epoch: losses, F1 scores, errors, seconds, walks per second, memory.
        stopped_: why training stopped: "done", "early", "interrupted" or "trouble".
        precision_: the number format it was trained in.
    """

    def __init__(
        self,
        walks: WalkConfig | None = None,
        model: ModelConfig | None = None,
        train: TrainConfig | None = None,
        seed: int = 0,
        *,
        device: str | None = None,
    ) -> None:
        self.walks, self.model, self.train = walks or WalkConfig(), model or ModelConfig(), train or TrainConfig()
        self.seed = check_seed(seed)
        self.device = device

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        graph: TemporalGraph,
        *,
        walks: Walks | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
        checkpoint_seconds: float = 60.0,
        progress: bool | None = None,
    ) -> TADGE:
        """Learn from a graph; Ctrl-C stops and keeps the best so far.

        Args:
            graph: what happened.
            walks: train on these walks of the graph, instead of walking.
            checkpoint: a folder to keep the run in, so that it can go on after a stop.
            resume: go on from that folder where there is a run in it.
            checkpoint_seconds: time between two checkpoints; 0: after every step.
            progress: whether to show epoch, losses, walks per second and time left; by default where people can see it.
        """
        check_kind(graph, TemporalGraph, "graph")
        if walks is not None:
            self._check_walks(walks, graph)
        about = self._about(graph, walks)
        run, trouble = None, None
        if resume and checkpoint is not None and has_folder(checkpoint, CHECKPOINT):
            run = read_checkpoint(checkpoint, about)
        with Progress(progress) as show, one_writer(checkpoint) if checkpoint is not None else nullcontext():
            trainer = self._trainer(graph, walks, run, show)
            run = None  # what was read is let go
            save = Saver(checkpoint, about, checkpoint_seconds)
            show.begin(trainer)
            try:
                self.stopped_ = trainer.run(show.step, save)
            except TrainingError as error:
                self.stopped_, trouble = "trouble", error
            if self.stopped_ == "interrupted":
                save.now(trainer)
            trainer.keep_best()
            self._keep(graph, trainer.tasks, trainer.table.values, trainer.precision, trainer.position.history)
            self._learn_to_forecast(show, save, trainer)
        if trouble is not None:
            raise trouble
        return self

    def _trainer(self, graph: TemporalGraph, walks: Walks | None, run: Run | None, show: Progress) -> Trainer:
        device = find_device(self.device)
        source = WalkSource(graph, self.walks, self.train, self.seed, walks)
        if source.note:
            show.say(source.note)
        tasks = self._tasks()
        num_weights = sum(weight.numel() for weight in tasks.parameters())
        need = estimate(graph.num_nodes, num_weights, self.model, self.train, source.mean_length)
        show.say(f"training takes {need}")
        check_memory(need, available())
        table = self._initial_table(graph, show) if run is None else run[0]["table"]["values"]
        precision = self.train.precision if run is None else run[1]["precision"]
        trainer = Trainer(tasks.to(device), Table(table.to(device)), source, self.train, precision, self.seed)
        if precision == "auto":
            trainer.precision = faster_precision(device)
        if run is not None:
            restore(trainer, *run)
        return trainer

    def _learn_to_forecast(self, show: Progress, save: Saver, trainer: Trainer) -> None:
        """Learn to answer for pairs; where there is no time for it, by the linear form of Eq. 36 alone."""
        self.forecaster_, self.toe_head_ = None, np.zeros(2 * self.model.dim + 1)
        if self.train.forecast_steps and self.stopped_ != "interrupted":
            try:
                self.forecaster_ = Forecaster.learn(self.graph_, self.train.forecast_steps, self.seed, show.part)
            except KeyboardInterrupt:
                self.stopped_ = "interrupted"
                save.now(trainer)
        if self.forecaster_ is None:
            with show.part("how long edges take") as report:
                pairs = timed_pairs(self.graph_, MOST_PAIRS, self.seed)
                ends = self._pair_features(self._view(None), pairs.src, pairs.dst, pairs.at, report)
                self.toe_head_ = ridge(ends, pairs.toe)

    def _tasks(self) -> TrainingModel:
        return seeded(lambda: TrainingModel(self.model, self.walks.max_length), self.seed, "weights")

    def _initial_table(self, graph: TemporalGraph, show: Progress) -> torch.Tensor:
        """Make the table: vectors of the wanted method, brought to a mean length of 1, and two random rows."""
        with show.part(f"initial vectors ({self.train.init})") as report:
            vectors = initial_vectors(graph, self.train.init, self.model.dim, self.seed, report)
        rng = np.random.default_rng(int(stream(self.seed, "further rows")))
        scale = float(np.sqrt(np.mean(np.sum(vectors[graph.degree > 0].astype(np.float64) ** 2, axis=1))))
        vectors /= np.float32(scale or 1.0)
        further = rng.standard_normal((2, self.model.dim)) / math.sqrt(self.model.dim)
        return torch.from_numpy(np.concatenate([vectors, further.astype(np.float32)]))

    def _keep(
        self,
        graph: TemporalGraph,
        tasks: TrainingModel,
        table: torch.Tensor,
        precision: str,
        history: list[dict[str, Any]],
    ) -> None:
        self.graph_, self.tasks_, self.table_ = graph, tasks.eval(), table
        self.precision_, self.history_ = precision, history
        self._known: WeakKeyDictionary[TemporalGraph, tuple[Ints, Vectors | None]] = WeakKeyDictionary()
        self._largest_toe = float(squash(graph.toe_values().max(initial=0.0)))

    def _about(self, graph: TemporalGraph, walks: Walks | None) -> dict[str, Any]:
        about = {"walks": asdict(self.walks), "model": asdict(self.model), "train": asdict(self.train)}
        given = None if walks is None else blake2b(walks.nodes.tobytes() + walks.tov.tobytes(), digest_size=12)
        about |= {"seed": self.seed, "graph": graph.fingerprint, "given walks": given and given.hexdigest()}  # type: ignore[dict-item]
        return json.loads(json.dumps(about))  # type: ignore[no-any-return]

    # -- answers ------------------------------------------------------------------------------------------------------

    def embed(
        self,
        nodes: Nodes = None,
        at: At = None,
        *,
        graph: TemporalGraph | None = None,
        latest: int = LATEST,
        progress: bool | None = None,
    ) -> Vectors:
        """Return a vector for every node asked for, (n, D), as of a moment, from what happened until then.

        A node is the mean over its latest occurrences at or before that moment. Nodes that joined after training are
        embedded through the nodes that their chains pass; nodes that have not joined yet, as the unknown vertex.

        Args:
            nodes: node numbers, or ids that are texts; all nodes by default.
            at: days on the graph's clock or a date, one for all or one each; the end by default.
            graph: what happened, where that is more than the model was fitted to; node numbers are then this graph's.
            latest: how many occurrences.
            progress: whether to show how far it is; by default where people can see it.
        """
        view = self._view(graph)
        numbers = node_numbers(view.graph, nodes, "nodes")
        moments, count = moments_of(view.graph, at, numbers.size), _LATEST.check(latest)
        with Progress(progress) as show, show.part("vectors") as report:
            return view.nodes(numbers, moments, count, report)

    @torch.inference_mode()
    def embed_walks(self, walks: Walks) -> Vectors:
        """Return the representation of each node in each walk, (W, L, D); NaN beyond a walk's length.

        The walks are of the graph that the model was fitted to, or of one with the same nodes. Walks are compared with
        each other in windows, in order of their start.
        """
        view = self._view(None)
        self._check_walks(walks, view.graph)
        result = np.full((*walks.nodes.shape, self.model.dim), np.nan, np.float32)
        if not len(walks):
            return result
        sequences, window = Sequences.of(walks, view.rows), min(self.train.window, len(walks))
        starts = window_starts(len(sequences), window, window)
        for windows in batch_windows(starts, window, max(window, self.train.batch_size)):
            batch = pack_batch(sequences, windows, len(self.table_) - 2, device=self.table_.device)
            made = self.tasks_.embed(batch, self.table_[batch.rows]).nodes.float().cpu().numpy()
            walk = np.empty(windows.size, np.int64)
            walk[batch.windows.cpu().numpy().reshape(-1)] = sequences.order[windows.reshape(-1)]
            packing = batch.packing
            result[walk[packing.walk_of.cpu().numpy()], packing.step_of.cpu().numpy()] = made
        return result

    def predict_walk_toe(self, walks: Walks) -> Days:
        """Read the ToE of each edge off its walk, (W, L - 1) squashed; NaN beyond a walk's length (Eq. 36).

        This is reconstruction: the network has seen the ToE that it is asked for. See `predict_toe` for a forecast.
        """
        each = self.embed_walks(walks) @ self.tasks_.toe_weight.detach().cpu().numpy()  # (W, L)
        return (each[:, :-1] + each[:, 1:]).astype(np.float64)  # type: ignore[no-any-return]

    def score_links(
        self, src: Nodes, dst: Nodes, at: At = None, *, graph: TemporalGraph | None = None
    ) -> npt.NDArray[np.float32]:
        """Score links src -> dst, (n,), as of a moment; higher is likelier.

        The score is the logarithm of a chance, up to what is the same for all dst of one src and moment. A model that
        was fitted with forecast_steps = 0 gives the product of their vectors instead (Eq. 35).

        Args:
            src: node numbers, or ids that are texts.
            dst: as many.
            at: as in `embed`.
            graph: as in `embed`.
        """
        view = self._view(graph)
        one, other, moments = pairs_of(view.graph, src, dst, at)
        if self.forecaster_ is not None:
            return self.forecaster_.score_links(view.graph, one, other, _known(view.graph, moments))
        vectors, place = view.distinct(np.concatenate([one, other]), np.concatenate([moments, moments]), LATEST)
        scores = np.empty(one.size, np.float32)
        for first in range(0, one.size, PAIRS):
            part = slice(first, first + PAIRS)
            ends = vectors[place[: one.size][part]], vectors[place[one.size :][part]]
            scores[part] = np.einsum("nd,nd->n", *ends)
        return scores

    def predict_toe(
        self, src: Nodes, dst: Nodes, at: At = None, *, graph: TemporalGraph | None = None, squashed: bool = False
    ) -> Days:
        """Guess how long it takes until src links to dst, (n,) days since dst last joined.

        In days it is the median: half of such links come sooner. Squashed it is the mean. It is the guess that could be
        made when dst joined, but never less than the time that has passed since; what else happened in that time is
        not looked at. A model that was fitted with forecast_steps = 0 knows the mean only (Eq. 36).

        Args:
            src: node numbers, or ids that are texts.
            dst: as many.
            at: as in `embed`; the guess is of the time since dst last joined at or before it.
            graph: as in `embed`.
            squashed: return the mean of 2 arctan(days) / pi instead, which the paper regresses.
        """
        view = self._view(graph)
        one, other, moments = pairs_of(view.graph, src, dst, at)
        moments = _known(view.graph, moments)
        joined = last_joined(view.graph, other, moments)
        passed = np.where(joined > -np.inf, moments - joined, 0.0)
        moments = np.where(joined > -np.inf, joined, moments)
        if self.forecaster_ is not None:
            guess = self.forecaster_.guess_toe(view.graph, one, other, moments, median=not squashed)
        else:
            guess = apply_head(self._pair_features(view, one, other, moments), self.toe_head_)
        guess = np.maximum(np.clip(guess, 0.0, self._largest_toe), squash(passed))
        return guess if squashed else unsquash(guess)

    def rank(
        self, src: int | str, at: Moment | None = None, k: int = 10, *, graph: TemporalGraph | None = None
    ) -> list[tuple[Any, float]]:
        """List the `k` nodes that src is likeliest to link to next, as (id, chance), likeliest first.

        The chances of all nodes (of all targets, in a bipartite graph) sum to 1: they suppose that src acts then.

        Args:
            src: a node number, or an id that is a text.
            at: as in `embed`.
            k: how many.
            graph: as in `embed`.
        """
        view = self._view(graph)
        number = one_node(view.graph, src, "src")
        targets = np.arange(view.graph.num_sources, view.graph.num_nodes)
        scores = self.score_links(np.full(targets.size, number), targets, at, graph=graph).astype(np.float64)
        chance = np.exp(scores - scores.max())
        chance /= chance.sum()
        best = np.argsort(-scores, kind="stable")[: _K.check(k)]
        return list(zip(view.graph.ids[targets[best]].tolist(), chance[best].tolist(), strict=True))

    def similar(self, node: int | str, k: int = 10, *, at: Moment | None = None) -> list[tuple[Any, float]]:
        """List the `k` nodes nearest to a node by the cosine about the mean vector, as (id, cosine), nearest first."""
        vectors = self.embed(at=at)
        vectors = vectors - vectors.mean(axis=0)
        own = one_node(self.graph_, node, "node")
        length = np.linalg.norm(vectors, axis=1)
        cosine = vectors @ vectors[own] / np.maximum(length * length[own], 1e-12)
        cosine[own] = -np.inf
        best = np.argsort(-cosine, kind="stable")[: min(_K.check(k), cosine.size - 1)]
        return list(zip(self.graph_.ids[best].tolist(), cosine[best].tolist(), strict=True))

    def prepare(self, graph: TemporalGraph | None = None, *, progress: bool | None = None) -> TADGE:
        """Embed every occurrence of a graph once and keep the vectors, before many questions about that graph.

        Answers are the same up to rounding: nothing that comes later changes a vector. A graph is let go with all that
        was kept of it; one whose vectors would take more than 2 GB is not kept.
        """
        view = self._view(graph)
        if view.kept is None and view.graph.num_occurrences * self.model.dim <= MOST_KEPT:
            with Progress(progress) as show, show.part("vectors") as report:
                made = view.occurrences(np.arange(view.graph.num_occurrences), report)
            self._known[view.graph] = view.rows, made
        return self

    def _pair_features(
        self, view: AsOf, src: Ints, dst: Ints, at: Days, report: Report = lambda done, total: None
    ) -> Vectors:
        """Put together the vectors of both ends, (n, 2 D): who acts in the mean, who is linked to in its latest."""
        return np.concatenate([view.nodes(src, at, LATEST, report), view.nodes(dst, at, 1)], axis=1)

    def _view(self, graph: TemporalGraph | None) -> AsOf:
        """Give what embeds a graph's nodes; those that were not there in training have the unknown row."""
        if not hasattr(self, "graph_"):
            raise InputError("the model is not fitted", cure="call fit first, or TADGE.load a fitted one")
        graph = self.graph_ if graph is None else graph
        check_kind(graph, TemporalGraph, "graph")
        if graph not in self._known:  # no AsOf is kept: it would hold its graph
            unknown = self.graph_.num_nodes + 1
            rows = match_ids(graph, self.graph_)
            known = (rows >= 0) & (self.graph_.degree > 0)[rows]
            self._known[graph] = np.where(known, rows, unknown), None
        rows, kept = self._known[graph]
        return AsOf(self.tasks_.network, self.table_, rows, graph, self.train.window, kept)

    def _check_walks(self, walks: Walks, graph: TemporalGraph) -> None:
        check_kind(walks, Walks, "walks")
        if len(walks) and walks.nodes.max() >= graph.num_nodes:
            expected, found = f"nodes from 0 to {graph.num_nodes - 1:,}", f"{walks.nodes.max():,}"
            raise InputError("these walks are of another graph", expected=expected, found=found, where="walks")
        if len(walks) and walks.lengths.max() > self.walks.max_length:
            expected, found = f"at most max_length = {self.walks.max_length} vertices", str(walks.lengths.max())
            raise InputError("these walks are too long for the model", expected=expected, found=found, where="walks")

    # -- disk ---------------------------------------------------------------------------------------------------------

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the model into a folder: weights, table and graph as safetensors, the rest as JSON."""
        self._view(None)
        tensors, about_graph = graph_tensors(self.graph_)
        parts = {"weights": self.tasks_.state_dict(), "graph": tensors}
        parts["table"] = {"values": self.table_, "toe_head": torch.from_numpy(self.toe_head_)}
        meta = self._about(self.graph_, None) | {"graph": about_graph, "fingerprint": self.graph_.fingerprint}
        meta |= {"precision": self.precision_, "history": self.history_, "stopped": self.stopped_}
        if self.forecaster_ is not None:
            parts["forecast"] = self.forecaster_.tensors()
        write_folder(folder, MODEL, parts, meta | {"tadge": version("tadge")})

    @classmethod
    def load(cls, folder: str | PathLike[str], *, device: str | None = None) -> TADGE:
        """Read a model that `save` wrote; nothing in the folder is executed."""
        where = find_device(device)
        parts, meta = read_folder(folder, MODEL)
        try:
            configs = WalkConfig(**meta["walks"]), ModelConfig(**meta["model"]), TrainConfig(**meta["train"])
            model = cls(*configs, meta["seed"], device=device)
            tasks = model._tasks()
            tasks.load_state_dict(parts["weights"])
            graph, table = graph_from(parts["graph"], meta["graph"]), parts["table"]["values"]
            head, dim = parts["table"]["toe_head"].numpy(), model.model.dim
            if tuple(table.shape) != (graph.num_nodes + 2, dim) or head.shape != (2 * dim + 1,):
                raise ValueError
            model.stopped_, model.toe_head_ = meta["stopped"], head
            model.forecaster_ = Forecaster.of(parts["forecast"]) if "forecast" in parts else None
            model._keep(graph, tasks.to(where), table.to(where), meta["precision"], meta["history"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            cure = "fit it again, or load it with the version of tadge that wrote it"
            raise InputError("the parts of the model do not fit together", cure=cure, where=str(folder)) from error
        return model


def _known(graph: TemporalGraph, moments: Days) -> Days:
    """Take the end of a graph for the end of time."""
    return np.where(np.isposinf(moments), graph.time[-1] if graph.num_events else 0.0, moments)


def fit_folder(
    model: TADGE, graph: TemporalGraph, folder: str | PathLike[str], *, resume: bool = False, **options: Any
) -> TADGE:
    """Fit a model and save it, with the run's checkpoints in the same folder until it is done.

    Args:
        model: not fitted yet.
        graph: what happened.
        folder: where the model goes.
        resume: go on with a run of the same options, seed and data; where that was done already, take its result.
        options: further arguments of `TADGE.fit`.
    """
    if has_folder(folder, CHECKPOINT) and not resume:
        cure = "say resume (--resume) to go on with it, or name another folder"
        raise InputError("there is a run in this folder that is not done", cure=cure, where=str(folder))
    if resume and not has_folder(folder, CHECKPOINT) and has_folder(folder, MODEL):
        done = TADGE.load(folder, device=model.device)
        if done.stopped_ in ("done", "early"):
            check_about(done._about(done.graph_, None), model._about(graph, None), folder)
            remove_kind(folder, CHECKPOINT)  # what is left of one where the work was killed right at the end
            model.__dict__.update(done.__dict__)
            return model
    with one_writer(folder):
        try:
            model.fit(graph, checkpoint=folder, resume=resume, **options)
        except TrainingError:
            model.save(folder)
            raise
        model.save(folder)
        if model.stopped_ != "interrupted":
            remove_kind(folder, CHECKPOINT)
    return model
