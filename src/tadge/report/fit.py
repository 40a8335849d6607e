"""What `tadge fit` shows at the end: what was learned, how good it is, and what to ask next."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tadge.embedding.estimator import TADGE
from tadge.errors import visible
from tadge.forecasting.estimator import Forecaster
from tadge.graph import TemporalGraph
from tadge.validation import latest_from

WHY = {
    "done": "all epochs are done",
    "early": "the loss on the held-out walks had stopped falling",
    "budget": "its time was over",
    "interrupted": "it was interrupted",
}

TRAINING_FIGURES = {
    "seen: own node recognised, F1": "self_f1",
    "seen: other end of an edge found, F1": "edge_f1",
    "seen: ToE read off the walk, RMSE": "toe_rmse",
    "seen: time between structures, RMSE": "interval_rmse",
    "ahead: who acts next, F1": "who_f1",
    "ahead: after how long, RMSE": "when_rmse",
    "the same of a constant": "toe_constant_rmse",
}


def fit_summary(
    graph: TemporalGraph,
    folder: Path,
    tadge: TADGE | None,
    forecaster: Forecaster | None,
    no_vectors: str | None = None,
) -> dict[str, Any]:
    """Gather what was learned into a folder, as plain values.

    Args:
        graph: what was learned from.
        folder: where it is.
        tadge: what learned vectors; None: nothing was asked for, or could be had.
        forecaster: what learned forecasts; None: nothing was asked for.
        no_vectors: why no vectors could be had.
    """
    fitted = tadge if tadge is not None else forecaster
    return {
        "path": str(folder),
        "nodes": graph.num_nodes,
        "events": graph.num_events,
        "graph": graph.fingerprint,
        "seed": None if fitted is None else fitted.seed,
        "vectors": None if tadge is None else _training(tadge),
        "no_vectors": no_vectors,
        "forecasts": None if forecaster is None else forecaster.about()["forecast"],
        "latest_fifth": None if forecaster is None else _checked(forecaster),
        "seasonal": None if forecaster is None else forecaster.seasonal_,
        "types": None if forecaster is None else _types(graph, forecaster),
    }


def _types(graph: TemporalGraph, forecaster: Forecaster) -> dict[str, Any] | None:
    """Tell which types of events forecasts look at; None where the graph has none."""
    if graph.type is None:
        return None
    return {"asked": forecaster.config.event_types, "looked_at": list(forecaster.types_)}


def _checked(forecaster: Forecaster) -> dict[str, float] | None:
    check = forecaster.ranking_.check
    return None if check is None else check._asdict()


def _training(model: TADGE) -> dict[str, Any]:
    history = model.history_
    best = min(history, key=lambda figures: figures.get("held_out", figures)["loss"]) if history else {}
    return {
        "stopped": model.stopped_,
        "epochs": len(history),
        "lengthened": model.lengthened_,
        "best_epoch": best.get("epoch"),
        "precision": model.precision_,
        "seconds": sum(figures["seconds"] for figures in history),
        "walks_per_second": history[-1]["walks_per_second"] if history else None,
        "peak_memory_mb": history[-1]["peak_memory_mb"] if history else None,
        "training": {name: value for name, value in best.items() if name.endswith(("loss", "f1", "rmse"))},
        "held_out": best.get("held_out"),
    }


def training_table(report: dict[str, Any]) -> Table:
    """Lay out how TADGE was trained, of a summary, as a table."""
    vectors = report["vectors"]
    title = f"TADGE: {report['nodes']:,} nodes, {vectors['epochs']} epochs in {vectors['seconds']:,.0f} s"
    kept = f"the state after epoch {vectors['best_epoch']}" if vectors["best_epoch"] else "the initial state"
    why = f"Stopped because {WHY[vectors['stopped']]}; {kept} is kept."
    if vectors["lengthened"]:
        why += f" It was planned for {', then '.join(map(str, vectors['lengthened']))} epochs at first."
    table = Table(title=title, caption=f"{why} Errors are in squashed days.")
    table.add_column("")
    columns = {"training walks": vectors["training"]}
    if vectors["held_out"]:
        columns["held-out walks"] = vectors["held_out"]
    for name in columns:
        table.add_column(name, justify="right")
    for label, name in TRAINING_FIGURES.items():
        if name in vectors["training"]:
            cells = (f"{figures[name]:.4f}" if name in figures else "-" for figures in columns.values())
            table.add_row(label, *cells)
    return table


def how_good(report: dict[str, Any]) -> list[str]:
    """Say how good the forecasts are: what was found on the latest fifth of the events, by a model of the others."""
    check = report["latest_fifth"]
    if check is None:
        return []
    lines = [
        f"how good: {check['events']:,.0f} of the latest 20% of the events, each asked about right before it, by a",
        f"  model of the earlier ones: the true target was first in {check['first']:.0%}, among the first ten in "
        f"{check['ten']:.0%}; by the rule",
        f'  "whom it linked to last": {check["rule_first"]:.0%} and {check["rule_ten"]:.0%}. It stood among '
        f"{check['others']:,.0f} others: all that its source had met lately, and",
        "  nodes drawn at random.",
    ]
    unseen = 1 - check["known"]
    if unseen > 0:
        lines[-1] += f" {unseen:.1%} of the late events went to nodes never seen before, and are not counted."
    if report["types"] is not None:
        lines.append(f"  {_about_types(**report['types'])}")
    if report["seasonal"]:
        lines.append("  Hours of the week help to tell when: forecasts know of them.")
    if check["rule_first"] > check["first"] or check["rule_ten"] > check["ten"]:
        lines.append("  The rule is better than the model here.")
    return lines


def _about_types(asked: str, looked_at: list[str]) -> str:
    """Say whether forecasts look at types of events, and why."""
    if looked_at:
        why = "as was asked" if asked == "always" else "they help to tell who and when"
        return f"Types of events are looked at, {why}: {visible(', '.join(looked_at))}."
    why = "as was asked" if asked == "never" else "they do not clearly help to tell who and when"
    return f"Types of events are not looked at: {why}."


def what_to_ask(report: dict[str, Any], graph: TemporalGraph) -> list[str]:
    """Write commands that can be pasted, with ids of the file: what the models in the folder answer."""
    path, lines = shlex.quote(report["path"]), []
    if report["forecasts"] is not None:
        src, dst = (shlex.quote(str(end)) for end in busiest_pair(graph))
        lines += [
            "forecasts: Forecaster, who links to whom, how likely and when; now ask:",
            f"  tadge next {path} {src}",
            f"  tadge when {path} {src} {dst}",
            f"  tadge surprises {path}",
            f"  tadge overdue {path}",
            f'  in Python tadge.Forecaster.load("{report["path"]}"): next, when, within, rank, surprise, overdue',
        ]
    if report["vectors"] is not None:
        lines += [
            "vectors: TADGE, one for every node, as of any moment:",
            f"  tadge embed {path} --out vectors.parquet",
            f'  in Python tadge.TADGE.load("{report["path"]}"): embed, similar',
        ]
    if report["no_vectors"] is not None:
        lines.append(f"vectors: none; {report['no_vectors']}")
    return lines


def busiest_pair(graph: TemporalGraph) -> tuple[Any, Any]:
    """Find the ids of the source that acted most in the latest fifth, and of whom it linked to most.

    An id that the command line would take for an option comes last.
    """
    begin = min(latest_from(graph.num_events), graph.num_events - 1)
    pairs = Counter(zip(graph.src[begin:].tolist(), graph.dst[begin:].tolist(), strict=True))
    acts: Counter[int] = Counter()
    for (src, _), count in pairs.items():
        acts[src] += count

    def order(pair: tuple[int, int]) -> tuple[bool, bool, int, int]:
        plain = not any(str(graph.ids[end]).startswith("-") for end in pair)
        return plain, pair[0] != pair[1], acts[pair[0]], pairs[pair]

    src, dst = max(pairs, key=order)
    return graph.ids[src], graph.ids[dst]


def show_fit(report: dict[str, Any], graph: TemporalGraph, *, whole: bool = True) -> None:
    """Print a summary for people.

    Args:
        report: of `fit_summary`.
        graph: what was learned from.
        whole: the folder holds what was learned; else nothing can be asked yet.
    """
    console = Console()
    if report["vectors"] is not None:
        console.print(training_table(report))
    for line in [*how_good(report), *what_to_ask(report, graph)] if whole else ():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
