"""What `tadge fit` shows at the end: what was learned, how well, and which model answers what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from tadge.embedding.estimator import TADGE
from tadge.forecasting.estimator import Forecaster
from tadge.graph import TemporalGraph

WHY = {
    "done": "all epochs are done",
    "early": "the loss on the held-out walks had stopped falling",
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
    graph: TemporalGraph, folder: Path, tadge: TADGE | None, forecaster: Forecaster | None
) -> dict[str, Any]:
    """Gather what was learned into a folder, as plain values; None for a model that was not asked for."""
    fitted = tadge if tadge is not None else forecaster
    return {
        "path": str(folder),
        "nodes": graph.num_nodes,
        "events": graph.num_events,
        "graph": graph.fingerprint,
        "seed": None if fitted is None else fitted.seed,
        "vectors": None if tadge is None else _training(tadge),
        "forecasts": None if forecaster is None else forecaster.about()["forecast"],
    }


def _training(model: TADGE) -> dict[str, Any]:
    history = model.history_
    best = min(history, key=lambda figures: figures.get("held_out", figures)["loss"]) if history else {}
    return {
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


def training_table(report: dict[str, Any]) -> Table:
    """Lay out how TADGE was trained, of a summary, as a table."""
    vectors = report["vectors"]
    title = f"TADGE: {report['nodes']:,} nodes, {vectors['epochs']} epochs in {vectors['seconds']:,.0f} s"
    kept = f"the state after epoch {vectors['best_epoch']}" if vectors["best_epoch"] else "the initial state"
    why = f"Stopped because {WHY[vectors['stopped']]}; {kept} is kept."
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


def who_answers_what(report: dict[str, Any]) -> list[str]:
    """Say in plain words which of the models in the folder answers what."""
    path, lines = report["path"], []
    if report["vectors"] is not None:
        lines.append(
            f"vectors: TADGE, by tadge embed {path} --out vectors.parquet; "
            f'in Python tadge.TADGE.load("{path}"): embed, similar'
        )
    if report["forecasts"] is not None:
        lines.append(
            "forecasts: Forecaster, who links to whom, how likely and when; "
            f"now ask: tadge next {path} SRC; tadge when {path} SRC DST; tadge surprises {path}; tadge overdue {path}\n"
            f'  in Python tadge.Forecaster.load("{path}"): next, when, within, rank, surprise, overdue, predict_toe'
        )
    return lines
