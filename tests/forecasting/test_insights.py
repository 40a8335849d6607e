"""Explain and changes: reasons that are true and add up, changes that are there and no others."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from futures import other_futures
from small import forum
from tadge import ForecastConfig, Forecaster, InputError, NodeNumbers, TadgeWarning, TemporalGraph, synthetic

SMALL = ForecastConfig(steps=20, trees=5)


@cache
def fitted(directed):
    graph = forum(directed=directed)
    return graph, Forecaster(SMALL).fit(graph, progress=False)


@cache
def desk():
    law = synthetic.desk(customers=40, agents=4, days=365.0, rate=0.12, seed=1)
    graph = law.graph
    columns = graph.ids[graph.src], graph.ids[graph.dst], graph.time
    sides = TemporalGraph.from_arrays(*columns, unit="days", clock="unix", bipartite=True)
    return law, Forecaster(ForecastConfig(steps=80, trees=5)).fit(sides, progress=False)


# -- explain -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
def test_parts_add_up_to_the_forecast_less_the_typical_one(directed):
    graph, model = fitted(directed)
    src, dst = NodeNumbers([3, 5, 8]), NodeNumbers([8, 9, 3])
    table = model.explain(src, dst, 2.0)
    causes = 7 if directed else 4
    assert len(table) == 3 * causes
    pairs = table.groupby(["src", "dst"], sort=False)
    likely = model.within(src, dst, 2.0)
    np.testing.assert_allclose(pairs["probability"].first(), likely, rtol=1e-5)
    np.testing.assert_allclose(
        pairs["moved"].sum(), pairs["probability"].first() - pairs["typical"].first(), rtol=1e-5, atol=1e-9
    )
    for _, part in pairs:
        assert (np.diff(part["moved"].abs()) <= 0).all()
    for source, target, (_, part) in zip(src.tolist(), dst.tolist(), pairs, strict=True):
        others = np.array([node for node in range(graph.num_nodes) if node != source])
        places = np.unique(np.linspace(0, others.size - 1, 128).astype(int))
        scores = model.score_links(NodeNumbers(source), NodeNumbers(others[places]))
        own = model.score_links(NodeNumbers(source), NodeNumbers(target))[0]
        every = model.score_links(NodeNumbers(source), NodeNumbers(others))
        told = model.ranking_.slope_of(every) * (own - scores.mean())
        assert part["moved_score"].sum() == pytest.approx(told, abs=1e-4)


def test_what_is_known_of_the_source_tells_no_target_from_another():
    _, model = fitted(True)
    table = model.explain(3, 8, 2.0).set_index("cause")
    assert table.loc["acts of src", "moved_score"] == 0.0 == table.loc["links to src", "moved_score"]


def test_a_column_that_is_left_out_moves_nothing():
    from tadge.features.columns import LINK_COLUMNS
    from tadge.forecasting.attribution import column_groups

    names = ", ".join(LINK_COLUMNS[place] for place in column_groups(True)["links of dst to src"])
    model = Forecaster(ForecastConfig(steps=5, trees=5, without=names)).fit(forum(), progress=False)
    table = model.explain(3, 8, 2.0).set_index("cause")
    assert table.loc["links of dst to src", ["moved", "moved_score"]].tolist() == [0.0, 0.0]
    assert table["moved"].abs().max() > 0


def test_the_favourite_is_the_reason():
    law, model = desk()
    customers = [one for one in law.customers if one in set(law.graph.ids)][:8]
    favourites = [law.agents[law.favourite[law.customers.tolist().index(one)]] for one in customers]
    table = model.explain(customers, favourites)
    first = table.groupby("src", sort=False).first()
    assert (first["cause"] == "links of src to dst").mean() >= 0.75
    assert (first["moved"][first["cause"] == "links of src to dst"] > 0).all()
    others = [next(agent for agent in law.agents if agent != one) for one in favourites]
    moved = model.explain(customers, others).query("cause == 'links of src to dst'")["moved"]
    assert moved.mean() < 0.3 * first["moved"].mean()


def test_in_a_two_sided_graph_only_what_can_happen_is_a_reason():
    """Agents never act, and nobody links to customers."""
    law, model = desk()
    table = model.explain(law.graph.ids[0], law.agents[0])
    assert set(table["cause"]) - {"hours of the week"} == {
        *("links of src to dst", "acts of src", "links to dst", "others in common")
    }
    for reason in table["reason"]:
        assert "never linked to others" not in reason and "was never linked to" not in reason
    assert table["moved"].sum() == pytest.approx(table["probability"][0] - table["typical"][0], abs=1e-6)


def history():
    """bob writes to ann and is not answered; ann writes mostly to cat; time in days."""
    rows = [("ann", "cat", day) for day in range(1, 9)] + [("ann", "bob", 2.5), ("ann", "dan", 9.0)]
    rows += [("eve", "dan", -5.0), ("bob", "ann", 9.5), ("dan", "cat", 3.0), ("cat", "ann", 4.5), ("eve", "dan", 10.0)]
    src, dst, time = zip(*rows, strict=True)
    return TemporalGraph.from_arrays(list(src), list(dst), list(time), unit="days")


def test_reasons_are_true():
    model = Forecaster(ForecastConfig(steps=2, trees=2)).fit(history(), progress=False)

    def reasons(src, dst, **options):
        table = model.explain(src, dst, 1.0, **options)
        return dict(zip(table["cause"], table["reason"], strict=True))

    bob = reasons("ann", "bob")
    assert bob["links of dst to src"] == "bob linked to ann 12.0 h ago and has not been answered"
    assert bob["links of src to dst"] == "1 of ann's last 10 links went to bob, 7.5 days ago"
    assert bob["acts of src"] == "ann linked to others 6 times in the last 7.0 days, the last 1.0 days ago"
    assert bob["others in common"] == "ann and bob have lately had no links with the same others"
    cat = reasons("ann", "cat")
    assert cat["links of src to dst"] == "8 of ann's last 10 links went to cat, the last 2.0 days ago"
    assert cat["links of dst to src"] == "cat linked to ann once, 5.5 days ago, and ann has linked back since"
    assert cat["links to dst"] == "cat was linked to 5 times in the last 7.0 days, the last 2.0 days ago"
    assert cat["others in common"] == "ann and cat have both lately had links with dan"
    assert reasons("bob", "ann")["acts of src"] == "bob linked to others once in the last 7.0 days, 12.0 h ago"
    assert reasons("eve", "dan")["links of src to dst"] == "2 of eve's last 2 links went to dan, the last 0 s ago"
    assert reasons("cat", "eve")["links of dst to src"] == "eve has never linked to cat"
    assert reasons("cat", "eve")["links to dst"] == "eve was never linked to"
    assert reasons("ann", "bob", before=9.5)["links of dst to src"] == "bob has never linked to ann"
    with pytest.warns(TadgeWarning, match="never seen"):
        assert reasons("ann", "zoe")["links to dst"] == "zoe was never seen"


def test_what_others_chose_together_is_a_reason_where_src_has_not_chosen_it():
    src, dst = ["pat", "kim", "kim", "pat", "tom"], ["sue", "sue", "tom", "joe", "ned"]
    graph = TemporalGraph.from_arrays(src, dst, [1.0, 2.0, 3.0, 4.0, 5.0], unit="days")
    model = Forecaster(ForecastConfig(steps=2, trees=2)).fit(graph, progress=False)

    def reason(dst):
        return model.explain("pat", dst, 1.0).set_index("cause")["reason"]["others in common"]

    assert reason("tom") == "others linked to tom and those whom pat lately linked to"
    assert reason("ned") == "pat and ned have lately had no links with the same others"
    assert reason("joe") == "pat and joe have lately had no links with the same others"


def test_reasons_in_undirected_and_bipartite_graphs():
    graph = history()
    columns = graph.ids[graph.src], graph.ids[graph.dst], graph.time
    both = TemporalGraph.from_arrays(*columns, unit="days", directed=False)
    model = Forecaster(ForecastConfig(steps=2, trees=2)).fit(both, progress=False)
    table = model.explain("bob", "ann", 1.0).set_index("cause")["reason"]
    assert table["links of src and dst"] == "2 of bob's last 2 links went to ann, the last 12.0 h ago"
    assert table["links of dst"].startswith("ann had links 8 times in the last 7.0 days")
    sides = TemporalGraph.from_arrays(*columns, unit="days", bipartite=True)
    model = Forecaster(ForecastConfig(steps=2, trees=2)).fit(sides, progress=False)
    table = model.explain("dan", "ann", 1.0).set_index("cause")
    assert table.loc["others in common", "reason"] == "no others who chose what dan lately chose chose ann"
    assert "links of dst to src" not in table.index


def test_no_future_changes_an_explanation():
    graph, model = fitted(True)
    cut = float(np.quantile(graph.time, 0.6))
    expected = model.explain(3, 8, 2.0, cut).to_csv()
    for future in other_futures(graph, cut, np.random.default_rng(0)):
        assert model.explain(3, 8, 2.0, cut, graph=future).to_csv() == expected


def test_what_cannot_be_explained_is_one_sentence():
    _, model = fitted(True)
    with pytest.raises(InputError, match="days: several horizons"):
        model.explain(3, 8, [1.0, 2.0])
    with pytest.raises(InputError, match="days: a horizon that cannot be trusted"):
        model.explain(3, 8, 1e9)


# -- changes -----------------------------------------------------------------------------------------------------------


def test_changes_hold_tables_and_show_themselves():
    graph, model = fitted(True)
    since = float(np.quantile(graph.time, 0.8))
    changes = model.changes(since)
    assert set(changes.tables) == {"nodes", "pairs", "paces", "silent", "drift"}
    assert changes.periods.since == since and changes.periods.until == graph.time[-1] and changes.learned
    assert f"{len(changes.nodes):,} new nodes" in repr(changes) and repr(changes)[:7] in changes._repr_html_()
    later = model.changes(since, float(graph.time[-1]), graph=graph.before(float(np.nextafter(graph.time[-1], np.inf))))
    assert later.drift.equals(changes.drift)
    for wrong in (float(graph.time[0]), float(graph.time[-1]), 1e6):
        with pytest.raises(InputError, match="since: no period to look at; expected after"):
            model.changes(wrong)


def test_what_was_said_of_known_pairs_and_what_came():
    _, model = desk()
    graph = model.graph_
    since = float(graph.time[-1]) - 30
    figures = model.changes(since).drift.set_index("measure")
    said, came = (next(row for name, row in figures.iterrows() if name.endswith(word)) for word in ("said", "came"))
    pairs = {(u, v) for u, v, t in zip(graph.src, graph.dst, graph.time, strict=True) if t < since}
    again = {(u, v) for u, v, t in zip(graph.src, graph.dst, graph.time, strict=True) if t >= since}
    assert came["since"] == pytest.approx(len(pairs & again) / len(pairs))
    assert said["since"] == pytest.approx(came["since"], abs=0.1)


def test_a_last_minute_is_hardly_anything_to_compare():
    graph, model = fitted(True)
    end = float(graph.time[-1])
    with pytest.warns(TadgeWarning, match="since: only .* event.* since .*: hardly anything to compare"):
        model.changes(end - 1e-9, graph=graph)
