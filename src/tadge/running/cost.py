"""What a run will take, before it starts: seconds, from measurements that are kept beside this file, and memory.

`benchmarks/run_cost.py` measures runs of several sizes and writes `costs.json`: seconds of CPU, which a machine with
nothing else to do takes at the most. Between two sizes the logarithm of a cost is a line in the logarithm of the
events; beyond the largest, costs grow with the events.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from tadge.config import WalkConfig
from tadge.running.memory import MemoryPlan
from tadge.running.options import RunConfig
from tadge.units import duration_text

COSTS_FILE = "costs.json"


class Stage(StrEnum):
    """Name the stages of a run, in order."""

    FORECASTER = "forecaster"
    FORECASTS = "forecasts"
    JUDGING = "judging"
    VECTORS = "vectors"
    JUDGING_VECTORS = "judging vectors"
    PAGE = "page"


ONE_EPOCH = "epoch"  # one epoch of TADGE, in the measurements
AROUND_EPOCHS = "around epochs"  # walks and initial vectors before them, vectors of all nodes after them
STAGES_IN_WORDS: dict[str, str] = {
    Stage.FORECASTER: "learn who links to whom, how likely and when",
    Stage.FORECASTS: "forecast the next links of all active nodes",
    Stage.JUDGING: "judge that on the last 15% of the events, beside simple rules",
    Stage.VECTORS: "learn vectors",
    Stage.JUDGING_VECTORS: "judge vectors in the same way",
    Stage.PAGE: "write the page",
}
FINAL_PART = 0.65  # of the time for vectors that those of the whole history get; what judges them gets the rest
SLOWEST = 8.0  # machine, beside the one that was measured: more is a stall


@dataclass(frozen=True)
class Plan:
    """Hold what a run is going to do.

    Attributes:
        seconds: that each stage is expected to take; None: it is left out, as the budget is over by then.
        epochs: of TADGE that the budget leaves time for.
        memory_mb: the most memory that the whole process is expected to hold.
        available_mb: memory that the process has, or can have now.
        budget: in seconds.
    """

    seconds: dict[str, float | None]
    epochs: int
    memory_mb: float
    available_mb: float
    budget: float

    @property
    def total(self) -> float:
        """Add up the seconds of all stages."""
        return sum(seconds or 0.0 for seconds in self.seconds.values())

    def lines(self) -> list[str]:
        """Write the plan for people, a line per stage."""
        lines = []
        for stage, seconds in self.seconds.items():
            words = STAGES_IN_WORDS[stage]
            if stage == Stage.VECTORS and seconds is not None:
                words += f", {self.epochs} epoch{'s' * (self.epochs != 1)}"
            cost = "left out: no time left" if seconds is None else f"about {duration_text(max(seconds, 1.0))}"
            lines.append(f"  {words}: {cost}")
        gigabytes = f"{self.memory_mb / 1e3:,.1f} GB of memory at most"
        lines.append(f"  in all about {duration_text(self.total)} and {gigabytes}")
        if self.memory_mb > self.available_mb:
            lines.append(f"  warning: only {self.available_mb / 1e3:,.1f} GB of memory can be had")
        return lines


@cache
def measured() -> list[dict[str, Any]]:
    """Read the measurements, smallest first."""
    rows: list[dict[str, Any]] = json.loads((files(__package__) / COSTS_FILE).read_text("utf-8"))["rows"]
    return sorted(rows, key=lambda row: row["events"])


def expected_seconds(stage: str, events: int) -> float:
    """Estimate the seconds of a stage from those that were measured at other sizes."""
    rows = [(row["events"], row["seconds"][stage]) for row in measured() if stage in row["seconds"]]
    return _interpolated(rows, events)


def _interpolated(rows: list[tuple[int, float]], events: int) -> float:
    """Read a cost off the line between two sizes, both in logarithms."""
    points = [(math.log(size), math.log(max(cost, 1e-3))) for size, cost in rows]
    x = math.log(max(events, 1))
    if x <= points[0][0]:
        return math.exp(points[0][1])
    for (x0, y0), (x1, y1) in pairwise(points):
        if x <= x1:
            return math.exp(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return math.exp(points[-1][1] + x - points[-1][0])


def make_plan(events: int, config: RunConfig, memory: Callable[[bool, bool], MemoryPlan]) -> Plan:
    """Plan a run of so many events: what fits into the budget, in order, and how many epochs of TADGE.

    Args:
        events: how many there are.
        config: budget, and how models learn.
        memory: tells what a run takes: with vectors or without, judged or not.
    """
    seconds: dict[str, float | None] = {
        stage: expected_seconds(stage, events) for stage in (Stage.FORECASTER, Stage.FORECASTS)
    }
    left = config.seconds - sum(value or 0.0 for value in seconds.values()) - expected_seconds(Stage.PAGE, events)
    judging = expected_seconds(Stage.JUDGING, events)
    seconds[Stage.JUDGING] = judging if judging <= left else None
    left -= seconds[Stage.JUDGING] or 0.0
    epochs = epochs_in(left, events, config)
    learning = vector_seconds(epochs, events, config)
    seconds[Stage.VECTORS] = learning if epochs else None
    judging = min(learning, max(left - learning, 0.0))
    seconds[Stage.JUDGING_VECTORS] = judging if epochs and seconds[Stage.JUDGING] is not None else None
    seconds[Stage.PAGE] = expected_seconds(Stage.PAGE, events)
    expected = memory(epochs > 0, seconds[Stage.JUDGING] is not None)
    return Plan(seconds, epochs, expected.total / 1e6, (expected.held + expected.available) / 1e6, config.seconds)


def epochs_in(seconds: float, events: int, config: RunConfig, slower: float = 1.0) -> int:
    """Count the epochs of TADGE that fit into so many seconds, beside those that judge them.

    Args:
        seconds: that are left.
        events: of the history.
        config: `training.epochs` is the most.
        slower: how much slower this machine has been so far than the one that was measured.
    """
    fixed, more = vector_seconds(0, events, config), vector_seconds(1, events, config)
    pace = min(max(slower, 1 / SLOWEST), SLOWEST)
    return max(0, min(config.training.epochs, int((FINAL_PART * seconds / pace - fixed) / (more - fixed))))


def vector_seconds(epochs: int, events: int, config: RunConfig) -> float:
    """Estimate the seconds of so many epochs of TADGE with all that comes before and after them."""
    walks = config.walking.num_walks / WalkConfig().num_walks
    return expected_seconds(AROUND_EPOCHS, events) + epochs * walks * expected_seconds(ONE_EPOCH, events)
