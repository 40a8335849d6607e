"""Figures of merit over arrays, and how sure one can be of them.

Everything that is resampled draws the same questions from the same seed and number of questions, so figures of several
methods can be compared question by question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.errors import InputError
from tadge.seeding import stream

Flags = npt.NDArray[np.bool_]
Statistic = str | Callable[[Days], Days]

RESAMPLES = 1000
LEVEL = 0.95
BLOCK = 1 << 21  # weights held at once: bounds the memory


# -- ranks ------------------------------------------------------------------------------------------------------------


def mean_ranks(scores: npt.NDArray[Any], there: Flags | None = None) -> Days:
    """Rank the true answer, in column 0, among all, (Q, 1 + K), as (Q,); the highest score has rank 1.

    Equal scores share the mean of the best and the worst rank they could have.

    Args:
        scores: (Q, 1 + K); -inf is allowed, NaN is not.
        there: (Q, 1 + K) False where a candidate is missing.
    """
    if np.isnan(scores).any():
        raise InputError("a score is not a number", expected="numbers, or -inf", found="NaN", where="scores")
    own, others = scores[:, :1], scores[:, 1:]
    above, same = others > own, others == own
    if there is not None:
        above, same = above & there[:, 1:], same & there[:, 1:]
    return 1.0 + np.count_nonzero(above, axis=1) + np.count_nonzero(same, axis=1) / 2  # type: ignore[no-any-return]


def mrr(ranks: Days) -> float:
    """Give the mean of 1 / rank."""
    return float(np.mean(1.0 / ranks))


def hits(ranks: Days, k: int) -> float:
    """Give the share of ranks up to k."""
    return float(np.mean(ranks <= k))


# -- errors -----------------------------------------------------------------------------------------------------------


def rmse(guess: Days, truth: Days) -> float:
    """Give the root of the mean squared error."""
    return float(np.sqrt(np.mean((guess - truth) ** 2)))


def mae(guess: Days, truth: Days) -> float:
    """Give the mean absolute error."""
    return float(np.mean(np.abs(guess - truth)))


def median_error(guess: Days, truth: Days) -> float:
    """Give the median absolute error."""
    return float(np.median(np.abs(guess - truth)))


def within(errors: Days, eps: float) -> float:
    """Give the share of errors smaller than eps."""
    return float(np.mean(np.abs(errors) < eps))


# -- decisions --------------------------------------------------------------------------------------------------------


def decisions(labels: Ints, guesses: Ints, classes: int) -> npt.NDArray[np.float64]:
    """Tell for each of n answers which classes' TP, FP and FN it counts for, (n, 3, C)."""
    own, said = np.eye(classes)[labels], np.eye(classes)[guesses]
    return np.stack([own * said, said * (1 - own), own * (1 - said)], axis=1)


def f1_per_class(counts: npt.NDArray[np.float64]) -> tuple[Days, Flags]:
    """Give the F1 of each class, (..., C), from TP, FP and FN, (..., 3, C); and whether the class was met at all."""
    right, wrong = 2 * counts[..., 0, :], counts[..., 1, :] + counts[..., 2, :]
    met = right + wrong > 0
    return np.where(met, right / np.where(met, right + wrong, 1.0), 0.0), met


def micro_f1(counts: npt.NDArray[np.float64]) -> Days:
    """Give the F1 of all classes' TP, FP and FN, (..., 3, C), taken together (Eq. 38)."""
    return f1_per_class(counts.sum(axis=-1, keepdims=True))[0][..., 0]


def macro_f1(counts: npt.NDArray[np.float64]) -> Days:
    """Give the mean F1 of the classes that were met, from TP, FP and FN, (..., 3, C) (Eq. 39)."""
    each, met = f1_per_class(counts)
    return each.sum(axis=-1) / np.maximum(met.sum(axis=-1), 1)  # type: ignore[no-any-return]


def average_precision(labels: npt.NDArray[Any], scores: npt.NDArray[Any]) -> float:
    """Give the mean precision over the recall that each threshold adds; equal scores pass together."""
    right, passed = _by_threshold(labels, scores)
    gain = np.diff(right, prepend=0.0) / right[-1]
    return float(np.sum(gain * right / passed))


def auc(labels: npt.NDArray[Any], scores: npt.NDArray[Any]) -> float:
    """Give the chance that a positive scores above a negative, ties at one half."""
    right, passed = _by_threshold(labels, scores)
    wrong = passed - right
    if wrong[-1] == 0:
        raise InputError("one kind of label", expected="labels 0 and 1", found="only 1", where="labels")
    middle = right - np.diff(right, prepend=0.0) / 2
    return float(np.sum(np.diff(wrong, prepend=0.0) * middle) / (right[-1] * wrong[-1]))


def _by_threshold(labels: npt.NDArray[Any], scores: npt.NDArray[Any]) -> tuple[Days, Days]:
    """Count the positives, and all, that pass each threshold, from the highest on."""
    positive = np.asarray(labels, np.float64)
    if np.isnan(scores).any():
        raise InputError("a score is not a number", expected="numbers", found="NaN", where="scores")
    if not positive.any():
        raise InputError("one kind of label", expected="labels 0 and 1", found="no 1", where="labels")
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), ordered.size - 1)
    return np.cumsum(positive[order])[last], last + 1.0


# -- how sure ---------------------------------------------------------------------------------------------------------


def interval(
    values: npt.NDArray[Any], statistic: Statistic, seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """Give the bootstrap interval of a statistic of what was measured for each question.

    Args:
        values: (n,), or (n, c) where the statistic needs several numbers of a question.
        statistic: "mean", "root mean", "median"; or a function of means, (r, c) to (r,).
        seed: the same seed and number of questions resample the same questions.
        resamples: how often to draw.
        level: the share of the draws that lie inside.
    """
    return span(resampled(values, statistic, seed, resamples), level)


def paired_interval(
    one: npt.NDArray[Any],
    other: npt.NDArray[Any],
    statistic: Statistic,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> tuple[float, float]:
    """Give the bootstrap interval of the difference one - other on the same questions; arguments as `interval`."""
    if len(one) != len(other):
        raise InputError("not the same questions", expected="as many", found=f"{len(one):,} and {len(other):,}")
    first, second = (resampled(values, statistic, seed, resamples) for values in (one, other))
    return span(first - second, level)


def resampled(values: npt.NDArray[Any], statistic: Statistic, seed: int, resamples: int = RESAMPLES) -> Days:
    """Give a statistic of every resample, (r,); arguments as `interval`."""
    if statistic == "median":
        return resampled_medians(values, seed, resamples)
    columns = values.astype(np.float64) if values.ndim > 1 else values.astype(np.float64)[:, None]
    return summed(statistic, resampled_means(columns, seed, resamples))


def summed(statistic: Statistic, means: Days) -> Days:
    """Give a statistic that is a function of means, (r, c), as (r,)."""
    if callable(statistic):
        return statistic(means)
    return np.sqrt(means[:, 0]) if statistic == "root mean" else means[:, 0]


def resampled_means(values: Days, seed: int, resamples: int = RESAMPLES) -> Days:
    """Give the means of columns, (n, c), over every resample, (r, c)."""
    return np.concatenate([weights @ values / len(values) for weights in _weights(len(values), seed, resamples)])


def resampled_medians(values: Days, seed: int, resamples: int = RESAMPLES) -> Days:
    """Give the median of values, (n,), over every resample, (r,)."""
    order, found = np.argsort(values, kind="stable"), []
    ordered, size = values[order], len(values)
    for weights in _weights(size, seed, resamples):
        upto = np.cumsum(weights[:, order], axis=1)
        low, high = ((upto > rank).argmax(axis=1) for rank in ((size - 1) // 2, size // 2))
        found.append((ordered[low] + ordered[high]) / 2)
    return np.concatenate(found)


def _weights(size: int, seed: int, resamples: int) -> Iterator[Days]:
    """Draw how often each question is in each resample, some resamples at once, (b, n)."""
    if not size:
        raise InputError("nothing to resample", expected="at least one question", found="none")
    rng = np.random.default_rng(int(stream(seed, "bootstrap")))
    at_once = max(1, BLOCK // size)
    for first in range(0, resamples, at_once):
        count = min(at_once, resamples - first)
        drawn = rng.integers(size, size=(count, size)) + np.arange(count)[:, None] * size
        yield np.bincount(drawn.reshape(-1), minlength=count * size).reshape(count, size).astype(np.float64)


def span(draws: Days, level: float = LEVEL) -> tuple[float, float]:
    """Give the limits between which a share of the draws lies."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
