"""The estimator: fit, embed as of any moment, score, predict, save, load; and that it knows nothing of the future."""

from __future__ import annotations

import datetime as dt
import gc
import json
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tadge
from small import assert_same, forum, network, plain, rebuilt, training, walking
from tadge import TADGE, NodeNumbers, sample_walks
from tadge.deepwalk.initialise import initial_vectors
from tadge.embedding.batches import Sequences, pack_batch
from tadge.embedding.inference import AsOf
from tadge.graph import TemporalGraph
from tadge.graph.chains import chains_of
from tadge.graph.inputs import match_ids
from tadge.units import date_text

VARIANTS = [(q, s, d) for q in ("next", "self") for s in (True, False) for d in (True, False)]


def make(seed=0, walks=None, shape=None, **changes):
    return TADGE(walking(**walks or {}), network(**shape or {}), training(**{"epochs": 2} | changes), seed)


_fitted = {}


def fitted(queries="self", structure=True, directed=True):
    """Fit every variant once."""
    key = queries, structure, directed
    if key not in _fitted:
        shape = {"queries": queries, "structure": structure}
        _fitted[key] = make(shape=shape).fit(forum(directed=directed), progress=False)
    return _fitted[key]


@pytest.fixture(scope="module")
def model():
    return fitted()


def answers(model, at, graph=None):
    """All that a model says as of a moment, for all nodes and many pairs."""
    num = (graph or model.graph_).num_nodes
    src, dst = np.arange(num), np.random.default_rng(0).permutation(num)
    scores = model.score_links(src, dst, at, graph=graph)
    return model.embed(at=at, graph=graph), scores, model.predict_toe(src, dst, at, graph=graph)


# -- the future is shut ------------------------------------------------------------------------------------------------


@settings(max_examples=48)
@given(st.sampled_from(VARIANTS), st.floats(0, 1), st.integers(0, 1000), st.booleans())
def test_whatever_happens_later_changes_no_bit_of_any_answer(variant, share, seed, between):
    """Delete what is later, or let something else happen instead: embed, score_links and predict_toe are the same."""
    model = fitted(*variant)
    graph, rng = model.graph_, np.random.default_rng(seed)
    at = float(np.quantile(graph.time, share)) if between else float(graph.time[int(share * (graph.num_events - 1))])
    expected = answers(model, at)
    past, more = graph.time <= at, int(rng.integers(1, 900))
    ends = rng.integers(0, graph.num_nodes, (2, more))
    after = np.maximum(np.nextafter(at, np.inf), at + rng.exponential(100, more) * (rng.random(more) < 0.9))
    columns = zip((graph.src[past], graph.dst[past], graph.time[past]), (*ends, after), strict=True)
    scrambled = rebuilt(graph, *(np.concatenate(each) for each in columns))
    for other in (graph.before(np.nextafter(at, np.inf)), scrambled):
        for found, wanted in zip(answers(model, at, other), expected, strict=True):
            assert np.array_equal(found, wanted)


def test_as_of_the_end_is_not_as_of_an_earlier_moment(model):
    graph = model.graph_
    early = float(np.quantile(graph.time, 0.5))
    for now, then in zip(answers(model, None), answers(model, early), strict=True):
        assert not np.allclose(now, then)
    assert np.array_equal(model.embed(), model.embed(at=float(graph.time[-1])))
    assert np.array_equal(model.embed(), model.embed(at=float(graph.time[-1]) + 300))


@pytest.mark.parametrize("queries", ["next", "self"])
def test_one_node_alone_is_what_it_is_among_all(queries):
    model = fitted(queries)
    at = float(np.quantile(model.graph_.time, 0.6))
    together = model.embed(at=at)
    for node in range(0, model.graph_.num_nodes, 17):
        np.testing.assert_allclose(model.embed(node, at)[0], together[node], rtol=1e-4, atol=1e-5)
    some = [5, 3, 5, 100]
    np.testing.assert_allclose(model.embed(some, at), together[some], rtol=1e-4, atol=1e-5)


def test_a_moment_for_each_node(model):
    graph = model.graph_
    moments = np.quantile(graph.time, [0.3, 0.9, 0.5, 0.3])
    found = model.embed([4, 4, 9, 2], moments)
    for vector, node, at in zip(found, [4, 4, 9, 2], moments, strict=True):
        np.testing.assert_allclose(vector, model.embed(node, float(at))[0], rtol=1e-4, atol=1e-5)
    dates = [date_text(float(at), "unix") for at in moments]
    rounded = [(dt.datetime.fromisoformat(d) - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1) for d in dates]
    assert np.array_equal(model.embed([4, 4, 9, 2], dates), model.embed([4, 4, 9, 2], rounded))
    src, dst = [1, 2, 3, 4], [5, 6, 7, 8]
    for ask in (model.score_links, model.predict_toe):
        alone = [ask(s, d, float(at))[0] for s, d, at in zip(src, dst, moments, strict=True)]
        np.testing.assert_allclose(ask(src, dst, moments), alone, rtol=1e-3, atol=1e-4)


def test_more_occurrences_are_the_mean_of_each(model):
    graph = model.graph_
    node = int(np.argmax(np.diff(graph.tov_start)))
    times = graph.tov(node)
    each = [model.embed(node, float(t), latest=1)[0] for t in times[-3:]]
    np.testing.assert_allclose(model.embed(node, latest=3)[0], np.mean(each, axis=0), rtol=1e-4, atol=1e-5)
    assert np.array_equal(model.embed(node), model.embed(node, latest=5))


# -- nodes that are new ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def early():
    """A model of the first half, with the whole graph, and the nodes that joined after the first half."""
    whole = forum()
    cut = float(np.quantile(whole.time, 0.5))
    model = make(shape={"queries": "self"}).fit(whole.before(cut), progress=False)
    new = np.flatnonzero((model.graph_.degree == 0) & (whole.degree > 0))
    assert new.size > 20
    return model, whole, new


def graph_has_parent(graph, node):
    """Tell whether a node's latest occurrence came with a link to somebody who was there before."""
    last = graph.tov(int(node))[-1]
    return bool(((graph.src == node) & (graph.time == last) & ~np.isnan(graph.toe)).any())


def test_new_nodes_are_embedded_through_those_they_link_to(early, monkeypatch):
    model, whole, new = early
    before = model.embed(graph=whole)
    changed = model.table_.clone()
    changed[torch.from_numpy(new)] += 1.0  # rows that nothing was learned for
    monkeypatch.setattr(model, "table_", changed)
    monkeypatch.setattr(model, "_views", {})  # what was kept is of the earlier table
    assert np.array_equal(model.embed(graph=whole), before)
    changed[-1] += 1.0  # the unknown vertex's row
    model._views.clear()
    after = model.embed(graph=whole)
    assert (np.abs(after - before)[new].max(axis=1) > 1e-6).all()
    monkeypatch.undo()
    # those whose chains pass different nodes differ
    linked = new[[graph_has_parent(whole, node) for node in new]]
    vectors = {tuple(np.round(vector, 6)) for vector in before[linked]}
    assert linked.size > 10
    assert len(vectors) > 0.9 * linked.size
    # as of the end of the first half none of them had joined: all are the unknown vertex
    at = float(np.quantile(whole.time, 0.5))
    unknown = model.embed(new, np.nextafter(at, 0), graph=whole)
    assert (unknown == unknown[0]).all()
    assert np.array_equal(unknown, model.embed(new))
    chains = chains_of(whole)
    linked = chains.paths(whole.tov_start[new + 1] - 1, 4)[1] > 1
    assert linked.sum() > 20
    assert not np.isclose(before[new[linked]], unknown[0]).all(axis=1).any()


def test_a_node_that_has_not_joined_yet_is_the_unknown_vertex(model):
    graph = model.graph_
    first = np.array([graph.tov(node)[0] for node in range(graph.num_nodes)])
    at = float(np.quantile(first, 0.4))
    vectors, joined = model.embed(at=at), first <= at
    assert (vectors[~joined] == vectors[~joined][0]).all()
    batch = pack_batch(
        Sequences(np.full((1, 1), graph.num_nodes + 1), np.zeros((1, 1), np.float32), *[np.ones(1, np.int64)] * 3),
        *(np.zeros((1, 1), np.int64), graph.num_nodes),
    )
    with torch.no_grad():
        alone = model.tasks_.embed(batch, model.table_[batch.rows]).nodes[0]
    np.testing.assert_allclose(vectors[~joined][0], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("texts", [True, False])
def test_nodes_of_another_numbering_are_found_by_their_ids(texts):
    """The same events, but further ids come before, between and after."""
    graph = forum()
    name = (lambda number: f"n{number:04d}") if texts else (lambda number: 3 * number + 5)
    ids = np.array([name(number) for number in range(graph.num_nodes)], dtype=object if texts else np.int64)
    own = TemporalGraph.from_arrays(ids[graph.src], ids[graph.dst], graph.time, unit="days", clock="unix")
    model = make().fit(own, progress=False)
    further = ["a", "n0003x", "z"] if texts else [0, 3 * 40 + 6, 10**6]
    src, dst = ([*ids[graph.src], *further], [*ids[graph.dst], *reversed(further)])
    time = [*graph.time, *[graph.time[-1] + 1] * 3]
    longer = TemporalGraph.from_arrays(src, dst, time, unit="days", clock="unix")
    assert longer.num_nodes == own.num_nodes + 3
    place = [int(longer.numbers(node)) for node in own.ids]
    assert place != list(range(own.num_nodes))
    at = float(graph.time[-1])
    assert np.array_equal(model.embed(at=at, graph=longer)[place], model.embed(at=at))
    some = [name(7), name(2)]
    assert np.array_equal(model.embed(some, at, graph=longer), model.embed(some, at))
    assert np.array_equal(model.embed(some, at), model.embed(at=at)[[7, 2]])
    numbers = tadge.NodeNumbers([place[7], place[2]])
    assert np.array_equal(model.embed(numbers, at, graph=longer), model.embed(some, at))
    pair = model.score_links(name(5), name(9), at, graph=longer), model.score_links(name(5), name(9), at)
    np.testing.assert_allclose(*pair, rtol=1e-4, atol=1e-5)


def test_bipartite_graphs_are_matched_side_by_side():
    src, dst, time = [1, 2, 1, 3], [1, 2, 3, 1], [0.0, 1, 2, 3]
    one = TemporalGraph.from_arrays(src, dst, time, bipartite=True, unit="days")
    other = TemporalGraph.from_arrays([0, *src], [3, *dst], [5.0, *time], bipartite=True, unit="days")
    names = [(k < g.num_sources, node) for g in (one, other) for k, node in enumerate(g.ids.tolist())]
    one_names, other_names = names[: one.num_nodes], names[one.num_nodes :]
    expected = [one_names.index(name) if name in one_names else -1 for name in other_names]
    assert match_ids(other, one).tolist() == expected
    assert -1 in expected
    assert match_ids(one, one).tolist() == list(range(one.num_nodes))


# -- what is asked for -------------------------------------------------------------------------------------------------


def test_dates_and_numbers_are_the_same_moments(model):
    date = dt.date(2021, 3, 14)
    day = float((date - dt.date(1970, 1, 1)).days)
    expected = model.embed(at=day)
    for at in ("2021-03-14", date, dt.datetime(2021, 3, 14), np.datetime64("2021-03-14"), int(day), np.float32(day)):
        assert np.array_equal(model.embed(at=at), expected)
    noon = model.embed(at="2021-03-14T12:00:00")
    assert np.array_equal(noon, model.embed(at=day + 0.5))


def test_scores_are_products_of_the_latest_vectors(model):
    at = float(np.quantile(model.graph_.time, 0.7))
    src, dst = np.random.default_rng(0).integers(0, model.graph_.num_nodes, (2, 200))
    vectors = model.embed(at=at, latest=1).astype(np.float64)
    expected = (vectors[src] * vectors[dst]).sum(axis=1)
    np.testing.assert_allclose(model.score_links(src, dst, at), expected, rtol=1e-3, atol=1e-4)
    assert model.score_links(3, 4).shape == (1,)


def test_toe_is_the_linear_head_of_both_ends(model):
    graph = model.graph_
    src, dst = np.random.default_rng(0).integers(0, graph.num_nodes, (2, 300))
    at = float(np.quantile(graph.time, 0.8))
    squashed, days = model.predict_toe(src, dst, at, unit="squashed"), model.predict_toe(src, dst, at)
    joined = np.array([max(graph.tov(v)[graph.tov(v) <= at], default=at) for v in dst])
    features = np.concatenate([model.embed(src, joined, latest=5), model.embed(dst, joined, latest=1)], axis=1)
    most = 2 * np.arctan(np.nanmax(graph.toe)) / np.pi
    expected = np.clip(features.astype(np.float64) @ model.toe_head_[:-1] + model.toe_head_[-1], 0, most)
    passed = 2 * np.arctan(at - joined) / np.pi
    assert 20 < (expected < passed).sum() < 280
    expected = np.maximum(expected, passed)
    np.testing.assert_allclose(squashed, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(days, np.tan(np.pi / 2 * squashed))
    assert np.isfinite(days).all()
    assert (days >= 0).all()
    assert squashed.std() > 0


def test_toe_is_better_than_a_constant_where_it_was_learned(model):
    """Each edge as of the moment its target had joined."""
    graph = model.graph_
    has = ~np.isnan(graph.toe)
    at = (graph.time - graph.toe)[has]
    at = np.maximum(at, graph.time[0])
    guess = model.predict_toe(graph.src[has], graph.dst[has], at, unit="squashed")
    truth = 2 * np.arctan(graph.toe[has]) / np.pi
    assert np.sqrt(np.mean((guess - truth) ** 2)) < truth.std()


def near(table):
    """Give the rows of a table of neighbours as (neighbour, similarity)."""
    return list(zip(table["neighbour"].tolist(), table["similarity"].tolist(), strict=True))


def test_similar_nodes_by_brute_force(model):
    vectors = model.embed().astype(np.float64)
    vectors -= vectors.mean(axis=0)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for node in (0, 17, 90):
        cosine = unit @ unit[node]
        found = near(model.similar(node, k=8))
        assert len({one for one, _ in found} - {node}) == 8
        best = sorted(np.delete(cosine, node), reverse=True)[:8]
        assert [value for _, value in found] == pytest.approx(best, abs=1e-5)
        assert [value for _, value in found] == pytest.approx([cosine[one] for one, _ in found], abs=1e-5)
    every = near(model.similar(5, k=10**6))
    assert sorted(one for one, _ in every) == [n for n in range(len(unit)) if n != 5]
    at = float(np.quantile(model.graph_.time, 0.9))
    assert near(model.similar(5, at=at)) != near(model.similar(5))
    earlier = model.graph_.before(float(np.nextafter(at, np.inf)))
    assert near(model.similar(5, graph=earlier)) == near(model.similar(5, at=at))
    several = model.similar([0, 17, 90], k=8)
    assert several["id"].tolist() == [0] * 8 + [17] * 8 + [90] * 8
    for node in (0, 17, 90):
        alone, row = model.similar(node, k=8), several[several["id"] == node]
        assert row["neighbour"].tolist() == alone["neighbour"].tolist()
        assert row["similarity"].tolist() == pytest.approx(alone["similarity"].tolist(), abs=1e-6)


def test_vectors_of_the_latest_moment_are_kept_and_saved(tmp_path, monkeypatch):
    model = make(epochs=1).fit(forum(400), progress=False)
    whole = model.embed()
    assert np.array_equal(whole, model.embed(NodeNumbers(np.arange(model.graph_.num_nodes))))
    model.save(tmp_path)
    loaded = TADGE.load(tmp_path)
    monkeypatch.setattr(AsOf, "nodes", lambda *_: pytest.fail("embedded again"))
    assert near(loaded.similar(3)) == near(model.similar(3))
    assert np.array_equal(loaded.embed(), whole)
    loaded.embed()[:] = 0.0  # what was given away is not what is kept
    assert np.array_equal(loaded.embed(), whole)
    with pytest.raises(pytest.fail.Exception, match="embedded again"):
        loaded.similar(3, at=float(np.quantile(model.graph_.time, 0.5)))


def test_similar_names_the_users_ids():
    graph = forum(400)
    names = np.array([f"user {n}" for n in range(graph.num_nodes)], dtype=object)
    model = make(epochs=1).fit(rebuilt(graph, ids=names), progress=False)
    found = near(model.similar("user 7", k=3))
    assert all(re.fullmatch(r"user \d+", one) for one, _ in found)
    assert "user 7" not in [one for one, _ in found]
    assert np.array_equal(model.embed(["user 3", "user 1"]), model.embed(tadge.NodeNumbers([3, 1])))


def test_embed_walks_is_the_network_on_a_window(model):
    walks = sample_walks(model.graph_, walking(num_walks=5), 3)  # one full window
    found = model.embed_walks(walks)
    sequences = Sequences.of(walks)
    batch = pack_batch(sequences, np.arange(5)[None], model.graph_.num_nodes)
    with torch.no_grad():
        nodes = model.tasks_.embed(batch, model.table_[batch.rows]).nodes.numpy()
    lengths = batch.packing.lengths.tolist()
    for place, walk in zip(batch.windows[0].tolist(), sequences.order, strict=True):
        rows = [sum(lengths[:place]) + i for i in range(lengths[place])]
        np.testing.assert_allclose(found[walk, : len(rows)], nodes[rows], rtol=1e-4, atol=1e-5)
    there = np.arange(4) < walks.lengths[:, None]
    assert (np.isnan(found).all(axis=2) == ~there).all()
    assert (np.isnan(found).any(axis=2) == ~there).all()


@pytest.mark.parametrize("num_walks", [1, 3, 5, 23, 190])
def test_embed_walks_of_any_number(model, num_walks):
    """Windows in order of start; the last one reaches back, so that it is full."""
    walks = sample_walks(model.graph_, walking(num_walks=num_walks), 3)
    found = model.embed_walks(walks)
    there = np.arange(4) < walks.lengths[:, None]
    assert (np.isfinite(found).all(axis=2) == there).all()
    order = np.argsort(walks.tov[:, 0], kind="stable")
    if num_walks >= 5:
        starts = walks.starts[order][:5]
        rows = [int(np.flatnonzero(walks.starts == start)[0]) for start in starts]
        part = walks.take(np.array(rows))
        np.testing.assert_allclose(model.embed_walks(part), found[rows], rtol=1e-4, atol=1e-5)


def test_embed_walks_of_none_and_of_too_long_ones(model):
    walks = sample_walks(model.graph_, walking(), 3)
    none = walks.take(np.zeros(0, np.int64))
    assert model.embed_walks(none).shape == (0, 4, 8)
    with pytest.raises(tadge.InputError, match="4"):
        model.embed_walks(sample_walks(model.graph_, walking(max_length=9), 3))


def test_graphs_that_were_asked_about_are_not_held(model):
    graph = rebuilt(forum())
    model.embed(graph=graph)
    left = weakref.ref(graph)
    del graph
    gc.collect()
    assert left() is None


# -- bad questions -----------------------------------------------------------------------------------------------------

QUESTIONS = {
    "too early": (
        lambda m: m.embed(at=0.0),
        r"at: nothing had happened by then; expected 2020-01-\d\d .* or later; found 19",
    ),
    "too early, one": (lambda m: m.embed([1, 2], [18_000.0, 20_000.0]), "nothing had happened by then"),
    "too early, pairs": (lambda m: m.score_links(1, 2, "1999-01-01"), "nothing had happened by then"),
    "too early, toe": (lambda m: m.predict_toe(1, 2, "1999-01-01"), "nothing had happened by then"),
    "too early, similar": (lambda m: m.similar(1, at="1999-01-01"), "nothing had happened by then"),
    "no moment": (lambda m: m.embed(at=float("nan")), "not a moment"),
    "no moments": (lambda m: m.embed([1, 2], [19_000.0, float("nan")]), "at: |not a moment"),
    "no date": (lambda m: m.embed(at="soon"), "not a date; expected an ISO date; found 'soon'"),
    "no dates": (lambda m: m.embed([1], ["soon"]), "not a date"),
    "a mapping": (lambda m: m.embed(at={}), "not a moment"),
    "True": (lambda m: m.embed(at=True), "not a moment"),
    "none in a list": (lambda m: m.embed([1], [None]), "not a moment"),
    "truths": (lambda m: m.embed([1, 2], [True, False]), "moment|nothing had happened"),
    "ragged moments": (lambda m: m.embed([1, 2], [[19_000.0], [19_000.0, 19_001.0]]), "at: "),
    "complex": (lambda m: m.embed([1], np.array([19_000 + 1j])), "moment"),
    "too many moments": (
        lambda m: m.embed([1, 2], [19_000.0] * 3),
        r"at: moments do not fit; expected one, or 2; found \(3,\)",
    ),
    "unknown node": (
        lambda m: m.embed(10**6),
        "nodes: unknown node; expected one of the graph's .*; found 1000000; did you mean",
    ),
    "negative": (lambda m: m.embed([-1]), "unknown node; .*found -1"),
    "unknown id": (
        lambda m: m.embed("nobody"),
        "nodes: an id of another type; expected ids that are integers, .*; found 'nobody'",
    ),
    "a number as a string": (lambda m: m.embed("17"), r"an id of another type; .*; found '17'; did you mean 17"),
    "unknown number": (lambda m: m.embed(tadge.NodeNumbers([10**6])), "nodes: unknown node number"),
    "fractions": (lambda m: m.embed([0.5]), "an id of another type; expected ids that are integers, .*; found 0.5"),
    "truth": (lambda m: m.embed(True), "an id of another type; .*found True"),
    "two dimensions": (lambda m: m.embed([[1, 2]]), "not ids; .*found 2 dimensions"),
    "mixed": (lambda m: m.embed([1, None]), "an id of another type"),
    "ragged": (lambda m: m.embed([[1], [1, 2]]), "nodes: rows of different lengths"),
    "lengths": (
        lambda m: m.score_links([1, 2], [3, 4, 5]),
        "src and dst differ in length; expected as many; found 2, 3",
    ),
    "lengths, toe": (lambda m: m.predict_toe([1, 2], [3, 4, 5]), "src and dst differ in length"),
    "Unix time": (
        lambda m: m.embed(at=1.6e9),
        "at: a moment far after the last event; .*as Unix time in s it is 2020-09-13",
    ),
    "Unix time, before": (
        lambda m: m.embed(before=1.6e12),
        "before: a moment far .*as Unix time in ms it is 2020-09-13",
    ),
    "far": (lambda m: m.score_links(1, 2, "2300-01-01"), "at: a moment far after the last event"),
    "dst": (lambda m: m.score_links([1], [10**6]), "dst: unknown node"),
    "no graph": (lambda m: m.embed(graph="edges.csv"), "graph"),
    "no walks": (lambda m: m.embed_walks([1, 2, 3]), "walks"),
    "similar": (lambda m: m.similar(10**6), "nodes: unknown node"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_bad_questions_are_one_sentence(model, case):
    ask, words = QUESTIONS[case]
    with pytest.raises(tadge.InputError, match=words) as caught:
        ask(model)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ask", [lambda m: m.embed(latest=0), lambda m: m.embed(latest="5"), lambda m: m.similar(1, k=0)]
)
def test_bad_numbers_are_one_sentence(model, ask):
    with pytest.raises(tadge.ConfigError, match=r"latest: |k: "):
        ask(model)


def test_dates_need_a_calendar():
    graph = forum(400)
    model = make(epochs=1).fit(rebuilt(graph, clock="own"), progress=False)
    with pytest.raises(tadge.InputError, match="this graph has no calendar"):
        model.embed(at="2021-01-01")


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.embed(),
        lambda m: m.score_links(0, 1),
        lambda m: m.predict_toe(0, 1),
        lambda m: m.similar(0),
        lambda m: m.embed_walks(sample_walks(forum(), walking(), 0)),
        lambda m: m.save("nowhere"),
    ],
)
def test_an_unfitted_model_says_so(ask):
    with pytest.raises(tadge.NotFittedError, match="is not fitted; call fit first") as caught:
        ask(make())
    assert isinstance(caught.value, (ValueError, AttributeError))
    assert not Path("nowhere").exists()


def test_bad_graphs_for_fitting():
    empty = TemporalGraph.from_arrays([], [], [], unit="days")
    with pytest.raises(tadge.InputError, match="the graph is empty"):
        make().fit(empty)
    star = TemporalGraph.from_arrays([1, 2, 3], [0, 0, 0], [1.0, 1.0, 1.0], unit="days")
    with pytest.raises(tadge.InputError, match="nothing to walk on"):
        make().fit(star)
    for seed in (-1, 1.5, "x"):
        with pytest.raises(tadge.ConfigError, match="not a seed"):
            make(seed=seed).fit(forum())


# -- learning ----------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_model():
    models = [make(seed=seed, held_out=0.2).fit(forum(), progress=False) for seed in (1, 1, 2)]
    state = torch.get_rng_state()
    assert torch.equal(state, torch.get_rng_state())
    assert_same(models[0].tasks_.state_dict(), models[1].tasks_.state_dict())
    assert torch.equal(models[0].table_, models[1].table_)
    assert np.array_equal(models[0].toe_head_, models[1].toe_head_)
    assert plain(models[0].history_) == plain(models[1].history_)
    assert np.array_equal(models[0].embed(), models[1].embed())
    assert not np.allclose(models[0].embed(), models[2].embed())


def test_fit_leaves_the_callers_random_state_alone_and_returns_itself():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    model = make(precision="auto", init="deepwalk", shape={"dropout": 0.2})
    assert model.fit(forum(), progress=False) is model
    assert torch.equal(torch.get_rng_state(), before)
    assert model.precision_ in ("float32", "bfloat16")
    assert model.stopped_ == "done"
    assert len(model.history_) == 2


def test_learned_vectors_keep_together_who_links(model):
    """Links that happened score higher than random ones, better than untrained vectors do."""
    graph = forum()
    model = make(epochs=25, lr=0.01, init="deepwalk", patience=25, walks={"num_walks": 1000}).fit(graph, progress=False)
    rng = np.random.default_rng(0)
    src, dst = graph.src[-300:], graph.dst[-300:]
    real, other = model.score_links(src, dst), model.score_links(src, rng.permutation(dst))
    assert np.mean(real[:, None] > other[None, :]) > 0.55


@pytest.mark.parametrize("method", ["deepwalk", "random"])
def test_training_begins_at_the_initial_vectors(method, monkeypatch):
    tables = []

    def stop(trainer, report, save, deadline):
        tables.append(trainer.table.values.clone())
        return "done"

    monkeypatch.setattr("tadge.embedding.loop.Trainer.run", stop)
    graph = forum()
    make(init=method).fit(graph, progress=False)
    expected = initial_vectors(graph, method, 8, 0).astype(np.float64)
    expected /= np.sqrt((expected**2).sum(axis=1).mean())  # a mean squared length of 1
    np.testing.assert_allclose(tables[0][:-2].numpy(), expected, rtol=1e-4, atol=1e-6)
    assert float((tables[0][-2:] ** 2).sum(1).mean()) == pytest.approx(1.0, abs=0.9)


def test_given_walks_are_trained_on():
    walks = sample_walks(forum(), walking(num_walks=150), 77)
    one, two = (make().fit(forum(), walks=walks, progress=False) for _ in range(2))
    assert torch.equal(one.table_, two.table_)
    assert not torch.equal(one.table_, make().fit(forum(), progress=False).table_)


def test_given_walks_that_do_not_fit_are_told():
    longer = sample_walks(forum(), walking(max_length=9), 0)
    with pytest.raises(tadge.InputError, match="walks"):
        make().fit(forum(), walks=longer, progress=False)
    other = sample_walks(forum(1500), walking(), 0)
    with pytest.raises(tadge.InputError, match="walks"):
        make().fit(forum(300), walks=other, progress=False)


def test_a_run_in_trouble_is_told_and_keeps_the_best(monkeypatch):
    """The message says that the best state is kept: the estimator has it."""
    from tadge.network.training_model import TrainingModel

    ask, calls = TrainingModel.compute_losses, []

    def spoilt(self, *batch):
        outcome = ask(self, *batch)
        calls.append(self.training)
        return outcome._replace(losses=outcome.losses * (float("nan") if sum(calls) > 5 else 1.0))

    monkeypatch.setattr(TrainingModel, "compute_losses", spoilt)
    model = make(epochs=9)
    with pytest.raises(tadge.TrainingError, match=r"is not finite any more; .*the best state before that is kept"):
        model.fit(forum(), progress=False)
    assert len(model.history_) >= 1
    with pytest.warns(tadge.TadgeWarning, match="ended in trouble after 1 of 9 epochs: its vectors are the best until"):
        assert np.isfinite(model.embed()).all()


# -- disk --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", [("next", True, True), ("self", False, False)])
def test_a_loaded_model_gives_the_same_answers(tmp_path, variant):
    model = fitted(*variant)
    model.save(tmp_path / "m")
    loaded = TADGE.load(tmp_path / "m")
    assert_same(loaded.tasks_.state_dict(), model.tasks_.state_dict())
    assert torch.equal(loaded.table_, model.table_)
    for at in (None, float(np.quantile(model.graph_.time, 0.4))):
        for one, other in zip(answers(loaded, at), answers(model, at), strict=True):
            assert np.array_equal(one, other)
    assert near(loaded.similar(3)) == near(model.similar(3))
    walks = sample_walks(model.graph_, walking(), 5)
    assert np.array_equal(loaded.embed_walks(walks), model.embed_walks(walks), equal_nan=True)
    assert loaded.graph_.fingerprint == model.graph_.fingerprint
    for name in ("walk_config", "network_config", "train_config", "seed", "history_", "stopped_", "precision_"):
        assert getattr(loaded, name) == getattr(model, name)
    loaded.save(tmp_path / "again")
    again, first = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("again", "m"))
    assert again == first  # to the last byte


def spoil(folder, change):
    path = folder / "tadge.json"
    path.write_bytes(change(path.read_bytes()))


DAMAGES = {
    "missing": (lambda f: f.rename(f.with_name("gone")), "there is no such folder"),
    "emptied": (lambda f: (f / "tadge.json").unlink(), "not a folder of a TADGE"),
    "foreign": (lambda f: (f / "tadge.json").write_text('{"format": "onnx"}'), "expected format 'tadge'; found 'onnx'"),
    "newer": (lambda f: spoil(f, lambda b: b.replace(b'"version": 1', b'"version": 9')), "written by a newer tadge"),
    "edited": (lambda f: spoil(f, lambda b: b.replace(b'"dim": 8', b'"dim": 9')), "is damaged"),
    "truncated": (lambda f: [p.write_bytes(p.read_bytes()[:99]) for p in f.glob("tadge-table*")], "cut short"),
    "flipped": (lambda f: [p.write_bytes(p.read_bytes()[:-1] + b"~") for p in f.glob("tadge-weights*")], "checksum"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_folder_is_one_sentence(tmp_path, model, case):
    model.save(tmp_path / "m")
    change, words = DAMAGES[case]
    change(tmp_path / "m")
    with pytest.raises(tadge.InputError, match=words) as caught:
        TADGE.load(tmp_path / "m")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda parts, meta: parts["weights"].popitem(),
        lambda parts, meta: parts["table"].update(values=torch.zeros(3, 8)),
        lambda parts, meta: parts["table"].update(toe_head=torch.zeros(3, dtype=torch.float64)),
        lambda parts, meta: parts["table"].pop("toe_head"),
        lambda parts, meta: meta.pop("seed"),
        lambda parts, meta: meta["network"].update(dim=16),
        lambda parts, meta: meta["train"].update(unheard_of=1),
        lambda parts, meta: meta.update(walks=[]),
        lambda parts, meta: meta["graph"].update(clock="moon"),
    ],
)
def test_parts_that_do_not_fit_together_are_one_sentence(tmp_path, model, change):
    """Written as it should be, with right checksums, but not by `save`."""
    from tadge.storage.folder import read_folder, write_folder

    model.save(tmp_path)
    parts, meta = read_folder(tmp_path, "tadge")
    change(parts, meta)
    write_folder(tmp_path, "tadge", parts, meta)
    with pytest.raises(tadge.InputError, match="do not fit together") as caught:
        TADGE.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_every_option_that_is_allowed_can_be_saved(tmp_path):
    """A clip of infinity means no clipping, or it is refused: not only after the training."""
    try:
        model = make(clip=float("inf"), epochs=1)
    except tadge.ConfigError:
        return
    model.fit(forum(), progress=False).save(tmp_path)
    assert TADGE.load(tmp_path).train_config.clip == float("inf")


def test_saving_elsewhere_leaves_all_else_alone(tmp_path, model):
    (tmp_path / "notes.txt").write_text("mine")
    model.save(tmp_path)
    model.save(str(tmp_path))  # over itself
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert json.loads((tmp_path / "tadge.json").read_text())["meta"]["tadge"] == tadge.__version__
    (tmp_path / "file").write_text("")
    with pytest.raises(tadge.InputError, match="not a folder"):
        model.save(tmp_path / "file")


def test_resuming_what_is_done_takes_its_result(tmp_path, monkeypatch):
    done = make().fit_folder(forum(), tmp_path, progress=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr("tadge.embedding.loop.Trainer.run", lambda *_: pytest.fail("it trains again"))
    again = make().fit_folder(forum(), tmp_path, resume=True, progress=False)
    assert np.array_equal(again.embed(), done.embed())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    monkeypatch.undo()
    with pytest.raises(tadge.InputError, match="what is in this folder has another seed; expected 0; found 1"):
        make(seed=1).fit_folder(forum(), tmp_path, resume=True, progress=False)


def test_a_run_that_is_not_done_is_not_lost_by_forgetting_resume(tmp_path):
    model = make().fit(forum(), checkpoint=tmp_path, checkpoint_seconds=0, progress=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(tadge.InputError, match=r"there is a run in this folder that is not done; say resume"):
        make().fit_folder(forum(), tmp_path, progress=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    done = make().fit_folder(forum(), tmp_path, resume=True, progress=False)
    assert np.array_equal(done.embed(), model.embed())


@pytest.mark.parametrize("device", ["abacus", "cuda:99", "cpu:x", 7])
def test_a_device_that_is_not_there_is_one_sentence(tmp_path, model, device):
    model.save(tmp_path)
    with pytest.raises(tadge.ConfigError, match="device: no such device here"):
        TADGE(walking(), network(), training(), device=device).fit(forum(), progress=False)
    with pytest.raises(tadge.ConfigError, match="device: no such device here"):
        TADGE.load(tmp_path, device=device)
