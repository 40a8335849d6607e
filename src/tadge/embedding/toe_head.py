"""A linear head for forecasts (the form of Eq. 36), learned from what a forecast can see.

In training, the projection of Eq. 36 meets edges whose ToE both ends have seen already. A forecast is asked when `dst`
has just joined and the edge is still to come. So the same linear form is learned once more, by ridge regression, from
vectors as of that moment.
"""

from __future__ import annotations

import numpy as np

from tadge.arrays import Days, Vectors
from tadge.validation import latest_from, smallest_error

HEAD_PAIRS = 10_000  # edges it is learned from, at most
PENALTIES: Days = 10.0 ** np.arange(-2.0, 6.0)  # on standardised features


def learn_toe_head(features: Vectors, target: Days) -> Days:
    """Learn weights and, last, a constant, (F + 1,); the penalty is the best on the latest fifth.

    Args:
        features: (n, F), in order of time.
        target: (n,).
    """
    if target.size == 0:
        return np.zeros(features.shape[1] + 1)
    cut, penalty = max(1, latest_from(target.size)), PENALTIES[-1]
    if cut < target.size:
        heads = (_ridge(features[:cut], target[:cut], penalty) for penalty in PENALTIES)
        penalty = PENALTIES[smallest_error((apply_toe_head(features[cut:], head) for head in heads), target[cut:])]
    return _ridge(features, target, penalty)


def apply_toe_head(features: Vectors, head: Days) -> Days:
    """Predict from features, (n, F), with weights and a constant, (F + 1,)."""
    return features @ head[:-1] + head[-1]  # type: ignore[no-any-return]


def _ridge(features: Vectors, target: Days, penalty: float) -> Days:
    """Solve the regression on standardised features, (F + 1,) in the unit of the features."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(features.astype(np.float64))
    ridge = Ridge(alpha=penalty).fit(scaler.transform(features.astype(np.float64)), target)
    weights = ridge.coef_ / scaler.scale_
    return np.append(weights, ridge.intercept_ - scaler.mean_ @ weights)
