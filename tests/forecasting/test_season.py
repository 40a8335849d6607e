"""A desk with office hours, whose law is known: little comes at night, and forecasts say so."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from futures import other_futures
from tadge import ForecastConfig, Forecaster, InputError, TemporalGraph
from tadge.units import days_of_date

CUSTOMERS, AGENTS, WEEKS = 60, 3, 40
MONDAY = days_of_date("2024-01-01")
HOUR = 1 / 24
AN_HOUR = 0.02  # tickets of a customer in an office hour, 9 to 17 h on weekdays


@cache
def office():
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(CUSTOMERS), rng.poisson(AN_HOUR * 40 * WEEKS, CUSTOMERS))
    open_hour = rng.uniform(0, 40 * WEEKS, who.size)
    week, rest = np.divmod(open_hour, 40)
    day, hour = np.divmod(rest, 8)
    time = MONDAY + 7 * week + day + (9 + hour) * HOUR
    ids = [f"customer {k}" for k in who], [f"agent {k}" for k in rng.integers(AGENTS, size=who.size)]
    graph = TemporalGraph.from_arrays(*ids, time, unit="days", clock="unix", bipartite=True)
    return graph, Forecaster(ForecastConfig(steps=80, trees=2, hidden=32)).fit(graph, progress=False)


def acts_within(model, days, at):
    """The mean probability that a customer writes to an agent within some days."""
    customers, agents = (f"customer {k}" for k in range(CUSTOMERS)), [f"agent {k}" for k in range(AGENTS)]
    return float(np.mean([model.within(one, agents, days, at) for one in customers]))


def test_an_hour_by_day_is_not_an_hour_by_night():
    _, model = office()
    assert model.seasonal_
    tuesday = MONDAY + 7 * (WEEKS - 2) + 1
    true = -np.expm1(-AN_HOUR / AGENTS)
    assert 0.5 * true < acts_within(model, HOUR, tuesday + 10 * HOUR) < 2 * true
    for nothing in (3 * HOUR, 20 * HOUR, 4 + 10 * HOUR):  # at night, in the evening, on Saturday
        assert acts_within(model, HOUR, tuesday + nothing) < 0.2 * true
    day = -np.expm1(-8 * AN_HOUR / AGENTS)
    assert acts_within(model, 1.0, tuesday + 3 * HOUR) == pytest.approx(day, rel=0.25)
    assert acts_within(model, 1.0, tuesday + 4.01) < 0.3 * day
    assert acts_within(model, 7.0, tuesday) == pytest.approx(-np.expm1(-40 * AN_HOUR / AGENTS), rel=0.2)


def test_what_is_saved_answers_alike(tmp_path):
    graph, model = office()
    model.save(tmp_path)
    again, at = Forecaster.load(tmp_path), float(graph.time[-1])
    assert again.seasonal_
    assert acts_within(again, 0.5, at) == acts_within(model, 0.5, at)


def test_no_future_changes_a_bit():
    graph, model = office()
    cut = float(np.quantile(graph.time, 0.6))
    asked = ["customer 1", "customer 2"], ["agent 0", "agent 2"], [0.1, 3.0], cut
    expected = model.within(*asked, graph=graph).tobytes()
    for future in other_futures(graph, cut, np.random.default_rng(0)):
        assert model.within(*asked, graph=future).tobytes() == expected


def test_the_hour_is_a_cause_of_its_own():
    _, model = office()
    at = MONDAY + 7 * (WEEKS - 2) + 1 + 3 * HOUR
    table = model.explain("customer 1", "agent 1", HOUR, at).set_index("cause")
    assert table.loc["hours of the week", "moved"] < 0
    assert "2024-09-24 03:00" in table.loc["hours of the week", "reason"]
    assert table.loc["hours of the week", "moved_score"] == 0
    assert table["moved"].sum() == pytest.approx(table["probability"].iloc[0] - table["typical"].iloc[0], abs=1e-9)
    assert table["probability"].iloc[0] == pytest.approx(model.within("customer 1", "agent 1", HOUR, at), rel=1e-5)


def test_a_graph_on_another_clock_is_refused():
    graph, model = office()
    ends = graph.ids[graph.src], graph.ids[graph.dst]
    other = TemporalGraph.from_arrays(*ends, graph.time - MONDAY, unit="days", clock="own", bipartite=True)
    with pytest.raises(InputError, match=r"graph: a graph on another clock; expected the clock 'unix'.*found 'own'"):
        model.within("customer 1", "agent 1", 1.0, graph=other)
