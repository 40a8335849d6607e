"""From what was measured for each question to figures with their intervals, and to who beats whom.

All columns of a task are resampled together: the same questions are drawn for every method, so that a difference is
judged question by question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days
from tadge.evaluation.metrics import Statistic, resampled_means, resampled_medians, span, summed

Columns = Mapping[str, tuple[Statistic, npt.NDArray[Any]]]  # metric: how to sum it up, (n,) or (n, c) per question
Figure = dict[str, float]  # value, low, high
SMALLER = ("rmse", "mae", "median")  # metrics that begin so are errors: the smaller, the better


def smaller_is_better(metric: str) -> bool:
    """Tell whether a metric is an error, by its name."""
    return metric.startswith(SMALLER)


def judged(
    measured: Mapping[str, Columns],
    seed: int,
    groups: Mapping[str, npt.NDArray[np.bool_]] | None = None,
    *,
    task: str,
    main: str,
    model: str | None,
) -> tuple[dict[str, dict[str, Figure]], list[dict[str, Any]]]:
    """Sum up a task.

    Args:
        measured: of each method, what was measured for each of the n questions.
        seed: of the resampling.
        groups: (n,) flags of further groups of questions, whose metrics get the group's name behind theirs.
        task: its name.
        main: the metric by which methods are compared.
        model: the method that is compared with all others; None: nobody.

    Returns:
        The figures of each method by metric, each with its interval; and the comparisons.
    """
    found: dict[str, dict[str, Figure]] = {name: {} for name in measured}
    if not measured:
        return found, []
    draws = _add(found, measured, "", seed)
    for group, chosen in (groups or {}).items():
        if chosen.any():
            part = {name: _only(columns, chosen) for name, columns in measured.items()}
            _add(found, part, f" {group}", seed)
    if model not in measured:
        return found, []
    rivals = [name for name in measured if name != model]
    return found, [_compared(found, draws, task, main, str(model), rival) for rival in rivals]


def _only(columns: Columns, chosen: npt.NDArray[np.bool_]) -> Columns:
    return {metric: (statistic, values[chosen]) for metric, (statistic, values) in columns.items()}


def _add(
    found: dict[str, dict[str, Figure]], measured: Mapping[str, Columns], suffix: str, seed: int
) -> dict[tuple[str, str], Days]:
    """Add the figures of all columns; give the resampled ones."""
    values, draws = _resample(measured, seed)
    for (name, metric), value in values.items():
        low, high = span(draws[name, metric])
        found[name][metric + suffix] = {"value": value, "low": low, "high": high}
    return draws


def _resample(
    measured: Mapping[str, Columns], seed: int
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], Days]]:
    """Give the statistic of every column, and its statistics over all resamples, (r,)."""
    cells = {
        (name, metric): (statistic, values.reshape(len(values), -1).astype(np.float64))
        for name, columns in measured.items()
        for metric, (statistic, values) in columns.items()
    }
    stacked = np.concatenate([values for _, values in cells.values()], axis=1)
    once, often = stacked.mean(axis=0, keepdims=True), resampled_means(stacked, seed)
    value, draws, column = {}, {}, 0
    for key, (statistic, values) in cells.items():
        cut = slice(column, column + values.shape[1])
        column = cut.stop
        if statistic == "median":
            value[key], draws[key] = float(np.median(values)), resampled_medians(values[:, 0], seed)
        else:
            value[key], draws[key] = float(summed(statistic, once[:, cut])[0]), summed(statistic, often[:, cut])
    return value, draws


def _compared(
    found: dict[str, dict[str, Figure]],
    draws: dict[tuple[str, str], Days],
    task: str,
    main: str,
    model: str,
    rival: str,
) -> dict[str, Any]:
    low, high = span(draws[model, main] - draws[rival, main])
    value, rival_value = found[model][main]["value"], found[rival][main]["value"]
    names = {"task": task, "metric": main, "model": model, "rival": rival}
    return names | {"value": value, "rival_value": rival_value, "low": low, "high": high}


# -- words -----------------------------------------------------------------------------------------------------------


def outcome(comparison: dict[str, Any]) -> str:
    """Tell by the interval of the difference whether the model "wins", "loses", or "no clear difference"."""
    low, high = comparison["low"], comparison["high"]
    if low <= 0 <= high:
        return "no clear difference"
    return "wins" if (high < 0) == smaller_is_better(comparison["metric"]) else "loses"


def label(metric: str) -> str:
    """Write a metric as people do."""
    first, *rest = metric.split(" ")
    known = {"rmse": "RMSE", "mae": "MAE", "mrr": "MRR", "micro-f1": "Micro-F1", "macro-f1": "Macro-F1"}
    return " ".join([known.get(first, first[:1].upper() + first[1:]), *rest])


def number(value: float) -> str:
    """Write a figure in as many places as one can read."""
    size = abs(value)
    return f"{value:.3f}" if size < 10 else f"{value:.1f}" if size < 1000 else f"{value:,.0f}"
