"""Metrics over arrays, and a paired bootstrap of our own: no library resamples many methods together in bounded memory.

The same seed and number of questions draw the same questions, so that figures of several methods can be compared
question by question. Questions that have something in common, such as their target, can be drawn together. F1 is
computed from counts, which can be resampled; scikit-learn's needs every single answer.
"""

# mypy: allow-untyped-decorators

from __future__ import annotations

from collections.abc import Callable, Iterator

import numba
import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.errors import InputError
from tadge.seeding import stream

ColumnStatistic = str | Callable[[Days], Days]

RESAMPLES = 1000
LEVEL = 0.95
WEIGHTS_AT_ONCE = 1 << 21  # weights held at once: bounds the memory


# -- ranks and errors -------------------------------------------------------------------------------------------------


def mrr(ranks: Days) -> float:
    """Compute the mean of 1 / rank."""
    return float(np.mean(1.0 / ranks))


def rmse(predicted: Days, truth: Days) -> float:
    """Compute the root of the mean squared error."""
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


# -- decisions --------------------------------------------------------------------------------------------------------


def decisions(labels: Ints, predicted: Ints, classes: int) -> Days:
    """Compute for each of n answers which classes' TP, FP and FN it counts for, (n, 3, C)."""
    true, answer = np.eye(classes)[labels], np.eye(classes)[predicted]
    return np.stack([true * answer, answer * (1 - true), true * (1 - answer)], axis=1)


def f1_per_class(counts: Days) -> tuple[Days, Flags]:
    """Compute the F1 of each class, (..., C), from TP, FP and FN, (..., 3, C); and a mask of the classes met at all."""
    right, wrong = 2 * counts[..., 0, :], counts[..., 1, :] + counts[..., 2, :]
    met = right + wrong > 0
    return np.where(met, right / np.where(met, right + wrong, 1.0), 0.0), met


def micro_f1(counts: Days) -> Days:
    """Compute the F1 of all classes' TP, FP and FN, (..., 3, C), taken together (Eq. 38)."""
    return f1_per_class(counts.sum(axis=-1, keepdims=True))[0][..., 0]


def macro_f1(counts: Days) -> Days:
    """Compute the mean F1 of the classes that were met, from TP, FP and FN, (..., 3, C) (Eq. 39)."""
    f1, met = f1_per_class(counts)
    return f1.sum(axis=-1) / np.maximum(met.sum(axis=-1), 1)  # type: ignore[no-any-return]


# -- paired bootstrap -------------------------------------------------------------------------------------------------


def apply_statistic(statistic: ColumnStatistic, means: Days) -> Days:
    """Compute a statistic that is a function of means, (r, c), as (r,)."""
    if callable(statistic):
        return statistic(means)
    return np.sqrt(means[:, 0]) if statistic == "root mean" else means[:, 0]


def resampled(
    means_of: Days, medians_of: Days, seed: int, resamples: int = RESAMPLES, clusters: Ints | None = None
) -> tuple[Days, Days]:
    """Compute means of columns, (n, c), and medians of others, (n, m), over every resample, (r, c) and (r, m).

    Args:
        means_of: (n, c).
        medians_of: (n, m).
        seed: of the resampling.
        resamples: how many.
        clusters: (n,) questions with the same number are drawn together, as many clusters as there are; by default, or
            where all are in one cluster, each question is drawn by itself.
    """
    size, means, medians = len(means_of), [], []
    order = np.argsort(medians_of, axis=0, kind="stable")
    ordered = np.take_along_axis(medians_of, order, axis=0)
    cluster = np.arange(size) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if cluster.max(initial=0) == 0:
        cluster = np.arange(size)
    for weights in _weights(cluster, seed, resamples):
        means.append(weights @ means_of / weights.sum(axis=1, keepdims=True))
        medians.append(weighted_medians(weights, order, ordered))
    return np.concatenate(means), np.concatenate(medians)


@numba.njit(cache=True)
def weighted_medians(weights: Days, order: Ints, ordered: Days) -> Days:
    """Compute medians of columns, (n, m) in ascending order, under rows of whole weights, (b, n); (b, m)."""
    columns = ordered.shape[1]
    medians = np.empty((len(weights), columns))
    for row in range(len(weights)):
        size = int(weights[row].sum())
        for column in range(columns):
            place, count = 0, weights[row, order[0, column]]
            while count <= (size - 1) // 2:
                place += 1
                count += weights[row, order[place, column]]
            low = ordered[place, column]
            while count <= size // 2:
                place += 1
                count += weights[row, order[place, column]]
            medians[row, column] = (low + ordered[place, column]) / 2
    return medians


def _weights(cluster: Ints, seed: int, resamples: int) -> Iterator[Days]:
    """Draw how often each question is in each resample, some resamples at once, (b, n), by its cluster, (n,)."""
    if not cluster.size:
        raise InputError("nothing to resample", expected="at least one question", found="none")
    rng = np.random.default_rng(int(stream(seed, "bootstrap")))
    at_once, size = max(1, WEIGHTS_AT_ONCE // cluster.size), int(cluster.max()) + 1
    for first in range(0, resamples, at_once):
        count = min(at_once, resamples - first)
        drawn = rng.integers(size, size=(count, size)) + np.arange(count)[:, None] * size
        times = np.bincount(drawn.reshape(-1), minlength=count * size).reshape(count, size)
        yield times[:, cluster].astype(np.float64)


def percentile_interval(draws: Days, level: float = LEVEL) -> tuple[float, float]:
    """Compute the limits between which a fraction of the draws lies."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
