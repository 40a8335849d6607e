"""The built-in example: a year of a support desk, whose law is known, so that forecasts can be set beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadge.arrays import NodeNumbers
from tadge.forecasting.estimator import Forecaster
from tadge.synthetic import Desk

EXAMPLE = "support desk"
LAW_PAIRS = 3_000  # of customers and agents whose probabilities are set beside the law's


def beside_the_law(made: Desk, forecaster: Forecaster, days: float, seed: int = 0) -> dict[str, Any]:
    """Set the probabilities within some days of pairs drawn by chance beside what the law says, as plain values.

    `said` and `law` have a number per pair; `wait` has the median waits of favourites, as said and by the law.
    """
    graph, rng = forecaster.graph_, np.random.default_rng(seed)
    count = min(LAW_PAIRS, graph.num_sources * (graph.num_nodes - graph.num_sources))
    src = rng.integers(0, graph.num_sources, count)
    favourite = {made.customers[place]: made.agents[agent] for place, agent in enumerate(made.favourite.tolist())}
    loyal = graph.numbers([favourite[name] for name in graph.ids[src]], side="target")
    anyone = rng.integers(graph.num_sources, graph.num_nodes, count)
    dst = np.where(rng.random(count) < 0.5, np.asarray(loyal), anyone)
    said = np.atleast_1d(forecaster.within(NodeNumbers(src), NodeNumbers(dst), days))
    law = made.probability_within(graph.ids[src], graph.ids[dst], days, at=float(graph.time[-1]))
    waits = forecaster.when(NodeNumbers(src), loyal)
    truth = made.median_wait(graph.ids[src], graph.ids[np.asarray(loyal)], at=float(graph.time[-1]))
    return {
        "days": days,
        "said": np.round(said, 5).tolist(),
        "law": np.round(law, 5).tolist(),
        "wait": {
            "said": float(np.median(np.asarray(waits["median_wait"]))),
            "law": float(np.median(truth)),
        },
    }
