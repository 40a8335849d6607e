"""Cox and one curve for all, against known laws and another library."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import tadge
from small import forum
from tadge import synthetic
from tadge.baselines import base, make
from tadge.baselines.drawn_pairs import DrawnPairs
from tadge.baselines.survival import breslow, partial_likelihood
from tadge.evaluation.competitors import competitors
from tadge.evaluation.within_figures import concordance

needs_lifelines = pytest.mark.skipif(find_spec("lifelines") is None, reason="the extra survival is not installed")


def exponential_waits(seed=0, size=4000):
    """Waits whose hazard is exp(x @ weights), censored at a random time."""
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(size, 3)), np.array([0.8, -0.5, 0.0])
    wait, left = rng.exponential(size=size) / np.exp(x @ weights), rng.uniform(0.2, 3.0, size)
    came = wait <= left
    none = np.zeros(size, np.int64)
    return x, weights, DrawnPairs(none, none, np.zeros(size), np.where(came, wait, np.inf), left)


@needs_lifelines
def test_weights_of_a_known_law_are_found():
    x, weights, drawn = exponential_waits()
    found = partial_likelihood(x, drawn.passed, drawn.came, 1e-4)
    assert found == pytest.approx(weights, abs=0.08)


def test_the_cumulative_hazard_of_a_known_law_is_a_line():
    x, weights, drawn = exponential_waits(size=20_000)
    times, hazard = breslow(x @ weights, drawn)
    assert (np.diff(times) > 0).all()
    seen = times < 1.5
    assert np.abs(hazard[seen] - times[seen]).max() < 0.06


def test_without_risks_it_is_the_estimate_of_nelson_and_aalen():
    rng = np.random.default_rng(1)
    wait, left = rng.integers(1, 9, 60).astype(float), rng.integers(1, 9, 60).astype(float)
    drawn = DrawnPairs(*(np.zeros(60, np.int64),) * 2, np.zeros(60), np.where(wait <= left, wait, np.inf), left)
    times, hazard = breslow(np.zeros(60), drawn)
    expected, total = [], 0.0
    for time in np.unique(drawn.passed[drawn.came]):
        total += np.sum(drawn.came & (drawn.passed == time)) / np.sum(drawn.passed >= time)
        expected.append(total)
    assert hazard == pytest.approx(expected)
    assert times.tolist() == np.unique(drawn.passed[drawn.came]).tolist()


@needs_lifelines
def test_cox_orders_pairs_of_a_desk_and_keeps_to_its_level():
    graph = synthetic.desk(customers=30, agents=4, days=150, seed=3).graph
    known = graph.before(graph.time[round(0.8 * graph.num_events)])
    cox = make("Cox").fit(known)
    drawn = cox._drawn(graph, 30.0)
    drawn = drawn.take(drawn.left >= 30.0)
    said = cox.within(drawn.src, drawn.dst, [1.0, 7.0, 30.0], drawn.at, graph=graph)
    assert (np.diff(said, axis=1) >= 0).all()
    assert said[:, 1].mean() == pytest.approx((drawn.wait <= 7.0).mean(), abs=0.03)
    right, counted = concordance(said[:, 1], drawn.passed, drawn.came)
    assert right.sum() / counted.sum() > 0.7
    assert cox.penalty_ in (0.001, 0.01, 0.1)


def test_one_curve_for_all_says_how_often_links_came():
    graph = forum(2000)
    rule = make("one curve for all").fit(graph)
    drawn = rule._drawn(graph, 30.0)
    said = rule.within(drawn.src, drawn.dst, [1.0, 7.0], drawn.at, graph=graph)
    assert (said == said[0]).all()
    long_enough = drawn.left >= 7.0
    assert said[0, 1] == pytest.approx((drawn.wait[long_enough] <= 7.0).mean(), abs=0.02)


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    with pytest.raises(tadge.MissingExtraError, match=r"Cox needs lifelines; .*pip install 'tadge\[survival\]'"):
        make("Cox").fit(forum())
    listed, notes = competitors([], None, control=False, seed=0, asks_within=True)
    assert "Cox" not in [one.name for one in listed]
    assert "Cox is left out: it needs lifelines, which is not installed" in notes


def test_too_little_to_learn_from_is_no_trouble():
    graph = tadge.TemporalGraph.from_arrays([1, 2, 3, 1], [2, 3, 1, 2], [0.0, 1.0, 2.0, 3.0], unit="days")
    for name in ("one curve for all", *(("Cox",) if find_spec("lifelines") else ())):
        said = make(name).fit(graph).within([0, 1], [1, 2], [0.5, 1.0], [2.0, 2.0], graph=graph)
        assert said.shape == (2, 2)
        assert ((said >= 0) & (said <= 1)).all()
