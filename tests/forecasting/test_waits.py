"""What curves learn from: waits against brute force, weights against all targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small import forum
from tadge.forecasting.waits import (
    PER_KIND,
    candidates_of,
    draw_moments,
    draw_waits,
    find_next_acts,
    next_links,
    targets_of,
)
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.seeding import stream


def random_graph(seed, nodes=12, events=80, loops=False, **kind):
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, nodes, events), rng.integers(0, nodes, events)
    keep = np.ones(events, bool) if loops or kind.get("bipartite") else src != dst
    time = np.sort(rng.integers(0, 40, events)).astype(float)
    return TemporalGraph.from_arrays(src[keep], dst[keep], time[keep], unit="days", **kind)


def brute_wait(graph, u, v, at):
    ends = [(graph.src, graph.dst)] + ([] if graph.directed else [(graph.dst, graph.src)])
    times = [t for a, b in ends for t in graph.time[(a == u) & (b == v)] if t > at]
    return min(times, default=np.inf) - at


KINDS = [{}, {"directed": False}, {"bipartite": True}]


@pytest.mark.parametrize("kind", KINDS, ids=["directed", "undirected", "bipartite"])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_waits_are_those_of_the_graph(kind, seed):
    graph, rng = random_graph(seed, loops=seed % 2 == 0, **kind), np.random.default_rng(seed)
    src, at = draw_moments(graph, rng, 20, float(graph.time[0]), float(graph.time[-1]))
    waits = draw_waits(graph, src, at, stream(seed, "test"))
    first = past_of(graph).first
    for u, v, now, wait in zip(waits.src, waits.dst, waits.at, waits.wait, strict=True):
        assert wait == brute_wait(graph, u, v, now)
        assert first[v] <= now  # nobody who has not joined
        assert v in targets_of(graph, int(u), float(now))
    np.testing.assert_array_equal(next_links(graph, waits.src, waits.dst, waits.at), waits.wait)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_weights_add_up_to_all_targets(seed):
    """Where everyone is drawn, each stands for one; and what comes later is always among them."""
    graph, rng = random_graph(seed), np.random.default_rng(seed)
    src, at = draw_moments(graph, rng, 12, float(graph.time[0]), float(graph.time[-1]))
    for u, now in zip(src, at, strict=True):
        waits = draw_waits(graph, np.array([u]), np.array([now]), stream(seed, "test"))
        targets = targets_of(graph, int(u), float(now))
        assert waits.weight.sum() == pytest.approx(targets.size) or set(targets) - set(waits.dst.tolist())
        later = {v for v in targets if np.isfinite(brute_wait(graph, u, v, now))}
        assert later <= set(waits.dst.tolist()) or len(later) > PER_KIND


def test_weighted_sums_are_those_over_all_targets():
    """On a larger graph: the mean over many draws of the weighted number of later links is the true number."""
    graph = forum()
    rng = np.random.default_rng(0)
    src, at = draw_moments(graph, rng, 200, float(graph.time[100]), float(graph.time[400]))
    waits = draw_waits(graph, src, at, stream(0, "test"))
    drawn = waits.weight[np.isfinite(waits.wait)].sum()
    true = sum(
        np.isfinite(next_links(graph, np.full(t.size, u), t, np.full(t.size, now))).sum()
        for u, now in zip(src.tolist(), at.tolist(), strict=True)
        for t in [targets_of(graph, u, now)]
    )
    assert drawn == pytest.approx(true, rel=1e-9)
    total = sum(targets_of(graph, u, now).size for u, now in zip(src.tolist(), at.tolist(), strict=True))
    assert waits.weight.sum() == pytest.approx(total, rel=1e-9)


def test_the_same_key_draws_the_same():
    graph = forum()
    src, at = draw_moments(graph, np.random.default_rng(1), 30, float(graph.time[50]), float(graph.time[-1]))
    one, other = (draw_waits(graph, src, at, stream(3, "a")) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert not np.array_equal(draw_waits(graph, src, at, stream(4, "a")).dst, one.dst)


def test_moments_lie_within_and_sources_had_been_seen():
    graph = forum()
    begin, end = float(graph.time[200]), float(graph.time[300])
    src, at = draw_moments(graph, np.random.default_rng(0), 500, begin, end)
    assert ((at >= begin) & (at <= end)).all()
    assert (past_of(graph).first[src] <= at).all()
    assert 0.3 < np.isin(at, graph.time).mean() < 0.7  # about half right after an event


def test_next_acts_by_brute_force():
    graph = random_graph(5, events=120)
    past, seen = past_of(graph), candidates_of(graph).first
    rng = np.random.default_rng(0)
    src, at = rng.integers(0, graph.num_nodes, 60), rng.uniform(0, 40, 60)
    anyone, someone_new = find_next_acts(past.outgoing, seen, src, at)
    for u, now, first, new in zip(src, at, anyone, someone_new, strict=True):
        later = (graph.src == u) & (graph.time > now)
        assert first == min(graph.time[later], default=np.inf)
        assert new == min(graph.time[later & (seen[graph.dst] > now)], default=np.inf)


def test_a_node_is_its_own_target_only_after_a_self_link():
    graph = TemporalGraph.from_arrays([0, 1, 2, 0], [1, 2, 2, 2], [1.0, 2.0, 3.0, 4.0], unit="days")
    assert targets_of(graph, 0, 2.0).tolist() == [1, 2]
    assert targets_of(graph, 0, 3.0).tolist() == [0, 1, 2]
    assert targets_of(graph, 0, 1.0).tolist() == [1]
    assert targets_of(graph, 0, 0.5).tolist() == []
