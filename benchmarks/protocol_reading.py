"""Which reading of the paper's protocol fits its printed baselines? python benchmarks/protocol_reading.py [--seeds 3].

The paper says little about how its baselines were asked. Here each is asked in the two or three natural ways, on its
smallest data set, and every figure stands beside the printed one (Tables 3 to 5, Transaction).

vectors: separate: the test part is embedded by itself, so that its vectors have no axes in common with those learned
from (GraphSAGE: by the trained weights); shared: test nodes have the vectors of the part that was learned from, and
zeros where they do not stand in it.
edges: nearest of all test nodes by cosine, or by product; a hit if it is a neighbour. Networks over walks: likewise
with the mean row of each node. rows: the likeliest among all rows of a batch of walks, by product (Eq. 35) or cosine;
methods with one vector per node then have the same row wherever a node stands.
toe: an elastic net on sums of both ends' vectors, with or without a constant; networks over walks have their own, which
is the same in all rows.
classes: a support vector machine with a Gaussian kernel from vectors of the training part to those of the test part;
cost and width chosen on the part to choose on, or scikit-learn's defaults.

The last column is the mean distance from what is printed. Nothing is chosen by it: it is a description. Tables come
after each split, with the means so far.

Settings that the paper leaves open come last: passes of CTDNE, aggregators and features of GraphSAGE.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from tadge import datasets
from tadge.arrays import Ints, Vectors
from tadge.baselines.ctdne import CTDNE
from tadge.baselines.graphsage import AGGREGATORS, GraphSAGE, SageConfig
from tadge.baselines.of_parts import NodeVectors, PartMethod
from tadge.baselines.vectors import elastic_net
from tadge.config import NetworkConfig, TrainConfig, WalkConfig
from tadge.datasets.node_labels import known_labels
from tadge.evaluation.classes import ClassQuestions, classify
from tadge.evaluation.metrics import decisions, macro_f1, micro_f1
from tadge.evaluation.nearest import choose_among_nodes, choose_among_rows
from tadge.evaluation.paper_methods import paper_methods
from tadge.units import squash
from tadge.walks.parts import PartName, WalkParts, walk_parts

DATA = "bitcoin-otc"
PRINTED = {  # Transaction: edges micro, macro; ToE; classes micro, macro
    "DeepWalk": (0.8783, 0.7012, 0.5586, 0.5889, 0.3721),
    "CTDNE": (0.5177, 0.4103, 0.4397, 0.5969, 0.3680),
    "GraphSAGE": (0.6132, 0.5157, 0.4465, 0.6037, 0.3711),
    "GAT": (0.8300, 0.8033, 0.4304, 0.5952, 0.4256),
    "GAT-strc": (0.8787, 0.8627, 0.4025, 0.6173, 0.4424),
    "TADGE-tTran": (0.9111, 0.8864, 0.3959, 0.6042, 0.4122),
    "TADGE": (0.9133, 0.8939, 0.3795, 0.6302, 0.4644),
}
COLUMNS = {"edges": slice(0, 2), "toe": slice(2, 3), "classes": slice(3, 5)}
CONTROLS = ("random vectors", "degree + age")
WAYS_OF_TOE = ("separate, with a constant", "shared, with a constant", "separate, without", "shared, without")
SETTINGS_OF_CTDNE = (1, 5, 20, 50, 100, 200)
Figures = dict[str, dict[str, dict[str, list[tuple[float, ...]]]]]  # task, reading, method: one per split


# -- readings ----------------------------------------------------------------------------------------------------------


def unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def nearest_by_product(parts: WalkParts, vectors: Vectors) -> tuple[float, float]:
    """Let every end of every edge choose the node with the largest product of vectors; give Micro- and Macro-F1."""
    part, nodes = parts["test"], parts["test"].nodes
    products = vectors[nodes] @ vectors[nodes].T
    np.fill_diagonal(products, -np.inf)
    chosen = nodes[products.argmax(1)]
    walk, step = part.steps
    asking = np.concatenate([part.walks.nodes[walk, step], part.walks.nodes[walk, step + 1]])
    linked = {*zip(part.graph.src.tolist(), part.graph.dst.tolist(), strict=True)}
    linked |= {(v, u) for u, v in linked}
    hit = np.array([(u, v) in linked for u, v in zip(nodes.tolist(), chosen.tolist(), strict=True)])
    hits = hit[np.searchsorted(nodes, asking)]
    return float(hits.mean()), float(hit[np.isin(nodes, asking)].mean())


def edges(parts: WalkParts, method: PartMethod) -> dict[str, tuple[float, ...]]:
    test = parts["test"]
    found: dict[str, tuple[float, ...]] = {}
    ways = {"separate": method.nodes("test")}
    if isinstance(method, NodeVectors):
        ways["shared"] = method.nodes("learn")
    for way, vectors in ways.items():
        by_cosine = choose_among_nodes(test, vectors)
        found[f"{way}, cosine"] = by_cosine.micro_f1, by_cosine.macro_f1
        found[f"{way}, product"] = nearest_by_product(parts, vectors)
    rows = method.rows("test")
    if rows is None:
        rows = method.nodes("test")[test.walks.nodes]
    for name, taken in (("product", rows), ("cosine", unit(rows))):
        choices = choose_among_rows(test, taken)
        found[f"rows, {name}"] = choices.micro_f1, choices.macro_f1
    found["separate, cosine; networks: rows, product"] = found[
        "separate, cosine" if isinstance(method, NodeVectors) else "rows, product"
    ]
    return found


def sums(parts: WalkParts, name: PartName, vectors: Vectors) -> tuple[Vectors, np.ndarray]:
    """Give the sum of both ends' vectors, and the squashed ToE, of every edge of the walks, in order of time."""
    part = parts[name]
    walk, step = part.steps
    order = np.argsort(part.walks.tov[walk, step + 1], kind="stable")
    walk, step = walk[order], step[order]
    nodes = part.walks.nodes
    return vectors[nodes[walk, step]] + vectors[nodes[walk, step + 1]], squash(part.walks.toe[walk, step + 1])


def toe(parts: WalkParts, method: PartMethod) -> dict[str, tuple[float, ...]]:
    predicted = method.toe("test")
    if predicted is not None:
        error = predicted - squash(parts["test"].walks.toe[:, 1:])
        return dict.fromkeys(WAYS_OF_TOE, (float(np.sqrt(np.nanmean(error**2))),))
    learned = sums(parts, "learn", method.nodes("learn"))
    found = {}
    for words, constant in (("with a constant", True), ("without", False)):
        head = elastic_net(*learned, constant=constant)
        for way, part in (("separate", "test"), ("shared", "learn")):
            asked, true = sums(parts, "test", method.nodes(part))  # type: ignore[arg-type]
            error = asked @ head[:-1] + head[-1] - true
            found[f"{way}, {words}"] = (float(np.sqrt(np.mean(error**2))),)
    return found


def classes(parts: WalkParts, method: PartMethod, labels: Ints) -> dict[str, tuple[float, ...]]:
    found = {}
    for way, last in (("separate", "test"), ("shared", "learn")):
        if way == "shared" and not isinstance(method, NodeVectors):
            continue
        sources: tuple[tuple[PartName, PartName], ...] = (("learn", "learn"), ("choose", "choose"), ("test", last))  # type: ignore[assignment]
        nodes = [parts[part].nodes[labels[parts[part].nodes] >= 0] for part, _ in sources]
        vectors = np.concatenate(
            [method.nodes(source)[own] for (_, source), own in zip(sources, nodes, strict=True)]
        ).astype(np.float64)
        places = np.split(np.arange(len(vectors)), np.cumsum([own.size for own in nodes])[:-1])
        everyone = np.concatenate(nodes)
        of = labels[everyone]
        count = int(labels.max()) + 1
        asked = ClassQuestions(everyone, of, *places, at=np.inf, classes=count, asked_of=places[0].size)
        for words, predicted in (("chosen", classify(vectors, asked)), ("defaults", by_defaults(vectors, asked))):
            counts = decisions(of[asked.test], predicted, count).sum(axis=0)
            found[f"{way}, {words}"] = float(micro_f1(counts)), float(macro_f1(counts))
    return found


def by_defaults(vectors: np.ndarray, asked: ClassQuestions) -> Ints:
    from sklearn.svm import SVC

    return SVC().fit(vectors[asked.train], asked.labels[asked.train]).predict(vectors[asked.test])


# -- tables ------------------------------------------------------------------------------------------------------------


def cell(figures: tuple[float, ...]) -> str:
    return " / ".join(f"{figure:.3f}".removeprefix("0") for figure in figures)


def show(title: str, task: str, found: dict[str, dict[str, list[tuple[float, ...]]]], methods: list[str]) -> None:
    """Print a table: a row per reading, a column per method, and how far the row is from what is printed."""
    print(f"\n{title}\n| reading | {' | '.join(methods)} | mean distance |\n|---|{'---|' * len(methods)}---|")
    printed = {name: PRINTED[name][COLUMNS[task]] for name in methods if name in PRINTED}
    print(f"| printed | {' | '.join(cell(printed[name]) if name in printed else '' for name in methods)} | |")
    for reading, by_method in found.items():
        means = {name: tuple(np.mean(figures, axis=0)) for name, figures in by_method.items()}
        apart = [np.abs(np.subtract(means[name], printed[name])).mean() for name in means if name in printed]
        cells = [cell(means[name]) if name in means else "" for name in methods]
        print(f"| {reading} | {' | '.join(cells)} | {f'{np.mean(apart):.3f}' if apart else ''} |", flush=True)


def show_open_settings(parts: WalkParts) -> None:
    """Measure and print what the paper leaves open: how long CTDNE learns, what GraphSAGE is given."""
    tried: dict[str, PartMethod] = {f"CTDNE, {count} passes": CTDNE(epochs=count) for count in SETTINGS_OF_CTDNE}
    for features in ("random", "degree", "deepwalk"):
        for kind in AGGREGATORS:
            config = SageConfig((kind,), features)  # type: ignore[arg-type]
            tried[f"GraphSAGE, {kind}, {features} features"] = GraphSAGE(config=config)
    print(
        "\nOpen settings, first split: static edges, separate, cosine\n| setting | to choose on | test |\n|---|---|---|"
    )
    for name, method in tried.items():
        method.fit(parts)
        choices = [choose_among_nodes(parts[part], method.nodes(part)) for part in ("choose", "test")]  # type: ignore[index, arg-type]
        print(f"| {name} | {' | '.join(cell((made.micro_f1, made.macro_f1)) for made in choices)} |", flush=True)


def main() -> int:
    """Fit, ask and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="how many splits, each with methods of its own seed")
    parser.add_argument(
        "--epochs", type=int, default=20, help="most epochs of the networks over walks; 0: leave them out"
    )
    parser.add_argument("--tadge", action="store_true", help="TADGE and TADGE-tTran as well")
    parser.add_argument("--no-settings", action="store_true", help="leave out the settings that the paper leaves open")
    given = parser.parse_args()
    beside = Path(__file__).parents[2] / "shared" / "data"
    if "TADGE_DATA" not in os.environ and beside.is_dir():
        os.environ["TADGE_DATA"] = str(beside)
    graph = datasets.load(DATA, quiet=True)
    labels = known_labels(DATA, graph)
    assert labels is not None
    names = ["DeepWalk", "CTDNE", "GraphSAGE", *(["GAT", "GAT-strc"] if given.epochs else [])]
    names += [*(["TADGE-tTran", "TADGE"] if given.tadge and given.epochs else []), *CONTROLS]
    found: Figures = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    network = NetworkConfig(queries="next", residual=False)
    training = TrainConfig(epochs=max(1, given.epochs), weights=(1.0, 1.0, 1.0, 1.0), precision="float32")
    for seed in range(given.seeds):
        parts = walk_parts(graph, WalkConfig(), seed)
        print(
            f"seed {seed}: {', '.join(f'{name} {len(parts[name].walks):,} walks' for name in parts.parts)}", flush=True
        )
        made = paper_methods(WalkConfig(), network, training, seed, progress=False)
        for name in names:
            begin = time.perf_counter()
            method = made[name].fit(parts)
            answers = {"edges": edges(parts, method), "toe": toe(parts, method)}
            answers["classes"] = classes(parts, method, labels.values)
            for task, readings in answers.items():
                for reading, figures in readings.items():
                    found[task][reading][name].append(figures)
            chosen = f", {method.aggregator_}" if isinstance(method, GraphSAGE) else ""
            print(f"seed {seed}: {name}{chosen}, {time.perf_counter() - begin:.0f} s", flush=True)
        print(f"\nmeans of {seed + 1} splits")
        show("Static edges, Micro-F1 / Macro-F1", "edges", found["edges"], names)
        show("ToE, RMSE", "toe", found["toe"], names)
        show("Classes, Micro-F1 / Macro-F1", "classes", found["classes"], names)
    if not given.no_settings:
        show_open_settings(walk_parts(graph, WalkConfig(), 0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
