"""What `tadge fit` shows at the end."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from tadge.embedding.estimator import TADGE

WHY = {
    "done": "all epochs are done",
    "early": "the loss on the held-out walks had stopped falling",
    "interrupted": "it was interrupted",
}

ROWS = {
    "seen: own vertex recognised, F1": "self_f1",
    "seen: other end of an edge found, F1": "edge_f1",
    "seen: ToE read off the walk, RMSE": "toe_rmse",
    "seen: time between structures, RMSE": "interval_rmse",
    "ahead: who acts next, F1": "who_f1",
    "ahead: after how long, RMSE": "when_rmse",
    "the same of a constant": "toe_constant_rmse",
}


def summary(model: TADGE) -> dict[str, Any]:
    """Gather what a fitted model came to, as plain values."""
    history = model.history_
    best = min(history, key=lambda figures: figures.get("held_out", figures)["loss"]) if history else {}
    return {
        "nodes": model.graph_.num_nodes,
        "events": model.graph_.num_events,
        "graph": model.graph_.fingerprint,
        "seed": model.seed,
        "stopped": model.stopped_,
        "epochs": len(history),
        "best_epoch": best.get("epoch"),
        "precision": model.precision_,
        "seconds": sum(figures["seconds"] for figures in history),
        "walks_per_second": history[-1]["walks_per_second"] if history else None,
        "peak_memory_mb": history[-1]["peak_memory_mb"] if history else None,
        "training": {name: value for name, value in best.items() if name.endswith(("loss", "f1", "rmse"))},
        "held_out": best.get("held_out"),
    }


def render(found: dict[str, Any]) -> Table:
    """Lay the summary out as a table."""
    title = f"{found['path']}: {found['nodes']:,} nodes, {found['epochs']} epochs in {found['seconds']:,.0f} s"
    kept = f"the state after epoch {found['best_epoch']}" if found["best_epoch"] else "the initial state"
    why = f"Stopped because {WHY[found['stopped']]}; {kept} is kept."
    table = Table(title=title, caption=f"{why} Errors are in squashed days.")
    table.add_column("")
    columns = {"training walks": found["training"]}
    if found["held_out"]:
        columns["held-out walks"] = found["held_out"]
    for name in columns:
        table.add_column(name, justify="right")
    for label, name in ROWS.items():
        if name in found["training"]:
            cells = (f"{figures[name]:.4f}" if name in figures else "-" for figures in columns.values())
            table.add_row(label, *cells)
    return table
