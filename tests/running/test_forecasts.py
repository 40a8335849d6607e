"""The forecasts of all active nodes are those of `next`, asked one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tadge
from small import forum
from small_run import small_material
from tadge.running import forecasts
from tadge.running.forecasts import active_sources, all_pairs, forecast_all, likely_pairs, popular_targets


@pytest.fixture(scope="module")
def forecaster():
    return small_material().forecaster


def nothing(done, total):
    pass


def test_forecasts_are_those_of_next(forecaster):
    made = forecast_all(forecaster, 7.0, 3, 0, nothing)
    assert made.about["all_targets"]
    assert made.about["found"] is None
    graph = forecaster.graph_
    for src in made.table["src"].unique(maintain_order=True).head(5):
        ours = made.table.filter(made.table["src"] == src)
        theirs = forecaster.next(src, 3, 7.0)
        assert ours["target"].to_list() == list(theirs["target"])
        for name in ("probability", "median_wait", "low_80", "high_80", "never"):
            np.testing.assert_allclose(ours[name].to_numpy(), np.asarray(theirs[name]), rtol=1e-6)
        assert ours["median_date"].to_list() == [date.to_pydatetime() for date in theirs["median_date"]]
    assert set(made.table["src"]) <= set(graph.ids.tolist())


def test_active_is_who_acted_in_the_latest_fifth_of_the_time():
    graph = forum(500)
    active, since = active_sources(graph)
    last = {int(u): t for u, t in zip(graph.src, graph.time, strict=True)}
    assert set(active.tolist()) == {u for u, t in last.items() if t >= since}
    assert since == pytest.approx(graph.time[-1] - 0.2 * (graph.time[-1] - graph.time[0]))
    counts = np.bincount(graph.src)[active]
    assert (np.diff(counts) <= 0).all()


def test_where_not_all_are_asked_those_met_and_the_popular_are():
    graph = forum(500)
    sources = active_sources(graph)[0]
    src, dst = likely_pairs(graph, sources)
    popular = set(popular_targets(graph).tolist())
    assert len(set(zip(src.tolist(), dst.tolist(), strict=True))) == src.size
    assert (src != dst).all()
    for u in sources[:10].tolist():
        met = {int(v) for v in graph.dst[graph.src == u][-60:]} | {int(v) for v in graph.src[graph.dst == u][-60:]}
        assert set(dst[src == u].tolist()) >= (met | popular) - {u}


def test_what_is_missed_is_measured(forecaster, monkeypatch):
    monkeypatch.setattr(forecasts, "ALL_PAIRS", 0)
    made = forecast_all(forecaster, 7.0, 3, 0, nothing)
    assert not made.about["all_targets"]
    assert 0.0 <= made.about["found"] <= 1.0
    monkeypatch.setattr(forecasts, "MOST_POPULAR", forecaster.graph_.num_nodes)  # so all are asked
    assert forecast_all(forecaster, 7.0, 3, 0, nothing).about["found"] == 1.0


def test_two_sided_graphs_have_targets_of_the_other_side():
    rng = np.random.default_rng(0)
    graph = tadge.TemporalGraph.from_arrays(
        rng.integers(0, 20, 200), rng.integers(0, 9, 200), np.sort(rng.uniform(0, 50, 200)), unit="days", bipartite=True
    )
    sources = active_sources(graph)[0]
    for src, dst in (all_pairs(graph, sources), likely_pairs(graph, sources)):
        assert (src < graph.num_sources).all()
        assert (dst >= graph.num_sources).all()
