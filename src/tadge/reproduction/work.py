"""One run: a method is made, learns from the training part, is asked everything, and leaves a record."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from tadge.arrays import Ints
from tadge.baselines.of_parts import OfWalks, PartMethod
from tadge.config import NetworkConfig, TrainConfig
from tadge.embedding.estimator import TADGE as Estimator
from tadge.embedding.presets import configs_from, preset_settings
from tadge.evaluation.paper_methods import paper_methods
from tadge.graph import TemporalGraph
from tadge.machine import peak_memory_mb
from tadge.reproduction.cells import DATA, PRINTED, RULES, SLOWER, TADGE, Cell
from tadge.reproduction.judge import judge_parts, judge_rules
from tadge.reproduction.records import Record
from tadge.reproduction.sizes import Size
from tadge.seeding import stream
from tadge.walks.lengths import uncut_length_distribution
from tadge.walks.parts import Part, WalkParts, walk_parts
from tadge.walks.split import without_events

SLOWER_RATE = 3e-4  # the smallest change to the printed settings with which several blocks learn what they are asked


@dataclass
class Workshop:
    """Hold what all runs on one graph share.

    Attributes:
        graph: the data.
        labels: (N,) class numbers, -1 without one; None where there are none.
        size: all settings.
        device: where to train.
        progress: whether to show bars.
    """

    graph: TemporalGraph
    labels: Ints | None
    size: Size
    device: str | None = None
    progress: bool | None = None
    _parts: dict[int, WalkParts] = field(default_factory=dict)

    def parts(self, seed: int) -> WalkParts:
        """Split the graph by a seed, once."""
        if seed not in self._parts:
            self._parts[seed] = walk_parts(self.graph, self.size.walks, seed)
        return self._parts[seed]

    def run(self, cell: Cell) -> Record:
        """Do what a cell names, and tell what came out of it."""
        began, cpu = time.perf_counter(), time.process_time()
        if cell.method == DATA:
            record = self._about_data()
        elif cell.method == RULES:
            record = {"figures": judge_rules(self.parts(cell.seed), self.labels)}
        else:
            record = self._judged(cell)
        record |= {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
        return record | {"peak_memory_mb": peak_memory_mb(), "threads": torch.get_num_threads()}

    def _about_data(self) -> Record:
        parts = self.parts(0)
        described = self.graph.describe()
        figures: dict[str, Any] = {
            key: described[key] for key in ("nodes", "events", "mean_degree", "mean_toe_days", "std_toe_days")
        }
        labels = self.labels
        figures["classes"] = None if labels is None else int(np.unique(labels[labels >= 0]).size)
        figures["walks"] = {name: len(part.walks) for name, part in parts.parts.items()}
        figures["shortfall"] = parts.shortfall
        lengths = uncut_length_distribution(self.graph, self.size.walks, 0)
        figures["within longest"] = lengths.at_most(self.size.walks.max_length)
        return {"figures": figures}

    def _judged(self, cell: Cell) -> Record:
        changes = dict(cell.changes)
        fraction = changes.pop("fraction", None)
        parts = self.parts(cell.seed)
        if fraction is not None:
            parts = with_fewer_walks(parts, fraction)
        method = self.method(cell)
        began = time.perf_counter()
        method.fit(parts)
        fitted = time.perf_counter() - began
        record: Record = {}
        if isinstance(method, OfWalks):
            assert isinstance(method.estimator, Estimator)
            record["config"] = method.estimator.about()
            record["history"] = [_plain(epoch) for epoch in method.estimator.history_]
        labels = self.labels if not cell.changes or "init" in changes else None
        record["figures"] = {} if fraction is not None else judge_parts(method, parts, labels, self.size.batch)
        record["walks"] = {name: len(part.walks) for name, part in parts.parts.items()}
        return record | {"seconds_fit": fitted}

    def method(self, cell: Cell) -> PartMethod:
        """Make the method of a cell, not yet fitted."""
        network, training = self.configs(cell)
        methods = paper_methods(self.size.walks, network, training, cell.seed, self.progress, self.device)
        if cell.method not in (PRINTED, SLOWER):
            return methods[cell.method]
        as_printed = methods[TADGE]
        assert isinstance(as_printed, OfWalks)
        as_printed.name = cell.method
        return as_printed

    def configs(self, cell: Cell) -> tuple[NetworkConfig, TrainConfig]:
        """Give the options of networks on walks, at this size, with the cell's changes.

        TADGE and its variant without structures have our preset. GAT is the paper's baseline: it gets our way to train,
        and nothing of what we have added to the network or to Eq. 35.
        """
        settings: dict[str, Any] = {"queries": "next", "precision": "float32"}
        if cell.method in (PRINTED, SLOWER):
            settings = preset_settings("paper") | ({"lr": SLOWER_RATE} if cell.method == SLOWER else {})
        elif not cell.method.startswith("GAT"):
            settings = preset_settings("tuned")
        settings |= {"epochs": self.size.epochs if cell.epochs is None else cell.epochs, "batch_size": self.size.batch}
        settings |= {"dim": self.size.dim, "heads": self.size.heads, "blocks": self.size.blocks} | dict(cell.changes)
        settings.pop("fraction", None)
        return configs_from(settings)[1:]


def with_fewer_walks(parts: WalkParts, fraction: float) -> WalkParts:
    """Keep a fraction of the walks to learn from, drawn by the seed, in their order."""
    learn = parts["learn"].walks
    rng = np.random.default_rng(int(stream(parts.seed, "fraction")))
    kept = np.sort(rng.permutation(len(learn))[: max(round(fraction * len(learn)), 1)])
    walks = learn.take(kept)
    remain = np.zeros(parts.graph.num_events, np.bool_)
    remain[walks.events[walks.events >= 0]] = True
    part = Part(walks, without_events(parts.graph, remain)[0])
    return replace(parts, parts={**parts.parts, "learn": part})


def _plain(epoch: dict[str, Any]) -> dict[str, Any]:
    """Keep of an epoch what figures are drawn from."""
    return {key: value for key, value in epoch.items() if isinstance(value, int | float | dict)}
