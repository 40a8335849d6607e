"""From scores to probabilities: a slope that is known is found again."""

from __future__ import annotations

import numpy as np
import pytest

from small import forum
from tadge import ForecastConfig, Forecaster
from tadge.features.tables import Scales
from tadge.forecasting.learn import learn_links
from tadge.forecasting.rank_calibration import (
    RankCalibration,
    calibrate_ranking,
    draw_alternatives,
    likeliest_slope,
)
from tadge.forecasting.waits import candidates_of, targets_of
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.seeding import stream


@pytest.mark.parametrize("slope", [0.4, 1.0, 2.0])
def test_a_known_slope_is_found(slope):
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, (4000, 30))
    probability = np.exp(slope * scores)
    probability /= probability.sum(axis=1, keepdims=True)
    true = (probability.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    rows = np.arange(4000)
    scores[rows, 0], scores[rows, true] = scores[rows, true], scores[rows, 0].copy()
    assert likeliest_slope(scores, np.zeros(scores.shape)) == pytest.approx(slope, rel=0.05)


def test_weights_stand_for_others():
    """A target that stands for ten counts as ten."""
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1, (500, 4))
    tenfold = np.concatenate([scores[:, :3], np.repeat(scores[:, 3:], 10, axis=1)], axis=1)
    weight = np.zeros(scores.shape)
    weight[:, 3] = np.log(10.0)
    expected = likeliest_slope(tenfold, np.zeros(tenfold.shape))
    assert likeliest_slope(scores, weight) == pytest.approx(expected, rel=1e-4)


def test_alternatives_stand_for_all_targets():
    graph = forum()
    past, candidates = past_of(graph), candidates_of(graph)
    events = np.arange(300, 340)
    src, dst = graph.src[events].astype(np.int64), graph.dst[events].astype(np.int64)
    at = np.nextafter(graph.time[events], -np.inf)
    asked = candidates.first[dst] <= at
    src, dst, at = src[asked], dst[asked], at[asked]
    drawn = draw_alternatives(
        past.outgoing,
        past.incoming,
        candidates,
        src,
        dst,
        at,
        candidates.joined(at),
        candidates.with_self(at),
        stream(0, "a"),
    )
    for q in range(src.size):
        some = drawn.target[q][drawn.target[q] >= 0]
        targets = targets_of(graph, int(src[q]), float(at[q]))
        assert some[0] == dst[q]
        assert set(some.tolist()) <= set(targets.tolist())
        assert drawn.weight[q].sum() == pytest.approx(targets.size)


def test_probabilities_sum_to_one_and_new_targets_are_counted():
    scores = np.array([1.0, 2.0, -1.0], np.float32)
    np.testing.assert_allclose(
        RankCalibration(0.5).probabilities(scores), np.exp(scores / 2) / np.exp(scores / 2).sum(), rtol=1e-6
    )
    graph = forum()
    scales, config, begin = Scales.of(graph), ForecastConfig(steps=5), int(0.8 * graph.num_events)
    scorer = learn_links(graph.before(float(graph.time[begin])), scales, config, 0, lambda done, total: None)
    calibration = calibrate_ranking(scorer, graph, scales, config, 0, begin)
    first = past_of(graph).first
    new = first[graph.dst[begin:]] >= graph.time[begin:]
    known = first[graph.src[begin:]] < graph.time[begin:]
    assert calibration.new[0] == pytest.approx(new[known].mean(), abs=0.02)
    assert calibration.slope > 0


def test_a_few_events_do_not_decide_that_everybody_is_new():
    """Only new targets in the latest fifth: those who are known still have some probability."""
    src, dst = [0, 1, 0, 1, 0, 1, 0, 1, 5, 5], [1, 0, 1, 0, 1, 0, 1, 0, 6, 7]
    graph = TemporalGraph.from_arrays(src, dst, np.arange(10.0), unit="days")
    model = Forecaster(ForecastConfig(steps=2, trees=2, hidden=4)).fit(graph, progress=False)
    assert 0.3 < model.ranking_.new[0] < 0.8
    ranked = model.rank(0, new=True)
    assert ranked["probability"].sum() == pytest.approx(1.0)
    assert ranked["probability"].min() > 0
    many = np.arange(400)
    always = TemporalGraph.from_arrays(np.zeros(400, int), 1 + many, many.astype(float), unit="days")
    assert 0.97 < Forecaster(ForecastConfig(steps=2, trees=2, hidden=4)).fit(always, progress=False).ranking_.new[0] < 1
