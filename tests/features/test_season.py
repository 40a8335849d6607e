"""Hours of the week: rates against plain counts, bins against plain integration, and clocks that do not tell."""

from __future__ import annotations

import numpy as np
import pytest

from tadge.features.season import HOURS_A_WEEK, Season, dispersion
from tadge.graph import TemporalGraph
from tadge.units import days_of_date

MONDAY = days_of_date("2024-01-01")


def office(count, weeks=20, seed=0):
    """Events of different sources, evenly on weekdays from 9 to 17 h."""
    rng = np.random.default_rng(seed)
    day, hour = rng.integers(5, size=count), rng.uniform(9, 17, count)
    time = MONDAY + 7 * rng.integers(weeks, size=count) + day + hour / 24
    return TemporalGraph.from_arrays(np.arange(count) % 50, 50 + np.arange(count) % 5, time, unit="days", clock="unix")


def rate_at(season, day, hour):
    return season.columns(np.array([MONDAY + day + hour / 24]), np.array([1 / 24]))[0]


def test_rates_are_those_of_the_hours():
    season = Season.of(office(60_000, weeks=100), 1e6)
    assert season.rate.mean() == pytest.approx(1.0)
    expected = 168 / 40
    for day, hour in ((0, 9), (2, 12), (4, 16)):
        assert np.exp(rate_at(season, day, hour)) == pytest.approx(expected, rel=0.15)
    for day, hour in ((0, 8), (1, 3), (4, 18), (5, 12), (6, 12)):
        assert np.exp(rate_at(season, day, hour)).max() < 0.3


def test_bins_are_means_over_time():
    rng = np.random.default_rng(1)
    season, edges = Season(rng.uniform(0.2, 3, HOURS_A_WEEK)), np.array([0.01, 0.3, 2.0, 40.0])
    at = MONDAY + rng.uniform(0, 700, 5)
    lower = np.concatenate([[0.0], edges[:-1]])
    for row, now in zip(season.columns(at, edges), at, strict=True):
        assert row[0] == pytest.approx(np.log(season.rate[int(now * 24) % HOURS_A_WEEK]), rel=1e-5)
        for place, (low, high) in enumerate(zip(lower, edges, strict=True)):
            moments = now + np.linspace(low, high, 400_001)[:-1] + (high - low) / 800_000
            mean = season.rate[np.floor(moments * 24).astype(int) % HOURS_A_WEEK].mean()
            assert row[1 + place] == pytest.approx(np.log(mean), abs=2e-3)


def test_counts_that_vary_from_week_to_week_are_worth_less():
    rng = np.random.default_rng(2)
    steady = rng.integers(60 * HOURS_A_WEEK, size=40_000)
    assert dispersion(steady) == pytest.approx(1.0, abs=0.05)
    assert dispersion(np.repeat(steady, 4)) == pytest.approx(4.0, rel=0.05)
    assert dispersion(steady[:1]) == 1.0


def test_one_who_does_much_at_a_time_counts_once():
    graph = office(2_000)
    many = np.full(500, graph.time[100] - graph.time[100] % (1 / 24) + 1e-3)
    src, dst = np.append(graph.src, np.full(500, graph.src[100])), np.append(graph.dst, np.full(500, 50))
    burst = TemporalGraph.from_arrays(src, dst, np.append(graph.time, many), unit="days", clock="unix")
    np.testing.assert_allclose(Season.of(burst, 0.5).rate, Season.of(graph, 0.5).rate, rtol=1e-9)


def test_clocks_that_do_not_tell():
    graph = office(500)
    ends = graph.src, graph.dst

    def season_of(time, clock="unix"):
        return Season.of(TemporalGraph.from_arrays(*ends, time, unit="days", clock=clock), 0.5)

    assert season_of(graph.time) is not None
    assert season_of(graph.time, "own") is None
    assert season_of(np.floor(graph.time)) is None  # dates without hours
    assert season_of(MONDAY + (graph.time - MONDAY) / 20) is None  # a week in all
