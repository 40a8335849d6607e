"""Changes of pace: the law of counts, bounded false discoveries, and changes that are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, false_discovery_control

from tadge.forecasting.pace import Paces, adjusted, changed_pace, excess_variance, fell_silent


def poisson(rng, rates, days, change=1.0):
    counts = rng.poisson(rates * days[0]), rng.poisson(rates * change * days[1])
    return Paces(*counts, *(np.full(rates.size, float(length)) for length in days))


def test_without_excess_the_test_is_the_binomial_one():
    paces = Paces(np.array([30, 5, 40]), np.array([5, 5, 40]), np.full(3, 300.0), np.full(3, 100.0))
    p, _ = changed_pace(paces, np.zeros(3), 0.5)
    ones = [binomtest(int(k), int(k + n), 0.25) for k, n in zip(paces.since, paces.before, strict=True)]
    tails = [2 * min(binom.cdf(k, k + n, 0.25), binom.sf(k - 1, k + n, 0.25)) for n, k in ((30, 5), (5, 5), (40, 40))]
    np.testing.assert_allclose(p, false_discovery_control(np.minimum(1, tails)), rtol=0.02)
    assert [one.pvalue < 0.05 for one in ones] == (np.array(tails) < 0.05).tolist()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_p_values_are_adjusted_as_benjamini_and_hochberg_do(values):
    p = np.array(values)
    found, significant = adjusted(p, np.ones(p.size, bool), 0.1)
    np.testing.assert_allclose(found, false_discovery_control(p))
    assert np.array_equal(significant, found <= 0.1)
    half = np.arange(p.size) % 2 == 0
    found, _ = adjusted(p, half, 0.1)
    np.testing.assert_allclose(found[half], false_discovery_control(p[half]))
    assert (found[~half] == 1.0).all()


def test_false_discoveries_are_as_rare_as_was_asked_for():
    rng = np.random.default_rng(0)
    for test in (changed_pace, fell_silent):
        wrong = [
            test(poisson(rng, rng.gamma(2, 0.05, 300), (300, 100)), np.zeros(300), 0.1)[1].any() for _ in range(60)
        ]
        assert np.mean(wrong) <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 60)


def test_planted_changes_are_found_and_few_others():
    rng, rates = np.random.default_rng(1), np.full(400, 0.2)
    change = np.where(np.arange(400) < 40, 3.0, 1.0)
    found = changed_pace(poisson(rng, rates, (300, 100), change), np.zeros(400), 0.05)[1]
    assert found[:40].mean() > 0.9
    assert found[40:].sum() <= 0.2 * found.sum()
    stopped = np.where(np.arange(400) < 40, 0.0, 1.0)
    found = fell_silent(poisson(rng, rates, (300, 100), stopped), np.zeros(400), 0.05)[1]
    assert found[:40].mean() > 0.9 and not found[40:].any()


def test_ups_and_downs_of_the_past_are_no_changes():
    """Paces that double and halve all the time have an excess variance; by it nothing stands out, without it much."""
    rng = np.random.default_rng(2)

    def bursts(days):
        return rng.poisson(0.5 * rng.gamma(1.0, 1.0, 300) * days)

    excess = excess_variance(Paces(bursts(225), bursts(75), np.full(300, 225.0), np.full(300, 75.0)))
    assert excess > 0.05
    paces = Paces(bursts(300), bursts(100), np.full(300, 300.0), np.full(300, 100.0))
    assert changed_pace(paces, np.zeros(300), 0.05)[1].mean() > 0.5
    assert changed_pace(paces, np.full(300, excess), 0.05)[1].mean() < 0.02
    still = poisson(rng, np.full(2000, 0.1), (225, 75))
    assert excess_variance(still) == pytest.approx(0.0, abs=0.01)


def test_nothing_to_test():
    none = np.empty(0, np.int64)
    empty = Paces(none, none, np.empty(0), np.empty(0))
    assert excess_variance(empty) == 0.0
    for test in (changed_pace, fell_silent):
        p, significant = test(empty, np.empty(0), 0.05)
        assert p.size == significant.size == 0
