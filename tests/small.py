"""Small models on small graphs: what the tests of training and of the estimator share."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from tadge import synthetic
from tadge.config import NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.loop import Trainer
from tadge.embedding.source import WalkSource
from tadge.embedding.table import EmbeddingTable
from tadge.graph import TemporalGraph
from tadge.network.training_model import TrainingModel

torch.set_num_threads(1)  # everything here is small: threads would only wait for each other

WALKS = {"num_walks": 200, "min_length": 2, "max_length": 4}
MODEL = {"dim": 8, "heads": 2, "blocks": 1}
TRAIN = {
    **{"epochs": 3, "batch_size": 80, "window": 5, "window_step": 4, "init": "random", "precision": "float32"},
    **{"negatives": 20, "held_out": 0.1, "warmup": 0.1, "lr": 3e-3, "unknown": 0.02, "patience": 5},
}


def walking(**changes) -> WalkConfig:
    return WalkConfig(**WALKS | changes)


def network(**changes) -> NetworkConfig:
    return NetworkConfig(**MODEL | changes)


def training(**changes) -> TrainConfig:
    return TrainConfig(**TRAIN | changes)


@cache
def forum(events: int = 700, seed: int = 0, directed: bool = True) -> TemporalGraph:
    graph = synthetic.forum(events, communities=3, seed=seed).graph
    return graph if directed else rebuilt(graph, directed=False)


def rebuilt(graph: TemporalGraph, src=None, dst=None, time=None, **changes) -> TemporalGraph:
    """Make a graph with the same nodes, and other events where they are given."""
    columns = (
        np.array(own if given is None else given)
        for own, given in ((graph.src, src), (graph.dst, dst), (graph.time, time))
    )
    options = {"directed": graph.directed, "tov": graph.tov_rule, "ids": graph.ids, "clock": graph.clock} | changes
    return TemporalGraph.from_arrays(*columns, unit="days", **options)


def trainer(graph=None, walks=None, model=None, train=None, seed=0, given=None) -> Trainer:
    """Put a trainer together; the options are those that differ from the ones above."""
    graph = graph or forum()
    how, shape, config = walking(**walks or {}), network(**model or {}), training(**train or {})
    source = WalkSource(graph, how, config, seed, given)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 1)
        tasks = TrainingModel(shape, how.max_length)
        table = torch.randn(graph.num_nodes + 2, shape.dim) / shape.dim**0.5
    return Trainer(tasks, EmbeddingTable(table), source, config, config.precision, seed)


def nothing(_: Trainer) -> None:
    """Report nothing, save nothing."""


def snapshot(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Copy all that training moves, by name."""
    moments = {
        f"moments.{number}.{name}": value
        for number, state in trainer.optimiser.state_dict()["state"].items()
        for name, value in state.items()
    }
    found = {f"weights.{name}": value for name, value in trainer.tasks.state_dict().items()}
    found |= moments | {f"table.{name}": value for name, value in trainer.table.tensors().items()}
    return {name: value.detach().clone() for name, value in found.items()}


def assert_same(one, other) -> None:
    """Compare tensors by name, bit for bit."""
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def plain(history):
    """Leave out of a history what a clock or the system says."""
    return [
        {name: value for name, value in each.items() if name not in ("seconds", "walks_per_second", "peak_memory_mb")}
        for each in history
    ]
