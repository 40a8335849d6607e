"""Ask whether a node's nearest vector is a neighbour: python benchmarks/neighbours.py [--epochs 15] [--part choose].

The paper's split of a known data set. Every network is trained on the walks to learn from and shown the walks asked
about, as the paper has it; a node's vector is the mean of its rows. Rows of the table: random vectors of 128 numbers,
each with those of its neighbours in the walk added, of which nothing is learned; then networks with the named settings.
Choose on the part "choose"; "test" is for what was chosen. With --inner both are parts of the training graph.

    python benchmarks/neighbours.py --settings "tuned" "tuned edges=nodes" "paper lr=0.001" --part choose
"""

from __future__ import annotations

import argparse
import ast
import time
from typing import Any, get_args

import numpy as np

from tadge import TADGE, WalkConfig, datasets
from tadge.embedding.presets import configs_from, preset_settings
from tadge.evaluation.nearest import choose_among_nodes, choose_among_rows, mean_rows
from tadge.units import squash
from tadge.walks.parts import Part, PartName, WalkParts, walk_parts

DIM = 128
COLUMNS = ("nodes, Micro-F1", "Macro-F1", "rows, Micro-F1", "Macro-F1", "ToE, RMSE", "seconds")
SETTINGS = (
    *("blocks=1 heads=2 queries=next", "blocks=1 heads=2 queries=next edges=nodes"),
    *("blocks=1 heads=2 queries=next edges=nodes new_nodes=own unknown=0.2", "tuned blocks=1 heads=2 init=deepwalk"),
    *("tuned blocks=1 heads=2 lstm_toe=squashed", "tuned blocks=1 heads=2 edges=nodes", "tuned blocks=1 heads=2"),
)


def configs(words: str, epochs: int) -> Any:
    """Read settings: the name of a preset, and changes like lr=0.001."""
    names = [word for word in words.split() if "=" not in word]
    settings = preset_settings(names[0]) if names else {"precision": "float32"}
    for name, value in (word.split("=", 1) for word in words.split() if "=" in word):
        try:
            settings[name] = ast.literal_eval(value)
        except ValueError:
            settings[name] = value
    return configs_from({**settings, "epochs": epochs})


def cells(part: Part, rows: Any, toe: Any = None) -> list[str]:
    """Score the rows of a part's walks, (W, L, D), and predicted ToEs, (W, L - 1)."""
    nodes, among = choose_among_nodes(part, mean_rows(part, np.nan_to_num(rows))), choose_among_rows(part, rows)
    figures = [nodes.micro_f1, nodes.macro_f1, among.micro_f1, among.macro_f1]
    if toe is not None:
        walk, step = part.steps
        figures.append(float(np.sqrt(np.mean((toe[walk, step] - squash(part.walks.toe[walk, step + 1])) ** 2))))
    return [f"{figure:.3f}" for figure in figures] + [""] * (5 - len(figures))


def untrained(part: Part, seed: int) -> Any:
    """Give random vectors with those of both neighbours in the walk added, (W, L, D)."""
    codes = np.random.default_rng(seed).standard_normal((part.graph.num_nodes + 1, DIM)).astype(np.float32)
    codes[-1] = 0.0  # beyond the end of a walk
    vectors = codes[part.walks.nodes]
    rows = vectors.copy()
    rows[:, 1:] += vectors[:, :-1]
    rows[:, :-1] += vectors[:, 1:]
    return np.where((part.walks.nodes >= 0)[:, :, None], rows, np.nan)


def row(parts: WalkParts, name: PartName, words: str, epochs: int, seed: int) -> list[str]:
    """Train a network and score it."""
    began = time.perf_counter()
    model = TADGE(*configs(words, epochs), seed).fit(parts["learn"].graph, walks=parts["learn"].walks, progress=False)
    walks = parts[name].walks
    scores = cells(parts[name], model.embed_walks(walks), model.predict_walk_toe(walks))
    return [*scores, f"{time.perf_counter() - began:.0f}"]


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="bitcoin-otc")
    parser.add_argument("--settings", nargs="+", default=SETTINGS, help="a preset and changes, or changes alone")
    parser.add_argument("--part", choices=get_args(PartName), default="choose")
    parser.add_argument("--inner", action="store_true", help="split the training graph once more, and forget the test")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    graph = datasets.load(given.data)
    parts = walk_parts(graph, WalkConfig(), given.seed)
    if given.inner:
        parts = walk_parts(parts.split.train_graph, WalkConfig(), given.seed)
    part = parts[given.part]
    print(f"{given.data}, {given.part}{' (inner)' * given.inner}, {given.epochs} epochs, seed {given.seed}\n")
    print(f"| {' | '.join(['', *COLUMNS])} |\n|{'---|' * (len(COLUMNS) + 1)}")
    print(f"| {' | '.join(['untrained', *cells(part, untrained(part, given.seed)), ''])} |", flush=True)
    for words in given.settings:
        print(f"| {' | '.join([words, *row(parts, given.part, words, given.epochs, given.seed)])} |", flush=True)


if __name__ == "__main__":
    main()
