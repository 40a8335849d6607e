"""Small methods whose figures can be told in advance."""

from __future__ import annotations

import numpy as np

from tadge.arrays import NodeNumbers
from tadge.units import squash, unsquash


def ranked(table):
    """Give the rows of a ranking as (target, probability); the target is None for someone new."""
    targets = [target if isinstance(target, str | int) else None for target in table["target"].tolist()]
    return list(zip(targets, table["probability"].tolist(), strict=True))


class Oracle:
    """Cheat: look at what happens next."""

    name = "oracle"

    def score_links(self, src, dst, at, *, graph):
        """Score the targets of the source's next instant; of several links at one instant all are right."""
        best = np.zeros(src.size)
        for k, (u, v, moment) in enumerate(zip(src, dst, at, strict=True)):
            own = np.flatnonzero((graph.src == u) & (graph.time > moment))
            best[k] = v in graph.dst[own[graph.time[own] == graph.time[own[0]]]]
        return best

    def predict_toe(self, src, dst, at, *, graph, unit, statistic):
        days = np.empty(src.size)
        for k, (u, v, moment) in enumerate(zip(src, dst, at, strict=True)):
            own = np.flatnonzero((graph.src == u) & (graph.dst == v) & (graph.time > moment))
            joined = graph.tov(NodeNumbers(v))
            days[k] = graph.time[own[0]] - joined[joined <= moment].max()
        return squash(days) if unit == "squashed" else days


class Constant:
    """Give everything the same answer."""

    name = "constant"

    def __init__(self, days=1.0):
        self.days = days

    def score_links(self, src, dst, at, *, graph):
        return np.zeros(src.size)

    def predict_toe(self, src, dst, at, *, graph, unit, statistic):
        return np.full(src.size, squash(np.array(self.days)) if unit == "squashed" else self.days)

    def embed(self, nodes, at, *, graph):
        return np.ones((nodes.size, 1))


class Recency:
    """Rank those higher that were seen last."""

    name = "recency"

    def score_links(self, src, dst, at, *, graph):
        moments, place = np.unique(at, return_inverse=True)
        last = np.full((moments.size, graph.num_nodes), -np.inf)
        for row, moment in zip(last, moments, strict=True):
            known = graph.time <= moment
            row[graph.src[known]] = graph.time[known]
            row[graph.dst[known]] = np.maximum(row[graph.dst[known]], graph.time[known])
        return last[place, dst]


class Learned:
    """Predict the mean ToE of what it was given to learn from, and remember how much that was."""

    name = "learned"

    def fit(self, graph):
        self.fitted_to = [*getattr(self, "fitted_to", []), graph]
        self.mean = float(squash(graph.toe_values()).mean())
        return self

    def predict_toe(self, src, dst, at, *, graph, unit, statistic):
        return np.full(src.size, self.mean if unit == "squashed" else float(unsquash(np.array(self.mean))))


class Places:
    """Embed nodes by given vectors, which may hold the label."""

    name = "places"

    def __init__(self, vectors):
        self.vectors = vectors

    def embed(self, nodes, at, *, graph):
        return self.vectors[nodes]


class Broken:
    """Answer with whatever it was told to."""

    name = "broken"

    def __init__(self, **answers):
        for question, answer in answers.items():
            setattr(self, question, lambda nodes, *_, answer=answer, **__: answer(nodes.size))
