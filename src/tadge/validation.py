"""How settings are chosen, on the latest fifth; standard errors; and how answers are ranked, with the mean of ties."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints
from tadge.errors import InputError

LATEST_FRACTION = 0.2  # of what is learned from: its latest part, on which settings are chosen
Z_95 = 1.959964  # standard errors to either side of a mean, of a 95% interval


def latest_from(count: int) -> int:
    """Find where the latest part begins among `count` rows in order of time."""
    return round(count * (1 - LATEST_FRACTION))


def smallest_error(predictions: Iterable[Days], target: Days) -> int:
    """Find which prediction of a target, (n,) each, has the smallest mean squared error; the first of equals."""
    return int(np.argmin([np.mean((prediction - target) ** 2) for prediction in predictions]))


def standard_error(values: Days, group: Ints) -> float:
    """Give the standard error of a mean, (n,), where values of one group, (n,), may go together."""
    _, place = np.unique(group, return_inverse=True)
    sums = np.bincount(place, values - values.mean())
    return float(np.sqrt((sums**2).sum() * sums.size / max(sums.size - 1, 1)) / values.size)


def mean_ranks(scores: npt.NDArray[Any], counts: Flags | None = None) -> Days:
    """Rank the true answer, in column 0, among all, (Q, 1 + K), as (Q,); the highest score has rank 1.

    Equal scores share the mean of the best and the worst rank they could have.

    Args:
        scores: (Q, 1 + K); -inf is allowed, NaN is not.
        counts: (Q, 1 + K) which of the others count; all by default.
    """
    if np.isnan(scores).any():
        raise InputError("a score is not a number", expected="numbers, or -inf", found="NaN", where="scores")
    true, negatives = scores[:, :1], scores[:, 1:]
    among = np.True_ if counts is None else counts[:, 1:]
    above, equal = (np.count_nonzero(which & among, axis=1) for which in (negatives > true, negatives == true))
    return 1.0 + above + equal / 2  # type: ignore[no-any-return]


def mean_reciprocal_rank(scores: npt.NDArray[Any]) -> float:
    """Average 1 / rank of the true answers, in column 0 of scores, (Q, 1 + K)."""
    return float(np.mean(1.0 / mean_ranks(scores)))
