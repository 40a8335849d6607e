"""Measure training against the machine's own limit: python benchmarks/training.py [--quick].

A training step is whole: packing, network, losses, gradients, update of network and table, metrics. Useful floating
point operations are those of real places (padding does not count), three times the forward pass. They are set
beside the machine's own matrix multiplications, in bfloat16 and in float32, measured between the steps of the same run;
a step's time is the median. On a machine that others use too, look at the ratios by processor time beside those by the
clock: what others take is not in them.

Goals differ by what the processor can do: with bfloat16 of its own they are shares of the faster format's peak, else of
float32's.

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
from typing import Any, NamedTuple

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

SETTINGS = (  # the paper's: data, heads, blocks, most nodes, batch, goals with bfloat16 and without
    ("bitcoin-otc", 4, 3, 5, 200, 0.30, 0.60),
    ("bitcoin-otc", 8, 6, 5, 500, 0.50, 0.75),
    ("sx-mathoverflow", 8, 6, 10, 300, 0.50, 0.70),
)
DIM = 128
PAPER_WALKS, PAPER_SECONDS = 300_000, 686.0  # the largest epoch, on an RTX 2080 Ti
EPOCH = 900.0  # goal: seconds that it takes, where the processor has bfloat16
SAME = 0.10  # goal: costs per walk differ by less
EMBED = 5.0  # goal: nodes embedded to walks trained on, per second


@dataclass(frozen=True, eq=False)
class Invented:
    """Stand in for a source of walks: lengths of real walks, nodes at random."""

    num_nodes: int
    sequences: Sequences
    window: int = TrainConfig().window
    step: int = TrainConfig().window_step

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


class Clocks(NamedTuple):
    """Hold how long something took: on the clock, and of the processor, all threads together."""

    seconds: float
    processor: float

    @classmethod
    def of(cls, call: Callable[[], Any]) -> Clocks:
        """Time a call."""
        began = time.perf_counter(), time.process_time()
        call()
        return cls(time.perf_counter() - began[0], time.process_time() - began[1])

    @classmethod
    def median(cls, times: list[Clocks]) -> Clocks:
        """Take the median of each."""
        return cls(*np.median(times, axis=0).tolist())

    @classmethod
    def least(cls, times: list[Clocks]) -> Clocks:
        """Take the least of each."""
        return cls(*np.min(times, axis=0).tolist())


def product_times(dtype: torch.dtype) -> list[Clocks]:
    """Multiply large matrices, as the network does it: the time per operation, several times."""
    times = []
    for size in (1024, 2048):
        a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
        for _ in range(3):
            took = Clocks.of(lambda a=a, b=b: torch.nn.functional.linear(a, b))
            times.append(Clocks(took.seconds / (2 * size**3), took.processor / (2 * size**3)))
    return times[1:]


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


def measure_settings(say: Callable[..., None], quick: bool) -> None:
    """Set the paper's three settings beside the machine's limit."""
    has_bfloat16 = faster_precision(torch.device("cpu")) == "bfloat16"
    print("the processor multiplies bfloat16 itself" if has_bfloat16 else "no bfloat16 in the processor: float32")
    for name, heads, blocks, length, batch_size, *goals in SETTINGS:
        graph, found = read(name)
        walking = WalkConfig(max_length=length, num_walks=10_000)
        model = NetworkConfig(dim=DIM, heads=heads, blocks=blocks)
        train = TrainConfig(batch_size=batch_size, held_out=0.0, resample=False)
        trainer = make_trainer(WalkSource(graph, walking, train, 0), model, train, length)
        batches = keep_batches(trainer)
        trainer._next_step()
        batches.clear()
        products: dict[torch.dtype, list[Clocks]] = {torch.bfloat16: [], torch.float32: []}
        times = []
        for _ in range((10 if blocks < 6 else 3) if quick else min(len(trainer.batches) - 2, 30 if blocks < 6 else 17)):
            for dtype, measured in products.items():
                measured.extend(product_times(dtype))
            times.append(Clocks.of(trainer._next_step))
        peaks = [Clocks.least(measured) for measured in products.values()]  # seconds per operation: less is more
        peak = Clocks.least(peaks) if has_bfloat16 else peaks[1]
        operations = [useful_flops(batch, model) for batch in batches]
        cost = Clocks.median([Clocks(*(part / n for part in took)) for took, n in zip(times, operations, strict=True)])
        walks = float(np.mean([len(batch.packing.lengths) for batch in batches])) / Clocks.median(times).seconds
        title = f"{heads} heads x {blocks} blocks, l <= {length}, batch {batch_size} ({found})"
        rates = f"peaks {1 / peaks[0].seconds / 1e9:,.0f} and {1 / peaks[1].seconds / 1e9:,.0f} GFLOP/s"
        by_processor = f"{peak.processor / cost.processor:.3f} by processor time"
        what = "the faster format's peak" if has_bfloat16 else "float32's peak"
        note = f"{by_processor}; {trainer.precision}, {walks:,.0f} walks/s; bfloat16 and float32 {rates}"
        say(f"{title}: of {what}", peak.seconds / cost.seconds, goals[not has_bfloat16], note)
        if length == 10:
            epoch = PAPER_WALKS / walks
            goal = EPOCH if has_bfloat16 else None
            undisturbed = PAPER_WALKS * np.mean(operations) / batch_size * cost.processor / torch.get_num_threads()
            note = f"{undisturbed:,.0f} by processor time; an RTX 2080 Ti: {PAPER_SECONDS:g}"
            say("the paper's largest epoch, seconds", epoch, goal, note, at_most=True)


def keep_batches(trainer: Trainer) -> list[Batch]:
    """Give a list to which the batches of all steps will be added."""
    pack, batches = trainer._pack, []

    def kept(*arguments: Any) -> Batch:
        batches.append(pack(*arguments))
        return batches[-1]

    trainer._pack = kept  # type: ignore[method-assign]
    return batches


def measure_scale(say: Callable[..., None], quick: bool) -> None:
    """Compare the cost per walk across numbers of walks and nodes, step by step in turn."""
    graph, _ = read("bitcoin-otc")
    lengths = sample_walks(graph).lengths
    model, train = NetworkConfig(dim=DIM, heads=4, blocks=3), TrainConfig(held_out=0.0)
    cases = ((10_000, 10_000), (1_000_000, 10_000), (10_000, 1_000_000))
    trainers = []
    for num_walks, num_nodes in cases:
        rng = np.random.default_rng(0)
        rows, toe = rng.integers(num_nodes, size=(num_walks, 5)), rng.random((num_walks, 5), np.float32)
        begin = np.sort(rng.random(num_walks) * 1000)
        source = Invented(num_nodes, Sequences(rows, toe, rng.choice(lengths, num_walks), begin, np.arange(num_walks)))
        trainers.append(make_trainer(source, model, train, 5))
    steps = [[Clocks.of(trainer._next_step) for trainer in trainers] for _ in range(15 if quick else 40)]
    base, walks, nodes = (Clocks.median([*times]) for times in zip(*steps[1:], strict=True))
    for what, cost in (("walks", walks), ("nodes", nodes)):
        note = f"{cost.processor / base.processor:.3f} by processor time"
        say(f"cost per walk, 1e6 {what} to 1e4", cost.seconds / base.seconds, 1 + SAME, note, at_most=True)


def measure_embed(say: Callable[..., None], quick: bool) -> None:
    """Compare embedding all nodes with training, both at the defaults."""
    graph, name = read("bitcoin-otc")
    train = TrainConfig(held_out=0.0)
    trainer = make_trainer(WalkSource(graph, WalkConfig(), train, 0), NetworkConfig(), train, WalkConfig().max_length)
    batches = keep_batches(trainer)
    model = TADGE(WalkConfig(num_walks=400), train_config=TrainConfig(epochs=1, init="random"))
    model.fit(graph, progress=False)
    model.embed(nodes=graph.ids[:1])
    trainer._next_step()
    batches.clear()
    steps, embeds = [], {"the default, means of 5 occurrences": [], "1 occurrence": []}
    for _ in range(2 if quick else 4):
        steps += [Clocks.of(trainer._next_step) for _ in range(5)]
        for times, latest in zip(embeds.values(), (5, 1), strict=True):
            times.append(Clocks.of(lambda latest=latest: model.embed(nodes=graph.ids, latest=latest)))
    walk = [part / np.mean([len(batch.packing.lengths) for batch in batches]) for part in Clocks.median(steps)]
    for (title, times), goal in zip(embeds.items(), (EMBED, None), strict=True):
        node = [part / graph.num_nodes for part in Clocks.median(times)]
        note = f"{walk[1] / node[1]:.2f} by processor time; {1 / node[0]:,.0f} nodes/s"
        say(f"nodes embedded per walk trained, {title} ({name})", walk[0] / node[0], goal, note)


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
    for _ in range(3):
        trainer._next_step()
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
