"""A small run and what it is made from: what the tests of running, of the page and of its command share."""

from __future__ import annotations

from functools import cache

import numpy as np

import tadge
from small import forum, network, rebuilt, training, walking
from tadge.page.content import Material
from tadge.running.forecasts import forecast_all
from tadge.running.options import RunConfig

SMALL_FORECASTS = tadge.ForecastConfig(steps=5, trees=5, hidden=8)
HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted' & <b>",
    "=1+1",
    "-dash",
    "ץ שלום עולם",
    "🦊🦊",
    "a" * 300,
    "</style></script><svg onload=alert(1)>",
    "new\nline\tand \x1b[31mred",
]


def small_run_config(**changes) -> RunConfig:
    models = {
        "forecasting": SMALL_FORECASTS,
        "walking": walking(),
        "network": network(),
        "training": training(epochs=2),
    }
    return RunConfig(**models | changes)


def hostile_graph(events: int = 400) -> tadge.TemporalGraph:
    """A forum whose busiest members have names that no page and no shell should stumble over."""
    graph = forum(events)
    ids = np.array([f"user {number}" for number in range(graph.num_nodes)], object)
    ids[np.argsort(-graph.degree, kind="stable")[: len(HOSTILE)]] = HOSTILE
    return rebuilt(graph, ids=ids)


@cache
def small_material() -> Material:
    """Both models of that forum and their forecasts, ready for a page."""
    graph = hostile_graph()
    forecaster = tadge.Forecaster(SMALL_FORECASTS).fit(graph, progress=False)
    vectors = tadge.TADGE(walking(), network(), training(epochs=2)).fit(graph, progress=False)
    made = forecast_all(forecaster, 7.0, 3, 0, lambda *_: None)
    return Material(forecaster, vectors, made.table, record={"about_forecasts": made.about})
