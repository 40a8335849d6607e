"""Forecasts of pairs: as of their moments and of nothing later, the same in any way they are asked, kept and loaded."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tadge
from answering import ranked
from futures import other_futures, random_ends, with_events
from small import forum, rebuilt
from tadge import ForecastConfig, Forecaster, NodeNumbers, audit
from tadge.features import link_columns as kernels
from tadge.features.columns import LINK_COLUMNS
from tadge.features.link_columns import LINK_WIDTH, link_columns
from tadge.features.tables import Scales, tables_of
from tadge.features.toe_columns import toe_columns
from tadge.forecasting import ask_curves, fitting
from tadge.forecasting.link_scorer import LinkScorer
from tadge.graph import TemporalGraph
from tadge.storage.folder import has_folder, read_folder, write_folder

CONFIG = ForecastConfig(steps=8, trees=60)


@cache
def shop():
    """Buyers b000, b001, ... and things t000, t001, ...; names of both sides are in order of their numbers."""
    graph, rng = forum(), np.random.default_rng(0)
    buyers = [f"b{node:03d}" for node in graph.src]
    things = [f"t{node:03d}" for node in rng.integers(0, 50, graph.num_events)]
    return TemporalGraph.from_arrays(buyers, things, graph.time, unit="days", clock="unix", bipartite=True)


GRAPHS = {"directed": forum, "undirected": lambda: forum(directed=False), "bipartite": shop}


@cache
def known(kind):
    """Learn from the first six tenths of a graph, once."""
    graph = GRAPHS[kind]()
    train = graph.before(float(np.quantile(graph.time, 0.6)))
    return graph, train, Forecaster(CONFIG).fit(train, progress=False)


def some(graph, count, seed=0):
    rng = np.random.default_rng(seed)
    return *random_ends(graph, count, rng), rng.uniform(graph.time[0], graph.time[-1], count)


def answers(model, graph, asked):
    """Scores and ToE, mean and median, of pairs of node numbers."""
    src, dst, at = NodeNumbers(asked[0]), NodeNumbers(asked[1]), asked[2]
    results = (
        model.score_links(src, dst, at, graph=graph),
        model.predict_toe(src, dst, at, graph=graph, unit="squashed", statistic="mean"),
        model.predict_toe(src, dst, at, graph=graph, unit="squashed"),
    )
    assert [result.dtype for result in results] == [np.float32, np.float64, np.float64]
    assert all(result.shape == asked[0].shape and np.isfinite(result).all() for result in results)
    return results


def same(first, second):
    return all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def joined_by(graph, dst, at):
    """When each target last joined at or before a moment; the moment itself where it had not."""
    times = (graph.tov(NodeNumbers(node)) for node in dst)
    return np.array([max(tov[tov <= now], default=now) for tov, now in zip(times, at, strict=True)])


# -- what is answered --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS)
def test_answers_are_those_of_the_parts(kind):
    graph, train, model = known(kind)
    assert model.scales_ == Scales.of(train)
    src, dst, at = some(graph, 200)
    tables = tables_of(graph, model.scales_)
    network = LinkScorer(LINK_WIDTH, model.config.hidden)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in model.links_.state.items()})
    with torch.no_grad():
        scores = network(torch.from_numpy(link_columns(tables, src, dst, at))).numpy()
    found = answers(model, graph, (src, dst, at))
    np.testing.assert_allclose(found[0], scores, rtol=1e-5, atol=1e-5)
    assert scores.std() > 0.05
    joined = joined_by(graph, dst, at)
    columns = toe_columns(tables, src, dst, joined)
    largest = 2 * np.arctan(train.toe_values().max(initial=0.0)) / np.pi
    passed = 2 * np.arctan(at - joined) / np.pi
    for trees, laws, squashed in (
        (model.toe_mean_, model.mean_laws_, found[1]),
        (model.toe_median_, model.median_laws_, found[2]),
    ):
        guess = np.clip(trees.predict(columns), 0, largest)
        np.testing.assert_allclose(squashed, laws.given_passed(guess, passed))
        assert (squashed >= passed).all()
        assert np.array_equal(squashed[passed == 0], guess[passed == 0])


def test_unit_and_statistic_are_two_switches():
    graph, _, model = known("directed")
    src, dst, at = some(graph, 100)
    asked = NodeNumbers(src), NodeNumbers(dst), at
    for statistic in ("median", "mean"):
        days = model.predict_toe(*asked, graph=graph, statistic=statistic)
        squashed = model.predict_toe(*asked, graph=graph, unit="squashed", statistic=statistic)
        np.testing.assert_allclose(2 * np.arctan(days) / np.pi, squashed)
    median, mean = (model.predict_toe(*asked, graph=graph, statistic=name) for name in ("median", "mean"))
    assert np.mean(median != mean) > 0.5
    assert np.array_equal(model.predict_toe(*asked, graph=graph), median)
    for wrong in ({"unit": "hours"}, {"statistic": "mode"}):
        with pytest.raises(tadge.ConfigError, match="unknown"):
            model.predict_toe(*asked, graph=graph, **wrong)


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_end_is_the_last_event(kind):
    _, train, model = known(kind)
    end = float(train.time[-1])
    src, dst, _ = some(train, 60)
    src, dst = NodeNumbers(src), NodeNumbers(dst)
    for ask in (model.score_links, model.predict_toe):
        assert np.array_equal(ask(src, dst), ask(src, dst, end))
    node = train.ids[5].item() if kind != "bipartite" else train.ids[5]
    assert ranked(model.rank(node)) == ranked(model.rank(node, end))
    assert not np.array_equal(model.score_links(src, dst), model.score_links(src, dst, end + 100))


def test_before_leaves_out_what_happens_at_that_moment():
    """Asked with `at` = the event's own time, a model has seen the answer."""
    graph, _, model = known("directed")
    events = np.arange(400, 460)
    pairs, time = (NodeNumbers(graph.src[events]), NodeNumbers(graph.dst[events])), graph.time[events]
    for ask in (model.score_links, model.predict_toe):
        just_before = ask(*pairs, before=time, graph=graph)
        assert np.array_equal(just_before, ask(*pairs, np.nextafter(time, -np.inf), graph=graph))
    assert not np.array_equal(
        model.score_links(*pairs, time, graph=graph), model.score_links(*pairs, before=time, graph=graph)
    )
    with pytest.raises(tadge.ConfigError, match="two moments"):
        model.score_links(*pairs, time, before=time, graph=graph)


def test_a_prediction_of_toe_grows_until_dst_joins_again():
    """It is of the time since dst joined, and more than has passed; what happened since then is not looked at."""
    _, graph, model = known("directed")
    src, dst = random_ends(graph, 200, np.random.default_rng(1))
    seen = np.array([graph.tov(NodeNumbers(node)).size > 0 for node in dst])
    src, dst = src[seen], dst[seen]
    times = [graph.tov(NodeNumbers(node)) for node in dst]
    joined = np.array([tov[(tov.size - 1) // 2] for tov in times])
    again = np.array([tov[(tov.size + 1) // 2] if tov.size > 1 else np.inf for tov in times])
    until = np.minimum(np.nextafter(again, -np.inf), graph.time[-1] + 300)
    src, dst = NodeNumbers(src), NodeNumbers(dst)
    for statistic in ("mean", "median"):
        before = model.predict_toe(src, dst, joined, statistic=statistic)
        np.testing.assert_allclose(model.predict_toe(src, dst, joined + 1e-9, statistic=statistic), before, atol=1e-6)
        for share in (0.3, 1.0):
            at = np.minimum(until, joined + share * (until - joined))
            now = model.predict_toe(src, dst, at, statistic=statistic)
            assert (now > at - joined).all()
            assert (now >= before * (1 - 1e-9)).all()
            before = now


def test_who_has_not_answered_soon_answers_late():
    """Half of all answer after 0.1 days, half after 5, and nobody can tell who: those that are left are late."""
    rng, events = np.random.default_rng(0), []
    for number in range(500):
        src, dst = rng.choice(20, 2, replace=False)
        events += [(src, dst, 20.0 * number), (dst, src, 20.0 * number + rng.choice([0.1, 5.0]))]
    graph = TemporalGraph.from_arrays(*zip(*events, strict=True), unit="days", ids=range(20))
    model = Forecaster(ForecastConfig(steps=1, leaf_samples=200)).fit(graph.before(20.0 * 450), progress=False)
    opening = slice(900, None, 2)
    pairs = graph.dst[opening], graph.src[opening], graph.time[opening]
    late = 2 * np.arctan(5.0) / np.pi
    both = (2 * np.arctan(0.1) / np.pi + late) / 2
    options = {"graph": graph, "unit": "squashed", "statistic": "mean"}
    assert model.predict_toe(*pairs, **options).mean() == pytest.approx(both, abs=0.05)
    for statistic in ("mean", "median"):
        for passed in (0.2, 1.0, 4.0):
            answers = model.predict_toe(*pairs[:2], pairs[2] + passed, **(options | {"statistic": statistic}))
            assert np.mean(np.abs(answers - late) < 0.03) > 0.9


def test_forecasts_beat_what_knows_nothing():
    """Even after so few steps: targets are ahead of random ones, ToE better than a constant."""
    _, graph, model = known("directed")
    rng, late = np.random.default_rng(0), slice(200, None)
    src, time = NodeNumbers(graph.src[late]), graph.time[late]
    real = model.score_links(src, NodeNumbers(graph.dst[late]), before=time)
    random = model.score_links(src, NodeNumbers(rng.integers(0, graph.num_nodes, time.size)), before=time)
    assert np.mean(real > random) > 0.6
    has = ~np.isnan(graph.toe)
    joined = joined_by(graph, graph.dst[has], np.nextafter(graph.time[has], -np.inf))
    pairs = NodeNumbers(graph.src[has]), NodeNumbers(graph.dst[has])
    squashed = model.predict_toe(*pairs, joined, unit="squashed", statistic="mean")
    truth = 2 * np.arctan(graph.toe[has]) / np.pi
    assert np.sqrt(np.mean((squashed - truth) ** 2)) < 0.95 * truth.std()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(GRAPHS)), st.floats(0, 1), st.booleans(), st.integers(0, 1000))
def test_what_is_later_changes_no_bit(kind, share, between, seed):
    graph, _, model = known(kind)
    rng = np.random.default_rng(seed)
    now = float(np.quantile(graph.time, share)) if between else float(graph.time[int(share * (graph.num_events - 1))])
    asked = *random_ends(graph, 40, rng), np.full(40, now)
    expected = answers(model, graph, asked)
    for future in other_futures(graph, now, rng):
        assert same(answers(model, future, asked), expected)


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_blocks_change_nothing(at_once, monkeypatch):
    graph, _, model = known("directed")
    asked = some(graph, 100)
    scores, *toe = answers(model, graph, asked)
    monkeypatch.setattr(ask_curves, "PAIRS_AT_ONCE", at_once)
    monkeypatch.setattr(kernels, "PIECE", max(1, at_once // 2))
    found = answers(model, graph, asked)
    np.testing.assert_allclose(found[0], scores, rtol=1e-5, atol=1e-5)  # up to the rounding of the network
    assert same(found[1:], toe)


def test_no_pairs_have_no_answers():
    graph, _, model = known("directed")
    none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    assert [result.size for result in answers(model, graph, none)] == [0, 0, 0]


@pytest.mark.parametrize("kind", GRAPHS)
def test_nodes_that_are_new_are_answered_for(kind):
    """By what they did since: nothing is known by number."""
    graph, train, model = known(kind)
    new = np.flatnonzero((train.degree == 0) & (graph.degree > 0))
    assert new.size > 5
    end, rng = float(graph.time[-1]), np.random.default_rng(0)
    sources = new[new < (graph.num_sources or graph.num_nodes)]
    src = sources if sources.size else new
    asked = src, random_ends(graph, src.size, rng)[1], np.full(src.size, end)
    assert len(set(np.round(answers(model, graph, asked)[0], 4))) > src.size // 2
    renamed = rng.permutation(graph.num_sources or graph.num_nodes)
    renamed = np.append(renamed, renamed.size + rng.permutation(graph.num_nodes - renamed.size))
    turned = with_events(graph, renamed[graph.src], renamed[graph.dst], graph.time)
    again = answers(model, turned, (renamed[asked[0]], renamed[asked[1]], asked[2]))
    assert same(again, answers(model, graph, asked))


@pytest.mark.parametrize("count", [1, 3, 30, 101])
def test_who_is_alike_has_the_same_score(count):
    """To the last bit, wherever it stands: else it would be ranked by its place."""
    graph, _, model = known("directed")
    empty = graph.before(graph.time[0])
    asked = np.full(count, 3), 4 + np.arange(count), np.full(count, 5.0)  # nobody is known
    for result in answers(model, empty, asked):
        assert np.unique(result).size == 1


def test_nodes_of_another_numbering_are_found_by_what_they_did():
    """Ids and numbers differ, what happened does not: so do not the answers."""
    graph, _, model = known("directed")
    turned = graph.num_nodes - 1 - np.arange(graph.num_nodes)
    names = np.array([f"n{node}" for node in turned], dtype=object)
    renamed = rebuilt(graph, turned[graph.src], turned[graph.dst], ids=names)
    src, dst, at = some(graph, 60)
    assert same(answers(model, renamed, (turned[src], turned[dst], at)), answers(model, graph, (src, dst, at)))


# -- ids in, ids out ---------------------------------------------------------------------------------------------------


@cache
def few():
    """Integer ids that are not the numbers of their nodes."""
    rng = np.random.default_rng(3)
    src, dst = rng.choice([1, 2, 3, 5], 80), rng.choice([1, 2, 3, 5], 80)
    graph = TemporalGraph.from_arrays(src, dst, np.sort(rng.uniform(0, 40, 80)), unit="days")
    return Forecaster(ForecastConfig(steps=3, trees=5)).fit(graph, progress=False)


def test_integer_ids_are_ids():
    model = few()
    assert model.graph_.ids.tolist() == [1, 2, 3, 5]
    assert sorted(node for node, _ in ranked(model.rank(5))) == [1, 2, 3, 5]
    assert ranked(model.rank(2)) == ranked(model.rank(NodeNumbers(1)))
    assert np.array_equal(
        model.score_links([5, 3], [1, 2]), model.score_links(NodeNumbers([3, 2]), NodeNumbers([0, 1]))
    )
    assert np.array_equal(model.predict_toe(5, [1, 2]), model.predict_toe([5, 5], [1, 2]))
    likeliest = ranked(model.rank(3, k=1))[0][0]
    assert ranked(model.rank(likeliest)) == ranked(model.rank(NodeNumbers(model.graph_.ids.tolist().index(likeliest))))


QUESTIONS = {
    "a string": (lambda m: m.rank("5"), "src: .*did you mean 5"),
    "no such number": (lambda m: m.rank(NodeNumbers(4)), "src: unknown node number.*from 0 to 3; found 4"),
    "lengths": (lambda m: m.score_links([1, 2], [3, 5, 1]), "src and dst differ in length"),
    "too early": (lambda m: m.rank(3, -5.0), "at: nothing had happened by then"),
    "far away": (lambda m: m.rank(3, 1.3e9), "at: a moment far after the last event"),
    "far before": (lambda m: m.predict_toe(3, 5, before=1.3e9), "before: a moment far after the last event"),
    "no moment": (lambda m: m.rank(3, float("nan")), "not a moment"),
    "no graph": (lambda m: m.rank(3, graph="edges.csv"), "graph"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_bad_questions_are_one_sentence(case):
    ask, words = QUESTIONS[case]
    with pytest.raises(tadge.InputError, match=words) as caught:
        ask(few())
    assert "\n" not in str(caught.value)


def test_bad_configs_are_one_sentence():
    with pytest.raises(tadge.NotFittedError, match="not fitted"):
        Forecaster().rank(3)
    with pytest.raises(tadge.ConfigError, match="unknown column"):
        Forecaster(ForecastConfig(without="chance")).fit(forum(), progress=False)
    with pytest.raises(tadge.InputError, match="nothing to learn from"):
        Forecaster().fit(forum().before(forum().time[0]), progress=False)
    with pytest.raises(TypeError, match="unexpected keyword"):
        ForecastConfig(nonsense=1)


# -- who is likeliest --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("share", [0.3, None])
def test_a_ranking_is_in_order_of_the_scores(kind, share):
    _, graph, model = known(kind)
    at = None if share is None else float(np.quantile(graph.time, share))
    source = NodeNumbers(3)
    ranking = ranked(model.rank(source, at, k=10**9))  # more than there are
    number = {str(node): place for place, node in enumerate(graph.ids.tolist()) if place >= graph.num_sources}
    order = np.array([number[str(node)] for node, _ in ranking])
    moment = graph.time[-1] if at is None else at
    joined = [
        node for node in range(graph.num_sources, graph.num_nodes) if (graph.tov(NodeNumbers(node))[:1] <= moment).any()
    ]
    assert sorted(order.tolist()) == [node for node in joined if node != 3]  # nobody here links to itself
    assert sum(probability for _, probability in ranking) == pytest.approx(1.0)
    scores = model.score_links(source, NodeNumbers(order), at).astype(np.float64)
    assert (np.diff(scores) <= 1e-5).all()
    expected = np.exp(model.ranking_.slope_of(scores) * scores)
    expected /= expected.sum()
    np.testing.assert_allclose([probability for _, probability in ranking], expected, rtol=1e-3)
    for k in (1, 5, order.size):
        assert ranked(model.rank(source, at, k)) == ranking[:k]
    assert ranked(model.rank(source, at)) == ranking[:10]


def test_a_ranking_names_the_users_ids():
    _, train, model = known("bipartite")
    buyer = str(train.ids[4])
    ranking = ranked(model.rank(buyer, k=6))
    assert ranking == ranked(model.rank(NodeNumbers(4), k=6))
    assert all(node.startswith("t") for node, _ in ranking)
    assert all(type(node) is str and type(probability) is float for node, probability in ranking)
    assert all(type(node) is int for node, _ in ranked(known("directed")[2].rank(4)))


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
def test_a_bad_k_is_one_sentence(k):
    with pytest.raises(tadge.ConfigError, match="k: ") as caught:
        known("directed")[2].rank(3, k=k)
    assert "\n" not in str(caught.value)


def test_whatever_happens_later_changes_no_ranking():
    graph, _, model = known("directed")
    at = float(graph.time[400])
    for future in other_futures(graph, at, np.random.default_rng(0)):
        for node in (0, 11, 60):
            assert ranked(model.rank(NodeNumbers(node), at, 20, graph=future)) == ranked(
                model.rank(NodeNumbers(node), at, 20, graph=graph)
            )


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_audit_finds_nothing(kind):
    graph, train, model = known(kind)
    report = audit(model, graph, cuts=4, queries=24, test_from=float(graph.time[train.num_events]), progress=False)
    assert report.passed, str(report)


# -- learning ----------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_answers():
    train, config = forum(300), ForecastConfig(steps=5, trees=5)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, second, third = (Forecaster(config, seed).fit(train, progress=False) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    asked = some(train, 50)
    assert same(answers(first, train, asked), answers(second, train, asked))
    assert not np.allclose(answers(third, train, asked)[0], answers(first, train, asked)[0])


def test_columns_are_left_out_by_name():
    """Neither seen in learning nor in answers: without all that tells targets apart they score the same."""
    train, names = forum(300), [name for name in LINK_COLUMNS if not name.startswith("src: ")]
    config = ForecastConfig(steps=5, trees=5)
    targets = NodeNumbers(np.arange(train.num_nodes))
    for without, distinct in ((",".join(names), 1), ("", train.num_nodes // 2)):
        model = Forecaster(replace(config, without=without)).fit(train, progress=False)
        assert np.unique(model.score_links(NodeNumbers(2), targets)).size >= distinct
        assert without == "" or np.unique(model.score_links(NodeNumbers(2), targets)).size == 1


# -- disk --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_loaded_model_gives_the_same_answers(tmp_path, kind):
    graph, _, model = known(kind)
    model.save(tmp_path / "m")
    loaded = Forecaster.load(tmp_path / "m")
    assert loaded.scales_ == model.scales_
    assert loaded.get_params() == model.get_params()
    asked = some(graph, 100)
    assert same(answers(loaded, graph, asked), answers(model, graph, asked))
    loaded.save(tmp_path / "again")
    again, first = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("again", "m"))
    assert again == first  # to the last byte


def test_a_folder_that_is_done_is_taken_as_it_is(tmp_path, monkeypatch):
    graph, config = forum(300), ForecastConfig(steps=3, trees=5)
    first = Forecaster(config).fit_folder(graph, tmp_path, progress=False)
    assert has_folder(tmp_path, "forecaster")
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "learn_links", lambda *_: pytest.fail("it learns again"))
        again = Forecaster(config).fit_folder(graph, tmp_path, resume=True, progress=False)
    asked = some(graph, 50)
    assert same(answers(again, graph, asked), answers(first, graph, asked))
    with pytest.raises(tadge.InputError, match="what is in this folder has another seed; expected 0; found 1"):
        Forecaster(config, seed=1).fit_folder(graph, tmp_path, resume=True, progress=False)
    with pytest.raises(tadge.InputError, match=r"there is a model in this folder already; .* say force=True"):
        Forecaster(config, seed=1).fit_folder(graph, tmp_path, progress=False)
    assert same(answers(Forecaster.load(tmp_path), graph, asked), answers(first, graph, asked))
    changed = Forecaster(config, seed=1).fit_folder(graph, tmp_path, force=True, progress=False)
    assert not same(answers(changed, graph, asked), answers(first, graph, asked))
    assert same(answers(Forecaster.load(tmp_path), graph, asked), answers(changed, graph, asked))
    assert len(list(tmp_path.iterdir())) == 3


def put(**changes):
    return lambda tensors: tensors.update({name.replace("__", "."): value for name, value in changes.items()})


DAMAGES = {
    "nothing": lambda tensors: tensors.clear(),
    "no scales": lambda tensors: tensors.pop("scales"),
    "no layer": lambda tensors: tensors.pop("links.layers.2.bias"),
    "no spread": lambda tensors: tensors.pop("links.normalise.spread"),
    "no trees": lambda tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("toe")],
    "no values": lambda tensors: tensors.pop("toe_mean.value"),
    "one scale": put(scales=torch.ones(2, dtype=torch.float64)),
    "one number": put(scales=torch.tensor(1.0, dtype=torch.float64)),
    "no scale at all": put(scales=torch.zeros(0, dtype=torch.float64)),
    "a table of scales": put(scales=torch.ones(5, 1, dtype=torch.float64)),
    "no time": put(scales=torch.zeros(5, dtype=torch.float64)),
    "not a number": put(scales=torch.full((5,), torch.nan, dtype=torch.float64)),
    "all time": put(scales=torch.full((5,), torch.inf, dtype=torch.float64)),
    "other weights": put(links__layers__0__weight=torch.zeros(128, LINK_WIDTH + 1)),
    "further weights": put(links__more=torch.zeros(1)),
    "further arrays": put(toe_mean__more=torch.zeros(1)),
    "short trees": put(toe_mean__left=torch.zeros(1, dtype=torch.int64)),
    "trees of fractions": put(toe_mean__column=torch.zeros(2)),
    "deep trees": put(toe_median__column=torch.zeros(2, 2, dtype=torch.int64)),
    "trees that go round": lambda tensors: tensors["toe_mean.left"].zero_(),
    "no laws": lambda tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("median_laws")],
    "no knots": lambda tensors: tensors.pop("mean_laws.knots"),
    "laws of zeros": put(mean_laws__longer=torch.zeros(3, 3, dtype=torch.float64)),
    "halves": put(toe_median__value=torch.zeros(2, dtype=torch.bfloat16)),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_forecasts_that_do_not_fit_are_one_sentence(tmp_path, case):
    """Written as it should be, with right checksums, but not by `save`."""
    known("directed")[2].save(tmp_path)
    parts, meta = read_folder(tmp_path, "forecaster")
    DAMAGES[case](parts["learned"])
    write_folder(tmp_path, "forecaster", parts, meta)
    with pytest.raises(tadge.InputError, match=r"do not fit together|not tensors") as caught:
        Forecaster.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_gone_or_changed_is_one_sentence(tmp_path):
    known("directed")[2].save(tmp_path)
    (path,) = tmp_path.glob("forecaster-learned*")
    whole = path.read_bytes()
    for change in (lambda: path.write_bytes(whole[:-1] + b"~"), lambda: path.write_bytes(whole[:99]), path.unlink):
        change()
        with pytest.raises(tadge.InputError) as caught:
            Forecaster.load(tmp_path)
        assert "\n" not in str(caught.value)
    assert "learned" in json.loads((tmp_path / "forecaster.json").read_text())["files"]


@pytest.mark.parametrize("folder", [3, None, ["model"]])
def test_what_is_no_name_of_a_folder_is_one_sentence(folder):
    with pytest.raises(tadge.InputError, match="folder: not the name of a folder; expected the name of a folder that"):
        Forecaster.load(folder)


def test_it_shows_itself():
    assert "Forecaster" in known("directed")[2]._repr_html_()
