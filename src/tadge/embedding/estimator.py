"""TADGE, the estimator: the paper's network, learned from a graph; vectors, and what follows from vectors alone."""

from __future__ import annotations

import json
import logging
import time
from contextlib import nullcontext
from dataclasses import asdict
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from tadge.arrays import Days
from tadge.config import LATEST, SECONDS, NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.checkpoint import (
    FINISHED,
    Run,
    Saver,
    about_model,
    check_outcome,
    check_same_run,
    is_longer,
    read_run,
    restore,
)
from tadge.embedding.device import faster_precision, find_device
from tadge.embedding.initial import initial_table
from tadge.embedding.loop import Trainer
from tadge.embedding.memory import check_memory, estimate
from tadge.embedding.presets import configs_from, preset_settings
from tadge.embedding.progress import TrainingBars
from tadge.embedding.source import WalkSource
from tadge.embedding.table import EmbeddingTable
from tadge.embedding.toe_head import HEAD_PAIRS, learn_toe_head
from tadge.embedding.vector_answers import VectorAnswers
from tadge.errors import TrainingError
from tadge.features.pairs import timed_pairs
from tadge.graph.cache import GraphCache
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind, last_moment
from tadge.graph.views import both_directions
from tadge.machine import available_memory, return_memory
from tadge.network.training_model import TrainingModel
from tadge.progress import Bars
from tadge.seeding import check_seed, seeded
from tadge.storage.estimator_folder import check_tensor, estimator_parts, filled, write_estimator
from tadge.storage.folder import has_folder, one_writer, read_meta, remove_kind
from tadge.storage.replacement import CHECKPOINT, VECTORS, begin_run, end_run, give_up_run
from tadge.walks.sampler import Walks

MAX_SAVED = 1 << 24  # numbers in the vectors of the end that are saved beside the model: 64 MB
UNFINISHED = ("interrupted", "budget")  # why training stopped, where it can go on
_log = logging.getLogger(__name__)
WALKS, NETWORK, TRAIN = WalkConfig(), NetworkConfig(), TrainConfig()


class TADGE(VectorAnswers):
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
        stopped_: why training stopped: "done", "early", "budget", "interrupted" or "trouble".
        lengthened_: the epochs that the run was planned for before it was given more, each time; mostly empty.
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

    @classmethod
    def paper(cls, size: str = "transaction", seed: int = 0, *, device: str | None = None, **changes: Any) -> Self:
        """Give a TADGE with the settings that the paper prints; docs/method.md lists what it leaves open.

        Args:
            size: of network, batches and walks, as the paper has it for one of its data sets: "transaction",
                "hyperlink" or "discussion".
            seed: as in the constructor.
            device: as in the constructor.
            changes: options of WalkConfig, NetworkConfig and TrainConfig that are to be otherwise, by name.
        """
        return cls(*configs_from(preset_settings("paper", size) | changes), seed, device=device)

    @classmethod
    def tuned(cls, size: str = "transaction", seed: int = 0, *, device: str | None = None, **changes: Any) -> Self:
        """Give a TADGE with our settings for the paper's protocol, in which walks show the edges that are asked for.

        Not for forecasts: as the paper has it, a row sees the edge that comes after it. Arguments are as in `paper`.
        """
        return cls(*configs_from(preset_settings("tuned", size) | changes), seed, device=device)

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
        seconds: float | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Learn from a graph; Ctrl-C, or the end of the time that is given, stops and keeps the best so far.

        A directed bipartite graph (users and items) is walked in both directions: items never act, so that otherwise
        no walk would get past one.

        Args:
            graph: what happened.
            y: not used; scikit-learn's convention.
            walks: train on these walks of the graph, instead of walking.
            checkpoint: a folder to keep the run in, so that it can go on after a stop, or be lengthened.
            resume: go on from that folder where there is a run in it, of the same options but for `epochs`, which may
                be more: then the further epochs have the learning rates of a run that was begun so long; those before
                had the rates of the shorter one. A model that is done (of `fit_folder` or `save`) is lengthened too:
                from its best state, with Adam's moments begun anew, since these are not kept.
            checkpoint_seconds: time between two checkpoints; 0: after every step.
            seconds: no step begins later than this after the call; the run can be resumed. No limit by default.
            progress: whether to show epoch, losses, walks per second and time left; by default where people can see it.
        """
        deadline = None if seconds is None else time.monotonic() + SECONDS.check(seconds)
        self._check_params()
        check_kind(graph, TemporalGraph, "graph")
        if walks is not None:
            self._check_walks(walks, graph)
        about = self._about_run(graph, walks)
        run = read_run(checkpoint, about) if resume and checkpoint is not None else None
        trouble = None
        with TrainingBars(progress) as bars, one_writer(checkpoint) if checkpoint is not None else nullcontext():
            trainer = self._trainer(graph, walks, run, bars)
            run = None  # what was read is let go
            save = Saver(checkpoint, about, checkpoint_seconds)
            try:
                with bars.training(trainer):
                    self.stopped_ = trainer.run(bars.step, save, deadline)
            except TrainingError as error:
                self.stopped_, trouble = "trouble", error
            if trouble is None:
                save.now(trainer)
            if self.stopped_ == "budget":  # after the checkpoint, which is that of a run that goes on
                trainer.judge_part()
            trainer.keep_best()
            self.lengthened_, self.walks_digest_ = trainer.position.lengthened, about["given walks"]
            self._keep(graph, trainer.tasks, trainer.table.values, trainer.precision, trainer.position.history)
            del trainer  # what only training needs is let go before vectors are made
            return_memory()
            self._learn_toe_head(bars)
        if trouble is not None:
            raise trouble
        if self._keeps_whole(graph):
            self._whole(graph, last_moment(graph), progress)  # which the first `similar` would wait for
        return self

    def fit_folder(
        self,
        graph: TemporalGraph,
        folder: str | PathLike[str],
        *,
        resume: bool = False,
        force: bool = False,
        progress: bool | None = None,
        walks: Walks | None = None,
        checkpoint_seconds: float = 60.0,
        seconds: float | None = None,
    ) -> Self:
        """Learn from a graph and save into a folder, with the run's checkpoints there until it is done.

        A folder that holds a TADGE already is refused, unless it is to be resumed or replaced.

        Args:
            graph: what happened.
            folder: where the model goes.
            resume: go on with a run of the same options, seed and data, to more epochs where that is asked for (see
                `fit`); where it was done already, take its result.
            force: replace a model that is there. It stays as it is until the new one is whole.
            progress: as in `fit`.
            walks: as in `fit`.
            checkpoint_seconds: as in `fit`.
            seconds: as in `fit`.
        """
        self._check_params()
        with one_writer(folder):
            place = begin_run(folder, (VECTORS, CHECKPOINT), resume=resume, force=force)
            if not (resume and self._take_done(graph, place, walks)):
                options = {"walks": walks, "checkpoint_seconds": checkpoint_seconds, "progress": progress}
                options["seconds"] = seconds
                try:
                    self.fit(graph, checkpoint=place, resume=resume, **options)  # type: ignore[arg-type]
                except TrainingError:
                    self.save(place)
                    raise
                finally:
                    give_up_run(folder)
                self.save(place)
            if self.stopped_ not in UNFINISHED:
                remove_kind(place, CHECKPOINT)
                if place != Path(folder):
                    end_run(folder)
        return self

    def _take_done(self, graph: TemporalGraph, folder: str | PathLike[str], walks: Walks | None) -> bool:
        """Take the result of a run that is done, where it is this one and not to be longer."""
        if has_folder(folder, CHECKPOINT) or not has_folder(folder, VECTORS):
            return False
        about, meta = self._about_run(graph, walks), read_meta(folder, VECTORS)
        if meta["stopped"] not in FINISHED:
            return False
        check_same_run(about_model(meta), about, folder)
        if is_longer(about_model(meta), about):
            return False
        done = type(self).load(folder, device=self.device)
        self.stopped_, self.lengthened_, self.walks_digest_ = done.stopped_, done.lengthened_, done.walks_digest_
        self.toe_head_: Days = done.toe_head_
        self._keep(graph, done.tasks_, done.table_, done.precision_, done.history_)
        return True

    def check_folder(self, graph: TemporalGraph, folder: str | PathLike[str], *, resume: bool = False) -> None:
        """Refuse at once what `fit_folder` would refuse: bad options, or a run in the folder that is of something else.

        Args:
            graph: as in `fit_folder`.
            folder: as in `fit_folder`.
            resume: as in `fit_folder`.
        """
        self._check_params()
        find_device(self.device)
        if resume:
            read_run(folder, self._about_run(graph, None), check_only=True)

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

    def _keeps_whole(self, graph: TemporalGraph) -> bool:
        """Tell whether the vectors of all nodes as of the end are made and kept; who interrupts does not wait."""
        return self.stopped_ != "interrupted" and graph.num_nodes * self.network_config.dim <= MAX_SAVED

    def _tasks(self) -> TrainingModel:
        return seeded(lambda: TrainingModel(self.network_config, self.walk_config.max_length), self.seed, "weights")

    def _keep(
        self, graph: TemporalGraph, tasks: TrainingModel, table: Tensor, precision: str, history: list[dict[str, Any]]
    ) -> None:
        self.graph_, self.tasks_, self.table_ = graph, tasks.eval(), table
        self.precision_, self.history_ = precision, history
        self._views = GraphCache()

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
        given = (
            None
            if walks is None
            else blake2b(walks.nodes.tobytes() + walks.tov.tobytes() + walks.toe.tobytes(), digest_size=12)
        )
        return self.about() | {"graph": graph.fingerprint, "given walks": given and given.hexdigest()}

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("tasks_", "table_", "_views")  # from plain arrays
        state = {name: value for name, value in vars(self).items() if name not in made_again}
        if "graph_" in state:
            state["_arrays"] = {name: tensor.cpu().numpy() for name, tensor in self.tasks_.state_dict().items()}
            state["_table"] = self.table_.cpu().numpy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        arrays, table = state.pop("_arrays", None), state.pop("_table", None)
        self.__dict__.update(state)
        if arrays is not None:
            tasks, where = self._tasks(), find_device(self.device)
            tasks.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})
            rows = torch.from_numpy(table.copy()).to(where)
            self._keep(self.graph_, tasks.to(where), rows, self.precision_, self.history_)

    # -- disk ---------------------------------------------------------------------------------------------------------

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the model into a folder, beside a Forecaster where there is one: safetensors and JSON.

        A TADGE that is there already is replaced, as by any `save` in Python; until the new one is whole it stays.
        """
        graph = self._graph()
        parts = {"weights": self.tasks_.state_dict()}
        parts["table"] = {"values": self.table_, "toe_head": torch.from_numpy(self.toe_head_)}
        if self._keeps_whole(graph):
            parts["vectors"] = {"values": torch.from_numpy(self._whole(graph, last_moment(graph)))}
        meta = {"precision": self.precision_, "history": self.history_, "stopped": self.stopped_}
        meta = meta | {"lengthened": self.lengthened_, "given walks": self.walks_digest_}
        write_estimator(folder, VECTORS, graph, parts, self.about() | meta)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, device: str | None = None) -> Self:
        """Read a model that `save` wrote; nothing in the folder is executed."""
        where = find_device(device)
        with estimator_parts(folder, VECTORS) as (graph, parts, meta):
            configs = WalkConfig(**meta["walks"]), NetworkConfig(**meta["network"]), TrainConfig(**meta["train"])
            model = cls(*configs, check_seed(meta["seed"]), device=device)
            dim = model.network_config.dim
            table = check_tensor(parts["table"]["values"], (graph.num_nodes + 2, dim), "table values")
            head = check_tensor(parts["table"]["toe_head"], (2 * dim + 1,), "table toe_head", torch.float64)
            tasks = filled(model._tasks, parts["weights"], "weights")
            check_outcome(meta)
            model.stopped_, model.toe_head_ = meta["stopped"], head.numpy()
            model.lengthened_, model.walks_digest_ = meta.get("lengthened", []), meta.get("given walks")
            model._keep(graph, tasks.to(where), table.to(where), meta["precision"], meta["history"])
            if "vectors" in parts:
                shape = graph.num_nodes, dim
                model._keep_whole(check_tensor(parts["vectors"]["values"], shape, "vectors values").numpy())
        model._warn_unfinished(f"{folder}: ")
        return model
