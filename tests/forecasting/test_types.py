"""A desk whose agents answer urgent tickets at once and others within days: types are looked at where they tell."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from futures import other_futures
from tadge import ForecastConfig, Forecaster, InputError, TemporalGraph
from tadge.forecasting.learned import from_arrays, to_arrays

CUSTOMERS, AGENTS, DAYS = 40, 12, 250
EVERY, SOON, LATER = 6.0, 0.1, 5.0  # days from ticket to ticket of a customer, and to the answers, in the mean
FEW = ForecastConfig(
    steps=400, trees=2, hidden=32, batch_events=32, forecast_lr=8e-3, random_negatives=8, former_negatives=4
)
TYPES = ("answer", "other", "urgent")


@cache
def desk():
    """Make tickets to each customer's own agent, and the answers to them."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(CUSTOMERS), rng.poisson(DAYS / EVERY, CUSTOMERS))
    asked, urgent = rng.uniform(0, DAYS, who.size), rng.random(who.size) < 0.5
    answered = asked + rng.exponential(np.where(urgent, SOON, LATER))
    ends = np.array([f"customer {k}" for k in who]), np.array([f"agent {k % AGENTS}" for k in who])
    come = answered < DAYS
    src, dst = np.concatenate([ends[0], ends[1][come]]), np.concatenate([ends[1], ends[0][come]])
    time = np.concatenate([asked, answered[come]])
    kind = np.concatenate([np.where(urgent, "urgent", "other"), np.full(come.sum(), "answer")])
    return TemporalGraph.from_arrays(src, dst, time, type=kind, unit="days", clock="own")


@cache
def fitted():
    return Forecaster(FEW).fit(desk(), progress=False)


def right_after(graph, name):
    """Find the late events of a type: (n,) numbers."""
    late = np.arange(graph.num_events) > 0.8 * graph.num_events
    return np.flatnonzero(late & (graph.type == graph.type_names.index(name)))


def answers_within(model, days, name):
    """Give the mean probability that an agent answers within some days of a ticket, asked at the moment it comes."""
    graph = desk()
    events = right_after(graph, name)
    return float(
        model.within(graph.ids[graph.dst[events]], graph.ids[graph.src[events]], days, graph.time[events]).mean()
    )


def test_an_urgent_ticket_is_answered_sooner():
    model = fitted()
    assert sorted(model.types_) == list(TYPES)
    for days in (0.1, 1.0):
        urgent = -np.expm1(-days / SOON)
        other = -np.expm1(-days * (1 + LATER / EVERY / 2) / LATER)  # this one, or another of the customer's
        other = 1 - (1 - other) * np.exp(-(days - SOON) / EVERY / 2)  # or an urgent one that comes in the meantime
        assert answers_within(model, days, "urgent") == pytest.approx(urgent, abs=0.12)
        assert answers_within(model, days, "other") == pytest.approx(other, abs=0.12)


def test_types_that_tell_nothing_are_not_looked_at():
    graph = desk()
    shuffled = np.random.default_rng(1).permutation(graph.type)
    noise = Forecaster(FEW).fit(replace(graph, type=shuffled), progress=False)
    plain = Forecaster(FEW).fit(replace(graph, type=None, type_names=()), progress=False)
    assert noise.types_ == ()
    ends = graph.ids[graph.src[:50]], graph.ids[graph.dst[:50]]
    assert noise.within(*ends, 1.0).tobytes() == plain.within(*ends, 1.0).tobytes()
    assert noise.score_links(*ends).tobytes() == plain.score_links(*ends).tobytes()


@pytest.mark.filterwarnings("ignore:on the latest fifth of the events a simple rule")  # hardly anything was learned
def test_one_says_whether_they_are_looked_at():
    few = replace(FEW, steps=2)
    never = Forecaster(replace(few, event_types="never")).fit(desk(), progress=False)
    always = Forecaster(replace(few, event_types="always")).fit(desk(), progress=False)
    assert never.types_ == ()
    assert sorted(always.types_) == list(TYPES)


def test_what_is_saved_answers_alike(tmp_path):
    model = fitted()
    model.save(tmp_path)
    again = Forecaster.load(tmp_path)
    assert again.types_ == model.types_
    for ask in (
        lambda one: one.within("agent 1", "customer 1", [0.1, 3.0]),
        lambda one: one.score_links("agent 1", "customer 1"),
    ):
        assert np.asarray(ask(again)).tobytes() == np.asarray(ask(model)).tobytes()
    assert again.surprise().equals(model.surprise())


@pytest.mark.parametrize(
    "letters", [b"{}", b"[]", b"[1]", b'["a","a"]', b"[" * 100_000, b"\xff", b'["a"', b'["a","b","c","d","e","f"]']
)
def test_names_that_are_none_are_refused(letters):
    model = fitted()
    arrays = to_arrays(model._learned()) | {"types": np.frombuffer(letters, np.uint8)}
    with pytest.raises(ValueError):
        from_arrays(arrays, [], model.config)
    with pytest.raises(ValueError, match="types: not names of types"):
        from_arrays(arrays | {"types": np.zeros(3)}, [], model.config)


@pytest.mark.filterwarnings("ignore:never seen in this history")
def test_no_future_changes_a_bit():
    graph, model = desk(), fitted()
    cut = float(np.quantile(graph.time, 0.6))
    asked = ["agent 1", "customer 2", "agent 0"], ["customer 1", "agent 2", "nobody"]
    expected = model.within(*asked, [0.1, 3.0], cut, graph=graph).tobytes()
    ranked, scores = (
        model.rank("agent 1", cut, graph=graph),
        model.score_links(["agent 1"], ["customer 5"], cut, graph=graph),
    )
    futures = other_futures(graph, cut, np.random.default_rng(0))
    assert all(future.type is not None for future in futures)
    for future in futures:
        assert model.within(*asked, [0.1, 3.0], cut, graph=future).tobytes() == expected
        assert model.rank("agent 1", cut, graph=future).equals(ranked)
        assert model.score_links(["agent 1"], ["customer 5"], cut, graph=future).tobytes() == scores.tobytes()


def test_other_names_and_orders_of_types_are_the_same_types():
    graph, model = desk(), fitted()
    more = graph.types.by_name(graph.num_events)
    names = np.concatenate([more, ["a new type"]])
    ends = [np.concatenate([graph.ids[end], ["agent 0"]]) for end in (graph.src, graph.dst)]
    longer = TemporalGraph.from_arrays(
        *ends, np.append(graph.time, DAYS + 1.0), type=names, unit="days", clock="own", tov=graph.tov_rule
    )
    asked = ["agent 1", "agent 2"], ["customer 1", "customer 2"], [0.1, 3.0], DAYS * 0.9
    assert model.within(*asked, graph=longer).tobytes() == model.within(*asked, graph=graph).tobytes()


@pytest.mark.filterwarnings("ignore:never seen in this history")
def test_types_are_a_cause_of_their_own():
    graph, model = desk(), fitted()
    event = right_after(graph, "urgent")[-1]
    agent, customer, at = graph.ids[graph.dst[event]], graph.ids[graph.src[event]], float(graph.time[event])
    table = model.explain(agent, customer, 0.5, at).set_index("cause")
    assert table.loc["types of events", "moved"] > 0.1
    assert f"the last link between {agent} and {customer}: urgent" in table.loc["types of events", "reason"]
    assert table["moved"].sum() == pytest.approx(table["probability"].iloc[0] - table["typical"].iloc[0], abs=1e-9)
    assert table["probability"].iloc[0] == pytest.approx(model.within(agent, customer, 0.5, at), rel=1e-5)
    nobody = model.explain("nobody", "no one", 0.5, at).set_index("cause")
    assert nobody.loc["types of events", "reason"] == "neither nobody nor no one has linked to anyone"


def test_a_graph_without_types_is_refused():
    model = fitted()
    bare = replace(desk(), type=None, type_names=())
    with pytest.raises(InputError, match=r"graph: a graph without types; expected types of events.*name their column"):
        model.within("agent 1", "customer 1", 1.0, graph=bare)
