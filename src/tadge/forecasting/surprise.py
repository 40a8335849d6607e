"""How unlikely events were when they came: as of the instant before each, split into when and who.

The probability of an event is that src links to dst within a time of so many days, as of the instant before. It is the
product of two: that src acts at all within that time (when), and that it then acts on dst (who).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tadge.arrays import Days, Ints
from tadge.features.tables import Scales, Tables
from tadge.forecasting.ask_curves import act_curves, pair_curves
from tadge.forecasting.learn_curves import CurveModels

SMALLEST = 1e-30  # of a probability: it has a logarithm


class Surprise(NamedTuple):
    """Hold how surprising events are, (n,) each: `probability`, and -log10 of it, the sum of `who` and `when`."""

    probability: Days
    surprise: Days
    who: Days
    when: Days


def surprise_of(
    models: CurveModels, tables: Tables, scales: Scales, src: Ints, dst: Ints, time: Days, days: float, left_out: Ints
) -> Surprise:
    """Tell how surprising events are, (n,) node numbers and the days at which they came."""
    at = np.nextafter(time, -np.inf)
    link, act = np.empty(src.size), np.empty(src.size)
    for cut, curves in pair_curves(models, tables, scales, src, dst, at, left_out):
        link[cut] = curves.within(days)[:, 0]
    for cut, anyone, _ in act_curves(models, tables, src, at):
        act[cut] = anyone.within(days)[:, 0]
    link = np.maximum(link, SMALLEST)
    act = np.clip(act, link, 1.0)  # who acts on dst acts
    return Surprise(link, -np.log10(link), np.log10(act) - np.log10(link), -np.log10(act))
