"""Split the events of a graph by time: what comes later is shut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tadge.config import Option
from tadge.errors import InputError
from tadge.graph import TemporalGraph

_TRAIN = Option("train", float, 0.7, "share of the events to train on", low=0.0, high=1.0)
_VALIDATION = Option("validation", float, 0.15, "share of the events to validate on", low=0.0, high=1.0)


@dataclass(frozen=True, eq=False)
class TimeSplit:
    """Hold three views of a graph, one after the other in time; all have the same nodes.

    Attributes:
        train: the events before `validation_from`.
        validation: the events from there to `test_from`.
        test: the events from `test_from` on.
        validation_from: days on the graph's clock.
        test_from: days on the graph's clock.
    """

    train: TemporalGraph
    validation: TemporalGraph
    test: TemporalGraph
    validation_from: float
    test_from: float


def split_by_time(graph: TemporalGraph, train: float = 0.7, validation: float = 0.15) -> TimeSplit:
    """Split a graph by time into training, validation and test events; the test has what the shares leave.

    A view holds nothing later than its own events: no ToV, no degree, no event. Every event keeps the ToE it had when
    it happened, because what lies before it is known by then. Events of one instant stay together: where a cut falls
    into an instant, the whole instant goes to the later part.

    Args:
        graph: the events to split.
        train: share of the events to train on, above 0.
        validation: share of the events to validate on, above 0; together with `train` below 1.
    """
    shares = _TRAIN.check(train), _VALIDATION.check(validation)
    if not (shares[0] > 0 and shares[1] > 0 and sum(shares) < 1):
        expected, found = "shares above 0 that leave some events for the test", f"{shares[0]:g} and {shares[1]:g}"
        raise InputError("the shares do not fit", expected=expected, found=found, cure="try 0.7 and 0.15")
    num = graph.num_events
    places = [min(round(num * share), num - 1) for share in (shares[0], sum(shares))]
    cuts = [float(graph.time[place]) if num else 0.0 for place in places]
    parts = graph.before(cuts[0]), graph.between(cuts[0], cuts[1]), graph.between(cuts[1], np.inf)
    sizes = [part.num_events for part in parts]
    if 0 in sizes:
        found = f"{sizes[0]:,}, {sizes[1]:,} and {sizes[2]:,} of {num:,}"
        cure = "change the shares: events of one instant stay together"
        raise InputError("the split leaves a part empty", expected="events in all three parts", found=found, cure=cure)
    return TimeSplit(*parts, *cuts)
