"""Options of an evaluation, written once, and what a protocol is given to work on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tadge.arrays import Ints
from tadge.config import AGAINST, MAX_LINKS, ORIGINS, REFRESH, check_options, option
from tadge.errors import ConfigError
from tadge.evaluation.questions import KINDS_OF_NEGATIVES
from tadge.graph.graph import TemporalGraph
from tadge.progress import Bars

PROTOCOLS = ("forecast", "reconstruction")
SHARES = (0.7, 0.15)  # of the events to train and to validate on
TASKS = ("toe", "links", "who-and-when", "within", "classes")


@dataclass(frozen=True)
class EvaluationConfig:
    """Say what methods are asked, and how they learn before.

    Attributes:
        tasks: some of "toe", "links", "who-and-when", "within" (forecast only) and "classes", in the order of tables.
        name: what the data is called in titles.
        against: forecast: negatives that true targets are ranked against: some of "random", "historical", "all" and
            "tgb" (as for tgbl-uci: 1,000, up to half of them former targets in the training part).
    """

    protocol: str = option(
        "forecast",
        "forecast: by time, nothing is seen too early; reconstruction: of walks that were seen",
        choices=PROTOCOLS,
    )
    tasks: Sequence[str] = TASKS
    against: Sequence[str] = AGAINST
    max_links: int = option(MAX_LINKS.default, MAX_LINKS.help, low=MAX_LINKS.low)
    refresh: int = option(REFRESH.default, REFRESH.help, low=REFRESH.low)
    origins: int = option(ORIGINS.default, ORIGINS.help, low=ORIGINS.low)
    refit: bool = option(False, "learn from the first 85% before the test, after all choices are made; not from 70%")
    control: bool = option(True, "let every estimator learn once more, from shuffled times")
    name: str = ""

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            expected = " or ".join(PROTOCOLS)
            raise ConfigError("unknown protocol", expected=expected, found=repr(self.protocol), where="protocol")
        check_options(self)
        tasks = _some_of(self.tasks, TASKS, "task", "tasks")
        object.__setattr__(self, "tasks", tuple(task for task in TASKS if task in tasks))
        object.__setattr__(self, "against", _some_of(self.against, KINDS_OF_NEGATIVES, "kind of negatives", "against"))

    def to_dict(self) -> dict[str, Any]:
        """Give all options as plain values."""
        return asdict(self)


def _some_of(given: Any, known: Collection[str], what: str, where: str) -> tuple[str, ...]:
    """Return distinct names as a tuple, or complain about one that is not known; a single string is one name."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or set(names) - set(known):
        raise ConfigError(f"unknown {what}", expected=f"some of {', '.join(known)}", found=repr(given), where=where)
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, eq=False)
class Setting:
    """Hold what a protocol works on.

    Attributes:
        graph: the whole history.
        config: what is asked.
        seed: of questions, baselines and resampling.
        labels: (N,) class numbers, -1 without one; None: nobody is asked for classes.
        folder: where models and answers are kept, so that the work can go on after a stop; None: nowhere.
        bars: show progress.
        shares: of the events to train and to validate on, in the forecast protocol; the test has what is left.
    """

    graph: TemporalGraph
    config: EvaluationConfig
    seed: int
    labels: Ints | None
    folder: Path | None
    bars: Bars
    shares: tuple[float, float] = SHARES
