"""The support desk: its law holds, and its closed forms are what comes out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import tadge
from tadge import synthetic
from tadge.errors import ConfigError, InputError, TadgeError

RARE = 1e-4  # a test of the law fails by chance for one seed in so many


@pytest.fixture(scope="module")
def desk():
    return synthetic.desk(seed=1)


@pytest.fixture(scope="module")
def leaving():
    return synthetic.desk(20_000, 4, days=200, rate=0.1, leaving=True, lifetime=100.0, seed=2)


def favourites(desk):
    return desk.agents[desk.favourite]


def places(desk):
    """Return customer and agent of every ticket as their places in the lists of ids, each (E,)."""
    customer = {name: place for place, name in enumerate(desk.customers)}
    agent = {name: place for place, name in enumerate(desk.agents)}
    ids = desk.graph.ids
    return np.array([customer[ids[u]] for u in desk.graph.src]), np.array([agent[ids[v]] for v in desk.graph.dst])


# -- the record -------------------------------------------------------------------------------------------------------


def test_the_default_desk_is_that_of_the_docs(desk):
    assert (desk.customers.size, desk.agents.size) == (400, 10)
    assert "customer 17" in desk.customers and "agent 3" in desk.agents
    assert 8_500 < desk.graph.num_events < 12_500
    assert desk.graph.clock == "unix" and desk.graph.bipartite
    minutes = np.round(desk.graph.time * 1_440)
    assert np.array_equal(minutes / 1_440, desk.graph.time)
    assert desk.span[0] <= desk.graph.time[0] and desk.graph.time[-1] < desk.span[1]
    assert "400 customers, 10 agents, seed 1" in repr(desk)
    median = stats.gamma(2.0, scale=desk.config.rate / 2.0).median()  # the median customer and its favourite
    assert math.log(2) / (median * 0.73) == pytest.approx(15.8, abs=0.05)


def test_a_seed_is_a_desk():
    one, two, other = (synthetic.desk(60, 5, leaving=True, seed=seed) for seed in (4, 4, 5))
    assert one.graph.fingerprint == two.graph.fingerprint != other.graph.fingerprint
    for name in ("rate", "favourite", "left"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
        assert not getattr(one, name).flags.writeable
    assert "leaving" in repr(one)


def test_what_is_written_reads_back(desk, tmp_path):
    for name in ("desk.csv", "desk.parquet"):
        graph = tadge.read_events(tadge.write_events(desk.graph, tmp_path / name), quiet=True)
        assert graph.fingerprint == desk.graph.fingerprint


# -- the law ----------------------------------------------------------------------------------------------------------


def test_rates_are_gamma_and_favourites_uniform():
    desk = synthetic.desk(20_000, 10, days=1.0, seed=3)
    law = stats.gamma(2.0, scale=desk.config.rate / 2.0)
    assert stats.kstest(desk.rate, law.cdf).pvalue > RARE
    assert stats.chisquare(np.bincount(desk.favourite, minlength=10)).pvalue > RARE


def test_tickets_are_spread_over_agents_by_the_law(desk):
    customer, agent = places(desk)
    rank = (agent - desk.favourite[customer]) % 10  # 0: the favourite
    expected = desk.probability_of_agent(desk.customers[0], np.roll(desk.agents, -desk.favourite[0]))
    assert expected == pytest.approx([0.73] + [0.03] * 9)
    assert stats.chisquare(np.bincount(rank, minlength=10), expected * rank.size).pvalue > RARE


def test_numbers_of_tickets_are_poisson(desk):
    counts = np.bincount(places(desk)[0], minlength=400)
    mean = desk.rate * 365
    surprise = np.sum((counts - mean) ** 2 / mean)  # its mean is 400, and its variance 800 and a little
    assert abs(surprise - 400) < 4 * math.sqrt(np.sum(2 + 1 / mean))


def test_gaps_are_exponential():
    """Of one customer in a long record, where nothing is cut off; for all tickets and for those to the favourite."""
    desk = synthetic.desk(1, 10, days=100_000, rate=0.05, seed=6)
    favourite = desk.graph.dst == desk.graph.numbers(favourites(desk)[0])
    for chosen, rate in ((slice(None), desk.rate[0]), (favourite, desk.rate[0] * 0.73)):
        gaps = np.diff(desk.graph.time[chosen])
        assert gaps.size > 1_000
        assert stats.kstest(gaps, stats.expon(scale=1 / rate).cdf).pvalue > RARE


def test_closed_forms_agree_with_each_other(desk):
    pairs = desk.customers, favourites(desk)
    wait = desk.median_wait(*pairs)
    assert wait == pytest.approx(math.log(2) / (desk.rate * 0.73))
    assert desk.probability_within(*pairs, wait) == pytest.approx(0.5)
    assert desk.probability_within(*pairs, [30] * 400) == pytest.approx(1 - np.exp(-desk.rate * 0.73 * 30))
    assert desk.probability_within(*pairs, 0) == pytest.approx(0.0)
    assert desk.probability_within(*pairs, np.inf) == pytest.approx(1.0)
    assert desk.probability_alive(desk.customers) == pytest.approx(1.0)
    assert desk.wait_quantile("customer 3", desk.agents, 0.9).shape == (10,)
    assert np.isposinf(desk.wait_quantile("customer 3", "agent 3", 1.0))
    everyone = desk.probability_of_agent("customer 3", desk.agents)
    assert everyone.sum() == pytest.approx(1.0)
    number = desk.graph.numbers("customer 3")
    assert np.array_equal(desk.median_wait(number, "agent 3"), desk.median_wait("customer 3", "agent 3"))


def next_waits(desk, at):
    """Return the days from a moment to each customer's next ticket to its favourite, (C,); +inf without one."""
    customer, agent = places(desk)
    later = (desk.graph.time > at) & (agent == desk.favourite[customer])
    waits = np.full(desk.customers.size, np.inf)
    np.minimum.at(waits, customer[later], desk.graph.time[later] - at)
    return waits


@pytest.mark.parametrize("days", [2.0, 10.0, 30.0])
def test_probabilities_come_true_by_simulation(days):
    desk = synthetic.desk(20_000, 10, days=60, seed=8)
    at = desk.span[0] + 25
    probability = desk.probability_within(desk.customers, favourites(desk), days, at=at)
    error = (next_waits(desk, at) <= days) - probability
    for part in (desk.rate < 0.03, desk.rate > 0.1, desk.rate > 0):
        spread = np.sqrt(np.sum((probability * (1 - probability))[part]))
        assert abs(np.sum(error[part])) < 4 * spread


@pytest.mark.parametrize("days", [3.0, 20.0, 80.0])
def test_with_leaving_probabilities_come_true_given_the_silence(leaving, days):
    at = leaving.span[0] + 110
    past = leaving.graph.before(np.nextafter(at, np.inf))
    customer = places(leaving)[0][: past.num_events]
    last = np.full(leaving.customers.size, leaving.span[0])
    np.maximum.at(last, customer, past.time)
    alive = leaving.probability_alive(leaving.customers, at=at)
    probability = leaving.probability_within(leaving.customers, favourites(leaving), days, at=at)
    happened = next_waits(leaving, at) <= days
    silent = at - last
    for part in (silent < 3, (silent > 10) & (silent < 30), silent > 60, silent == 110, silent >= 0):
        assert part.sum() > 300
        for truth, expected in ((leaving.left > at, alive), (happened, probability)):
            spread = math.sqrt(np.sum((expected * (1 - expected))[part]))
            assert abs(np.sum((truth - expected)[part])) < 4 * spread


def test_never_has_the_mass_that_is_missing(leaving):
    pairs = leaving.customers[:500], favourites(leaving)[:500]
    ever = leaving.probability_within(*pairs, np.inf)
    pace = leaving.rate[:500] * (0.7 + 0.3 / 4)
    assert ever == pytest.approx(leaving.probability_alive(pairs[0]) * pace / (pace + 0.01))
    wait = leaving.median_wait(*pairs)
    assert np.array_equal(np.isposinf(wait), ever <= 0.5)
    some = np.isfinite(wait)
    assert 50 < some.sum() < 450
    found = leaving.probability_within(pairs[0][some], pairs[1][some], wait[some])
    assert found == pytest.approx(0.5)


def test_a_desk_without_tickets_still_has_its_law():
    desk = synthetic.desk(2, 2, days=0.01, leaving=True, seed=0)
    assert desk.graph.num_events == 0
    assert desk.probability_alive(desk.customers) == pytest.approx(1.0, abs=1e-3)
    assert np.all(desk.median_wait(desk.customers, "agent 1") > 0)


# -- complaints -------------------------------------------------------------------------------------------------------


BAD = {
    "customers": (0, 2.5),
    "agents": (0,),
    "days": (0, math.nan),
    "rate": (0.0, "1"),
    "leaving": (1,),
    "lifetime": (0.0,),
    "seed": (-1,),
}


@pytest.mark.parametrize(("option", "value"), [(option, value) for option in BAD for value in BAD[option]])
def test_bad_options_are_named(option, value):
    with pytest.raises(ConfigError, match=f"^{option}: .*; expected .*; found "):
        synthetic.desk(**{option: value})


def test_bad_questions_are_refused(desk):
    with pytest.raises(InputError, match=r"customer: unknown customer; .*; found 'agent 1'; did you mean"):
        desk.median_wait("agent 1", "agent 1")
    with pytest.raises(InputError, match="at: after the end of the record; expected 2020-12-31"):
        desk.probability_alive("customer 1", at="2021-01-02")
    for question in (
        lambda: desk.median_wait("customer 1", 3),
        lambda: desk.probability_of_agent(["customer 1"] * 2, ["agent 1"] * 3),
        lambda: desk.probability_within("customer 1", "agent 1", -1),
        lambda: desk.probability_within("customer 1", "agent 1", [1, 2]),
        lambda: desk.wait_quantile("customer 1", "agent 1", 1.5),
        lambda: desk.probability_alive("customer 1", at="2019-01-01"),
    ):
        with pytest.raises(TadgeError) as complaint:
            question()
        assert "\n" not in str(complaint.value) and "expected" in str(complaint.value)
