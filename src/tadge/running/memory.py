"""How much memory learning takes in all, before it starts: what the process holds by now, and what is still to come.

The numbers are bytes of arrays that are counted, with how many copies of them live at once, and a few that were
measured: code that is loaded on the way, and work on questions whose number is bounded. `benchmarks/memory.py` compares
what is said here with what is taken.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from tadge.config import LATEST, ForecastConfig, NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.estimator import MAX_SAVED
from tadge.embedding.inference import EMBEDDED_AT_ONCE, SHARED_WINDOW
from tadge.embedding.memory import INNER_COPIES, NUMBER, estimate
from tadge.embedding.toe_head import HEAD_PAIRS
from tadge.features.link_columns import LINK_WIDTH
from tadge.features.toe_columns import TOE_WIDTH
from tadge.features.type_columns import common_types, pair_width
from tadge.forecasting.rank_calibration import CALIBRATION_EVENTS
from tadge.graph.graph import TemporalGraph
from tadge.machine import available_memory, held_memory
from tadge.network.training_model import TrainingModel

MB = 1_000_000
LOADED_LATER = {"torch._dynamo": 72 * MB, "sklearn.ensemble": 133 * MB}  # by torch's optimiser and by the trees
COMPILED = 50 * MB  # loops, loaded when they are first called
BATCHES = 60 * MB  # what the networks of the Forecaster learn from in a step, two of them side by side
CALIBRATING = 220 * MB  # late events by which probabilities are calibrated, once there are CALIBRATION_EVENTS of them
LATE = 5  # of so many events one is late
PER_EVENT = 200  # bytes of the past with its sums, of the whole history and of all but its latest fifth
KEPT_PER_EVENT, KEPT = 110, 40 * MB  # what stays of that, and of all else, for answers
TREES_PER_EVENT, CELL = 75, 25  # bytes per event, and per value of a column, while trees are learned
JUDGING = 230 * MB  # the rules that forecasts are judged beside, and libraries that they load
WALKS_PER_EVENT = 75  # bytes of the index that walks are drawn from
PASSING_PER_EVENT = 130  # bytes of chains and of orders of all occurrences


class MemoryPlan(NamedTuple):
    """Hold what memory is expected to be taken, in bytes.

    Attributes:
        held: by the process now, the graph included.
        code: that is still to be loaded.
        forecaster: by learning forecasts, beside these.
        vectors: by learning vectors, beside these and what is kept of the former.
        available: what can be had now, of the machine or of its container.
    """

    held: int
    code: int
    forecaster: int
    vectors: int
    available: int

    @property
    def total(self) -> int:
        """Give the most that the whole process is expected to hold."""
        return self.held + self.code + max(self.forecaster, self.vectors)

    @property
    def fits(self) -> bool:
        """Tell whether what is still to come can be had."""
        return self.total - self.held <= self.available

    def __str__(self) -> str:
        parts = {"held now": self.held, "code": self.code, "forecasts": self.forecaster, "vectors": self.vectors}
        listed = ", ".join(f"{name} {size / MB:,.0f}" for name, size in parts.items() if size)
        return f"about {self.total / MB:,.0f} MB of memory in all ({listed}); {self.available / MB:,.0f} MB are free"


def memory_plan(
    graph: TemporalGraph,
    forecasting: ForecastConfig | None,
    vectors: tuple[WalkConfig, NetworkConfig, TrainConfig] | None,
    *,
    judged: bool = False,
) -> MemoryPlan:
    """Estimate what learning from a graph that was read takes.

    Args:
        graph: what happened.
        forecasting: how the Forecaster learns; None: nothing does.
        vectors: how TADGE learns; None: nothing does.
        judged: whether a second Forecaster learns, of all but the latest events, while the first is kept.
    """
    code = COMPILED + sum(size for name, size in LOADED_LATER.items() if name not in sys.modules)
    forecaster = 0 if forecasting is None else _forecaster(graph, forecasting)
    kept = 0 if forecasting is None else KEPT + KEPT_PER_EVENT * graph.num_events
    forecaster += kept + JUDGING if judged else 0
    return MemoryPlan(
        held_memory(), code, forecaster, 0 if vectors is None else kept + _vectors(graph, *vectors), available_memory()
    )


def _forecaster(graph: TemporalGraph, config: ForecastConfig) -> int:
    """Count what the Forecaster takes: two networks side by side, with their calibration; or the trees after them."""
    readings = graph.num_events * (1 if graph.directed or graph.bipartite else 2)
    step = config.batch_events * (1 + config.random_negatives + config.former_negatives)
    least = ForecastConfig()
    usual = least.batch_events * (1 + least.random_negatives + least.former_negatives)
    columns = pair_width(len(common_types(graph)) if config.event_types != "never" else 0)
    wider = step * (columns + 4 * config.hidden) / (usual * (LINK_WIDTH + 4 * least.hidden))
    late = min(1.0, graph.num_events / (LATE * CALIBRATION_EVENTS))
    networks = BATCHES * wider + CALIBRATING * late + PER_EVENT * readings
    rows = min(config.max_pairs, readings) * (2 if config.rescale else 1)
    trees = rows * TOE_WIDTH * CELL + TREES_PER_EVENT * readings
    return int(max(networks, trees))


def _vectors(graph: TemporalGraph, walking: WalkConfig, network: NetworkConfig, train: TrainConfig) -> int:
    """Count what TADGE takes: training, or vectors as of many moments after it."""
    weights = num_weights(network, walking.max_length)
    length = (walking.min_length + walking.max_length) / 2
    need = estimate(graph.num_nodes, weights, network, train, length)
    table, once = (graph.num_nodes + 2) * network.dim * NUMBER, weights * NUMBER
    asked = min(graph.num_occurrences, HEAD_PAIRS * (LATEST.default + 1))
    windows = min(EMBEDDED_AT_ONCE, 2 + EMBEDDED_AT_ONCE * graph.num_occurrences // max(SHARED_WINDOW * asked, 1))
    rows = (EMBEDDED_AT_ONCE + windows * train.window) * walking.max_length
    block = rows * network.heads * network.dim * INNER_COPIES * NUMBER
    found = min(graph.num_occurrences, LATEST.default * graph.num_nodes) * network.dim * NUMBER
    found = found if graph.num_nodes * network.dim <= MAX_SAVED else 0
    embedding = table + once + block + found + PASSING_PER_EVENT * graph.num_events
    return int(max(need.total, embedding) + WALKS_PER_EVENT * graph.num_events)


def num_weights(network: NetworkConfig, max_length: int) -> int:
    """Count the weights of a network without making them."""
    import torch

    with torch.device("meta"):
        tasks = TrainingModel(network, max_length)
    return sum(weight.numel() for weight in tasks.parameters())
