"""Show what makes depth train: python benchmarks/depth.py [--epochs 3] [--walks 3000] [--quick].

The paper's two shapes (3 blocks x 4 heads, 6 x 8, width 128) on bitcoin-otc where it is found, else on a synthetic
forum. Every row adds one thing to the row above it. Figures are of held-out walks after a few epochs: enough to tell
what has begun to learn from what has not. Prints a table in Markdown, which docs/method.md has.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any
from unittest import mock

import torch

from tadge import NetworkConfig, TrainConfig, WalkConfig, datasets, synthetic
from tadge.embedding.loop import Trainer
from tadge.embedding.source import WalkSource
from tadge.embedding.table import EmbeddingTable
from tadge.errors import DatasetError, TrainingError
from tadge.graph import TemporalGraph
from tadge.network import time_lstm, training_model
from tadge.network.training_model import TrainingModel

SHAPES = ((3, 4), (6, 8))
EQUAL = (1.0, 1.0, 1.0, 1.0)
Row = dict[str, Any]
ROWS: tuple[tuple[str, Row], ...] = (
    ("as printed: lr 0.005, dropout 0.1", {"lr": 5e-3, "dropout": 0.1, "warmup": 0.0}),
    ("lr 0.001 with a warm-up", {"lr": 1e-3, "warmup": 0.05}),
    ("no dropout", {"dropout": 0.0}),
    ("vectors of length 1 compared, scaled up as input", {"scaled": True}),
    ("a block adds its input to its result", {"residual": True}),
    ("short-term memory strong at first", {"short_term": time_lstm.SHORT_TERM}),
    ("losses weighted (the default)", {"weights": TrainConfig().weights}),
    ("the default with dropout 0.1", {"dropout": 0.1}),
)
FIGURES = {"own node, F1": "self_f1", "edge, F1": "edge_f1", "ToE, RMSE": "toe_rmse", "ahead, RMSE": "when_rmse"}


def read() -> tuple[TemporalGraph, str]:
    """Load the data, or make a graph in its place."""
    try:
        return datasets.load("bitcoin-otc"), "bitcoin-otc"
    except DatasetError:
        return synthetic.forum(20_000, seed=0).graph, "a synthetic forum"


def run(graph: TemporalGraph, blocks: int, heads: int, row: Row, walks: int, epochs: int) -> list[str]:
    """Train one variant and return its cells."""
    model = NetworkConfig(
        dim=128, heads=heads, blocks=blocks, dropout=row["dropout"], residual=row.get("residual", False)
    )
    train = TrainConfig(
        epochs=epochs,
        lr=row["lr"],
        warmup=row["warmup"],
        weights=row.get("weights", EQUAL),
        patience=epochs,
        held_out=0.1,
    )
    scaled = row.get("scaled", False)
    plain = mock.patch.object(training_model, "as_input", (lambda x: x) if not scaled else training_model.as_input)
    usual = mock.patch.object(time_lstm, "SHORT_TERM", row.get("short_term", 0.58))  # what torch would take
    with plain, usual:
        torch.manual_seed(0)
        tasks = TrainingModel(model, 5)
        if not scaled:
            torch.nn.init.ones_(tasks.network.fusion.norm.weight)
        table = EmbeddingTable(torch.randn(graph.num_nodes + 2, 128) / (128**0.5 if scaled else 1.0))
        source = WalkSource(graph, replace(WalkConfig(), num_walks=walks), train, 0)
        trainer = Trainer(tasks, table, source, train, "float32", 0)
        began = time.perf_counter()
        try:
            trainer.run(lambda _: None, lambda _: None)
        except TrainingError as error:
            return [f"stopped: {error.what}", *[""] * (len(FIGURES) - 1), ""]
    shown = trainer.position.history[-1]["held_out"]
    return [*(f"{shown[name]:.3f}" for name in FIGURES.values()), f"{time.perf_counter() - began:.0f}"]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--walks", type=int, default=3000)
    parser.add_argument("--quick", action="store_true", help="one shape, 1,000 walks, 2 epochs")
    asked = parser.parse_args()
    shapes, walks, epochs = (SHAPES[:1], 1000, 2) if asked.quick else (SHAPES, asked.walks, asked.epochs)
    graph, name = read()
    print(f"{name}, {walks:,} walks, {epochs} epochs, held-out walks\n")
    print(f"| blocks x heads | each row adds to the one above | {' | '.join(FIGURES)} | seconds |")
    print("|---" * (len(FIGURES) + 3) + "|")
    for blocks, heads in shapes:
        row: Row = {}
        for title, change in ROWS:
            row |= change
            cells = run(graph, blocks, heads, row, walks, epochs)
            print(f"| {blocks} x {heads} | {title} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
