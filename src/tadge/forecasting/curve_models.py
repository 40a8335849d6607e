"""The networks that give curves, and what they are asked with: columns, kinds of edges, parts of a curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.features.columns import LINK_COLUMNS, NODE
from tadge.features.link_columns import NODE_WIDTH, UNBORN
from tadge.features.season import Season
from tadge.features.tables import Scales
from tadge.forecasting.plain_networks import PlainHazards
from tadge.graph.past import ANSWER, FIRST_CONTACT, REPEAT, UNSEEN

FORTH = LINK_COLUMNS.index("src to dst")
BACK = LINK_COLUMNS.index("dst to src")
AGE = LINK_COLUMNS.index("src: age")
SOURCE_RATES = [(NODE.acts, NODE.age), (NODE.links_to_it, NODE.age)]
PAIR_RATES = [
    *SOURCE_RATES,
    (NODE_WIDTH + NODE.links_to_it, NODE_WIDTH + NODE.age),
    (FORTH, AGE),
    (BACK, NODE_WIDTH + NODE.age),
]
NUM_BANDS = 4  # parts of a curve that are calibrated apart: within an hour, a day, a week, and beyond


@dataclass(frozen=True, eq=False)
class CurveModels:
    """Hold what gives curves.

    Attributes:
        edges: (K,) days, upper edges of the bins.
        pairs: the network that gives curves of pairs.
        acts: the network that gives those of sources: (2K,) until they act, and until they act on someone new.
        ratio: (NUM_KINDS, NUM_BANDS) by which hazards of pairs are multiplied, by the kind of edge.
        usual: the median surprise of events that were learned from.
        season: the hours of the week that both networks know of; None where they do not help.
        trusted: up to how many days curves of a model of earlier events did not promise clearly more than came.
    """

    edges: Days
    pairs: PlainHazards
    acts: PlainHazards
    ratio: Days
    usual: float = 0.0
    season: Season | None = None
    trusted: float = np.inf


def with_season(columns: Vectors, at: Days, edges: Days, season: Season | None) -> Vectors:
    """Put the columns of a season behind those of questions, (n, F), as of moments, (n,)."""
    return columns if season is None else np.concatenate([columns, season.columns(at, edges)], axis=1)


def kinds_of_rows(columns: Vectors) -> Ints:
    """Read the kinds of edges off link columns, (n, F): (n,)."""
    kinds = np.where(columns[:, AGE] == UNBORN, UNSEEN, FIRST_CONTACT)
    kinds = np.where(columns[:, BACK] > 0, ANSWER, kinds)
    return np.where(columns[:, FORTH] > 0, REPEAT, kinds)


def bands_of(edges: Days, scales: Scales) -> Ints:
    """Find in which part of a curve each bin lies, (K,)."""
    return np.searchsorted(scales.decay_days[: NUM_BANDS - 1], edges)
