"""What a run tells people on its way: what was understood, the first answers, and what to ask next."""

from __future__ import annotations

import shlex
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from tadge.arrays import NodeNumbers
from tadge.forecasting.estimator import Forecaster
from tadge.graph.graph import TemporalGraph
from tadge.io.readers import ReadReport
from tadge.page.parts import UNLIKELY, horizon_text, plural
from tadge.report.answers import as_polars, id_text, moment_text, percent_text, wait_text
from tadge.running.forecasts import active_sources
from tadge.units import duration_text

FIRST_NODES = 5  # of the most active nodes that are told about at once


def understood(graph: TemporalGraph, name: str, report: ReadReport | None) -> list[str]:
    """Say what a history holds, and by which columns."""
    first, last = (moment_text(float(graph.time[place]), graph.clock) for place in (0, -1))
    kind = "two-sided" if graph.bipartite else "directed" if graph.directed else "undirected"
    sizes = f"{plural(graph.num_events, 'event')} of {plural(graph.num_nodes, 'node')} ({kind})"
    lines = [f"{name}: {sizes}, from {first} to {last}"]
    if report is not None:
        source, target = (report.columns.get(role, role) for role in ("src", "dst"))
        lines.append(f"  an event: {source} links to {target}, at {report.columns.get('time', 'time')} ({report.time})")
    return lines


def first_answers(forecaster: Forecaster, days: float, seconds: float) -> list[str]:
    """Tell whom the most active nodes are likeliest to link to."""
    graph, horizon = forecaster.graph_, min(days, forecaster.horizon_)
    sources = active_sources(graph)[0][:FIRST_NODES]
    if horizon <= 0:
        return ["all events are at one instant: nothing can be said about how long links take"]
    answers = as_polars(forecaster.next(NodeNumbers(sources), 1, horizon))
    lines = [f"first answers, after {duration_text(seconds)}:"] if len(answers) else []
    for row in answers.iter_rows(named=True):
        how = f"{percent_text(row['probability'])} within {horizon_text(horizon)}"
        median = f"half of such links come within {wait_text(row['median_wait'])}"
        verb = (
            "will most likely link to"
            if row["probability"] >= UNLIKELY
            else "is not likely to link to anyone, but if to"
        )
        lines.append(f"  {id_text(row['src'])} {verb} {id_text(row['target'])}: {how}; {median}")
    return lines


def questions_to_paste(forecasts: pl.DataFrame | None, out: str | PathLike[str]) -> list[str]:
    """Write three questions with ids of this history, ready to paste."""
    folder = shlex.quote(str(out))
    if forecasts is None or not len(forecasts):
        return ["now ask:", f"  tadge surprises {folder}", f"  tadge overdue {folder}"]
    row = forecasts.row(0, named=True)
    src, target = (_argument(row[name]) for name in ("src", "target"))
    return [
        "now ask:",
        f"  tadge next {folder} {src}",
        f"  tadge when {folder} {src} {target}",
        f"  tadge surprises {folder}",
    ]


def _argument(node: Any) -> str:
    """Write an id as a shell takes it; one that looks like a flag goes behind two dashes."""
    text = str(np.asarray(node).item() if isinstance(node, np.generic) else node)
    return f"-- {shlex.quote(text)}" if text.startswith("-") else shlex.quote(text)
