"""How much memory a training run needs, before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from tadge.config import NetworkConfig, TrainConfig
from tadge.errors import ConfigError

NUMBER = 4  # bytes of a float32
TABLE_COPIES = 6  # values, two moments, the best so far, and two while they are made or restored
WEIGHT_COPIES = 5  # values, gradients, two moments, the best so far
INNER_COPIES = 14  # values of H*D that a block keeps per row until its gradients are known
SCORE_COPIES = 8  # values per pair of a question and a candidate


@dataclass(frozen=True)
class MemoryEstimate:
    """Hold the parts of an estimate, in bytes.

    Attributes:
        table: 6 copies of (N + 2) D numbers.
        weights: 5 copies of the network's P weights.
        batch: R rows of 14 H D numbers in each of 2 blocks + 1 blocks, and 8 numbers for each question and candidate.
    """

    table: int
    weights: int
    batch: int

    @property
    def total(self) -> int:
        """Add the parts."""
        return self.table + self.weights + self.batch

    def __str__(self) -> str:
        parts = f"table {self.table / 1e6:,.0f}, weights {self.weights / 1e6:,.0f}, batch {self.batch / 1e6:,.0f}"
        return f"about {self.total / 1e6:,.0f} MB beside the graph ({parts})"


def estimate(
    num_nodes: int, num_weights: int, model: NetworkConfig, train: TrainConfig, mean_length: float
) -> MemoryEstimate:
    """Estimate what training takes; walks and graph, which are there already, not counted."""
    rows = train.batch_size * mean_length
    candidates = rows + (num_nodes if train.negatives < 0 else train.negatives)
    inner = rows * model.heads * model.dim * (2 * model.blocks + 1 + model.structure) * INNER_COPIES
    asked = 4 if train.edges == "both" else 3  # questions per row: its identity, both ends of its edge
    scores = asked * rows * candidates * SCORE_COPIES
    return MemoryEstimate(
        table=TABLE_COPIES * (num_nodes + 2) * model.dim * NUMBER,
        weights=WEIGHT_COPIES * num_weights * NUMBER,
        batch=int(inner + scores) * NUMBER,
    )


def check_memory(need: MemoryEstimate, have: int) -> None:
    """Refuse what cannot fit, with advice on the largest part."""
    if need.total <= have:
        return
    largest = max(("table", "weights", "batch"), key=lambda name: getattr(need, name))
    advice = {
        "table": "lower dim, or keep fewer nodes",
        "weights": "lower dim, heads or blocks",
        "batch": "lower batch_size, or negatives where it is -1",
    }
    found = f"{have / 1e6:,.0f} MB that are free"
    raise ConfigError("training does not fit into memory", expected=str(need), found=found, cure=advice[largest])
