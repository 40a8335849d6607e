"""How forecasts are learned: what is drawn, how it descends, and that planted laws are found while noise is not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from graphs import random_graph
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from futures import all_kinds
from small import assert_same
from tadge.arrays import NodeNumbers
from tadge.config import ForecastConfig
from tadge.features.columns import TOE_COLUMNS
from tadge.features.link_columns import link_columns
from tadge.features.tables import Scales, tables_of
from tadge.features.toe_columns import toe_columns
from tadge.forecasting import learn, rules
from tadge.forecasting.learn import adamw_steps, draw_former_targets, hardly_any_repeats, learn_links, learn_toe
from tadge.forecasting.link_scorer import Standardise
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.seeding import seeded
from tadge.units import squash
from tadge.validation import mean_ranks

SCALES = Scales(0.01, (0.3, 1.0, 5.0, 40.0))


def silent(done, total):
    pass


# -- what is drawn -----------------------------------------------------------------------------------------------------


def plain_targets(graph, src, at):
    """Whom a node had linked to by a moment; in an undirected graph also who had linked to it."""
    found = set()
    for u, v, t in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True):
        if t <= at and u == src:
            found.add(v)
        if t <= at and v == src and not graph.directed:
            found.add(u)
    return found


@given(all_kinds(), st.integers(0, 1000), st.sampled_from([-1.0, 0.0, 2.0, 5.5, 12.0, 20.0]))
def test_former_targets_are_all_former_and_all_there_are(graph, seed, at):
    src = np.arange(graph.num_nodes)
    draws = np.random.default_rng(seed).random((src.size, 100, 4))
    found = draw_former_targets(past_of(graph).pairs, src, np.full(src.size, at), draws)
    assert found.shape == (src.size, 100)
    for node in src.tolist():
        former = plain_targets(graph, node, at)
        assert set(found[node].tolist()) - {-1} == former  # at most 6: of 400 draws none is missed
        assert former or (found[node] == -1).all()


def test_former_targets_are_equally_likely():
    """However often and however late they were linked to."""
    graph = random_graph(num_nodes=40, num_events=900)
    counts, at = np.bincount(graph.src), float(np.quantile(graph.time, 0.5))
    for src in (int(np.argmax(counts)), 7):
        draws = np.random.default_rng(5).random((1, 20_000, 4))
        found = draw_former_targets(past_of(graph).pairs, np.array([src]), np.array([at]), draws)[0]
        former = plain_targets(graph, src, at)
        assert len(former) > 5
        times = np.unique(found[found >= 0], return_counts=True)[1]
        assert times.size == len(former)
        assert stats.chisquare(times).pvalue > 0.01
        every = len(plain_targets(graph, src, math.inf))
        assert np.mean(found < 0) == pytest.approx((1 - len(former) / every) ** 4, abs=0.02)


def test_the_largest_draws_are_targets_too():
    graph = random_graph()
    end = np.full(graph.num_nodes, graph.time[-1])
    draws = np.full((graph.num_nodes, 1, 1), np.nextafter(1.0, 0.0))
    found = draw_former_targets(past_of(graph).pairs, np.arange(graph.num_nodes), end, draws)[:, 0]
    last = [max(plain_targets(graph, node, math.inf), default=-1) for node in range(graph.num_nodes)]
    assert found.tolist() == last


@given(st.integers(0, 1000), st.integers(1, 5000), st.sampled_from([0.0, 0.1, 0.5]))
def test_places_are_within_bounds_and_none_is_too_early(seed, size, early):
    found = learn._later_more_often(np.random.default_rng(seed), size, 1000, ForecastConfig(burn_in=early))
    assert found.shape == (1000,)
    assert found.min() >= math.floor(early * size)
    assert found.max() < size


def test_later_places_are_drawn_more_often():
    """By a factor of e within half of all, down to the first tenth, of which none is drawn."""
    found = learn._later_more_often(np.random.default_rng(0), 1000, 400_000, ForecastConfig(burn_in=0.1))
    counts, edges = np.histogram(found, bins=18, range=(100, 1000))
    middle = (edges[1:] + edges[:-1]) / 2
    slope = np.polyfit(middle / 1000, np.log(counts), 1)[0]
    assert counts.sum() == 400_000
    assert (np.diff(counts) > 0).all()
    assert slope == pytest.approx(1 / ForecastConfig().recency, rel=0.03)


# -- steps -------------------------------------------------------------------------------------------------------------


class Straight(torch.nn.Module):
    """One number whose gradient is always 1: Adam moves it by the rate in every step."""

    def __init__(self):
        super().__init__()
        self.place = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))


@pytest.mark.parametrize("steps", [1, 7, 100])
def test_steps_warm_up_and_then_fall_along_a_cosine(steps):
    config = ForecastConfig(forecast_lr=0.1, weight_decay=0.0)
    head, reports, moved = Straight(), [], []
    for step in adamw_steps(head, config, steps, lambda *done: reports.append(done)):
        assert head.training
        moved.append(head.place.item())
        assert head.place.grad is None or not head.place.grad.any()
        head.place.sum().backward()
        assert step == len(moved) - 1
    moved.append(head.place.item())
    cosine = 0.1 * (1 + np.cos(np.pi * np.arange(steps) / steps)) / 2
    warm = max(1, steps // 20)
    expected = cosine * np.minimum(1, np.arange(1, steps + 1) / warm)
    np.testing.assert_allclose(-np.diff(moved), expected, rtol=1e-5)
    assert reports == [(done, steps) for done in range(1, steps + 1)]


def test_no_steps_leave_a_head_alone():
    head = Straight()
    assert list(adamw_steps(head, ForecastConfig(), 0, silent)) == []
    assert head.place.item() == 0


def test_few_events_take_fewer_steps():
    config = ForecastConfig(steps=600, batch_events=128, passes=10)
    assert learn.enough_steps(config, 1_000_000) == 600
    assert learn.enough_steps(config, 128) == 10
    assert learn.enough_steps(config, 129) == 11
    assert learn.enough_steps(config, 1) == 1


def test_weights_have_a_stream_of_their_own():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    heads = [seeded(lambda: torch.nn.Linear(4, 4), *key) for key in ((0, "a"), (0, "a"), (1, "a"), (0, "b"))]
    assert torch.equal(torch.get_rng_state(), before)
    assert_same(heads[0].state_dict(), heads[1].state_dict())
    for other in heads[2:]:
        assert not torch.equal(heads[0].weight, other.weight)


def test_columns_are_brought_to_one_scale():
    """Nothing beyond 5 spreads, and what never varied is not looked at, whatever it is later."""
    rng = np.random.default_rng(0)
    columns = (rng.standard_normal((400, 4)) * [1, 100, 0, 0.01] + [5, 0, 20, -3]).astype(np.float32)
    standard = Standardise(4)
    standard.learn(torch.from_numpy(columns))
    exact = columns.astype(np.float64)
    expected = (exact - exact.mean(0)) / np.where([1, 1, 0, 1], exact.std(0, ddof=1), np.inf)
    np.testing.assert_allclose(standard(torch.from_numpy(columns)), expected.clip(-5, 5), atol=1e-4)
    far = standard(torch.tensor([[1e9, -1e9, -7.0, 0.0]]))
    assert far.tolist() == [[5.0, -5.0, 0.0, 5.0]]


# -- who links to whom -------------------------------------------------------------------------------------------------


def answering(num_events=2000, openers=10, others=30, seed=0):
    """Openers link to anybody of the others, who link to nobody but to whoever linked to them last."""
    rng = np.random.default_rng(seed)
    time, events, last = 0.0, [], {}
    for _ in range(num_events):
        time += rng.exponential(0.1)
        src = int(rng.integers(openers + others))
        if src in last:
            events.append((src, last[src], time))
        else:
            src, dst = int(rng.integers(openers)), openers + int(rng.integers(others))
            events.append((src, dst, time))
            last[dst] = src
    return TemporalGraph.from_arrays(*zip(*events, strict=True), unit="days", ids=range(openers + others))


def held_out(graph, share=0.8):
    """Learn from the first part; score all nodes for each event of the rest as of just before it."""
    cut = float(graph.time[int(share * graph.num_events)])
    train, asked = graph.before(cut), graph.time >= cut
    scales = Scales.of(train)
    head = learn_links(train, scales, ForecastConfig(steps=40), 0, silent)
    assert not head.training
    src, dst, at = graph.src[asked].astype(np.int64), graph.dst[asked], np.nextafter(graph.time[asked], -np.inf)
    every = np.tile(np.arange(graph.num_nodes), src.size)
    rows = np.repeat(src, graph.num_nodes), every, np.repeat(at, graph.num_nodes)
    with torch.no_grad():
        scores = head(torch.from_numpy(link_columns(tables_of(graph, scales), *rows))).numpy()
    return src, dst, train, scores.reshape(src.size, -1)


def mrr(scores, dst):
    """Take the mean of 1 / rank of the true targets among all nodes, (Q, N)."""
    ahead = np.array([np.delete(row, true) for row, true in zip(scores, dst, strict=True)])
    own = scores[np.arange(dst.size), dst]
    return np.mean(1 / mean_ranks(np.c_[own, ahead]))


def chance(num_nodes):
    return np.mean(1 / np.arange(1, num_nodes + 1))


def test_answers_are_found():
    src, dst, train, scores = held_out(answering())
    answers = src >= 10
    assert 100 < answers.sum() < 400
    popular = np.tile(np.bincount(train.dst, minlength=40).astype(float), (src.size, 1))
    found, rival = (mrr(each[answers], dst[answers]) for each in (scores, popular))
    assert found > 0.9
    assert rival < 0.4
    assert chance(40) < 0.15
    assert mrr(scores[~answers], dst[~answers]) < 0.3  # whom openers link to cannot be known


@pytest.mark.parametrize("directed", [True, False])
def test_what_cannot_be_known_is_not_found(directed):
    """Anybody links to anybody: the best score is no better than a coin, and must not be much worse."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 40, (2, 2000))
    time = np.cumsum(rng.exponential(0.1, 2000))
    graph = TemporalGraph.from_arrays(src, dst, time, unit="days", ids=range(40), directed=directed)
    _, dst, _, scores = held_out(graph)
    assert mrr(scores, dst) == pytest.approx(chance(40), abs=0.035)


def test_targets_of_a_bipartite_graph_are_found():
    """Every buyer takes the same thing again and again: any number of things, but one each."""
    rng = np.random.default_rng(2)
    src = rng.integers(0, 30, 1200)
    time = np.cumsum(rng.exponential(0.1, 1200))
    graph = TemporalGraph.from_arrays(src, (src * 7) % 20, time, unit="days", bipartite=True)
    _, dst, _, scores = held_out(graph)
    assert mrr(scores[:, 30:], dst - 30) > 0.95


def test_the_same_seed_gives_the_same_head():
    graph = answering(300)
    torch.manual_seed(4)
    before = torch.get_rng_state()
    heads = [learn_links(graph, SCALES, ForecastConfig(steps=5), seed, silent).state_dict() for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), before)
    assert_same(heads[0], heads[1])
    assert not torch.equal(heads[0]["layers.0.weight"], heads[2]["layers.0.weight"])


def test_one_thread_learns_and_the_others_are_given_back(monkeypatch):
    graph, seen = answering(300), []
    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    learn_links(graph, SCALES, ForecastConfig(steps=1), 0, silent)
    assert seen == [1, 7]
    with pytest.raises(KeyboardInterrupt), learn.one_thread():
        raise KeyboardInterrupt
    assert seen == [1, 7, 1, 7]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("events", [[(0, 1, 0.0)], [(0, 0, 0.0), (0, 0, 1.0)], [(0, 1, 2.0), (1, 0, 2.0), (2, 1, 2.0)]])
def test_tiny_graphs_can_be_learned_from(events, directed):
    graph = TemporalGraph.from_arrays(*zip(*events, strict=True), unit="days", ids=range(3), directed=directed)
    scales, done = Scales.of(graph), []
    head = learn_links(graph, scales, ForecastConfig(steps=3), 0, lambda *step: done.append(step))
    trees = learn_toe(graph, scales, ForecastConfig(), 0)
    assert done == [(1, 1)]
    pairs = np.arange(3), np.array([2, 1, 0]), np.full(3, 2.0)
    columns = link_columns(tables_of(graph, scales), *pairs)
    assert all(np.isfinite(each.predict(toe_columns(tables_of(graph, scales), *pairs))).all() for each in trees)
    with torch.no_grad():
        assert torch.isfinite(head(torch.from_numpy(columns))).all()


def never_twice(repeats=0):
    """Everybody links to each other once, in random order; the last so many events are the first ones again."""
    pairs = np.argwhere(~np.eye(24, dtype=bool))
    pairs = np.random.default_rng(0).permutation(pairs)
    pairs = np.concatenate([pairs, pairs[:repeats]])
    return TemporalGraph.from_arrays(*pairs.T, np.arange(len(pairs), dtype=float), unit="days", ids=range(24))


@pytest.mark.parametrize(("repeats", "hardly"), [(0, True), (1, True), (2, False), (200, False)])
def test_whether_pairs_repeat_is_read_off_the_latest_fifth(repeats, hardly):
    """1 of 111 is less than 1%, 2 of 111 are more."""
    graph = never_twice(repeats)
    seen, again = set(), []
    for pair in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        again.append(pair in seen)
        seen.add(pair)
    assert (np.mean(again[round(0.8 * len(again)) :]) <= 0.01) == hardly
    assert hardly_any_repeats(graph) == hardly


def test_former_targets_are_unlikely_where_nobody_links_twice(monkeypatch):
    """Who was asked about them knows; where pairs do repeat, nothing changes, to the last bit."""
    config = ForecastConfig(steps=60)

    def learned(graph, share):
        monkeypatch.setattr(rules, "HARDLY_ANY", share)
        return learn_links(graph, SCALES, config, 0, silent)

    graph = never_twice()
    src, dst = (ends.reshape(-1) for ends in np.meshgrid(np.arange(24), np.arange(24)))
    at = np.full(src.size, 400.0)
    former = past_of(graph).count_links(src, dst, at) > 0
    columns = torch.from_numpy(link_columns(tables_of(graph, SCALES), src, dst, at))
    gaps = []
    for share in (0.01, -1.0):
        head = learned(graph, share)
        with torch.no_grad():
            scores = head(columns).numpy()
        gaps.append(scores[~former].mean() - scores[former].mean())
    assert gaps[0] > gaps[1] + 0.5
    often = never_twice(200)
    one, two = (learned(often, share).state_dict() for share in (0.01, -1.0))
    assert all(torch.equal(one[name], two[name]) for name in one)


# -- how long edges take -----------------------------------------------------------------------------------------------


def episodes(count=400, seed=0):
    """Somebody acts; whom it linked to answers after 0.1 days, and somebody else links to it after 10."""
    rng = np.random.default_rng(seed)
    events, kinds = [], []
    for number in range(count):
        who, answers, other = rng.choice(20, 3, replace=False)
        begin = 20.0 * number
        events += [(who, answers, begin), (answers, who, begin + 0.1), (other, who, begin + 10)]
        kinds += ["opening", "answer", "other"]
    return TemporalGraph.from_arrays(*zip(*events, strict=True), unit="days", ids=range(20)), np.array(kinds)


def test_how_long_answers_take_is_found():
    graph, kinds = episodes()
    cut = 900
    train = graph.before(float(graph.time[cut]))
    scales = Scales.of(train)
    for trees in learn_toe(train, scales, ForecastConfig(), 0):
        assert_found(trees, graph, kinds, cut, scales)


def assert_found(trees, graph, kinds, cut, scales, slower=1.0):
    later = np.arange(graph.num_events) >= cut
    for kind, days, off in (("answer", 0.1 * slower, 0.04), ("other", 10.0 * slower, 0.06)):
        chosen = later & (kinds == kind)
        assert graph.toe[chosen] == pytest.approx(days)
        ends = zip(graph.dst[chosen], graph.time[chosen], strict=True)
        at = np.array([graph.tov(NodeNumbers(dst))[graph.tov(NodeNumbers(dst)) < time][-1] for dst, time in ends])
        pairs = graph.src[chosen].astype(np.int64), graph.dst[chosen].astype(np.int64), at
        guess = trees.predict(toe_columns(tables_of(graph, scales), *pairs))
        assert np.median(guess) == pytest.approx(float(squash(np.array([days]))[0]), abs=off), kind
        assert np.mean(np.abs(guess - squash(days)) < 0.1) > 0.9, kind


def slowed(graph, factor):
    """Let everything take so many times as long."""
    times = {"time": factor * graph.time, "toe": factor * graph.toe, "tov_times": factor * graph.tov_times}
    return replace(graph, **times)


def test_what_was_learned_holds_where_everything_slows_down():
    """All takes three times as long then; who saw things at one speed only goes on as before."""
    graph, kinds = episodes()
    cut = 900
    train, slow = graph.before(float(graph.time[cut])), slowed(graph, 3.0)
    scales = Scales.of(train)
    for trees in learn_toe(train, scales, ForecastConfig(), 0):
        assert_found(trees, slow, kinds, cut, scales, 3.0)
    with pytest.raises(AssertionError, match="answer"):
        assert_found(learn_toe(train, scales, ForecastConfig(rescale=False), 0)[0], slow, kinds, cut, scales, 3.0)


def test_a_clock_of_years_is_not_rescaled(monkeypatch):
    """Where there are few moments nothing is seen at another speed."""
    graph = random_graph(num_events=300, span=200)
    coarse = TemporalGraph.from_arrays(graph.src, graph.dst, np.round(graph.time), unit="days", clock="own")
    called, make_tables = [], learn.make_tables

    def counted(graph, scales):
        called.append(scales.factor)
        return make_tables(graph, scales)

    monkeypatch.setattr(learn, "make_tables", counted)
    few = ForecastConfig(trees=2)
    learn_toe(coarse, SCALES, few, 0)
    assert not called
    learn_toe(episodes(200)[0], SCALES, few, 0)
    assert sorted(called) == [0.25, 0.5, 2.0, 4.0]


def test_columns_that_are_left_out_are_not_learned_from():
    graph, _ = episodes(60)
    config = ForecastConfig(trees=5, leaf_samples=5, without="kind of edge,dst: since it acted,unanswered")
    for trees in learn_toe(graph, SCALES, config, 0):
        used = {TOE_COLUMNS[column] for column in trees.column if column >= 0}
        assert used
        assert not used & set(config.without.split(","))
    head = learn_links(graph, SCALES, replace(config, steps=2), 0, silent)
    place = TOE_COLUMNS.index("unanswered")
    assert torch.isinf(head.normalise.spread[place])  # what does not vary is not looked at


def test_the_same_seed_gives_the_same_trees():
    graph, _ = episodes(60)
    for one, two in zip(*(learn_toe(graph, SCALES, ForecastConfig(trees=20), 3) for _ in range(2)), strict=True):
        for name in ("base", "start", "column", "threshold", "left", "right", "value"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


def test_without_a_toe_the_prediction_is_one_half():
    star = TemporalGraph.from_arrays([1, 2, 3], [0, 0, 0], [1.0, 1.0, 1.0], unit="days")
    for trees in learn_toe(star, SCALES, ForecastConfig(), 0):
        assert trees.start.size == 0
        assert trees.predict(np.zeros((4, 3), np.float32)).tolist() == [0.5] * 4
