"""A linear head for forecasts, learned from what a forecast can see.

In training, the projection of Eq. 36 meets edges whose ToE both ends have seen already. A forecast is asked when `dst`
has just joined and the edge is still to come. So the same linear form is learned once more, by ridge regression, from
vectors as of that moment.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days

MOST_PAIRS = 10_000
PENALTIES: Days = 10.0 ** np.arange(-2.0, 6.0)  # per feature, on standardised features
VALIDATION = 0.2  # the latest pairs, on which the penalty is chosen


def ridge(features: npt.NDArray[np.float32], target: Days) -> Days:
    """Learn weights and, last, a constant, (F + 1,); the penalty is the best on the latest fifth.

    Args:
        features: (n, F), in order of time.
        target: (n,).
    """
    if target.size == 0:
        return np.zeros(features.shape[1] + 1)
    cut = max(1, round(target.size * (1 - VALIDATION)))
    best = PENALTIES.size - 1
    if cut < target.size:
        guesses = _fit(features[:cut], target[:cut], PENALTIES)
        errors = [np.mean((apply_head(features[cut:], head) - target[cut:]) ** 2) for head in guesses]
        best = int(np.argmin(errors))
    return _fit(features, target, PENALTIES[best : best + 1])[0]


def apply_head(features: npt.NDArray[np.float32], head: Days) -> Days:
    """Guess from features, (n, F), with weights and a constant, (F + 1,)."""
    return features @ head[:-1] + head[-1]  # type: ignore[no-any-return]


def _fit(features: npt.NDArray[np.float32], target: Days, penalties: Days) -> list[Days]:
    """Solve the regression for every penalty, (F + 1,) each."""
    mean, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    spread = np.where(spread > 1e-12, spread, np.inf)  # what does not vary tells nothing
    x = (features - mean) / spread
    products, right = x.T @ x, x.T @ (target - target.mean())
    ones = np.eye(x.shape[1])
    weights = (np.linalg.solve(products + penalty * ones, right) / spread for penalty in penalties)
    return [np.append(weight, target.mean() - mean @ weight) for weight in weights]
