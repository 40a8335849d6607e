"""Synthetic graphs whose law is known, and the best possible scores on them.

>>> from tadge import synthetic
>>> known = synthetic.forum(2_000, seed=7)
>>> known.graph.num_events
2000
"""

from tadge.synthetic.graphs import Synthetic, forum
from tadge.synthetic.oracle import ToeFloor, best_link_mrr, best_toe, best_toe_rmse, link_intensity

__all__ = ["Synthetic", "ToeFloor", "best_link_mrr", "best_toe", "best_toe_rmse", "forum", "link_intensity"]
