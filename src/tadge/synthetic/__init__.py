"""Synthetic graphs whose law is known, and the best possible scores on them.

>>> from tadge import synthetic
>>> known = synthetic.forum(2_000, seed=7)
>>> known.graph.num_events
2000
>>> tickets = synthetic.desk(seed=7)
>>> tickets.probability_of_agent("customer 17", tickets.agents).round(2).max()
np.float64(0.73)
>>> marked = synthetic.plant_anomalies(synthetic.forum(20_000).graph, chains=2, take_overs=2, bursts=2)
>>> marked.num_incidents
6
"""

from tadge.synthetic.anomalies import KINDS, Planted, plant_anomalies
from tadge.synthetic.graphs import Synthetic, forum
from tadge.synthetic.oracle import ToeFloor, best_link_mrr, best_toe, best_toe_rmse, link_intensity
from tadge.synthetic.support_desk import Desk, desk

__all__ = [
    "KINDS",
    "Desk",
    "Planted",
    "Synthetic",
    "ToeFloor",
    "best_link_mrr",
    "best_toe",
    "best_toe_rmse",
    "desk",
    "forum",
    "link_intensity",
    "plant_anomalies",
]
