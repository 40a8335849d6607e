"""Both estimators keep the conventions that users know: scikit-learn's, and a folder that holds either or both."""

from __future__ import annotations

import copy
import io
import pickle  # noqa: TID251 (users do; nothing of ours loads one)

import joblib  # noqa: TID251
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import check_is_fitted

import tadge
from answering import ranked
from small import forum, network, rebuilt, training, walking
from tadge.baselines import BASELINES, make
from tadge.graph import TemporalGraph
from tadge.protocols import (
    EmbedsNodes,
    EmbedsWalks,
    Estimator,
    Method,
    PredictsToe,
    PredictsWithin,
    Prepares,
    RanksTargets,
    ScoresLinks,
    supports,
)

SMALL = tadge.ForecastConfig(steps=5, trees=10, hidden=8)
MAKERS = {
    "TADGE": lambda: tadge.TADGE(walking(), network(), training(epochs=1), seed=4),
    "Forecaster": lambda: tadge.Forecaster(SMALL, seed=4),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: make_one().fit(forum(), progress=False) for name, make_one in MAKERS.items()}


def shop():
    """Users choose items; ids of both are integers from 1 up, so that 1 is a user and an item."""
    rng = np.random.default_rng(0)
    users, items = rng.integers(1, 40, 600), rng.integers(1, 30, 600)
    return TemporalGraph.from_arrays(users, items, np.sort(rng.uniform(0, 90, 600)), unit="days", bipartite=True)


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_params_go_in_and_out_and_clones_are_alike(name, fitted):
    model = fitted[name]
    params = model.get_params(deep=False)
    assert type(model)(**params).get_params(deep=False) == params
    twin = clone(model)
    assert twin is not model
    assert twin.get_params(deep=False) == params
    assert not hasattr(twin, "graph_")
    assert twin.set_params(seed=7) is twin
    assert twin.seed == 7
    with pytest.raises(ValueError, match="nonsense"):
        twin.set_params(nonsense=1)


@pytest.mark.parametrize("name", MAKERS)
def test_a_clone_learns_the_same(name, fitted):
    model, twin = fitted[name], clone(fitted[name]).fit(forum(), progress=False)
    assert np.array_equal(twin.score_links([3, 5], [8, 9]), model.score_links([3, 5], [8, 9]))
    assert np.array_equal(twin.predict_toe([3, 5], [8, 9]), model.predict_toe([3, 5], [8, 9]))


@pytest.mark.parametrize("name", MAKERS)
def test_an_unfitted_estimator_says_so_as_in_scikit_learn(name, fitted):
    check_is_fitted(fitted[name])
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(MAKERS[name]())
    for call in (lambda model: model.score_links(1, 2), lambda model: model.save("nowhere")):
        with pytest.raises(tadge.NotFittedError, match="is not fitted; call fit") as caught:
            call(MAKERS[name]())
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, AttributeError)


@pytest.mark.parametrize("name", MAKERS)
def test_estimators_show_themselves_in_notebooks(name, fitted):
    assert name in fitted[name]._repr_html_()
    assert name in repr(fitted[name])


def test_params_of_the_wrong_kind_are_one_sentence():
    with pytest.raises(tadge.InputError, match="config: wrong kind of value; expected a ForecastConfig"):
        tadge.Forecaster(config=5).fit(forum())
    with pytest.raises(tadge.InputError, match="network_config: wrong kind of value; expected a NetworkConfig"):
        tadge.TADGE(network_config=None).fit(forum())
    with pytest.raises(tadge.ConfigError, match="trees: value too small"):
        tadge.ForecastConfig(trees=0)
    for make_one in MAKERS.values():
        with pytest.raises(tadge.InputError, match="graph"):
            make_one().fit("edges.csv")
    with pytest.raises(tadge.InputError, match="nothing to learn from; expected a graph with events"):
        tadge.Forecaster().fit(TemporalGraph.from_arrays([], [], []))


# -- one protocol ------------------------------------------------------------------------------------------------------


def test_estimators_and_baselines_satisfy_the_protocol(fitted):
    for model in fitted.values():
        assert isinstance(model, (Method, Estimator))
        assert isinstance(model, ScoresLinks)
        assert isinstance(model, PredictsToe)
    assert isinstance(fitted["Forecaster"], PredictsWithin)
    assert isinstance(fitted["Forecaster"], RanksTargets)
    assert isinstance(fitted["TADGE"], EmbedsNodes)
    assert isinstance(fitted["TADGE"], EmbedsWalks)
    assert isinstance(fitted["TADGE"], Prepares)
    assert not supports(fitted["Forecaster"], "embed")
    for name in BASELINES:
        method = make(name)
        assert isinstance(method, Method)
        assert method.name == name
        assert any(isinstance(method, kind) for kind in (EmbedsNodes, ScoresLinks, PredictsToe, PredictsWithin))
    assert (tadge.TADGE.name, tadge.Forecaster.name) == ("TADGE (vectors)", "Forecaster")


# -- ids and moments ---------------------------------------------------------------------------------------------------


def test_ranked_ids_can_be_asked_again():
    """Ids 1, 2, 3, 5: what comes out goes in, and means the same."""
    graph = forum()
    ids = np.array([1, 2, 3, *range(5, graph.num_nodes + 2)])
    model = tadge.Forecaster(SMALL).fit(rebuilt(graph, ids=ids), progress=False)
    for src in (2, 3):
        ranking = ranked(model.rank(src, k=4))
        targets = [target for target, _ in ranking]
        assert set(targets) <= set(ids.tolist())
        scores = model.score_links(src, targets)
        assert (np.diff(scores) <= 0).all()
        others = ids[ids != src]
        every = model.score_links(src, others).astype(np.float64)
        every *= model.ranking_.slope_of(every)
        probability = np.exp(every - every.max()) / np.exp(every - every.max()).sum()
        expected = [probability[others == target][0] for target in targets]
        assert [value for _, value in ranking] == pytest.approx(expected)
    number = int(np.flatnonzero(ids == 3)[0])
    assert ranked(model.rank(3)) == ranked(model.rank(tadge.NodeNumbers(number)))
    with pytest.warns(tadge.TadgeWarning, match="never seen in this history: src 4;"):
        assert not model.rank(4)["known"].any()
    with pytest.raises(tadge.InputError, match=r"src: an id of another type; .*found '3'; did you mean 3"):
        model.rank("3")


@pytest.mark.parametrize("name", MAKERS)
def test_an_event_is_asked_about_before_it_is_known(name, fitted):
    """With `before` its own time, the graph with and without the event and all that is later give one answer."""
    model = fitted[name]
    graph = model.graph_
    event = 400
    t = float(graph.time[event])
    src, dst = int(graph.src[event]), int(graph.dst[event])
    past = graph.before(t)
    for call in (model.score_links, model.predict_toe):
        assert call(src, dst, before=t)[0] == call(src, dst, graph=past, at=float(np.nextafter(t, 0)))[0]
    assert model.score_links(src, dst, before=t)[0] != model.score_links(src, dst, at=t)[0]
    with pytest.raises(tadge.ConfigError, match="two moments"):
        model.score_links(src, dst, at=t, before=t)


@pytest.mark.parametrize("name", MAKERS)
def test_unit_and_statistic_are_two_switches(name, fitted):
    model = fitted[name]
    pairs = [3, 5, 8], [8, 9, 3]
    for statistic in ("median", "mean"):
        days, squashed = (model.predict_toe(*pairs, unit=unit, statistic=statistic) for unit in ("days", "squashed"))
        np.testing.assert_allclose(2 * np.arctan(days) / np.pi, squashed, rtol=1e-9)
    with pytest.raises(tadge.ConfigError, match="unit: unknown unit; expected days or squashed; found 'hours'"):
        model.predict_toe(*pairs, unit="hours")
    with pytest.raises(tadge.ConfigError, match="statistic: unknown statistic; expected median or mean"):
        model.predict_toe(*pairs, statistic="mode")


# -- users and items ---------------------------------------------------------------------------------------------------


def test_users_and_items_are_fitted_as_they_come(capfd):
    graph = shop()
    model = tadge.TADGE(walking(min_length=3), network(), training(epochs=1)).fit(graph, progress=True)
    assert "walks go in both directions" in capfd.readouterr().err
    assert model.embed().shape == (graph.num_nodes, 8)
    assert np.isfinite(model.predict_toe(1, 1)).all()
    with pytest.raises(tadge.InputError, match="nodes: an id is on both sides of this graph; found 1; say which"):
        model.similar(1)
    assert len(model.similar(graph.numbers(1, side="target"), k=3)) == 3
    forecaster = tadge.Forecaster(SMALL).fit(graph, progress=False)
    ranking = ranked(forecaster.rank(1, k=100))
    assert len(ranking) == graph.num_nodes - graph.num_sources
    assert sum(value for _, value in ranking) == pytest.approx(1.0)


# -- one folder --------------------------------------------------------------------------------------------------------


def test_one_folder_holds_either_or_both(tmp_path, fitted):
    tadge_, forecaster = fitted["TADGE"], fitted["Forecaster"]
    forecaster.save(tmp_path)
    with pytest.raises(
        tadge.InputError, match=r"there is no TADGE in this folder; found a Forecaster; .*--only vectors"
    ):
        tadge.TADGE.load(tmp_path)
    tadge_.save(tmp_path)
    loaded = tadge.Forecaster.load(tmp_path), tadge.TADGE.load(tmp_path)
    for one, other in zip(loaded, (forecaster, tadge_), strict=True):
        assert one.about() == other.about()
        assert np.array_equal(one.score_links([3, 5], [8, 9]), other.score_links([3, 5], [8, 9]))
        assert np.array_equal(one.predict_toe([3, 5], [8, 9]), other.predict_toe([3, 5], [8, 9]))
    tadge_.save(tmp_path / "vectors")
    with pytest.raises(tadge.InputError, match=r"there is no Forecaster in this folder; .*--only forecasts"):
        tadge.Forecaster.load(tmp_path / "vectors")


def test_folders_of_earlier_versions_are_refused_in_one_sentence(tmp_path, fitted):
    from tadge.storage.folder import read_folder, write_folder

    write_folder(tmp_path / "old", "model", {}, {})
    for kind in (tadge.TADGE, tadge.Forecaster):
        with pytest.raises(tadge.InputError, match=r"a model of an earlier version of tadge; .*fit it again"):
            kind.load(tmp_path / "old")
    fitted["Forecaster"].save(tmp_path / "new")
    parts, meta = read_folder(tmp_path / "new", "forecaster")
    write_folder(tmp_path / "new", "forecaster", parts, meta | {"layout": 1})
    with pytest.raises(tadge.InputError, match="a folder of another layout; expected layout 2; found layout 1"):
        tadge.Forecaster.load(tmp_path / "new")
    for change in ({"forecast": {"unheard_of": 1}}, {"seed": "x"}):
        write_folder(tmp_path / "new", "forecaster", parts, meta | change)
        with pytest.raises(tadge.InputError, match="do not fit together"):
            tadge.Forecaster.load(tmp_path / "new")


# -- copies ------------------------------------------------------------------------------------------------------------


def answers_of(model):
    answers = [model.score_links([3, 5], [8, 9]), model.predict_toe([3, 5], [8, 9])]
    return answers + ([model.embed()] if hasattr(model, "embed") else [model.within([3, 5], [8, 9], 1.0)])


@pytest.mark.parametrize("name", MAKERS)
def test_copies_and_pickles_answer_alike(name, fitted, tmp_path):
    model = fitted[name]
    joblib.dump(model, tmp_path / "model.joblib")
    twins = copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    for twin in (*twins, joblib.load(tmp_path / "model.joblib")):
        assert twin.get_params(deep=False) == model.get_params(deep=False)
        assert all(np.array_equal(a, b) for a, b in zip(answers_of(twin), answers_of(model), strict=True))
        assert twin.about() == model.about()
    unfitted = pickle.loads(pickle.dumps(MAKERS[name]()))
    assert not hasattr(unfitted, "graph_") and unfitted.seed == 4


@pytest.mark.parametrize("name", MAKERS)
def test_a_pickle_of_a_model_holds_plain_values(name, fitted):
    """No torch, no numba, no scikit-learn: arrays, numbers, words, and classes of our own."""
    modules = set()

    class Listed(pickle.Unpickler):
        def find_class(self, module, name):
            modules.add(module.split(".")[0])
            return super().find_class(module, name)

    Listed(io.BytesIO(pickle.dumps(fitted[name]))).load()
    assert modules <= {"tadge", "numpy", "builtins", "copyreg"}


def test_copies_of_a_graph_cannot_be_changed_either():
    graph = forum()
    twin = pickle.loads(pickle.dumps(graph))
    assert twin.fingerprint == graph.fingerprint and twin is not graph
    assert copy.deepcopy(graph) is graph is copy.copy(graph)
    with pytest.raises(ValueError, match="read-only"):
        twin.time[0] = 1.0


def test_walks_show_themselves_in_notebooks():
    walks = tadge.sample_walks(forum(), walking(num_walks=20), seed=0)
    html = walks._repr_html_()
    assert "Walks(20 walks" in html and html.count("<tr>") == 6 and str(walks.nodes[0, 0]) in html
