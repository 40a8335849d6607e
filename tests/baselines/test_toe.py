"""Rules for ToE: their constants by plain loops, their regressions by scikit-learn."""

from __future__ import annotations

import math
from statistics import mean, median

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given
from sklearn.linear_model import Ridge

from small import forum, rebuilt
from tadge.arrays import NodeNumbers
from tadge.baselines import BASELINES, make
from tadge.baselines.toe import EFFECT_PENALTIES, ToeRule
from tadge.features.columns import PLAIN_COLUMNS
from tadge.features.pairs import timed_pairs
from tadge.features.plain import plain_columns
from tadge.graph.chains import last_joined
from tadge.units import unsquash
from tadge.validation import latest_from

ALL = [name for name, each in BASELINES.items() if issubclass(each, ToeRule)]


def grid(graph, at):
    src, dst = np.divmod(np.arange(graph.num_nodes**2), graph.num_nodes)
    return src, dst, np.full(src.size, at)


def replayed(graph):
    """Go through the events one instant after the other: (src, dst, squashed ToE, did dst join by linking to src?)."""
    joined, found, first_time = {}, [], set()
    rows = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True))
    every_role = graph.tov_rule == "any" or not graph.directed
    for t in sorted(set(graph.time.tolist())):
        now = [row for row in rows if row[2] == t]
        links = [(u, v) for u, v, _ in now]
        if not graph.directed:
            links = [pair for u, v in links for pair in ([(u, v)] if u == v else [(u, v), (v, u)])]
        for u, v in links:
            if v in joined:
                when, whom = joined[v]
                found.append((u, v, 2 * math.atan(t - when) / math.pi, u in whom))
        joins = {u for u, _ in links} | {v for _, v in links if every_role or v not in first_time}
        for node in joins:
            joined[node] = t, {other for one, other in links if one == node}
        first_time |= {node for pair in links for node in pair}
    return found


@given(graphs(max_events=25))
def test_constants_are_those_of_a_replay(graph):
    seen = replayed(graph)
    toe = [row[2] for row in seen]
    src, dst, at = grid(graph, graph.time[0] - 1)  # nothing has passed
    for name, middle in ("mean", mean), ("median", median):
        found = make(name).fit(graph).predict_toe(src, dst, at, graph=graph, unit="squashed")
        assert found == pytest.approx(np.full(src.size, middle(toe) if toe else 0.5), rel=1e-9)
    rule = make("reciprocity").fit(graph)
    for flag, found in (True, rule.answer_), (False, rule.other_):
        mine = [row[2] for row in seen if row[3] is flag]
        assert found == pytest.approx(mean(mine or toe or [0.5]), rel=1e-9)


@given(graphs(max_events=25))
def test_reciprocity_answers_as_the_replay_does(graph):
    asked = timed_pairs(graph)
    rule = make("reciprocity").fit(graph)
    rule.answer_, rule.other_ = 1.0, 0.0
    found = rule.predict_toe(asked.src, asked.dst, asked.at, graph=graph, unit="squashed")
    assert found.astype(bool).tolist() == [row[3] for row in replayed(graph)]


@given(graphs(max_events=25))
def test_constants_of_links_that_are_still_open_are_those_of_longer_ones(graph):
    """Half a day after the last event: of what was learned only what is longer counts."""
    seen, at = replayed(graph), float(graph.time[-1]) + 0.5
    src, dst, moments = grid(graph, at)
    found = {
        name: make(name).fit(graph).predict_toe(src, dst, moments, graph=graph, unit="squashed")
        for name in ("mean", "median", "reciprocity")
    }
    for k, (u, v) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        tov = graph.tov(NodeNumbers(v))
        passed = 2 * math.atan(at - max(tov)) / math.pi if tov.size else 0.0
        if not tov.size:
            continue
        answers = [row for row in zip(*event_columns(graph), strict=True) if row[2] == max(tov)]
        is_answer = (v, u) in {(a, b) for a, b, _ in answers}
        if not graph.directed:
            is_answer |= (u, v) in {(a, b) for a, b, _ in answers}
        longer = [row[2] for row in seen if row[2] > passed]
        alike = [row[2] for row in seen if row[2] > passed and row[3] == is_answer]
        assert found["mean"][k] == pytest.approx(mean(longer) if longer else max(passed, mean_of(seen)), rel=1e-9)
        assert found["median"][k] == pytest.approx(
            median(longer) if longer else max(passed, median([row[2] for row in seen] or [0.5])), rel=1e-9
        )
        own = mean_of([row for row in seen if row[3] == is_answer] or seen)
        assert found["reciprocity"][k] == pytest.approx(mean(alike) if alike else max(passed, own), rel=1e-9)


def event_columns(graph):
    return graph.src.tolist(), graph.dst.tolist(), graph.time.tolist()


def mean_of(rows):
    return mean([row[2] for row in rows] or [0.5])


@pytest.mark.parametrize("name", [*ALL, "DeepWalk"])
def test_no_prediction_is_below_what_has_passed(name):
    graph = forum()
    asked = timed_pairs(graph)
    method = make(name).fit(graph.before(graph.time[500]))
    early = method.predict_toe(asked.src, asked.dst, asked.at, graph=graph)
    joined = last_joined(graph, asked.dst, asked.at)
    for days in (0.25, 3.0, 1e4):
        later = np.minimum(asked.at + days, np.nextafter(asked.at + unsquash(asked.toe), -np.inf))
        passed = later - joined  # it has not joined again: that is what the ToE says
        predicted = method.predict_toe(asked.src, asked.dst, later, graph=graph)
        assert (predicted >= np.maximum(early, passed) * (1 - 1e-9)).all()
    never = method.predict_toe(asked.src, asked.dst, np.full(asked.at.size, graph.time[-1] + 1e5), graph=graph)
    assert (never >= 1e5 * (1 - 1e-9)).all()


def design(asked, num_nodes, both):
    rows = np.arange(asked.toe.size)
    x = np.zeros((asked.toe.size, (2 if both else 1) * num_nodes))
    x[rows, asked.dst + (num_nodes if both else 0)] = 1
    if both:
        x[rows, asked.src] = 1
    return x


@pytest.mark.parametrize("name", ["node mean", "additive"])
@pytest.mark.parametrize("directed", [True, False])
def test_effects_are_those_of_ridge_regression(name, directed):
    """scikit-learn's Ridge on dummies, with the penalty that is best on the latest fifth."""
    graph = random_graph(num_nodes=20, num_events=500, directed=directed)
    asked = timed_pairs(graph)
    x, cut = design(asked, graph.num_nodes, name == "additive"), round(asked.toe.size * 0.8)
    errors = []
    for penalty in EFFECT_PENALTIES:
        early = Ridge(penalty, fit_intercept=False).fit(x[:cut], asked.toe[:cut] - asked.toe[:cut].mean())
        errors.append(np.mean((early.predict(x[cut:]) + asked.toe[:cut].mean() - asked.toe[cut:]) ** 2))
    best = Ridge(EFFECT_PENALTIES[int(np.argmin(errors))], fit_intercept=False).fit(x, asked.toe - asked.toe.mean())
    expected = np.clip(best.predict(x) + asked.toe.mean(), 0, 1)
    found = make(name).fit(graph).predict_toe(asked.src, asked.dst, asked.at, graph=graph, unit="squashed")
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_a_node_mean_is_drawn_to_the_mean_of_all():
    graph = forum()
    asked = timed_pairs(graph)
    rule = make("node mean").fit(graph)
    counts = np.bincount(asked.dst, minlength=graph.num_nodes)
    off = np.bincount(asked.dst, asked.toe - asked.toe.mean(), minlength=graph.num_nodes)
    found = {penalty: np.abs(rule.effects_ - off / (counts + penalty)).max() for penalty in EFFECT_PENALTIES}
    assert min(found.values()) < 1e-8
    unseen = np.flatnonzero(counts == 0)[:1]
    if unseen.size:
        assert rule.predict_toe(unseen, unseen, [0.0], graph=graph, unit="squashed")[0] == rule.mean_


def test_trees_learn_what_a_constant_cannot():
    """In a forum each thread has its pace: the trees find it from past ToEs."""
    graph = forum(4_000)
    cut = graph.time[3_000]
    asked = timed_pairs(graph, events=np.arange(3_000, 4_000))
    error = {}
    for name in ("mean", "boosted trees"):
        guess = (
            make(name).fit(graph.before(cut)).predict_toe(asked.src, asked.dst, asked.at, graph=graph, unit="squashed")
        )
        error[name] = np.sqrt(np.mean((guess - asked.toe) ** 2))
    assert error["boosted trees"] < 0.9 * error["mean"]


def test_the_number_of_trees_is_the_best_on_the_latest_fifth():
    graph = forum(1_500)
    asked = timed_pairs(graph)
    rule = make("boosted trees", 5).fit(graph)
    x, cut = plain_columns(graph, asked.src, asked.dst, asked.at), round(asked.toe.size * 0.8)
    count = rule.trees_.n_iter_
    errors = []
    for trees in (count, max(1, count // 2), count + 20):
        early = rule._trees(trees).fit(x[:cut], asked.toe[:cut])
        errors.append(np.mean((early.predict(x[cut:]) - asked.toe[cut:]) ** 2))
    assert errors[0] == min(errors)
    assert not any("clock" in name or "age" in name for name in PLAIN_COLUMNS)


def test_trees_do_not_look_at_the_clock():
    """The same events a thousand days later give the same answers."""
    graph = forum(1_500)
    whole = rebuilt(graph, time=np.round(graph.time * 1024) / 1024)  # so that shifted times are exact
    later = rebuilt(whole, time=whole.time + 1024.0)
    one, other = timed_pairs(whole), timed_pairs(later)
    guesses = [
        make("boosted trees").fit(each).predict_toe(asked.src, asked.dst, asked.at, graph=each, unit="squashed")
        for each, asked in ((whole, one), (later, other))
    ]
    np.testing.assert_array_equal(*guesses)


@pytest.mark.parametrize("name", ALL)
def test_days_and_squashed_days(name):
    graph = forum()
    src, dst, at = (column[:50] for column in grid(graph, graph.time[-1]))
    method = make(name, 1).fit(graph)
    squashed = method.predict_toe(src, dst, at, graph=graph, unit="squashed")
    assert squashed.shape == (50,)
    assert ((squashed >= 0) & (squashed <= 1)).all()
    np.testing.assert_array_equal(method.predict_toe(src, dst, at, graph=graph), unsquash(squashed))
    again = make(name, 1).fit(graph).predict_toe(src, dst, at, graph=graph, unit="squashed")
    np.testing.assert_array_equal(again, squashed)
    assert method.predict_toe([], [], [], graph=graph).shape == (0,)


@pytest.mark.parametrize("name", ALL)
@given(graph=graphs(max_events=4, unix=False))
def test_hardly_anything_to_learn_from(name, graph):
    for view in (graph, graph.before(graph.time[0])):
        guess = make(name).fit(view).predict_toe(*grid(graph, graph.time[-1]), graph=graph, unit="squashed")
        assert np.isfinite(guess).all()


def test_events_to_learn_from_count_as_often_as_they_stand_there():
    graph = random_graph()
    events = np.flatnonzero(~np.isnan(graph.toe))[[3, 5, 5, 5]]
    toe = 2 * np.arctan(graph.toe[events]) / np.pi
    assert make("mean").fit(graph, events).mean_ == pytest.approx(toe.mean())
    assert latest_from(10) == 8
