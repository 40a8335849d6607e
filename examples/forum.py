"""Learn a forum whose law is known, and see how much of it was learned.

    python examples/forum.py [--events 20000] [--seed 0] [--default] [--out demo]

A synthetic forum is made; the model learns its first 85% and forecasts the rest: how long each reply will take, asked
when its target has joined. The error stands beside a constant's and the best that anyone could do; how well communities
come out, beside DeepWalk's; and beside both, the same model trained on shuffled times. Everything is left in a folder:
events, labels, model, vectors, report.html.
"""

from __future__ import annotations

import argparse
import html
import time
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import tadge
from tadge.deepwalk.initialise import initial_vectors
from tadge.features.pairs import timed_pairs
from tadge.io.export import write_frame
from tadge.io.vectors import write_vectors
from tadge.units import unsquash

PAST = 0.85
QUICK = tadge.NetworkConfig(dim=64, heads=2, blocks=2), tadge.TrainConfig(epochs=15, lr=2e-3, batch_size=100)


def nearer(vectors: np.ndarray, labels: np.ndarray) -> float:
    """Return the chance that two nodes of one community are nearer (cosine) than two of different ones: the AUC."""
    centred = vectors - vectors.mean(axis=0)
    unit = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    one, other = np.triu_indices(len(unit), 1)
    if one.size > 2_000_000:
        chosen = np.random.default_rng(0).choice(one.size, 2_000_000, replace=False)
        one, other = one[chosen], other[chosen]
    cosine, same = np.einsum("nd,nd->n", unit[one], unit[other]), labels[one] == labels[other]
    rank = pl.Series(cosine).rank("average").to_numpy()
    num = int(same.sum())
    return float((rank[same].sum() - num * (num + 1) / 2) / (num * (same.size - num)))


def shuffled(graph: tadge.TemporalGraph, seed: int) -> tadge.TemporalGraph:
    """Keep who links to whom, but deal the times anew."""
    when = np.random.default_rng(seed).permutation(graph.time)
    return tadge.TemporalGraph.from_arrays(graph.src, graph.dst, when, unit="days", ids=graph.ids, clock=graph.clock)


def rmse(guess: np.ndarray, truth: np.ndarray) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((guess - truth) ** 2)))


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--default", action="store_true", help="the default network and training, not the quick ones")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    asked = parser.parse_args()
    model_config, train_config = (None, None) if asked.default else QUICK
    began, console = time.perf_counter(), Console()

    known = tadge.synthetic.forum(asked.events, seed=asked.seed)
    graph = known.graph
    past = graph.before(float(graph.time[int(PAST * graph.num_events)]))
    tadge.write_events(graph, asked.out / "forum.csv")
    write_frame(pl.DataFrame({"id": graph.ids, "label": known.labels}), asked.out / "labels.csv")

    console.print(f"{graph}; learning from its first {past.num_events:,} events")
    model = tadge.TADGE(model=model_config, train=train_config, seed=asked.seed)
    first = time.perf_counter()
    model.fit(past)
    seconds = time.perf_counter() - first
    model.save(asked.out / "model")
    vectors = model.embed()
    write_vectors(asked.out / "vectors.parquet", past.ids, vectors)
    console.print(f"learned in {seconds:.0f} s; now the control, on shuffled times")
    control = tadge.TADGE(model=model_config, train=train_config, seed=asked.seed).fit(shuffled(past, asked.seed))

    pairs, event = timed_pairs(graph, graph.num_events, asked.seed), np.flatnonzero(~np.isnan(graph.toe))
    later = event >= past.num_events
    ask = pairs.src[later], pairs.dst[later], pairs.at[later]
    truth = pairs.toe[later]
    guesses = {
        "tadge": model.predict_toe(*ask, graph=graph, squashed=True),
        "tadge, shuffled times": control.predict_toe(*ask, graph=graph, squashed=True),
        "a constant": np.full(truth.size, pairs.toe[~later].mean()),
        "best with the hidden pace known": tadge.synthetic.best_toe(known)[event[later]],
    }
    toe = {name: rmse(guess, truth) for name, guess in guesses.items()}
    toe["best from the past"] = tadge.synthetic.best_toe_rmse(known, event[later]).history
    days = {name: float(np.median(np.abs(unsquash(guess) - unsquash(truth)))) for name, guess in guesses.items()}
    there = past.degree > 0
    labels = known.labels[there]
    auc = {
        "tadge": nearer(vectors[there], labels),
        "tadge, shuffled times": nearer(control.embed()[there], labels),
        "DeepWalk": nearer(initial_vectors(past, "deepwalk", model.model.dim, asked.seed)[there], labels),
        "no vectors": 0.5,
    }
    show(console, model, known, (toe, days, auc), asked.out, seconds)
    took = time.perf_counter() - began
    console.print(f"{asked.out}/: forum.csv, labels.csv, model/, vectors.parquet, report.html; {took:.0f} s in all")


def show(
    console: Console,
    model: tadge.TADGE,
    known: tadge.synthetic.Synthetic,
    scores: tuple[dict[str, float], ...],
    out: Path,
    seconds: float,
) -> None:
    """Print the tables and write them into a page."""
    toe, days, auc = scores
    node = int(np.argmax(model.graph_.degree))
    near = [(name, f"{cosine:.3f}", str(known.labels[name])) for name, cosine in model.similar(node, 5)]
    above = toe["tadge"] / toe["best from the past"] - 1
    verdicts = [
        f"Replies: {above:.0%} above the best that the thread's past allows; "
        + ("better than a constant." if toe["tadge"] < toe["a constant"] else "WORSE than a constant."),
        "Communities: "
        + ("DeepWalk is better at them." if auc["DeepWalk"] > auc["tadge"] else "better than DeepWalk."),
    ]
    tables = [
        (
            "How long will the reply take? Errors of forecasts",
            ("", "RMSE, squashed days", "median error, days"),
            [(name, f"{toe[name]:.4f}", f"{days[name]:.2f}" if name in days else "-") for name in toe],
        ),
        (
            "Are nodes of one community nearer? AUC",
            ("", "AUC"),
            [(name, f"{figure:.4f}") for name, figure in auc.items()],
        ),
        (f"Nearest to node {node} (community {known.labels[node]})", ("node", "cosine", "community"), near),
    ]
    for title, names, rows in tables:
        table = Table(title=title)
        for name in names:
            table.add_column(name)
        for row in rows:
            table.add_row(*map(str, row))
        console.print(table)
    for verdict in verdicts:
        console.print(verdict)
    page = [f"<p>{known.graph}, seed {known.seed}; trained in {seconds:.0f} s, {len(model.history_)} epochs.</p>"]
    page += [f"<p>{html.escape(verdict)}</p>" for verdict in verdicts]
    for title, names, rows in tables:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
        page.append(f"<h2>{html.escape(title)}</h2><table><tr>{head}</tr>{body}</table>")
    page.append("<h2>Training</h2>" + curves(model))
    (out / "report.html").write_text(PAGE.format(body="\n".join(page)), encoding="utf-8")


def curves(model: tadge.TADGE) -> str:
    """Draw the scores of every epoch as SVG."""
    wide, high, colours = 640, 240, ("#2b6cb0", "#c05621", "#2f855a", "#805ad5")
    lines = {
        "other end found, F1": "edge_f1",
        "own vertex, F1": "self_f1",
        "ToE read, RMSE": "toe_rmse",
        "ToE ahead, RMSE": "when_rmse",
    }
    shown = [figures.get("held_out", figures) for figures in model.history_]
    parts = [f'<svg viewBox="0 0 {wide + 180} {high + 30}" width="{wide + 180}" role="img">']
    for share in (0, 0.5, 1):
        y = high - share * (high - 10)
        parts.append(
            f'<line x1="30" x2="{wide}" y1="{y}" y2="{y}" stroke="#ddd"/><text x="0" y="{y + 4}">{share:g}</text>'
        )
    for place, (label, name) in enumerate(lines.items()):
        values = [figures[name] for figures in shown if name in figures]
        step = (wide - 30) / max(1, len(values) - 1)
        points = " ".join(f"{30 + i * step:.1f},{high - v * (high - 10):.1f}" for i, v in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[place]}" stroke-width="2"/>')
        parts.append(f'<text x="{wide + 8}" y="{20 + 20 * place}" fill="{colours[place]}">{label}</text>')
    parts.append(f'<text x="{wide / 2}" y="{high + 24}">epoch 1 to {len(shown)}, held-out walks</text></svg>')
    return "".join(parts)


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>tadge on a forum whose law is known</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222}}
table{{border-collapse:collapse}}td,th{{padding:.25rem .9rem;border-bottom:1px solid #ddd;text-align:left}}
svg text{{font:13px system-ui,sans-serif}}</style>
<h1>tadge on a forum whose law is known</h1>
{body}
</html>
"""

if __name__ == "__main__":
    main()
