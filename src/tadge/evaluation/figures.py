"""Figures with their intervals, from what was measured for each question; and who beats whom.

All columns of a task are resampled together: the same questions are drawn for every method, so that a difference is
judged question by question. Questions about one target are drawn together: they are not independent of each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints
from tadge.evaluation.metrics import (
    ColumnStatistic,
    apply_statistic,
    percentile_interval,
    resampled,
)

Measured = Mapping[str, tuple[ColumnStatistic, npt.NDArray[Any]]]  # by metric; (n,) or (n, c): question by question
Figure = dict[str, float]  # value, low, high
ERRORS = ("rmse", "mae", "median", "brier", "gap", "pinball")  # metrics that begin so: the smaller, the better
WANTED = {"coverage 80": 0.8, "coverage 95": 0.95}  # fractions that should be what they are called
PROBABILITIES = ("brier", "gap", "said", "true")  # metrics of probabilities, which are often small
NEITHER = ("said", "true", "links said", "links true")  # metrics of which neither more nor less is better


def smaller_is_better(metric: str) -> bool:
    """Tell whether a metric is an error, by its name."""
    return metric.startswith(ERRORS)


def badness(metric: str, value: float) -> float:
    """Give a number that is the smaller, the better a figure is."""
    if metric in WANTED:
        return abs(value - WANTED[metric])
    return value if smaller_is_better(metric) else -value


def summarise(
    measured: Mapping[str, Measured],
    seed: int,
    groups: Mapping[str, Flags] | None = None,
    *,
    task: str,
    compared: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    clusters: Ints | None = None,
) -> tuple[dict[str, dict[str, Figure]], list[dict[str, Any]]]:
    """Compute the figures of a task, and who beats whom.

    Args:
        measured: of each method, what was measured for each of the n questions.
        seed: of the resampling.
        groups: (n,) masks of further groups of questions, whose metrics get the group's name behind theirs.
        task: its name.
        compared: the metrics by which methods are compared.
        pairs: a model and a method that it is compared with; pairs of methods without figures are left out.
        clusters: (n,) numbers of what questions have in common, such as their target; see `resampled`.

    Returns:
        The figures of each method by metric, each with its interval; and the comparisons.
    """
    figures: dict[str, dict[str, Figure]] = {name: {} for name in measured}
    if not measured:
        return figures, []
    draws = _add(figures, measured, "", seed, clusters)
    for group, mask in (groups or {}).items():
        if mask.any():
            some = {name: _only(columns, mask) for name, columns in measured.items()}
            _add(figures, some, f" {group}", seed, None if clusters is None else clusters[mask])
    comparisons = []
    for model, rival in pairs:
        for metric in compared if model in measured and rival in measured else ():
            low, high = percentile_interval(draws[model, metric] - draws[rival, metric])
            value, rival_value = (figures[name][metric]["value"] for name in (model, rival))
            names = {"task": task, "metric": metric, "model": model, "rival": rival}
            comparisons.append(names | {"value": value, "rival_value": rival_value, "low": low, "high": high})
    return figures, comparisons


def _only(columns: Measured, mask: Flags) -> Measured:
    return {metric: (statistic, values[mask]) for metric, (statistic, values) in columns.items()}


def _add(
    figures: dict[str, dict[str, Figure]],
    measured: Mapping[str, Measured],
    suffix: str,
    seed: int,
    clusters: Ints | None,
) -> dict[tuple[str, str], Days]:
    """Add the figures of all columns; give the resampled ones."""
    values, draws = _resample(measured, seed, clusters)
    for (name, metric), value in values.items():
        low, high = percentile_interval(draws[name, metric])
        figures[name][metric + suffix] = {"value": value, "low": low, "high": high}
    return draws


def _resample(
    measured: Mapping[str, Measured], seed: int, clusters: Ints | None
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], Days]]:
    """Give the statistic of every column, and its statistics over all resamples, (r,)."""
    cells = {
        (name, metric): (statistic, values.reshape(len(values), -1).astype(np.float64))
        for name, columns in measured.items()
        for metric, (statistic, values) in columns.items()
    }
    averaged = {key: cell for key, cell in cells.items() if cell[0] != "median"}
    halved = {key: values for key, (statistic, values) in cells.items() if statistic == "median"}
    none = np.empty((len(next(iter(cells.values()))[1]), 0))
    stacked = np.concatenate([none, *(values for _, values in averaged.values())], axis=1)
    once = stacked.mean(axis=0, keepdims=True)
    means, medians = resampled(stacked, np.concatenate([none, *halved.values()], axis=1), seed, clusters=clusters)
    figures, draws, column = {}, {}, 0
    for key, (statistic, values) in averaged.items():
        cut = slice(column, column + values.shape[1])
        column = cut.stop
        figures[key] = float(apply_statistic(statistic, once[:, cut])[0])
        draws[key] = apply_statistic(statistic, means[:, cut])
    for key, values, of_column in zip(halved, halved.values(), medians.T, strict=True):
        figures[key], draws[key] = float(np.median(values)), of_column
    return figures, draws


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
    known |= {"brier": "Brier", "c-index": "C-index"}
    return " ".join([known.get(first, first[:1].upper() + first[1:]), *rest])


def number(value: float, metric: str = "") -> str:
    """Write a figure in as many places as one can read; those of probabilities, which are often small, in more."""
    size = abs(value)
    if metric in PROBABILITIES and size < 0.1:
        return f"{value:.5f}"
    return f"{value:.3f}" if size < 10 else f"{value:.1f}" if size < 1000 else f"{value:,.0f}"
