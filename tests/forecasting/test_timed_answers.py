"""Within, when, next, surprise, overdue: as of a moment, in the user's ids, as likely as they are."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas
import pytest

import tadge
from answering import ranked
from futures import other_futures
from small import forum, rebuilt
from tadge import ForecastConfig, Forecaster, InputError, NodeNumbers, TadgeWarning, TemporalGraph, synthetic
from tadge.features.tables import tables_of
from tadge.forecasting.ask_curves import act_curves
from tadge.forecasting.waits import targets_of
from tadge.units import dates_of_days

SMALL = ForecastConfig(steps=30, trees=5)


@cache
def fitted(**kind):
    graph = forum(**kind)
    train = graph.before(float(np.quantile(graph.time, 0.7)))
    return graph, train, Forecaster(SMALL).fit(train, progress=False)


@cache
def desk():
    """Customers whose law is known, and a Forecaster of their first two years."""
    law = synthetic.desk(customers=150, agents=5, days=730.0, seed=1)
    return law, Forecaster(ForecastConfig(steps=250, trees=5)).fit(law.graph, progress=False)


# -- as likely as they are ---------------------------------------------------------------------------------------------


def favourites(law):
    known = set(law.graph.ids.tolist())
    pairs = [(one, law.agents[law.favourite[place]]) for place, one in enumerate(law.customers) if one in known]
    return [one for one, _ in pairs], [agent for _, agent in pairs]


def test_probabilities_and_waits_are_those_of_a_known_law():
    law, model = desk()
    customers, agents = favourites(law)
    for days in (1.0, 7.0, 30.0):
        said, true = model.within(customers, agents, days), law.probability_within(customers, agents, days)
        assert said.mean() == pytest.approx(true.mean(), abs=0.1)  # whose favourite is not yet clear, is unsure
    waits = model.when(customers, agents)
    assert np.median(waits["median_wait"]) == pytest.approx(np.median(law.median_wait(customers, agents)), rel=0.2)
    assert waits["never"].mean() < 0.1
    inside = [law.wait_quantile(customers, agents, q) for q in (0.1, 0.9)]
    assert np.median(waits["low_80"]) == pytest.approx(np.median(inside[0]), rel=0.35)
    assert np.median(waits["high_80"]) == pytest.approx(np.median(inside[1]), rel=0.35)


def test_a_ranking_says_how_often_the_favourite_is_asked():
    law, model = desk()
    customers, agents = favourites(law)
    said = [dict(ranked(model.rank(one))).get(agent, 0.0) for one, agent in zip(customers, agents, strict=True)]
    assert np.mean(said) == pytest.approx(law.probability_of_agent(customers[0], agents[0])[0], abs=0.05)


def test_who_next_and_within_agree():
    """Over all targets, the expected number of a source's links is that of the law."""
    law, model = desk()
    customers, _ = favourites(law)
    said = sum(model.within(one, law.agents, 7.0).sum() for one in customers)
    true = sum(law.probability_within(one, law.agents, 7.0).sum() for one in customers)
    assert said == pytest.approx(true, rel=0.15)


# -- as of a moment ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [{}, {"directed": False}], ids=["directed", "undirected"])
def test_no_future_changes_a_bit(kind):
    graph, train, model = fitted(**kind)
    cut = float(np.quantile(train.time, 0.6))
    src, dst = NodeNumbers([3, 5, 8, 11]), NodeNumbers([8, 9, 3, 4])

    def all_answers(world):
        waits = model.when(src, dst, cut, graph=world).drop(columns=["src", "dst"])
        late = model.overdue(cut, 0.5, least=0.0, graph=world)
        return [
            model.within(src, dst, [0.1, 1.0, 10.0], cut, graph=world).tobytes(),
            waits.to_csv(),
            model.next(src, 5, 2.0, cut, new=True, graph=world).to_csv(),
            ranked(model.rank(NodeNumbers(3), cut, new=True, graph=world)),
            late.to_csv(),
        ]

    expected = all_answers(graph)
    for future in other_futures(graph, cut, np.random.default_rng(0)):
        assert all_answers(future) == expected


def test_surprise_is_as_of_the_instant_before():
    graph, _, model = fitted()
    event = 500
    whole = model.surprise(graph=graph)
    until = graph.before(float(np.nextafter(graph.time[event], np.inf)))
    assert model.surprise(graph=until).iloc[event].to_dict() == whole.iloc[event].to_dict()


def test_surprise_splits_into_who_and_when():
    graph, _, model = fitted()
    table = model.surprise(graph=graph)
    assert len(table) == graph.num_events
    np.testing.assert_allclose(table["surprise"], -np.log10(table["probability"]))
    np.testing.assert_allclose(table["surprise"], table["who"] + table["when"])
    assert (table[["who", "when", "lately"]] >= 0).all().all()


def test_the_halves_of_a_surprise_by_hand():
    """who: a link to any act within a day; when: both tails of the wait since the source last acted."""
    graph, _, model = fitted()
    table, event = model.surprise(graph=graph), 600
    u, t = int(graph.src[event]), float(graph.time[event])
    day, tables = model.scales_.decay_days[1], tables_of(graph, model.scales_)
    link = model.within(NodeNumbers(u), NodeNumbers(int(graph.dst[event])), day, before=t, graph=graph)
    ((_, act, _),) = act_curves(model.curves_, tables, np.array([u]), np.array([np.nextafter(t, -np.inf)]))
    assert table["who"][event] == pytest.approx(-np.log10(link / act.within(day)[0, 0]), abs=1e-4)
    last = graph.time[(graph.src == u) & (graph.time < t)].max()
    ((_, since, _),) = act_curves(model.curves_, tables, np.array([u]), np.array([last]))
    sooner = since.within(min(t - last, model.horizon_))[0, 0]
    assert table["when"][event] == pytest.approx(-np.log10(min(1.0, 2 * min(sooner, 1 - sooner))), abs=1e-4)


def test_lately_sums_along_the_acts_of_a_source():
    graph, _, model = fitted()
    table, hours, usual = model.surprise(graph=graph), model.scales_.decay_days[0], model.curves_.usual
    for event in np.flatnonzero(table["lately"] > 0)[-50:]:
        total, last = 0.0, float(graph.time[event])
        earlier = np.flatnonzero((graph.src == graph.src[event]) & (graph.time < graph.time[event]))
        earlier = earlier[graph.time[earlier] > graph.time[event] - 8 * hours][-32:]
        for act in [*earlier, event]:
            total = max(0.0, total * np.exp((last - graph.time[act]) / hours) + table["surprise"][act] - usual)
            last = graph.time[act]
        assert table["lately"][event] == pytest.approx(total)


def test_single_events_and_tables_of_later_ones():
    graph, train, model = fitted()
    later = graph.between(float(graph.time[train.num_events]), np.inf)
    table = pandas.DataFrame({"src": graph.ids[later.src], "dst": graph.ids[later.dst], "time": later.time})
    whole = model.surprise(graph=graph).iloc[train.num_events :]
    for events in (later, list(table.itertuples(index=False, name=None))):
        added = model.surprise(events)
        np.testing.assert_allclose(added["surprise"], whole["surprise"], rtol=1e-4)
    one = model.surprise((int(graph.ids[later.src[0]]), int(graph.ids[later.dst[0]]), float(later.time[0])))
    assert one["surprise"][0] == pytest.approx(whole["surprise"].iloc[0], rel=1e-4)
    old = model.surprise([(int(train.ids[train.src[7]]), int(train.ids[train.dst[7]]), float(train.time[7]))])
    assert old["surprise"][0] == pytest.approx(model.surprise()["surprise"][7])
    with pytest.raises(InputError, match="an event that is not in the history"):
        model.surprise([(3, 5, float(train.time[7]) + 1e-9)])
    with pytest.raises(InputError, match="not events"):
        model.surprise([1, 2])


# -- who, and how many -------------------------------------------------------------------------------------------------


def test_next_is_the_best_of_within():
    _, train, model = fitted()
    table = model.next([3, 5], k=4, days=2.0)
    assert table["src"].tolist() == [3] * 4 + [5] * 4
    for src in (3, 5):
        targets = train.ids[targets_of(train, int(train.numbers(src)), float(train.time[-1]))]
        every = np.sort(model.within(src, targets, 2.0))[::-1][:4]
        rows = table[table["src"] == src]
        np.testing.assert_allclose(rows["probability"], every, rtol=1e-4)
        assert src not in rows["target"].tolist()
    everyone = model.next(None, k=1)
    assert set(everyone["src"]) == set(train.ids[np.unique(train.src)].tolist())


def test_someone_new_has_a_row_of_its_own():
    _, _, model = fitted()
    table = model.next([3, 5], k=2, days=2.0, new=True)
    assert table["src"].tolist() == [3, 3, 3, 5, 5, 5]
    assert pandas.isna(table["target"]).tolist() == [False, False, True] * 2
    assert table["probability"].between(0, 1).all()
    ranking = ranked(model.rank(3, k=10**6, new=True))
    assert ranking[-1][0] is None
    assert sum(probability for _, probability in ranking) == pytest.approx(1.0)


def test_a_node_may_name_itself_only_where_nodes_do():
    graph = forum()
    ids = graph.ids
    loops = TemporalGraph.from_arrays(
        [*ids[graph.src], 3, 3],
        [*ids[graph.dst], 3, 3],
        [*graph.time, graph.time[-1] + 1, graph.time[-1] + 2],
        unit="days",
    )
    model = Forecaster(SMALL).fit(loops, progress=False)
    assert 3 in [target for target, _ in ranked(model.rank(3, k=10**6))]
    assert 3 not in [target for target, _ in ranked(model.rank(3, k=10**6, before=float(graph.time[-1]) + 1))]


def test_one_or_many_pairs_and_horizons():
    _, _, model = fitted()
    assert isinstance(model.within(3, 5, 1.0), float)
    assert model.within([3, 5], 8, 1.0).shape == (2,)
    assert model.within([3, 5], [8, 9], [0.5, 1.0, 2.0]).shape == (2, 3)
    assert model.within(3, 5, [1.0]).shape == (1, 1)
    assert model.within([], [], 1.0).shape == (0,)
    assert len(model.when([], [])) == 0


# -- overdue -----------------------------------------------------------------------------------------------------------


def test_overdue_pairs_are_past_their_point():
    _, train, model = fitted()
    at = float(train.time[-1])
    table = model.overdue(level=0.6, least=0.0)
    assert len(table)
    assert (table["late"] > 0).all()
    assert (np.diff(table["late"]) <= 0).all()
    assert len({frozenset((a, b)) for a, b in zip(table["src"], table["dst"], strict=True)}) == len(table)
    for row in table.head(20).itertuples():
        u, v = train.numbers(row.src), train.numbers(row.dst)
        forth, back = (train.time[(train.src == a) & (train.dst == b)] for a, b in ((u, v), (v, u)))
        since = max([*forth, *back])
        assert row.since == pandas.Timestamp(dates_of_days(np.array(since)))
        assert at - since == pytest.approx(row.due + row.late)
        assert row.waits_for == ("answer" if max(back, default=-1) > max(forth, default=-1) else "repeat")
        curve = model.when(row.src, row.dst, since)
        assert row.comes == pytest.approx(1 - curve["never"][0], abs=1e-6)
        come = model.within(row.src, row.dst, [row.due, model.horizon_], since)[0]
        assert come[0] / come[1] == pytest.approx(0.6, abs=1e-3)
    assert (model.overdue(level=0.6, least=0.4)["comes"] >= 0.4).all()


# -- kept, refused, warned ---------------------------------------------------------------------------------------------


def test_what_was_learned_is_kept(tmp_path):
    _, _, model = fitted()
    model.save(tmp_path)
    again = Forecaster.load(tmp_path)
    assert again.horizon_ == model.horizon_
    assert again.ranking_ == model.ranking_
    assert np.array_equal(again.within([3, 5], [8, 9], [1.0, 2.0]), model.within([3, 5], [8, 9], [1.0, 2.0]))
    assert again.overdue(level=0.6, least=0.0).equals(model.overdue(level=0.6, least=0.0))
    assert again.surprise().equals(model.surprise())


def test_horizons_beyond_trust_are_refused_in_one_sentence():
    _, _, model = fitted()
    for days in (0, -1.0, 1e6, np.nan, [1.0, 1e6]):
        with pytest.raises(
            InputError, match=r"days: a horizon that cannot be trusted; expected from .* days, a billionth of the "
        ):
            model.within(3, 5, days)
    with pytest.raises(InputError, match="not a horizon"):
        model.within(3, 5, "soon")
    with pytest.raises(InputError, match="several horizons"):
        model.next(3, days=[1.0, 2.0])
    with pytest.raises(InputError, match="nothing had happened by then"):
        model.within(3, 5, 1.0, at=-1e5)
    with pytest.raises(tadge.ConfigError, match="level: value too large"):
        model.overdue(level=2.0)
    with pytest.raises(tadge.NotFittedError):
        Forecaster().within(1, 2, 1.0)


def test_horizons_are_ordered_alike_down_to_where_rounding_begins_and_refused_below():
    _, _, model = fitted()
    shortest = 2e-9 * model.horizon_
    targets = [node for node in range(12) if node != 3]
    finest, fine = (model.within([3] * len(targets), targets, days) for days in (1.01 * shortest, 1000 * shortest))
    assert 0 < finest.min() < finest.max() < model.within(3, 5, 2.0)
    np.testing.assert_allclose(finest / finest.max(), fine / fine.max(), rtol=1e-3)
    for ask in (lambda: model.within(3, 5, 1e-12), lambda: model.next(3, days=0.99 * shortest)):
        with pytest.raises(InputError, match="days: a horizon that cannot be trusted; expected from"):
            ask()


def test_ids_that_were_never_seen_have_a_marked_prior():
    """One policy for all questions: an answer, marked, and one warning that names them all."""
    _, _, model = fitted()
    with pytest.warns(TadgeWarning, match=r"never seen in this history: dst 1000000000; answered .* \(known = False\)"):
        stranger = model.within(3, 10**9, 1.0)
    assert 0 < stranger < 1
    with pytest.warns(TadgeWarning, match="never seen in this history: src 1000000000; answered"):
        table = model.when([3, 10**9], 5)
    assert table["known"].tolist() == [True, False]
    assert table["src"].tolist() == [3, 10**9]
    with pytest.warns(TadgeWarning) as caught:
        model.within([10**9, 10**9 + 1], [10**9, 5], 1.0)
    names = "never seen in this history: src 1000000000, src 1000000001, dst 1000000000; answered"
    assert [str(one.message).startswith(names) for one in caught] == [True]
    for ask in (model.next, model.rank):
        with pytest.warns(TadgeWarning, match="never seen in this history: src 1000000000; answered"):
            table = ask([3, 10**9], k=2, new=True)
        assert table["src"].tolist() == [3] * 3 + [10**9] * 3
        assert table["known"].tolist() == [True] * 3 + [False] * 3
        assert ask(3, k=2)["known"].all()
    with pytest.warns(TadgeWarning, match="never seen"):
        table = model.rank(10**9, k=10**6)
    assert table["probability"].sum() == pytest.approx(1.0)
    with pytest.warns(TadgeWarning, match="never seen"):
        first = model.next(NodeNumbers(0), k=1, new=True)["probability"].iloc[-1]
        assert model.next(10**9, k=1, new=True)["probability"].iloc[-1] != first
    with pytest.raises(InputError, match="an id of another type"):
        model.within("3", 5, 1.0)


def test_the_same_bits_whatever_else_is_asked():
    _, train, model = fitted()
    src, dst = train.ids[:40], train.ids[40:80]
    every = model.within(src, dst, [0.5, 1.0, 2.0])
    assert np.array_equal(model.within(src, dst, 1.0), every[:, 1])


def test_a_stale_model_says_so():
    _, train, model = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.within(3, 5, 1.0)
    span = float(train.time[-1] - train.time[0])
    with pytest.warns(TadgeWarning, match="fit it again"):
        model.rank(3, at=float(train.time[-1]) + 0.5 * span)


def test_dates_come_out_where_they_went_in():
    graph = forum()
    dated = rebuilt(graph, clock="unix")
    model = Forecaster(SMALL).fit(dated, progress=False)
    waits, table = model.when(3, 5), model.surprise()
    assert table["time"].dtype.kind == "M"
    wait = (waits["median_date"][0] - table["time"].iloc[-1]) / pandas.Timedelta(days=1)
    assert wait == pytest.approx(waits["median_wait"][0], abs=1e-6)
    assert model.overdue(level=0.6, least=0.0)["since"].dtype.kind == "M"


def test_polars_tables_where_pandas_is_missing(monkeypatch):
    import polars

    from tadge.io import frames

    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    _, _, model = fitted()
    table = model.next(3, k=3, days=1.0)
    assert isinstance(table, polars.DataFrame)
    assert table.columns[:3] == ["src", "target", "probability"]
