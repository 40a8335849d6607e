"""From scores to probabilities: a slope that is known is found again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy

from small import forum
from tadge import ForecastConfig, Forecaster, synthetic
from tadge.features.link_columns import link_columns
from tadge.features.tables import Scales, tables_of
from tadge.forecasting.learn import learn_links
from tadge.forecasting.plain_networks import PlainScorer, arrays_of
from tadge.forecasting.rank_calibration import (
    RankCalibration,
    calibrate_ranking,
    draw_alternatives,
    entropies,
    likeliest_slopes,
)
from tadge.forecasting.waits import candidates_of, targets_of
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.seeding import stream


def learned_scorer(graph, scales, config):
    return PlainScorer(arrays_of(learn_links(graph, scales, config, 0, lambda done, total: None)))


def drawn_by(slopes, scores, rng):
    """Put a target first in each row that is drawn by the softmax of slope * score."""
    probability = np.exp(slopes[:, None] * scores)
    probability /= probability.sum(axis=1, keepdims=True)
    true = (probability.cumsum(axis=1) > rng.random((len(scores), 1))).argmax(axis=1)
    rows, drawn = np.arange(len(scores)), scores.copy()
    drawn[rows, 0], drawn[rows, true] = scores[rows, true], scores[rows, 0]
    return drawn


@pytest.mark.parametrize(("slope", "tilt"), [(0.4, 0.0), (0.5, 0.6), (0.5, -0.4)])
def test_a_known_slope_is_found(slope, tilt):
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, (6_000, 20)) * rng.uniform(0.5, 5, (6_000, 1))
    sure = entropy(softmax(scores, axis=1), axis=1)
    drawn = drawn_by(slope * np.exp(tilt * (np.minimum(sure, 2.0) - 1.0)), scores, rng)
    found = likeliest_slopes(drawn, np.zeros(scores.shape))
    assert found == pytest.approx((slope, tilt), rel=0.05, abs=0.06)


def test_weights_stand_for_others():
    """A target that stands for ten counts as ten; a place without a target for none."""
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1, (500, 4))
    tenfold = np.concatenate([scores[:, :3], np.repeat(scores[:, 3:], 10, axis=1)], axis=1)
    padded = np.concatenate([scores, np.full((500, 2), -np.inf)], axis=1)
    weight = np.zeros(padded.shape)
    weight[:, 3], weight[:, 4:] = np.log(10.0), -700.0
    expected = likeliest_slopes(tenfold, np.zeros(tenfold.shape))
    assert likeliest_slopes(padded, weight) == pytest.approx(expected, rel=1e-3, abs=1e-4)
    by_scipy = entropy(softmax(tenfold, axis=1), axis=1)
    np.testing.assert_allclose(entropies(padded, weight), by_scipy, rtol=1e-9)


def test_the_slope_is_that_of_the_entropy_and_the_order_that_of_the_scores():
    calibration = RankCalibration(0.7, 0.5)
    for spread in (0.01, 1.0, 8.0):
        scores = (spread * np.linspace(-2, 1, 9)).astype(np.float32)
        slope = 0.7 * np.exp(0.5 * (min(entropy(softmax(scores.astype(float))), 2.0) - 1.0))
        slope = min(slope, 1.0)
        assert calibration.slope_of(scores) == pytest.approx(slope)
        np.testing.assert_allclose(calibration.probabilities(scores), softmax(slope * scores.astype(float)), rtol=1e-6)
    assert RankCalibration(0.01).slope_of(np.zeros(99, np.float32)) == pytest.approx(np.exp(-2.0))  # no further


def test_a_scorer_is_never_made_surer_than_it_is():
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 1, (2_000, 20))
    calibration = RankCalibration(*likeliest_slopes(drawn_by(np.full(2_000, 2.0), scores, rng), np.zeros(scores.shape)))
    assert [calibration.slope_of(row) for row in scores[:20]] == pytest.approx([1.0] * 20, abs=0.02)


def test_what_is_said_of_a_favourite_is_the_law():
    """One of ten agents; test_timed_answers asks a whole Forecaster about five."""
    law = synthetic.desk(customers=120, agents=10, days=730.0, seed=3)
    graph, config, scales = law.graph, ForecastConfig(steps=150, batch_events=64), Scales.of(law.graph)
    early = graph.before(float(graph.time[int(0.8 * graph.num_events)]))
    scorer, links = (learned_scorer(known, scales, config) for known in (early, graph))
    calibration = calibrate_ranking(scorer, graph, scales, config, 0, early.num_events)
    tables, at, said = tables_of(graph, scales), float(graph.time[-1]), []
    for place, customer in enumerate(law.customers):
        source = int(graph.numbers(customer))
        targets = targets_of(graph, source, at)
        columns = link_columns(tables, np.full(targets.size, source), targets, np.full(targets.size, at))
        scores = links(columns)
        said.append(calibration.probabilities(scores)[graph.ids[targets] == law.agents[law.favourite[place]]].sum())
    true = float(law.probability_of_agent(law.customers[0], law.agents[law.favourite[0]])[0])
    assert np.mean(said) == pytest.approx(true, abs=0.05)


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
    scorer = learned_scorer(graph.before(float(graph.time[begin])), scales, config)
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
