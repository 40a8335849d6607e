"""Edges of walks as decisions of their ends: against plain loops, all thresholds, and scikit-learn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as known
from sklearn.metrics.pairwise import cosine_similarity

from answering import Broken
from small import forum, walking
from tadge.arrays import NodeNumbers
from tadge.errors import InputError
from tadge.evaluation import edges as module
from tadge.evaluation.edges import (
    EdgeScores,
    edges_of,
    measure_edges,
    measure_timely_edges,
    method_score,
    node_means,
    threshold,
    vector_score,
)
from tadge.evaluation.figures import summarise
from tadge.evaluation.tasks import EPSILONS
from tadge.graph import TemporalGraph
from tadge.units import squash
from tadge.walks.sampler import sample_walks

CASES = {
    "forward": ({}, {}),
    "backward": ({"direction": "backward"}, {}),
    "future": ({"reach": "future"}, {}),
    "single vertices": ({"min_length": 1}, {}),
    "undirected": ({}, {"directed": False}),
}


def walked(case="forward", events=700, **changes):
    """Walks of a case, their graph, and their edges."""
    how, kind = CASES[case]
    graph = forum(events, **kind)
    walks = sample_walks(graph, walking(**how | changes), 1)
    return walks, graph, edges_of(walks, graph, np.random.default_rng(5))


def pairs_of(graph):
    """All pairs that have a link, whoever acted."""
    return {frozenset(pair) for pair in zip(graph.src.tolist(), graph.dst.tolist(), strict=True)}


def given_graph(pairs, **options):
    """A graph of links that follow each other day by day."""
    src, dst = np.array(pairs).T
    return TemporalGraph.from_arrays(src, dst, np.arange(len(pairs)) + 1.0, unit="days", clock="own", **options)


def figures(columns, seed=0):
    found, _ = summarise({"one": columns}, seed, task="edges", compared=[next(iter(columns))], pairs=[])
    return found["one"]


def drawn(edges, seed, steps=8):
    """Random scores with many ties, for every pair that is asked."""
    rng = np.random.default_rng(seed)
    sizes = edges.query_places.size, edges.query_places.size, len(edges.same_walk_negatives)
    return EdgeScores(
        *(rng.integers(0, steps, size) / steps + shift for size, shift in zip(sizes, (0.3, 0, 0), strict=True))
    )


# -- which edges, which places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_edges_are_those_of_a_plain_loop(case):
    walks, graph, edges = walked(case)
    rows = zip(
        *(getattr(edges, name).tolist() for name in ("walk", "step", "src", "dst", "joined", "toe")), strict=True
    )
    steps = [(walk, step) for walk in range(len(walks)) for step in range(walks.lengths[walk] - 1)]
    for (walk, step), found in zip(steps, rows, strict=True):
        later, earlier = walks.nodes[walk, step + 1], walks.nodes[walk, step]
        event, joined = walks.events[walk, step + 1], walks.tov[walk, step]
        assert found == (walk, step, later, earlier, joined, walks.toe[walk, step + 1])
        assert {later, earlier} == {graph.src[event], graph.dst[event]}
        assert later == graph.src[event] or not graph.directed
        assert joined in graph.tov(NodeNumbers(earlier))
        assert joined < graph.time[event]
        assert found[-1] == pytest.approx(graph.time[event] - joined)
        if case != "future":
            assert joined == max(moment for moment in graph.tov(NodeNumbers(earlier)) if moment < graph.time[event])


@pytest.mark.parametrize("case", CASES)
def test_places_are_those_of_a_plain_loop(case):
    walks, graph, edges = walked(case)
    length, pairs = walks.nodes.shape[1], pairs_of(graph)
    nodes = [int(node) for row in walks.nodes for node in row]
    assert edges.nodes.tolist() == nodes
    steps = [(walk, step) for walk in range(len(walks)) for step in range(walks.lengths[walk] - 1)]
    first, second = ([walk * length + step + end for walk, step in steps] for end in (0, 1))
    assert edges.query_places.tolist() == first + second
    assert edges.positive.tolist() == second + first
    apart = []
    for number, (asker, other, wrong) in enumerate(
        zip(edges.query_places, edges.positive, edges.negative, strict=True)
    ):
        assert frozenset((nodes[asker], nodes[other])) in pairs
        assert nodes[wrong] >= 0
        assert nodes[wrong] != nodes[asker]
        assert frozenset((nodes[asker], nodes[wrong])) not in pairs
        for place in range(asker // length * length, asker // length * length + length):
            if nodes[place] not in (-1, nodes[asker]) and frozenset((nodes[asker], nodes[place])) not in pairs:
                apart.append((number, place))
    assert [tuple(pair) for pair in edges.same_walk_negatives.tolist()] == apart
    assert edges.no_negative_count == 0
    assert apart


def test_wrong_places_are_drawn_from_all_that_are_there():
    """Every place without a link can be drawn, however few draws there are before all are looked at."""
    graph = given_graph([(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5)] * 5)
    walks, pairs = sample_walks(graph, walking(num_walks=20), 0), pairs_of(graph)
    places = np.flatnonzero(walks.nodes.reshape(-1) >= 0)
    seen = {}
    for seed in range(300):
        edges = edges_of(walks, graph, np.random.default_rng(seed))
        seen.setdefault(0, set()).add(int(edges.negative[0]))
    asker = edges.nodes[edges.query_places[0]]
    free = {
        int(place)
        for place in places
        if edges.nodes[place] != asker and frozenset((int(asker), int(edges.nodes[place]))) not in pairs
    }
    assert seen[0] == free


@pytest.mark.parametrize("tries", [0, 1, 100])
def test_a_hub_gets_the_few_places_that_it_has_no_link_with(monkeypatch, tries):
    """A hub has a link with all but two vertices that are seldom met."""
    monkeypatch.setattr(module, "MAX_DRAWS", tries)
    spokes = [(spoke, 0) if turn else (0, spoke) for spoke in range(1, 40) for turn in (0, 1)]
    graph = given_graph([*spokes, (40, 41), (41, 40), (40, 41)])
    walks, pairs = sample_walks(graph, walking(num_walks=1000), 0), pairs_of(graph)
    edges = edges_of(walks, graph, np.random.default_rng(0))
    asking, wrong = edges.nodes[edges.query_places], edges.nodes[edges.negative]
    assert 0 in asking
    assert set(wrong[asking == 0].tolist()) <= {40, 41}
    assert not any(frozenset(pair) in pairs for pair in zip(asking.tolist(), wrong.tolist(), strict=True))
    assert not (asking == wrong).any()
    assert edges.no_negative_count == 0


def test_where_all_have_links_any_place_is_taken_and_counted():
    graph = given_graph(list(itertools.permutations(range(3), 2)) * 6)
    walks = sample_walks(graph, walking(num_walks=30), 0)
    edges = edges_of(walks, graph, np.random.default_rng(0))
    assert edges.no_negative_count == edges.query_places.size > 0
    assert (edges.nodes[edges.negative] >= 0).all()
    assert edges.same_walk_negatives.shape == (0, 2)
    asked = edges.scored(lambda one, other, end: (one == other).astype(np.float64))
    assert asked.same_walk.size == 0
    assert "AUC same walk" not in measure_edges(edges, asked, 0.5)


def test_the_same_draws_give_the_same_places():
    walks, graph, edges = walked()
    assert np.array_equal(edges_of(walks, graph, np.random.default_rng(5)).negative, edges.negative)
    assert not np.array_equal(edges_of(walks, graph, np.random.default_rng(6)).negative, edges.negative)


# -- scores -----------------------------------------------------------------------------------------------------------


def test_rows_are_compared_by_their_cosine():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 5)).astype(np.float32)
    rows[3] = 0
    rows[4] = np.nan  # beyond a walk's length: nobody asks about it
    one, other = (rng.choice([place for place in range(20) if place != 4], 50) for _ in range(2))
    expected = cosine_similarity(np.nan_to_num(rows))[one, other]
    assert vector_score(rows)(one, other, np.zeros(50, int)) == pytest.approx(expected, abs=1e-6)
    assert vector_score(rows)(np.array([3]), np.array([3]), np.array([0])) == 0


def test_a_rule_is_asked_about_the_later_end_at_the_end_of_the_graph():
    _, graph, edges = walked()
    view, seen = graph.before(float(graph.time[600])), []

    class Noting:
        def score_links(self, src, dst, at, *, graph):
            assert graph is view
            assert (at == view.time[-1]).all()
            seen.append((src, dst))
            return src * 1000.0 + dst

    asked = edges.scored(method_score(Noting(), edges, view))
    half = edges.walk.size
    (src, dst), wrong, apart = seen
    assert np.array_equal(src, np.tile(edges.src, 2))
    assert np.array_equal(dst, np.tile(edges.dst, 2))
    asking = edges.nodes[edges.query_places]
    for (src, dst), others, who in (
        (wrong, edges.nodes[edges.negative], np.arange(2 * half)),
        (apart, edges.nodes[edges.same_walk_negatives[:, 1]], edges.same_walk_negatives[:, 0]),
    ):
        later = who >= half  # the later end of an edge asks: it acts
        assert np.array_equal(np.where(later, src, dst), asking[who])
        assert np.array_equal(np.where(later, dst, src), others)
    assert np.array_equal(asked.positive, edges.src[np.arange(2 * half) % half] * 1000.0 + np.tile(edges.dst, 2))


def test_a_rule_without_a_number_is_named():
    _, graph, edges = walked()
    with pytest.raises(InputError, match="the link scores of broken cannot be used"):
        edges.scored(method_score(Broken(score_links=lambda n: np.full(n, np.nan)), edges, graph))


def test_node_means_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    rows, nodes = rng.standard_normal((60, 4)).astype(np.float32), rng.integers(-1, 9, 60)
    nodes[nodes == 5] = -1
    rows[nodes < 0] = np.nan
    found = node_means(rows, nodes, 12)
    assert found.shape == (12, 4)
    for node in range(12):
        own = [rows[place] for place in range(60) if nodes[place] == node]
        assert found[node] == pytest.approx(np.mean(own, axis=0) if own else np.zeros(4), abs=1e-6)


# -- the threshold ----------------------------------------------------------------------------------------------------

CLOSE = [1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0), -5e-324, 0.0, 5e-324]
SCORES = st.one_of(
    st.integers(-3, 3).map(float), st.sampled_from([*CLOSE, 1e308, -1e308, 1.7e308, np.inf, -np.inf]), st.floats(-2, 2)
)


def f1_at(least, right, wrong):
    found, false = sum(score >= least for score in right), sum(score >= least for score in wrong)
    return 2 * found / (2 * found + false + len(right) - found)


@settings(max_examples=300)
@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=12))
def test_the_threshold_is_the_best_of_all(pairs):
    right, wrong = zip(*pairs, strict=True)
    least = threshold(EdgeScores(np.array(right), np.array(wrong), np.empty(0)))
    best = max(f1_at(each, right, wrong) for each in (*right, *wrong, np.inf))
    assert f1_at(least, right, wrong) == pytest.approx(best, abs=1e-12)
    assert not np.isnan(least)


def test_the_threshold_lies_between():
    assert threshold(EdgeScores(np.array([3.0, 2.0]), np.array([1.0, 0.0]), np.empty(0))) == 1.5
    assert threshold(EdgeScores(np.array([3.0, 2.0]), np.array([4.0, 0.0]), np.empty(0))) == 1.0
    assert threshold(EdgeScores(np.zeros(4), np.zeros(4), np.empty(0))) == 0.0  # all pass: recall alone


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("least", [0.0, 0.4, 0.7, 2.0])
def test_f1_is_that_of_each_vertex(case, least):
    _, _, edges = walked(case, num_walks=60)
    asked = drawn(edges, 3)
    found = figures(measure_edges(edges, asked, least))
    truth, said = {}, {}
    for place, right, wrong in zip(edges.query_places, asked.positive, asked.negative, strict=True):
        truth.setdefault(int(edges.nodes[place]), []).extend([1, 0])
        said.setdefault(int(edges.nodes[place]), []).extend([int(right >= least), int(wrong >= least)])
    each, total = [], np.zeros(3)
    for node, right in truth.items():
        pairs = list(zip(right, said[node], strict=True))
        tp, fp, fn = pairs.count((1, 1)), pairs.count((0, 1)), pairs.count((1, 0))
        total += tp, fp, fn
        each.append(2 * tp / (2 * tp + fp + fn))
        assert each[-1] == pytest.approx(known.f1_score(right, said[node], zero_division=0.0))
    assert found["macro-f1"]["value"] == pytest.approx(np.mean(each))
    tp, fp, fn = total
    precision, recall = tp / (tp + fp) if tp else 0.0, tp / (tp + fn)  # Eq. 38: of all vertices together
    micro = 2 * precision * recall / (precision + recall) if tp else 0.0
    assert found["micro-f1"]["value"] == pytest.approx(micro)
    for each in (found["micro-f1"], found["macro-f1"]):
        assert each["low"] - 1e-12 <= each["value"] <= each["high"] + 1e-12


@pytest.mark.parametrize("steps", [1, 3, 8, 10_000])
def test_ap_and_auc_are_those_of_scikit_learn(steps):
    _, _, edges = walked()
    asked = drawn(edges, 4, steps)
    found = figures(measure_edges(edges, asked, 0.5))
    labels = np.repeat([1, 0], edges.query_places.size)
    scores = np.concatenate([asked.positive, asked.negative])
    assert found["AP"]["value"] == pytest.approx(known.average_precision_score(labels, scores))
    assert found["AUC"]["value"] == pytest.approx(known.roc_auc_score(labels, scores))


@pytest.mark.parametrize("case", CASES)
def test_auc_in_the_same_walk_is_that_of_a_loop(case):
    _, _, edges = walked(case)
    asked = drawn(edges, 5)
    shares = []
    for number, right in enumerate(asked.positive):
        own = [
            score for score, who in zip(asked.same_walk, edges.same_walk_negatives[:, 0], strict=True) if who == number
        ]
        if own:
            shares.append(np.mean([1.0 if score < right else 0.5 if score == right else 0.0 for score in own]))
    assert 0 < len(shares) < edges.query_places.size
    assert figures(measure_edges(edges, asked, 0.5))["AUC same walk"]["value"] == pytest.approx(np.mean(shares))


def test_infinite_scores_are_in_order_too():
    _, _, edges = walked(num_walks=60)
    right, wrong = np.full(edges.query_places.size, np.inf), np.full(edges.query_places.size, -np.inf)
    right[0], wrong[1] = -np.inf, np.inf
    asked = EdgeScores(right, wrong, np.full(len(edges.same_walk_negatives), -np.inf))
    found = figures(measure_edges(edges, asked, threshold(asked)))
    finite = np.nan_to_num(np.concatenate([right, wrong]), posinf=1, neginf=-1)
    labels = np.repeat([1, 0], right.size)
    assert found["AUC"]["value"] == pytest.approx(known.roc_auc_score(labels, finite))
    assert found["AP"]["value"] == pytest.approx(known.average_precision_score(labels, finite))
    assert found["micro-f1"]["value"] == pytest.approx(known.f1_score(labels, finite > 0))


def test_one_vertex_with_a_stranger_in_its_walk_is_enough():
    """Most resamples miss the two vertices that have a place without a link in their own walk."""
    ring = [(one, other) for start in range(0, 60, 2) for one, other in ((start, start + 1), (start + 1, start)) * 2]
    graph = given_graph([*ring, (101, 103), (100, 101), (102, 100)])
    edges = edges_of(sample_walks(graph, walking(num_walks=500), 0), graph, np.random.default_rng(0))
    strangers = set(edges.nodes[edges.query_places[edges.same_walk_negatives[:, 0]]].tolist())
    assert len(strangers) == 2
    asked = drawn(edges, 6)
    found = figures(measure_edges(edges, asked, 0.5))["AUC same walk"]
    assert np.isfinite(list(found.values())).all()
    assert 0 <= found["low"] <= found["high"] <= 1


@pytest.mark.parametrize("case", ["forward", "backward"])
def test_timely_edges_are_those_of_a_loop(case):
    _, _, edges = walked(case)
    asked, rng = drawn(edges, 7), np.random.default_rng(8)
    guess = squash(edges.toe) + rng.normal(0, 0.2, edges.toe.size)
    guess[:3] = squash(edges.toe[:3])
    columns = measure_timely_edges(edges, asked, 0.6, guess)
    assert list(columns) == [f"within {eps:.2f}" for eps in EPSILONS]
    found, half = figures(columns), edges.toe.size
    for eps in EPSILONS:
        good = 0
        for number in range(2 * half):
            edge = number % half
            error = abs(guess[edge] - 2 * np.arctan(edges.toe[edge]) / np.pi)
            good += bool(asked.positive[number] >= 0.6 and error < eps)
        assert 0 < good < 2 * half
        assert found[f"within {eps:.2f}"]["value"] == pytest.approx(good / (2 * half))
