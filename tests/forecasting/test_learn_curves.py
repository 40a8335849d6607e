"""Curves are calibrated downwards alone, and trusted as far as late events did not belie them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tadge import ForecastConfig, Forecaster, TadgeWarning, synthetic
from tadge.features.tables import Scales
from tadge.forecasting.curve_models import NUM_BANDS, PAIR_RATES
from tadge.forecasting.curves import bins_of
from tadge.forecasting.fitting import without_latest
from tadge.forecasting.learn_curves import calibrate, learn_pairs, trusted_horizon
from tadge.forecasting.plain_networks import PlainHazards, arrays_of
from tadge.forecasting.side_by_side import silent
from tadge.graph import TemporalGraph
from tadge.graph.past import NUM_KINDS

CONFIG = ForecastConfig(steps=60, batch_events=64, trees=5)


@cache
def learned():
    """A network of the early tickets of a desk, and what else is needed to judge it."""
    graph = synthetic.desk(customers=80, agents=3, days=400.0, seed=1).graph
    early, scales, edges = without_latest(graph), Scales.of(graph), bins_of(graph)
    network = learn_pairs(early, scales, edges, CONFIG, 0, silent)
    return graph, scales, edges, network, float(graph.time[early.num_events])


def test_no_factor_is_above_one():
    """Neither where much more came than was said, nor where less did."""
    graph, scales, edges, network, begin = learned()
    asked = graph, scales, edges, CONFIG, 0, begin, None, silent
    factors = {}
    for shift in (-3.0, 0.0, 3.0):
        network.shape.bias.data += shift
        factors[shift] = calibrate(network, *asked)
        network.shape.bias.data -= shift
    assert factors[-3.0].min() > 0.98 and factors[-3.0].max() == 1.0
    assert (factors[0.0] <= 1).all() and (factors[3.0] <= factors[0.0]).all()
    assert factors[3.0].min() < 0.4


def test_curves_that_promise_too_much_are_not_trusted():
    graph, scales, edges, network, begin = learned()
    plain = PlainHazards(arrays_of(network), PAIR_RATES)

    def trusted(factor):
        ratio = np.full((NUM_KINDS, NUM_BANDS), factor)
        return trusted_horizon(plain, ratio, graph, scales, edges, CONFIG, 0, begin, None)

    seen = float(graph.time[-1]) - begin
    assert trusted(0.01) == edges[edges < seen].max()  # as far as was seen
    assert trusted(30.0) < 0.2 * seen
    assert trusted(0.01) >= trusted(1.0) >= trusted(30.0)


def test_answers_beyond_what_was_checked_come_with_a_warning(tmp_path):
    graph = synthetic.desk(customers=40, agents=3, days=200.0, seed=2).graph
    model = Forecaster(CONFIG).fit(graph, progress=False)
    latest = float(graph.time[-1] - graph.time[int(0.8 * graph.num_events)])
    assert 0 < model.trusted_ <= 1.05 * latest < model.horizon_
    model.save(tmp_path)
    loaded = Forecaster.load(tmp_path)
    assert loaded.trusted_ == model.trusted_
    one, agent = graph.ids[0], graph.ids[-1]
    for ask in (
        lambda days: loaded.within(one, agent, days),
        lambda days: loaded.next(one, 1, days),
        lambda days: loaded.explain(one, agent, days),
    ):
        with pytest.warns(TadgeWarning, match=r"days are beyond what could be checked on the latest events \("):
            ask(loaded.horizon_)
    assert loaded.within(one, agent) == loaded.within(one, agent, min(7.0, loaded.horizon_))


def test_nothing_is_trusted_where_nothing_was_seen():
    graph = TemporalGraph.from_arrays(["a"], ["b"], [1.0], unit="days")
    assert Forecaster(CONFIG).fit(graph, progress=False).trusted_ == 0.0
