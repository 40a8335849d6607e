"""Measure training against the machine's own limit: python benchmarks/training.py [--quick].

A training step is whole: packing, network, losses, gradients, update of network and table, metrics. Useful floating
point operations are those of real places (padding does not count), three times the forward pass. They are set
beside the machine's own matrix multiplications, in bfloat16 and in float32, measured in the same run.

Walks are those of the data where it is found (bitcoin-otc, sx-mathoverflow: tadge datasets list), else of a synthetic
forum. --quick measures fewer steps.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tadge import TADGE, NetworkConfig, TrainConfig, WalkConfig, datasets, sample_walks, synthetic
from tadge.embedding.batches import Sequences
from tadge.embedding.device import faster_precision
from tadge.embedding.loop import Trainer
from tadge.embedding.memory import estimate
from tadge.embedding.source import WalkSource
from tadge.embedding.table import EmbeddingTable
from tadge.errors import DatasetError
from tadge.graph import TemporalGraph
from tadge.machine import peak_memory_mb
from tadge.network.training_model import Batch, TrainingModel

SETTINGS = (  # the paper's: data, heads, blocks, most nodes, batch, goal against bfloat16
    ("bitcoin-otc", 4, 3, 5, 200, 0.25),
    ("bitcoin-otc", 8, 6, 5, 500, 0.45),
    ("sx-mathoverflow", 8, 6, 10, 300, 0.45),
)
DIM = 128
PAPER_WALKS, PAPER_NODES, PAPER_SECONDS = 300_000, 194_085, 686.0
SAME = 0.10  # goal: costs per walk differ by less
EMBED = 5.0  # goal: walks embedded to walks trained on, per second


@dataclass
class Invented:
    """Stand in for a source of walks: lengths of real walks, nodes at random."""

    num_nodes: int
    sequences: Sequences

    @property
    def graph(self) -> Invented:
        return self

    @property
    def degree(self) -> np.ndarray:
        return np.ones(self.num_nodes, np.int64)

    @property
    def held_out(self) -> Sequences:
        return self.sequences.take(np.zeros(len(self.sequences), bool))

    def epoch(self, number: int) -> Sequences:
        return self.sequences


def read(name: str) -> tuple[TemporalGraph, str]:
    """Load a data set, or make a graph in its place."""
    try:
        return datasets.load(name), name
    except DatasetError:
        return synthetic.forum(50_000, seed=0).graph, "synthetic forum"


def peak_flops(dtype: torch.dtype) -> float:
    """Multiply large matrices: operations per second, the best of several shapes."""
    best = 0.0
    for size in (1024, 2048):
        a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
        torch.nn.functional.linear(a, b)  # as the network does it; a plain product can take a slower way
        for _ in range(3):
            began = time.perf_counter()
            torch.nn.functional.linear(a, b)
            best = max(best, 2 * size**3 / (time.perf_counter() - began))
    return best


def useful_flops(batch: Batch, model: NetworkConfig) -> float:
    """Count the operations of a training step that the walks of a batch need."""
    packing, dim, inner, blocks = batch.packing, model.dim, model.heads * model.dim, model.blocks
    rows, walks, seen = packing.num_rows, int(packing.lengths.numel()), float((packing.step_of + 1).sum())
    project, feed = 3 * dim * inner, inner**2 + inner * dim
    attend = 2 * inner * seen  # scores and sums over what each row sees
    lstm = 9 * dim**2 * (rows + walks * (model.queries == "next"))
    encoder = blocks * (rows * (project + feed) + attend)
    decoder = blocks * (rows * (project + feed) + attend) + rows * (inner - dim) * inner  # the first has wide queries
    queries = (rows * project + attend) * (model.queries == "next")
    structure = rows * (project + feed + 2 * inner * batch.windows.shape[1]) * model.structure
    fusion = 2 * rows * dim**2
    candidates, edges = len(batch.rows) - 2, len(packing.edges)
    tasks = rows * candidates * dim + 2 * edges * (rows + candidates - batch.present) * dim
    return 3 * 2.0 * (lstm + encoder + decoder + queries + structure + fusion + tasks)


def make_trainer(source: Any, model: NetworkConfig, train: TrainConfig, length: int) -> Trainer:
    """Set a trainer up with random vectors."""
    torch.manual_seed(0)
    tasks, table = (
        TrainingModel(model, length),
        EmbeddingTable(torch.randn(source.graph.num_nodes + 2, model.dim) / model.dim**0.5),
    )
    trainer = Trainer(tasks, table, source, train, "float32", 0)
    trainer.precision = faster_precision(torch.device("cpu"))
    return trainer


def step_seconds(trainer: Trainer, steps: int, batches: list[Batch] | None = None) -> float:
    """Take some steps and return their mean time; keep their batches where wanted."""
    pack = trainer._pack

    def kept(*arguments: Any) -> Batch:
        made = pack(*arguments)
        if batches is not None:
            batches.append(made)
        return made

    trainer._next_step()
    trainer._pack = kept  # type: ignore[method-assign]
    began = time.perf_counter()
    for _ in range(steps):
        trainer._next_step()
    seconds = (time.perf_counter() - began) / steps
    trainer._pack = pack  # type: ignore[method-assign]
    return seconds


def measure_settings(say: Callable[..., None], quick: bool) -> None:
    """Set the paper's three settings beside the machine's limit."""
    half, full = peak_flops(torch.bfloat16), peak_flops(torch.float32)
    print(f"matrix multiplication: bfloat16 {half / 1e9:,.0f} GFLOP/s, float32 {full / 1e9:,.0f} GFLOP/s")
    for name, heads, blocks, length, batch_size, goal in SETTINGS:
        graph, found = read(name)
        walking = WalkConfig(max_length=length, num_walks=10_000)
        model = NetworkConfig(dim=DIM, heads=heads, blocks=blocks)
        train = TrainConfig(batch_size=batch_size, held_out=0.0, resample=False)
        trainer = make_trainer(WalkSource(graph, walking, train, 0), model, train, length)
        batches: list[Batch] = []
        steps = (10 if blocks < 6 else 3) if quick else min(len(trainer.batches) - 2, 30 if blocks < 6 else 17)
        seconds = step_seconds(trainer, steps, batches)
        useful = float(np.mean([useful_flops(batch, model) for batch in batches])) / seconds
        walks = np.mean([len(batch.packing.lengths) for batch in batches]) / seconds
        title = f"{heads} heads x {blocks} blocks, l <= {length}, batch {batch_size} ({found})"
        say(f"{title}: of the bfloat16 peak", useful / half, goal, f"{trainer.precision}, {walks:,.0f} walks/s")
        say(f"{title}: of the faster format's peak", useful / max(half, full), None)
        if length == 10:
            epoch = PAPER_WALKS / walks
            say(
                "the paper's largest epoch, seconds (an RTX 2080 Ti: 686)", epoch, None, f"{steps * batch_size:,} walks"
            )
            say("walks per second, to that GPU's 437", walks / (PAPER_WALKS / PAPER_SECONDS), 1.0)


def measure_scale(say: Callable[..., None], quick: bool) -> None:
    """Compare the cost per walk across numbers of walks and nodes."""
    graph, _ = read("bitcoin-otc")
    lengths = sample_walks(graph).lengths
    model, train = NetworkConfig(dim=DIM, heads=4, blocks=3), TrainConfig(held_out=0.0)
    costs = {}
    for num_walks, num_nodes in ((10_000, 10_000), (1_000_000, 10_000), (10_000, 1_000_000)):
        rng = np.random.default_rng(0)
        rows, toe = rng.integers(num_nodes, size=(num_walks, 5)), rng.random((num_walks, 5), np.float32)
        begin = np.sort(rng.random(num_walks) * 1000)
        source = Invented(num_nodes, Sequences(rows, toe, rng.choice(lengths, num_walks), begin, np.arange(num_walks)))
        trainer = make_trainer(source, model, train, 5)
        runs = [step_seconds(trainer, 5 if quick else 10) for _ in range(3)]
        costs[num_walks, num_nodes] = min(runs)
    base = costs[10_000, 10_000]
    say("cost per walk, 1e6 walks to 1e4", costs[1_000_000, 10_000] / base, 1 + SAME, at_most=True)
    say("cost per walk, 1e6 nodes to 1e4", costs[10_000, 1_000_000] / base, 1 + SAME, at_most=True)


def measure_embed(say: Callable[..., None], quick: bool) -> None:
    """Compare embedding with training, walks per second."""
    graph, name = read("bitcoin-otc")
    model = TADGE(train_config=TrainConfig(epochs=1, init="random"))
    began = time.perf_counter()
    model.fit(graph, progress=False)
    trained = model.history_[0]["walks_per_second"]
    model.embed(nodes=graph.ids[:1])
    began = time.perf_counter()
    vectors = model.embed(latest=1)
    alone = len(vectors) / (time.perf_counter() - began)
    began = time.perf_counter()
    model.embed()
    say(f"nodes embedded per second, to walks trained ({name})", alone / trained, EMBED, f"{alone:,.0f} nodes/s")
    say("the same, nodes as means of 5 occurrences", len(vectors) / (time.perf_counter() - began) / trained, None)


def memory_case(num_nodes: int) -> None:
    """Train a little in a process of its own, and print estimated and measured megabytes."""
    rng = np.random.default_rng(0)
    model, train = NetworkConfig(dim=DIM, heads=8, blocks=6), TrainConfig(batch_size=500, held_out=0.0)
    rows, toe = rng.integers(num_nodes, size=(2000, 5)), rng.random((2000, 5), np.float32)
    lengths = rng.integers(3, 6, 2000)
    source = Invented(num_nodes, Sequences(rows, toe, lengths, np.sort(rng.random(2000)), np.arange(2000)))
    before = peak_memory_mb()
    torch.manual_seed(0)
    tasks, table = TrainingModel(model, 5), EmbeddingTable(torch.randn(num_nodes + 2, DIM) / DIM**0.5)
    trainer = Trainer(tasks, table, source, train, "float32", 0)  # type: ignore[arg-type]
    step_seconds(trainer, 2)
    weights = sum(weight.numel() for weight in tasks.parameters())
    need = estimate(num_nodes, weights, model, train, float(lengths.mean())).total / 1e6
    print(need, peak_memory_mb() - before)


def measure_memory(say: Callable[..., None]) -> None:
    """Set the estimate of memory beside what is used."""
    for num_nodes in (10_000, 1_000_000):
        command = [sys.executable, __file__, "--memory", str(num_nodes)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        need, used = map(float, out.split())
        say(f"memory used, to estimated, {num_nodes:,} nodes", used / need, 1.0, f"{used:,.0f} MB", at_most=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.memory:
        memory_case(asked.memory)
        return 0
    torch.manual_seed(0)
    cores = f"{os.cpu_count()} cores, {torch.get_num_threads()} threads"
    print(f"{platform.machine()}, {cores}, torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}")
    missed = []

    def say(what: str, figure: float, goal: float | None, note: str = "", at_most: bool = False) -> None:
        met = goal is None or (figure <= goal if at_most else figure >= goal)
        wanted = "" if goal is None else f" (goal: at {'most' if at_most else 'least'} {goal:g})"
        print(f"{what}: {figure:,.3f}{wanted}{'' if met else ' MISSED'}{', ' + note if note else ''}", flush=True)
        if not met:
            missed.append(what)

    measure_settings(say, asked.quick)
    measure_scale(say, asked.quick)
    measure_embed(say, asked.quick)
    measure_memory(say)
    print("missed:", "; ".join(missed) or "nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
