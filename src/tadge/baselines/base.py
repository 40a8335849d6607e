"""What all baselines share: a name, a seed, and that there may be nothing to learn."""

from __future__ import annotations

from typing import ClassVar, Self

from tadge.graph.graph import TemporalGraph
from tadge.seeding import check_seed


class Baseline:
    """Stand in tables under a name, and learn nothing unless a baseline says otherwise.

    Args:
        seed: the same seed gives the same answers.
    """

    name: ClassVar[str]

    def __init__(self, seed: int = 0) -> None:
        self.seed = check_seed(seed)

    def fit(self, graph: TemporalGraph) -> Self:
        """Learn nothing."""
        return self
