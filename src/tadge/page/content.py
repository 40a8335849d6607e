"""What a page is made from: the models, their forecasts, how they were judged, and the record of the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tadge.embedding.estimator import TADGE
from tadge.evaluation.result import Result
from tadge.forecasting.estimator import Forecaster
from tadge.graph.graph import TemporalGraph


@dataclass(frozen=True, eq=False)
class Material:
    """Hold what a page tells about.

    Attributes:
        forecaster: who links to whom, how likely and when; None where only vectors were learned.
        vectors: the TADGE, where there is one.
        forecasts: next links of active nodes: src, target, probability, median_wait, low_80, high_80, never; most
            active node first.
        evaluation: how good the models are on the last 15% of the events.
        record: what `run.json` of a run holds; empty for a folder of models.
        name: what the data are called.
    """

    forecaster: Forecaster | None
    vectors: TADGE | None = None
    forecasts: pl.DataFrame | None = None
    evaluation: Result | None = None
    record: dict[str, Any] = field(default_factory=dict)
    name: str = "graph"

    @property
    def graph(self) -> TemporalGraph:
        """Give what happened."""
        fitted = self.forecaster if self.forecaster is not None else self.vectors
        assert fitted is not None
        return fitted.graph_

    @property
    def days(self) -> float:
        """Give the horizon of the forecasts, in days."""
        about = self.record.get("about_forecasts", {})
        longest = self.forecaster.horizon_ if self.forecaster is not None else 7.0
        return float(about.get("days", min(7.0, longest)))

    def note(self, stage: str) -> str | None:
        """Give what a stage of the run has to say, where there is anything."""
        return self.record.get("stages", {}).get(stage, {}).get("note")  # type: ignore[no-any-return]
