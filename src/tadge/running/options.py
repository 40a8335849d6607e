"""What a run is asked for, written once: how long it may take, how far ahead it looks."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from tadge.config import (
    AHEAD,
    BUDGET,
    TARGETS,
    ForecastConfig,
    NetworkConfig,
    TrainConfig,
    WalkConfig,
    check_options,
    option,
)
from tadge.errors import ConfigError
from tadge.seeding import check_seed

PARTS_OF_TIME = {"s": 1.0, "m": 60.0, "h": 3_600.0}
TIME = re.compile(r"(?:\d+(?:\.\d+)?\s*[smh]\s*)+")


@dataclass(frozen=True)
class RunConfig:
    """Hold how long a run may take and what it forecasts.

    Attributes:
        forecasting: how the Forecaster learns.
        walking: how TADGE walks.
        network: the size of TADGE's network.
        training: how TADGE is trained; `epochs` are the most that it gets, the budget may leave time for fewer.
        seed: the same seed gives the same models, where the budget leaves the same time; TADGE at the same number of
            threads.
        device: that TADGE learns on.
    """

    budget: str = option(BUDGET.default, BUDGET.help)
    days: float = option(AHEAD.default, AHEAD.help, low=AHEAD.low, high=AHEAD.high)
    k: int = option(TARGETS.default, TARGETS.help, low=TARGETS.low, high=TARGETS.high)
    forecasting: ForecastConfig = field(default_factory=ForecastConfig)
    walking: WalkConfig = field(default_factory=WalkConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: TrainConfig = field(default_factory=TrainConfig)
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        check_options(self)
        check_seed(self.seed)
        seconds_of(self.budget)

    @property
    def seconds(self) -> float:
        """Give the budget in seconds."""
        return seconds_of(self.budget)

    def settings(self) -> dict[str, Any]:
        """Describe what decides about the result, as plain values: all but budget and device."""
        return {name: value for name, value in asdict(self).items() if name not in ("budget", "device")}


def seconds_of(budget: str) -> float:
    """Read a length of time such as 90s, 10m or 1h30m; complain about anything else."""
    text = budget.strip().lower()
    if not TIME.fullmatch(text):
        expected, cure = "a length of time like 90s, 10m or 1h30m", "say the unit: s, m or h"
        raise ConfigError("not a length of time", expected=expected, found=repr(budget), cure=cure, where="budget")
    return sum(float(number) * PARTS_OF_TIME[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)\s*([smh])", text))
