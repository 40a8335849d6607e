"""Learn a forum whose law is known, and see how much of it was learned.

    python examples/forum.py [--events 20000] [--seed 0] [--default] [--out demo]

A synthetic forum is made. Two models learn its first 85%: a Forecaster, which then predicts how long each later reply
takes, asked when its target has joined; and a TADGE, whose vectors should place nodes of one community near each other.
The Forecaster's error stands beside a constant's and the best that anyone could do, TADGE's vectors beside DeepWalk's,
and both beside the same models trained on shuffled times. Everything is left in a folder: events, labels, models,
vectors, report.html.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

import tadge

PAST = 0.85
QUICK_NETWORK = tadge.NetworkConfig(dim=64, heads=2, blocks=2)
QUICK_TRAINING = tadge.TrainConfig(epochs=12, lr=2e-3, batch_size=100)
QUICK_FORECASTS = tadge.ForecastConfig(steps=100, trees=150)


def rmse(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def community_auc(vectors: np.ndarray, labels: np.ndarray) -> float:
    """Return the probability that two nodes of one community are nearer (cosine) than two of different ones."""
    centred = vectors - vectors.mean(axis=0)
    unit = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    first, second = np.triu_indices(len(unit), 1)
    if first.size > 2_000_000:
        chosen = np.random.default_rng(0).choice(first.size, 2_000_000, replace=False)
        first, second = first[chosen], second[chosen]
    return float(roc_auc_score(labels[first] == labels[second], np.einsum("nd,nd->n", unit[first], unit[second])))


def shuffled(graph: tadge.TemporalGraph, seed: int) -> tadge.TemporalGraph:
    """Keep who links to whom, but permute the times."""
    times = np.random.default_rng(seed).permutation(graph.time)
    return tadge.TemporalGraph.from_arrays(graph.src, graph.dst, times, unit="days", ids=graph.ids, clock=graph.clock)


def questions(graph: tadge.TemporalGraph, events: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return source and target (ids) of events, and when the target had joined: as of then a forecast is asked."""
    joined = []
    for event in events:
        times = graph.tov(graph.ids[graph.dst[event]])
        joined.append(times[np.searchsorted(times, graph.time[event]) - 1])
    return graph.ids[graph.src[events]], graph.ids[graph.dst[events]], np.array(joined)


def table(title: str, names: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    """Lay out rows of strings."""
    made = Table(*names, title=title)
    for row in rows:
        made.add_row(*row)
    return made


def judge_toe(
    known: tadge.synthetic.Synthetic, past: tadge.TemporalGraph, models: dict[str, tadge.Forecaster]
) -> tuple[Table, str]:
    """Set the errors of forecast ToEs beside a constant's and the best possible ones."""
    graph = known.graph
    events = np.flatnonzero(~np.isnan(graph.toe))
    later = events[events >= past.num_events]
    src, dst, at = questions(graph, later)
    truth = 2 * np.arctan(graph.toe[later]) / np.pi
    seen = 2 * np.arctan(past.toe_values()) / np.pi
    predictions = {
        name: model.predict_toe(src, dst, at, graph=graph, unit="squashed", statistic="mean")
        for name, model in models.items()
    }
    predictions["a constant"] = np.full(truth.size, seen.mean())
    predictions["best with the hidden pace known"] = tadge.synthetic.best_toe(known)[later]
    errors = {name: rmse(squashed, truth) for name, squashed in predictions.items()}
    errors["best from the past"] = tadge.synthetic.best_toe_rmse(known, later).history
    above = errors["Forecaster"] / errors["best from the past"] - 1
    better = "better" if errors["Forecaster"] < errors["a constant"] else "WORSE"
    verdict = f"Replies: {above:.0%} above the best that the thread's past allows; {better} than a constant."
    rows = [(name, f"{error:.4f}") for name, error in errors.items()]
    return table("How long will the reply take? Errors of forecasts", ("", "RMSE, squashed days"), rows), verdict


def judge_vectors(
    known: tadge.synthetic.Synthetic, past: tadge.TemporalGraph, models: dict[str, tadge.TADGE], seed: int
) -> tuple[Table, str]:
    """Set the vectors' communities beside DeepWalk's."""
    active = past.degree > 0
    vectors = {name: model.embed() for name, model in models.items()}
    vectors["DeepWalk"] = tadge.baselines.make("DeepWalk", seed).fit(past).vectors_
    auc = {name: community_auc(rows[active], known.labels[active]) for name, rows in vectors.items()}
    verdict = "DeepWalk is better at them." if auc["DeepWalk"] > auc["TADGE"] else "better than DeepWalk."
    rows = [*((name, f"{figure:.4f}") for name, figure in auc.items()), ("no vectors", "0.5000")]
    return table("Are nodes of one community nearer? AUC", ("", "AUC"), rows), f"Communities: {verdict}"


def training(model: tadge.TADGE) -> Table:
    """Show how training went."""
    names = {"own node, F1": "self_f1", "edge, F1": "edge_f1", "ToE, RMSE": "toe_rmse", "ToE ahead, RMSE": "when_rmse"}
    rows = []
    for number, epoch in enumerate(model.history_, 1):
        figures = epoch.get("held_out", epoch)
        rows.append((str(number), *(f"{figures[name]:.4f}" if name in figures else "-" for name in names.values())))
    return table("Training of TADGE, on held-out walks", ("epoch", *names), rows)


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--default", action="store_true", help="the default networks and training, not the quick ones")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    asked = parser.parse_args()
    out, seed = asked.out, asked.seed
    networks = {} if asked.default else {"network_config": QUICK_NETWORK, "train_config": QUICK_TRAINING}
    forecasts = {} if asked.default else {"config": QUICK_FORECASTS}
    began, console = time.perf_counter(), Console(record=True)

    known = tadge.synthetic.forum(asked.events, seed=seed)
    graph = known.graph
    past = graph.before(float(graph.time[int(PAST * graph.num_events)]))
    control = shuffled(past, seed)
    tadge.write_events(graph, out / "forum.csv")
    pl.DataFrame({"id": graph.ids, "label": known.labels}).write_csv(out / "labels.csv")
    console.print(f"{graph}, seed {seed}; learning from its first {past.num_events:,} events")

    forecaster = tadge.Forecaster(**forecasts, seed=seed).fit(past)
    forecaster.save(out / "model")
    console.print(f"Forecaster learned after {time.perf_counter() - began:.0f} s")
    model = tadge.TADGE(**networks, seed=seed).fit(past)
    model.save(out / "model")
    tadge.write_vectors(out / "vectors.parquet", past.ids, model.embed())
    console.print(f"TADGE learned after {time.perf_counter() - began:.0f} s; now both on shuffled times")
    untimed = tadge.Forecaster(**forecasts, seed=seed).fit(control)
    forecasters = {"Forecaster": forecaster, "Forecaster, shuffled times": untimed}
    embedders = {"TADGE": model, "TADGE, shuffled times": tadge.TADGE(**networks, seed=seed).fit(control)}

    node = past.ids[np.argmax(past.degree)]  # of this forum, ids are node numbers
    nearest = model.similar(node, 5)
    pairs = zip(nearest["neighbour"].to_list(), nearest["similarity"].to_list(), strict=True)
    near = [(str(name), f"{cosine:.3f}", str(known.labels[name])) for name, cosine in pairs]
    title = f"Nearest to node {node} (community {known.labels[node]})"
    verdicts = []
    for shown, verdict in (judge_toe(known, past, forecasters), judge_vectors(known, past, embedders, seed)):
        console.print(shown)
        verdicts.append(verdict)
    console.print(table(title, ("node", "cosine", "community"), near))
    console.print(training(model))
    for verdict in verdicts:
        console.print(verdict)
    took = time.perf_counter() - began
    console.print(f"{out}/: forum.csv, labels.csv, model/, vectors.parquet, report.html; {took:.0f} s in all")
    console.save_html(str(out / "report.html"))


if __name__ == "__main__":
    main()
