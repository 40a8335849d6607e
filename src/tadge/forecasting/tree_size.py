"""How large trees should be where there is little to learn from: chosen on the latest fifth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tadge.arrays import Days, Vectors
from tadge.config import ForecastConfig
from tadge.forecasting.trees import MOST_LEAVES, Trees
from tadge.validation import latest_from, smallest_error

LEAVES = (MOST_LEAVES, 8, 4)  # of a tree, tried in this order
FEWEST_TOES, MOST_TOES = 50, 20_000  # with fewer nothing can be judged; with more large trees are best, and take long
TREES, TREE_LR = 60, 0.1  # of the trees that are compared: fewer than in the end, in larger steps


def choose_leaves(columns: Vectors, toe: Days, weight: Days, count: int, config: ForecastConfig, seed: int) -> int:
    """Choose the most leaves of a tree: those that predict the latest fifth best, learned from what came before.

    Args:
        columns: (n, F) of `count` edges in order of time; behind them may stand the same edges in the same order, at
            other speeds.
        toe: (n,) squashed.
        weight: (n,) of rows.
        count: how many edges there are.
        config: how trees learn; where it says how many leaves, that is the choice.
        seed: of the trees.
    """
    if config.leaves is not None or not FEWEST_TOES <= count <= MOST_TOES:
        return config.leaves or MOST_LEAVES
    cut = latest_from(count)
    early = np.flatnonzero(np.arange(toe.size) % count < cut)
    rows = columns[early], toe[early], weight[early]
    few = replace(config, trees=min(config.trees, TREES), tree_lr=max(config.tree_lr, TREE_LR))
    sizes = (replace(few, leaves=leaves) for leaves in LEAVES)
    predictions = (Trees.learn(*rows, size, seed)[0].predict(columns[cut:count]) for size in sizes)
    return LEAVES[smallest_error(predictions, toe[cut:count])]
