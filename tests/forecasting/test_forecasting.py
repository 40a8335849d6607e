"""Forecasts through the estimator: scores, chances and ToE, on disk, after Ctrl-C, and under the audit."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
import torch

import tadge
from futures import other_futures, random_ends
from small import assert_same, forum, network, plain, rebuilt, training, walking
from tadge import TADGE, audit
from tadge.embedding.estimator import fit_folder
from tadge.forecasting import estimator as forecaster
from tadge.forecasting import trees
from tadge.graph import TemporalGraph
from tadge.storage.folder import has_folder, read_folder, write_folder

STEPS = 8


def make(seed=0, **changes):
    return TADGE(walking(), network(), training(**{"epochs": 2, "forecast_steps": STEPS} | changes), seed)


@cache
def shop():
    """Buyers b0, b1, ... and things t0, t1, ...; names of both sides are in order of their numbers."""
    graph, rng = forum(), np.random.default_rng(0)
    buyers = [f"b{node:03d}" for node in graph.src]
    things = [f"t{node:03d}" for node in rng.integers(0, 50, graph.num_events)]
    return TemporalGraph.from_arrays(buyers, things, graph.time, unit="days", clock="unix", bipartite=True)


GRAPHS = {"directed": forum, "undirected": lambda: forum(directed=False), "bipartite": shop}


@cache
def fitted(kind):
    """Fit to each kind of graph once."""
    return make().fit(GRAPHS[kind](), progress=False)


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 60)
        yield


@pytest.fixture(scope="module")
def model(few_trees):
    return fitted("directed")


def some(graph, count=60, seed=0):
    rng = np.random.default_rng(seed)
    return *random_ends(graph, count, rng), rng.uniform(graph.time[0], graph.time[-1], count)


def answers(model, graph=None):
    """Scores and ToE of many pairs at many moments, and a ranking."""
    asked = some(graph or model.graph_)
    found = model.score_links(*asked, graph=graph), model.predict_toe(*asked, graph=graph)
    assert all(np.isfinite(each).all() and each.shape == (60,) for each in found)
    return found[0].tobytes(), found[1].tobytes(), model.rank(3, float(asked[2][0]), 7, graph=graph)


# -- what is answered --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS)
def test_answers_are_those_of_what_was_learned(kind):
    model = fitted(kind)
    graph = model.graph_
    src, dst, at = some(graph)
    scores = model.score_links(src, dst, at)
    assert np.array_equal(scores, model.forecaster_.score_links(graph, src, dst, at))
    assert scores.dtype == np.float32
    joined = [max(graph.tov(node)[graph.tov(node) <= now], default=now) for node, now in zip(dst, at, strict=True)]
    mean = model.forecaster_.guess_toe(graph, src, dst, np.array(joined))
    median = model.forecaster_.guess_toe(graph, src, dst, np.array(joined), median=True)
    largest, passed = (2 * np.arctan(days) / np.pi for days in (graph.toe_values().max(), at - np.array(joined)))
    squashed, days = model.predict_toe(src, dst, at, squashed=True), model.predict_toe(src, dst, at)
    np.testing.assert_allclose(squashed, np.maximum(np.clip(mean, 0, largest), passed))
    np.testing.assert_allclose(2 * np.arctan(days) / np.pi, np.maximum(np.clip(median, 0, largest), passed))
    assert (passed > np.clip(mean, 0, largest)).any()
    assert np.mean(mean != median) > 0.9
    assert squashed.std() > 0
    assert model.stopped_ == "done"


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_end_is_the_last_event(kind):
    model = fitted(kind)
    end = float(model.graph_.time[-1])
    src, dst, _ = some(model.graph_)
    for ask in (model.score_links, model.predict_toe):
        assert np.array_equal(ask(src, dst), ask(src, dst, end))
    assert model.rank(5) == model.rank(5, end)
    assert not np.array_equal(model.score_links(src, dst), model.score_links(src, dst, end + 100))


def test_a_guess_of_toe_stays_until_dst_joins_again(model):
    """It is of the time since dst joined, and no less than has passed; what happened since then is not looked at."""
    graph = model.graph_
    src, dst = random_ends(graph, 200, np.random.default_rng(1))
    times = [graph.tov(node) for node in dst]
    joined = np.array([each[(each.size - 1) // 2] for each in times])
    again = np.array([each[(each.size + 1) // 2] if each.size > 1 else np.inf for each in times])
    until = np.minimum(np.nextafter(again, -np.inf), graph.time[-1] + 500)
    expected = model.predict_toe(src, dst, joined)
    for share in (0.3, 1.0):
        at = np.minimum(until, joined + share * (until - joined))
        np.testing.assert_allclose(model.predict_toe(src, dst, at), np.maximum(expected, at - joined))
    later = np.isfinite(again)
    assert not np.array_equal(model.predict_toe(src[later], dst[later], again[later]), expected[later])


def test_forecasts_beat_what_knows_nothing(model):
    """Even after so few steps: targets are ahead of random ones, ToE better than a constant."""
    graph, rng = model.graph_, np.random.default_rng(0)
    at = np.nextafter(graph.time, -np.inf)[300:]
    real = model.score_links(graph.src[300:], graph.dst[300:], at)
    other = model.score_links(graph.src[300:], rng.integers(0, graph.num_nodes, at.size), at)
    assert np.mean(real > other) > 0.6
    has = ~np.isnan(graph.toe)
    joined = [graph.tov(v)[graph.tov(v) < t][-1] for v, t in zip(graph.dst[has], graph.time[has], strict=True)]
    guess = model.predict_toe(graph.src[has], graph.dst[has], np.array(joined), squashed=True)
    truth = 2 * np.arctan(graph.toe[has]) / np.pi
    assert np.sqrt(np.mean((guess - truth) ** 2)) < 0.95 * truth.std()


def test_without_steps_links_are_products_and_toe_is_linear():
    model = make(forecast_steps=0).fit(forum(), progress=False)
    assert model.forecaster_ is None
    src, dst, _ = some(model.graph_)
    at = float(np.quantile(model.graph_.time, 0.7))
    vectors = model.embed(at=at).astype(np.float64)
    np.testing.assert_allclose(
        model.score_links(src, dst, at), (vectors[src] * vectors[dst]).sum(1), rtol=1e-3, atol=1e-4
    )
    joined = np.array([max(model.graph_.tov(v)[model.graph_.tov(v) <= at], default=at) for v in dst])
    ends = np.concatenate([model.embed(src, joined), model.embed(dst, joined, latest=1)], axis=1).astype(np.float64)
    most = 2 * np.arctan(np.nanmax(model.graph_.toe)) / np.pi
    linear = np.clip(ends @ model.toe_head_[:-1] + model.toe_head_[-1], 0, most)
    linear = np.maximum(linear, 2 * np.arctan(at - joined) / np.pi)
    np.testing.assert_allclose(model.predict_toe(src, dst, at, squashed=True), linear, rtol=1e-3, atol=1e-4)
    found = dict(model.rank(5, at, 10**6))
    product = vectors @ vectors[5]
    np.testing.assert_allclose(
        [found[v] for v in range(product.size)], np.exp(product) / np.exp(product).sum(), rtol=1e-2
    )


def test_forecasts_of_pairs_do_not_depend_on_vectors(model):
    """Only on the graph and the seed: records of them can be made with few walks."""
    other = make(epochs=1, init="random").fit(forum(), progress=False)
    src, dst, at = some(model.graph_)
    assert not np.array_equal(model.embed(), other.embed())
    assert np.array_equal(model.score_links(src, dst, at), other.score_links(src, dst, at))
    for squashed in (True, False):
        one, two = (each.predict_toe(src, dst, at, squashed=squashed) for each in (model, other))
        assert np.array_equal(one, two)


def test_vectors_do_not_depend_on_forecasts(model):
    other = make(forecast_steps=0).fit(forum(), progress=False)
    assert np.array_equal(model.embed(), other.embed())
    assert plain(model.history_) == plain(other.history_)


def test_nodes_that_are_new_are_answered_for():
    whole = forum()
    cut = float(np.quantile(whole.time, 0.5))
    model = make().fit(whole.before(cut), progress=False)
    new = np.flatnonzero((model.graph_.degree == 0) & (whole.degree > 0))
    other = np.random.default_rng(0).permutation(whole.num_nodes)[: new.size]
    scores = model.score_links(new, other, graph=whole)
    assert np.isfinite(scores).all()
    assert np.unique(scores).size > new.size // 2
    assert np.isfinite(model.predict_toe(other, new, graph=whole)).all()
    assert len(model.rank(int(new[0]), graph=whole, k=3)) == 3


def test_nodes_of_another_numbering_are_found_by_what_they_did():
    """Ids and numbers differ, what happened does not: so do not the answers."""
    graph, model = forum(), fitted("directed")
    turned = graph.num_nodes - 1 - np.arange(graph.num_nodes)
    names = np.array([f"n{node}" for node in turned], dtype=object)
    other = rebuilt(graph, turned[graph.src], turned[graph.dst], ids=names)
    src, dst, at = some(graph)
    for ask in (model.score_links, model.predict_toe):
        assert np.array_equal(ask(turned[src], turned[dst], at, graph=other), ask(src, dst, at))


# -- who is likeliest --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("share", [0.3, None])
def test_a_ranking_is_in_order_of_the_scores(kind, share):
    model = fitted(kind)
    graph = model.graph_
    at = None if share is None else float(np.quantile(graph.time, share))
    every = model.rank(3, at, k=10**9)  # more than there are
    number = {str(node): place for place, node in enumerate(graph.ids.tolist()) if place >= graph.num_sources}
    order = np.array([number[str(node)] for node, _ in every])
    assert sorted(order.tolist()) == list(range(graph.num_sources, graph.num_nodes))  # all targets, and only these
    assert sum(chance for _, chance in every) == pytest.approx(1.0)
    scores = model.score_links(np.full(order.size, 3), order, at).astype(np.float64)
    assert (np.diff(scores) <= 1e-5).all()
    np.testing.assert_allclose([chance for _, chance in every], np.exp(scores) / np.exp(scores).sum(), rtol=1e-3)
    for k in (1, 5, order.size):
        assert model.rank(3, at, k) == every[:k]
    assert model.rank(3, at) == every[:10]


def test_a_ranking_names_the_users_ids():
    model = fitted("bipartite")
    buyer = str(model.graph_.ids[4])
    found = model.rank(buyer, k=6)
    assert found == model.rank(4, k=6)
    assert all(node.startswith("t") for node, _ in found)
    assert all(type(node) is str and type(chance) is float for node, chance in found)
    assert all(type(node) is int for node, _ in fitted("directed").rank(4))


def test_a_ranking_in_another_graph(model):
    cut = float(np.quantile(model.graph_.time, 0.8))
    assert model.rank(3, cut, graph=model.graph_.before(np.nextafter(cut, np.inf))) == model.rank(3, cut)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
def test_a_bad_k_is_one_sentence(model, k):
    with pytest.raises(tadge.ConfigError, match="k: ") as caught:
        model.rank(3, k=k)
    assert "\n" not in str(caught.value)


QUESTIONS = {
    "unknown number": (lambda m: m.rank(10**6), "src: unknown node; expected numbers from 0 to .*; found 1000000"),
    "unknown id": (lambda m: m.rank("nobody"), "unknown node; .*found 'nobody'"),
    "two": (lambda m: m.rank([1, 2]), "src: not a node; expected one; found 2"),
    "all": (lambda m: m.rank(None), "src: not a node; expected one"),
    "a fraction": (lambda m: m.rank(0.5), "src: not nodes"),
    "too early": (lambda m: m.rank(3, "1999-01-01"), "at: nothing had happened by then"),
    "no date": (lambda m: m.rank(3, "soon"), "not a date"),
    "no moment": (lambda m: m.rank(3, float("nan")), "not a moment"),
    "no graph": (lambda m: m.rank(3, graph="edges.csv"), "graph"),
    "not fitted": (lambda m: make().rank(3), "the model is not fitted; call fit first"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_bad_questions_are_one_sentence(model, case):
    ask, words = QUESTIONS[case]
    with pytest.raises(tadge.InputError, match=words) as caught:
        ask(model)
    assert "\n" not in str(caught.value)


# -- disk --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_loaded_model_gives_the_same_answers(tmp_path, kind):
    model = fitted(kind)
    model.save(tmp_path / "m")
    loaded = TADGE.load(tmp_path / "m")
    assert answers(loaded) == answers(model)
    assert np.array_equal(loaded.embed(), model.embed())
    loaded.save(tmp_path / "again")
    again, first = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("again", "m"))
    assert again == first  # to the last byte


def test_a_model_saved_without_forecasts_is_loaded_without(tmp_path):
    model = make(forecast_steps=0).fit(forum(), progress=False)
    fitted("directed").save(tmp_path)
    model.save(tmp_path)  # over one with
    loaded = TADGE.load(tmp_path)
    assert loaded.forecaster_ is None
    assert answers(loaded) == answers(model)


DAMAGES = {
    "no scales": lambda part: part.pop("scales"),
    "a layer less": lambda part: part.pop("links.layers.0.weight"),
    "a layer more": lambda part: part.update({"links.layers.9.weight": torch.zeros(1)}),
    "a layer of another size": lambda part: part.update({"links.layers.4.weight": torch.zeros(1, 7)}),
    "trees less": lambda part: part.pop("toe.left"),
    "trees cut": lambda part: part.update({"toe.value": part["toe.value"][:-1].clone()}),
    "trees in two dimensions": lambda part: part.update({"toe.column": part["toe.column"][None].clone()}),
    "trees that go round": lambda part: part["toe.left"].zero_(),
    "trees of another kind": lambda part: part.update({"toe.column": part["toe.column"].double()}),
    "a scale less": lambda part: part.update({"scales": part["scales"][:-1].clone()}),
    "scales of nothing": lambda part: part["scales"].zero_(),
    "all": lambda part: part.clear(),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_forecasts_that_do_not_fit_are_one_sentence(tmp_path, model, case):
    """Written as it should be, with right checksums, but not by `save`."""
    model.save(tmp_path)
    parts, meta = read_folder(tmp_path, "model")
    DAMAGES[case](parts["forecast"])
    write_folder(tmp_path, "model", parts, meta)
    with pytest.raises(tadge.InputError, match="do not fit together") as caught:
        TADGE.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_forecast_file_that_is_gone_or_changed_is_one_sentence(tmp_path, model):
    model.save(tmp_path)
    (path,) = tmp_path.glob("model-forecast*")
    whole = path.read_bytes()
    for change in (lambda: path.write_bytes(whole[:-1] + b"~"), lambda: path.write_bytes(whole[:99]), path.unlink):
        change()
        with pytest.raises(tadge.InputError) as caught:
            TADGE.load(tmp_path)
        assert "\n" not in str(caught.value)
    assert "forecast" in json.loads((tmp_path / "model.json").read_text())["files"]


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def same_model(one, other):
    assert_same(one.tasks_.state_dict(), other.tasks_.state_dict())
    assert torch.equal(one.table_, other.table_)
    assert_same(one.forecaster_.tensors(), other.forecaster_.tensors())
    assert plain(one.history_) == plain(other.history_)
    assert one.stopped_ == other.stopped_
    assert answers(one) == answers(other)


def stop(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("name", "changes"), [("learn_links", {}), ("learn_toe", {"patience": 1, "lr": 0.3, "epochs": 9})]
)
def test_a_stop_while_it_learns_to_forecast_keeps_the_vectors_and_can_go_on(tmp_path, monkeypatch, name, changes):
    whole = make(**changes).fit(forum(), progress=False)
    assert whole.stopped_ == ("early" if changes else "done")
    with monkeypatch.context() as patch:
        patch.setattr(forecaster, name, stop)
        model = make(**changes).fit(forum(), checkpoint=tmp_path, checkpoint_seconds=1e9, progress=False)
    assert model.stopped_ == "interrupted"
    assert model.forecaster_ is None
    assert np.array_equal(model.embed(), whole.embed())
    src, dst, _ = some(model.graph_)
    vectors = model.embed().astype(np.float64)
    np.testing.assert_allclose(model.score_links(src, dst), (vectors[src] * vectors[dst]).sum(1), rtol=1e-3, atol=1e-4)
    assert model.predict_toe(src, dst).std() > 0
    again = make(**changes).fit(forum(), checkpoint=tmp_path, resume=True, progress=False)
    same_model(again, whole)


def test_a_folder_that_was_stopped_while_it_learned_to_forecast_goes_on(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(forecaster, "learn_links", stop)
        fit_folder(make(), forum(), tmp_path, progress=False)
    kept = TADGE.load(tmp_path)
    assert kept.stopped_ == "interrupted"
    assert kept.forecaster_ is None
    assert np.array_equal(kept.embed(), fitted("directed").embed())
    assert has_folder(tmp_path, "checkpoint")
    fit_folder(make(), forum(), tmp_path, resume=True, progress=False)
    assert not has_folder(tmp_path, "checkpoint")
    same_model(TADGE.load(tmp_path), fitted("directed"))


def test_a_stop_in_training_does_not_learn_to_forecast(monkeypatch):
    monkeypatch.setattr("tadge.embedding.loop.Trainer.run", lambda *_: "interrupted")
    monkeypatch.setattr(forecaster, "learn_links", lambda *_: pytest.fail("it goes on"))
    model = make().fit(forum(), progress=False)
    assert model.forecaster_ is None
    assert np.isfinite(model.predict_toe(1, 2)).all()


# -- learning ----------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_forecasts(model):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    same_model(make().fit(forum(), progress=False), model)
    assert torch.equal(torch.get_rng_state(), before)
    other = make(seed=1).fit(forum(), progress=False)
    assert not np.allclose(other.score_links([1, 2], [3, 4]), model.score_links([1, 2], [3, 4]))


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_audit_finds_nothing(kind):
    graph = GRAPHS[kind]()
    begin = float(graph.time[450])
    model = make(epochs=1).fit(graph.before(begin), progress=False)
    report = audit(model, graph, cuts=4, queries=24, test_from=begin, progress=False)
    assert report.passed, str(report)
    assert not report.notes


def test_whatever_happens_later_changes_no_bit(model):
    """Of a ranking neither; the audit does not ask for one."""
    at = float(model.graph_.time[400])
    for other in other_futures(model.graph_, at, np.random.default_rng(0)):
        for node in (0, 11, 60):
            assert model.rank(node, at, 20, graph=other) == model.rank(node, at, 20)
