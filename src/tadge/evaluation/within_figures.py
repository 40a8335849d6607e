"""Figures of probabilities and of times: Brier score and skill, reliability, concordance, coverage.

All are functions of means over questions, so that they can be resampled as the others are; see `figures`.
"""

# mypy: allow-untyped-decorators

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.evaluation.figures import WANTED, Measured

DECILES = 10  # equal groups of questions, in order of what was said
TINY = np.finfo(np.float64).tiny


# -- probabilities ----------------------------------------------------------------------------------------------------


def measure_probabilities(said: Days, true: Flags, reference: Days | None = None) -> Measured:
    """Measure what was said against what came, (n,) each; with skill over what a reference said, (n,)."""
    error, size = (said - true) ** 2, said.size
    measured: dict[str, Any] = {"brier": ("mean", error)}
    if reference is not None:
        measured["skill"] = (_skill, np.stack([error, (reference - true) ** 2], axis=1))
    group = deciles(said)
    inside = np.arange(DECILES) == group[:, None]
    measured["gap"] = (_largest_gap, np.concatenate([inside * (said - true)[:, None], inside], axis=1))
    return measured | {
        "said": ("mean", said),
        "true": ("mean", true),
        "links said": (lambda means: means[:, 0] * size, said),
        "links true": (lambda means: means[:, 0] * size, true),
    }


def deciles(said: Days) -> Ints:
    """Put questions into ten groups of equal size in order of what was said, (n,)."""
    place = np.empty(said.size, np.int64)
    place[np.argsort(said, kind="stable")] = np.arange(said.size)
    return place * DECILES // max(said.size, 1)


def reliability(said: Days, true: Flags) -> list[dict[str, float]]:
    """List of each group its mean of what was said, the fraction that came true and the number of questions."""
    group = deciles(said)
    return [
        {"said": float(said[here].mean()), "true": float(true[here].mean()), "questions": int(here.sum())}
        for here in (group == k for k in range(DECILES))
        if here.any()
    ]


def _skill(means: Days) -> Days:
    return np.asarray(1 - means[:, 0] / np.maximum(means[:, 1], TINY))


def _largest_gap(means: Days) -> Days:
    """Find the largest mean difference of a group, from means of (difference, membership) by group, (r, 20)."""
    difference, size = means[:, :DECILES], means[:, DECILES:]
    return np.asarray((np.abs(difference) / np.maximum(size, TINY)).max(axis=1))


# -- times ------------------------------------------------------------------------------------------------------------


def measure_times(risk: Days, passed: Days, came: Flags, reached: Days) -> Measured:
    """Measure in which order links came, and how often at a time that was likely.

    Args:
        risk: (n,) the higher, the sooner the link is said to come.
        passed: (n,) days until the link, or until nobody looked any more.
        came: (n,) whether it was the link.
        reached: (n,) the probability, as said, that the link comes no later than it did, given that it came at all
            while somebody looked; NaN where that was not asked.
    """
    known = ~np.isnan(reached)
    measured: dict[str, Any] = dict(concordance_figures(risk, passed, came))
    for name, level in WANTED.items():
        inside = np.abs(np.where(known, reached, 2.0) - 0.5) <= level / 2
        measured[name] = (_ratio, np.stack([inside & known, known], axis=1).astype(np.float64))
    return measured


def concordance_figures(risk: Days, passed: Days, came: Flags) -> Measured:
    """Measure in which order links came, with censoring; arguments as `measure_times`."""
    columns = np.stack(concordance(risk, passed, came), axis=1)
    total = columns.sum(axis=0)
    index = float(total[0] / total[1]) if total[1] > 0 else 0.5
    return {"c-index": (_twice_as_far(index), columns)}


def coverage_by_slice(reached: Days, at: Days, begin: float, end: float, slices: int = 10) -> list[dict[str, Any]]:
    """List how often links came at a likely time, by equal slices of a period: does it drift?"""
    place = np.clip(((at - begin) / max(end - begin, TINY) * slices).astype(np.int64), 0, slices - 1)
    listed = []
    for k in range(slices):
        own = reached[(place == k) & ~np.isnan(reached)]
        about: dict[str, Any] = {"links": int(own.size)}
        for name, level in WANTED.items():
            about[name] = float(np.mean(np.abs(own - 0.5) <= level / 2)) if own.size else None
        listed.append(about)
    return listed


def _ratio(means: Days) -> Days:
    return np.asarray(means[:, 0] / np.maximum(means[:, 1], TINY))


def _twice_as_far(index: float) -> Callable[[Days], Days]:
    """Give the statistic of pairs of questions: a question that is drawn once more counts in all of its pairs.

    The columns hold all pairs of each question, so each pair stands there twice; its weight in a resample is the
    product of two weights, and their mean, which the columns have, has half of its spread.
    """
    return lambda means: np.where(means[:, 1] > 0, index + 2 * (_ratio(means) - index), index)


def concordance(risk: Days, passed: Days, came: Flags) -> tuple[Days, Days]:
    """Count of each question its pairs with others in the right order, and all that can be told, (n,) each.

    A pair can be told where one link came before the other did, or before nobody looked for the other any more; one of
    equal risks counts half. The sums of both, divided, are Harrell's C. It takes O(n log n).
    """
    level = np.unique(risk, return_inverse=True)[1].astype(np.int64)
    order = np.lexsort((~came, passed))  # at one time, links before those that nobody looks for any more
    right, counted = count_pairs(level[order], passed[order], came[order])
    back = np.empty(order.size, np.int64)
    back[order] = np.arange(order.size)
    return right[back], counted[back]


@numba.njit(cache=True)
def count_pairs(level: Ints, passed: Days, came: Flags) -> tuple[Days, Days]:
    """Count pairs in the right order, and all that can be told, (n,) each; rows are in order of time.

    A Fenwick tree counts by level of risk: first the links before each row, then, backwards, the rows after each link.
    Rows of one time go together, links first: they are before those of that time that nobody looks for any more.
    """
    size = level.size
    right, counted = np.zeros(size), np.zeros(size)
    tree, total = np.zeros(level.max() + 2 if size else 1), 0.0
    waiting = 0  # links of this time that are not in the tree yet
    for j in range(size):
        if waiting < j and (passed[waiting] < passed[j] or not came[j]):
            while waiting < j:
                if came[waiting]:
                    add_to(tree, level[waiting])
                    total += 1
                waiting += 1
        below, upto = sum_below(tree, level[j]), sum_below(tree, level[j] + 1)
        right[j] += total - upto + 0.5 * (upto - below)
        counted[j] += total
    tree[:] = 0.0
    total, waiting = 0.0, size - 1
    for i in range(size - 1, -1, -1):
        if not came[i]:
            continue
        while waiting > i and (passed[waiting] > passed[i] or not came[waiting]):
            add_to(tree, level[waiting])
            total += 1
            waiting -= 1
        below, upto = sum_below(tree, level[i]), sum_below(tree, level[i] + 1)
        right[i] += below + 0.5 * (upto - below)
        counted[i] += total
    return right, counted


@numba.njit(cache=True, inline="always")
def add_to(tree: Days, level: int) -> None:
    """Count one more of a level."""
    k = level + 1
    while k < tree.size:
        tree[k] += 1.0
        k += k & -k


@numba.njit(cache=True, inline="always")
def sum_below(tree: Days, level: int) -> float:
    """Count those below a level."""
    total, k = 0.0, level
    while k > 0:
        total += tree[k]
        k -= k & -k
    return total
