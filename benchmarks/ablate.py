"""What the parts of the model are worth: vectors learned without one of them, judged by what they forecast alone.

    python benchmarks/ablate.py [--seeds 3] [--walks 5000] [--epochs 10] [--out docs/results/studies]

Links are scored by the product of two vectors (Eq. 35) and ToE is predicted by a linear form of both (Eq. 36).
bitcoin-otc is read where it is (TADGE_DATA). What a seed came to is kept in results/studies and not made again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tadge
from study import keep
from tadge.evaluation.competitors import shuffle_times
from tadge.graph import TemporalGraph

VARIANTS = {
    "whole": ({}, {}),
    "without structure embeddings": ({"structure": False}, {}),
    "without ToE in the t-LSTM": ({"timed": False}, {}),
    "random initial vectors": ({}, {"init": "random"}),
    "times shuffled": ({}, {}),
}


class Variant(tadge.TADGE):
    """A TADGE with a name."""

    name = ""

    def fit(self, graph: TemporalGraph, **options) -> Variant:
        return super().fit(shuffle_times(graph, self.seed) if self.name == "times shuffled" else graph, **options)


def variants(seed: int, walks: int, epochs: int) -> list[Variant]:
    found = []
    for name, (network, training) in VARIANTS.items():
        train = tadge.TrainConfig(epochs=epochs, **training)
        model = Variant(tadge.WalkConfig(num_walks=walks), tadge.NetworkConfig(**network), train, seed)
        model.name = name
        found.append(model)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--walks", type=int, default=5_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("docs/results/studies"))
    asked = parser.parse_args()
    graph = tadge.datasets.load("bitcoin-otc", quiet=True)
    text = (
        "What vectors forecast by themselves, learned without one part of the model: links by their product (Eq. 35), "
        f"ToE by a linear form (Eq. 36), classes. {asked.walks:,} walks, {asked.epochs} epochs."
    )
    labels = dict(zip(*tadge.datasets.labels("bitcoin-otc"), strict=True))
    keep(
        asked.out / "bitcoin-otc-ablations.json",
        text,
        range(asked.seeds),
        lambda seed: tadge.evaluate(
            None,
            graph,
            tasks=("links", "toe", "classes"),
            labels=labels,
            seed=seed,
            methods=[*variants(seed, asked.walks, asked.epochs), "DeepWalk"],
            name="bitcoin-otc",
        ),
    )


if __name__ == "__main__":
    main()
