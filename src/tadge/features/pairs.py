"""Edges as they are to be forecast: as of the moment at which their target joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.graph import TemporalGraph
from tadge.graph.links import links_of
from tadge.seeding import stream
from tadge.units import squash


@dataclass(frozen=True, eq=False)
class Pairs:
    """Hold edges as they are to be forecast, in order of time.

    Attributes:
        src: (n,) int64 the node that will act.
        dst: (n,) int64 the node that it will link to.
        at: (n,) float64 days, when `dst` last joined before the event: all that is later is unknown.
        toe: (n,) float64 squashed ToE.
    """

    src: Ints
    dst: Ints
    at: Days
    toe: Days


def timed_pairs(
    graph: TemporalGraph, most: int | None = None, seed: int = 0, *, events: npt.ArrayLike | None = None
) -> Pairs:
    """Find the edges of a graph that have a ToE; in an undirected graph each event in both its directions.

    Args:
        graph: what happened.
        most: where there are more, as many are drawn.
        seed: of that draw.
        events: (n,) numbers of the events to take, as often as they stand there; all by default.
    """
    event, origin, arrival, node_of = links_of(graph)
    chosen = np.arange(event.size)
    if events is not None:
        chosen = np.repeat(chosen, np.bincount(np.asarray(events, np.int64), minlength=graph.num_events)[event])
    if most is not None and chosen.size > most:
        rng = np.random.default_rng(int(stream(seed, "timed pairs")))
        chosen = np.sort(rng.choice(chosen, most, replace=False))
    event, origin, arrival = event[chosen], origin[chosen], arrival[chosen]
    at = graph.tov_times[origin]
    src, dst = node_of[arrival].astype(np.int64), node_of[origin].astype(np.int64)
    return Pairs(src, dst, at, squash(graph.time[event] - at))
