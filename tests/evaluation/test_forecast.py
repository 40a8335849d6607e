"""The forecast protocol: with an oracle, a constant, and one that writes down what it is asked."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import tadge
from answering import Broken, Constant, Learned, Oracle, Places, Recency
from small import forum, network, rebuilt, training, walking
from tadge import TADGE, ForecastConfig, Forecaster
from tadge.errors import ConfigError, InputError
from tadge.evaluation import competitors, metrics
from tadge.evaluation.classes import as_labels, class_questions, classify
from tadge.evaluation.models import default_models, load_models, models_of
from tadge.evaluation.questions import link_questions, toe_questions
from tadge.evaluation.tasks import DAYS_MEDIAN, SQUASHED_MEAN, predict_toe, rank_links
from tadge.graph import TemporalGraph
from tadge.units import squash

KINDS = ("random", "historical", "all")


def simple(graph=None):
    """A graph in which nobody acts twice at one instant, so that the oracle can know."""
    graph = graph or forum()
    return rebuilt(graph, time=np.arange(graph.num_events) / 7.0)


@pytest.fixture(scope="module")
def graph():
    return simple()


def value(result, name, task, metric):
    return result.methods[name][task][metric]["value"]


# -- what is known in advance -----------------------------------------------------------------------------------------


def test_an_oracle_is_perfect(graph):
    result = tadge.evaluate(Oracle(), graph, methods=[Constant()], against=KINDS)
    for kind in KINDS:
        for metric in ("mrr", "hits@1", "hits@3", "hits@10", "mrr seen"):
            assert result.methods["oracle"][f"links ({kind})"][metric] == {"value": 1.0, "low": 1.0, "high": 1.0}
    for task in ("toe", "toe, still open"):
        for metric in ("rmse", "mae", "rmse days", "mae days", "median days"):
            assert value(result, "oracle", task, metric) == pytest.approx(0.0, abs=1e-9)
    assert value(result, "oracle", "who-and-when", "within 0.05") == 1.0
    assert result.validation["oracle"]["links mrr"] == 1.0
    assert result.validation["oracle"]["toe rmse"] == pytest.approx(0.0, abs=1e-9)
    assert len(result.sentences()) == 11  # ToE squashed, and twice in days
    assert all("oracle wins against" in sentence for sentence in result.sentences())


def test_a_constant_has_the_figures_of_ties(graph):
    result = tadge.evaluate(Constant(3.0), graph, methods=[], against=KINDS)
    nodes, split = graph.num_nodes, tadge.split_by_time(graph)
    for kind, others in (("random", 100), ("historical", 100), ("all", nodes - 1)):
        assert value(result, "constant", f"links ({kind})", "mrr") == pytest.approx(1 / (1 + others / 2))
        assert value(result, "constant", f"links ({kind})", "hits@10") == 0.0
    toe = split.test.toe[~np.isnan(split.test.toe)]
    off, error = toe - 3.0, squash(toe) - squash(np.array(3.0))
    assert value(result, "constant", "toe", "rmse") == pytest.approx(np.sqrt(error.var() + error.mean() ** 2))
    assert value(result, "constant", "toe", "mae") == pytest.approx(np.abs(error).mean())
    assert value(result, "constant", "toe", "rmse days") == pytest.approx(np.sqrt((off**2).mean()))
    assert value(result, "constant", "toe", "median days") == pytest.approx(np.median(np.abs(off)))
    assert value(result, "constant", "who-and-when", "within 0.50") == 0.0  # nobody is ranked among the first


def test_seen_and_unseen_add_up(graph):
    result = tadge.evaluate(Recency(), graph, methods=[], tasks="links", against="random")
    found, about = result.methods["recency"]["links (random)"], result.tasks["links (random)"]
    share = about["unseen"] / about["questions"]
    assert 0 < share < 1
    for metric in ("mrr", "hits@1", "hits@10"):
        parts = (1 - share) * found[f"{metric} seen"]["value"] + share * found[f"{metric} unseen"]["value"]
        assert found[metric]["value"] == pytest.approx(parts)
        assert found[metric]["low"] <= found[metric]["value"] <= found[metric]["high"]


# -- the future is shut -----------------------------------------------------------------------------------------------


def test_questions_come_with_the_right_moments(graph):
    """Every link is asked for right before it happens, every ToE when the target joined."""
    seen = {"links": set(), "toe": set(), "fit": []}

    class Recording(Constant):
        def fit(self, view):
            seen["fit"].append(view)

        def score_links(self, src, dst, at, *, graph):
            assert at.dtype == np.float64
            assert src.shape == dst.shape == at.shape
            seen["links"] |= set(zip(src.tolist(), at.tolist(), strict=True))
            return np.zeros(src.size)

        def predict_toe(self, src, dst, at, *, graph, unit, statistic):
            seen["toe"] |= set(zip(src.tolist(), dst.tolist(), at.tolist(), strict=True))
            return np.zeros(src.size)

    tadge.evaluate(Recording(), graph, methods=[])
    split = tadge.split_by_time(graph)
    late = graph.time >= split.validation_from
    before = np.nextafter(graph.time, -np.inf)
    assert seen["links"] == set(zip(graph.src[late].tolist(), before[late].tolist(), strict=True))
    for u, v, at in seen["toe"]:
        event = np.flatnonzero((graph.src == u) & (graph.dst == v) & (graph.time > at) & late)
        assert event.size
        if at != np.nextafter(split.test_from, -np.inf):
            assert at in graph.tov(tadge.NodeNumbers(v))
    (view,) = seen["fit"]
    assert view.fingerprint == split.train.fingerprint
    assert view.time[-1] < split.validation_from


def test_equal_times_count_as_later():
    """Five links of one source at one instant: none is known when the others are asked for."""
    time = np.concatenate([np.arange(90.0), np.full(20, 100.0)])
    src, dst = np.arange(110) % 7, 7 + np.arange(110) % 5
    graph = TemporalGraph.from_arrays(src, dst, time, unit="days", clock="own")
    moments = []

    class Recording(Constant):
        def score_links(self, src, dst, at, *, graph):
            moments.extend(at.tolist())
            return np.zeros(src.size)

    tadge.evaluate(Recording(), graph, methods=[], tasks="links")
    assert max(moments) == np.nextafter(100.0, -np.inf)


def test_learning_and_refit(graph):
    split, method = tadge.split_by_time(graph), Learned()
    plain = tadge.evaluate(method, graph, methods=[], tasks="toe")
    assert [view.num_events for view in method.fitted_to] == [split.train.num_events]
    method = Learned()
    again = tadge.evaluate(method, graph, methods=[], tasks="toe", refit=True)
    assert [view.fingerprint for view in method.fitted_to] == [
        split.train.fingerprint,
        graph.before(split.test_from).fingerprint,
    ]
    assert again.validation == plain.validation  # what is chosen on validation has seen nothing of it
    assert value(again, "learned", "toe", "rmse") != value(plain, "learned", "toe", "rmse")
    assert any("85%" in note for note in again.notes)


def test_every_method_gets_the_same_questions(graph):
    class Noting(Constant):
        def __init__(self, name):
            super().__init__()
            self.name, self.asked = name, []

        def score_links(self, src, dst, at, *, graph):
            self.asked.append(np.stack([src, dst, at]))
            return np.zeros(src.size)

    one, other = Noting("one"), Noting("other")
    tadge.evaluate(one, graph, methods=[other], seed=4)
    assert all(np.array_equal(a, b) for a, b in zip(one.asked, other.asked, strict=True))
    third = Noting("third")
    tadge.evaluate(third, graph, methods=[], seed=5)
    assert not all(np.array_equal(a, b) for a, b in zip(one.asked, third.asked, strict=True))


def test_blocks_bound_what_is_asked_at_once(graph):
    sizes = []

    class Counting(Recency):
        def score_links(self, src, dst, at, *, graph):
            sizes.append(src.size)
            return super().score_links(src, dst, at, graph=graph)

    asked = link_questions(graph, float(graph.time[600]), np.inf, 0)
    ranks = [rank_links(Counting(), asked, "random", lambda *_: None, pairs) for pairs in (101, 1000, 1 << 16)]
    assert np.array_equal(ranks[0], ranks[1])
    assert np.array_equal(ranks[0], ranks[2])
    assert sizes[:100] == [101] * 100
    assert max(sizes[100:111]) <= 1000


def test_a_link_that_is_still_open_is_asked_for_when_the_test_begins(graph):
    """By a loop over the test events: as of the later of the target's joining and the beginning of the test."""
    asked, split = [], tadge.split_by_time(graph)

    class Passed(Constant):
        """Predict what has passed, and a day more; write down what it is asked."""

        def predict_toe(self, src, dst, at, *, graph, unit, statistic):
            asked.extend((int(u), int(v), float(moment), unit) for u, v, moment in zip(src, dst, at, strict=True))
            tov = [graph.tov(tadge.NodeNumbers(v)) for v in dst]
            passed = at - np.array([times[times <= moment].max() for times, moment in zip(tov, at, strict=True)])
            return squash(passed + 1) if unit == "squashed" else passed + 1

    result = tadge.evaluate(Passed(), graph, methods=[], tasks="toe")
    before = np.nextafter(split.test_from, -np.inf)
    errors, later = [], 0
    for event in np.flatnonzero((graph.time >= split.test_from) & ~np.isnan(graph.toe)):
        src, dst, toe = int(graph.src[event]), int(graph.dst[event]), float(graph.toe[event])
        joined = max(t for t in graph.tov(tadge.NodeNumbers(dst)).tolist() if t < graph.time[event])
        later += joined < before
        assert (src, dst, max(joined, before), "days") in asked
        errors.append(abs(max(joined, before) - joined + 1 - toe))
    assert later > 3
    assert value(result, "constant", "toe, still open", "mae days") == pytest.approx(np.mean(errors))
    assert value(result, "constant", "toe, still open", "median days") == pytest.approx(np.median(errors))
    assert result.tasks["toe, still open"]["questions"] == len(errors) == result.tasks["toe"]["questions"]
    assert result.tasks["toe, still open"]["shown"] == result.tasks["toe"]["shown"]
    assert any(f"for {later} of {len(errors)} the target had joined before it" in note for note in result.notes)


@pytest.mark.parametrize("refresh", [1, 7, 1000])
def test_memory_is_as_old_as_the_batch_and_the_question_keeps_its_time(graph, refresh):
    """How lately a target was seen, by a loop over the test events, batch by batch."""
    split, questions = tadge.split_by_time(graph), []

    class Aged(Constant):
        """Score by the age of the last event of each target, as of the question's own moment."""

        def score_links(self, src, dst, at, *, graph):
            questions.append((graph.time[-1], at.min(), at.max()))
            last = np.full(graph.num_nodes, -np.inf)
            for u, v, t in zip(graph.src, graph.dst, graph.time, strict=True):
                last[u] = last[v] = t
            return 1 / (1 + at - last[dst])

    options = {"methods": ["last seen"], "tasks": "links", "against": "all", "max_links": 0}
    result = tadge.evaluate(Aged(), graph, refresh=refresh, **options) if refresh > 1 else None
    found = tadge.evaluate(None, graph, refresh=refresh, **options)
    first = int(np.searchsorted(graph.time, split.test_from))
    ranks = []
    for event in range(first, graph.num_events):
        begin = graph.time[first + (event - first) // refresh * refresh]
        last = np.full(graph.num_nodes, -np.inf)
        for k in np.flatnonzero(graph.time < begin):
            last[graph.src[k]] = last[graph.dst[k]] = graph.time[k]
        true, others = last[graph.dst[event]], np.delete(last, graph.dst[event])
        ranks.append(1 + np.sum(others > true) + np.sum(others == true) / 2)
    expected = np.mean(1 / np.array(ranks))
    assert value(found, "last seen", "links (all)", "mrr") == pytest.approx(expected)
    assert found.config["refresh"] == refresh
    if result is not None:
        assert value(result, "constant", "links (all)", "mrr") == pytest.approx(expected)
        assert all(last < least <= most for last, least, most in questions)
        assert any(f"before each batch of {refresh:,} test events" in note for note in result.notes)


def test_the_estimators_can_be_asked_with_old_memory():
    graph = forum()
    forecaster = Forecaster(ForecastConfig(steps=20, trees=5, leaf_samples=5), seed=3)
    vectors = TADGE(walking(), network(), training(epochs=1), seed=3)
    options = {"methods": [], "tasks": "links", "against": "random", "control": False, "progress": False}
    fresh, stale = (tadge.evaluate([forecaster, vectors], graph, refresh=count, **options) for count in (1, 50))
    for name in ("Forecaster", "TADGE (vectors)"):
        assert value(fresh, name, "links (random)", "mrr") != value(stale, name, "links (random)", "mrr")


def test_a_bad_number_of_events_between_updates(graph):
    with pytest.raises(ConfigError, match="refresh: value too small"):
        tadge.evaluate(Constant(), graph, tasks="links", methods=[], refresh=0)


@pytest.mark.parametrize("nodes", ["many", "few"])
def test_former_targets_only_are_ranked_without_random_ones(nodes):
    """Against a loop over the test events; in a graph with few nodes all of them are negatives."""
    graph = simple()
    if nodes == "few":
        graph = TemporalGraph.from_arrays(graph.src % 23, graph.dst % 29, graph.time, unit="days", clock="own")
    split = tadge.split_by_time(graph)
    options = {"methods": ["last seen"], "tasks": "links", "against": "historical"}
    result = tadge.evaluate(Recency(), graph, **options)
    ranks, last = [], np.full(graph.num_nodes, -np.inf)
    former = {node: set() for node in range(graph.num_nodes)}
    for u, v, t in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True):
        others = former[u] - {v}
        if t >= split.test_from and others:
            above, equal = (sum(compare(last[one], last[v]) for one in others) for compare in (np.greater, np.equal))
            ranks.append(1 + above + equal / 2)
        former[u].add(v)
        last[u] = last[v] = t
    assert max(map(len, former.values())) <= 100  # none is left out
    task = "links (former targets only)"
    for name in ("recency", "last seen"):
        assert value(result, name, task, "mrr") == pytest.approx(np.mean(1 / np.array(ranks)))
    assert result.tasks[task]["questions"] == len(ranks)
    assert (len(ranks) < result.tasks["links (historical)"]["questions"]) == (nodes == "many")
    assert any(f"of {len(ranks)} of " in note for note in result.notes if note.startswith(task))
    plain = link_questions(graph, split.test_from, np.inf, 0)
    ranks = rank_links(Recency(), plain, "historical", lambda *_: None)  # as they were
    assert value(result, "recency", "links (historical)", "mrr") == pytest.approx(np.mean(1 / ranks))


def test_intervals_draw_the_questions_about_one_target_together(graph):
    result, split = tadge.evaluate(Recency(), graph, methods=[Learned()], seed=2), tadge.split_by_time(graph)
    links, toe = (ask(graph, split.test_from, np.inf, 2) for ask in (link_questions, toe_questions))
    ranks = rank_links(Recency(), links, "random", lambda *_: None)
    error = (float(squash(split.train.toe_values()).mean()) - squash(toe.toe)) ** 2
    none = np.empty((ranks.size, 0))
    draws, _ = metrics.resampled(1 / ranks[:, None], none, 2, clusters=links.dst)
    found = result.figures("recency", "links (random)")["mrr"]
    assert (found["low"], found["high"]) == pytest.approx(metrics.percentile_interval(draws[:, 0]))
    draws, _ = metrics.resampled(error[:, None], none[: toe.dst.size], 2, clusters=toe.dst)
    found = result.figures("learned", "toe")["rmse"]
    assert (found["low"], found["high"]) == pytest.approx(metrics.percentile_interval(np.sqrt(draws[:, 0])))
    draws, _ = metrics.resampled(
        1 / ranks[~links.unseen, None], none[~links.unseen], 2, clusters=links.dst[~links.unseen]
    )
    found = result.figures("recency", "links (random)")["mrr seen"]
    assert (found["low"], found["high"]) == pytest.approx(metrics.percentile_interval(draws[:, 0]))
    assert result.tasks["toe"]["targets"] == np.unique(toe.dst).size < len(toe)
    assert f"{len(toe)} questions about {np.unique(toe.dst).size} targets" in str(result)
    assert "questions about one target drawn together" in str(result)


def test_negatives_of_tgb_are_of_the_training_part(graph):
    """Against a loop: who scores former targets of the training part has them above the true one, as often as drawn."""

    class Former(Constant):
        def score_links(self, src, dst, at, *, graph):
            train = tadge.split_by_time(whole).train
            had = set(zip(train.src.tolist(), train.dst.tolist(), strict=True))
            return np.array([(u, v) in had for u, v in zip(src.tolist(), dst.tolist(), strict=True)], float)

    whole, split = graph, tadge.split_by_time(graph)
    result = tadge.evaluate(Former(), graph, methods=[], tasks="links", against="tgb")
    asked = link_questions(graph, split.test_from, np.inf, 0, 0, train_end=split.validation_from)
    had = set(zip(split.train.src.tolist(), split.train.dst.tolist(), strict=True))
    ranks, width = [], asked.width("tgb")
    for u, v in zip(asked.src.tolist(), asked.dst.tolist(), strict=True):
        former = min(width // 2, len({b for a, b in had if a == u} - {v}))
        ranks.append(1 + former / 2 if (u, v) in had else 1 + former + (width - former) / 2)
    assert value(result, "constant", "links (tgb)", "mrr") == pytest.approx(np.mean(1 / np.array(ranks)))


# -- who and when -----------------------------------------------------------------------------------------------------


def test_who_and_when_is_both_at_once(graph):
    """Against a loop: the target among the first ten, and the ToE less than epsilon off."""
    split = tadge.split_by_time(graph)

    class Both(Recency, Learned):
        name = "both"

    result = tadge.evaluate(Both(), graph, methods=[Recency(), Learned(), Constant()], seed=2)
    links = link_questions(graph, split.test_from, np.inf, 2)
    ranks = dict(zip(links.event.tolist(), rank_links(Recency(), links, "random", lambda *_: None), strict=True))
    mean = float(squash(split.train.toe_values()).mean())
    asked = toe_questions(graph, split.test_from, np.inf, 2)
    for eps in (0.05, 0.25, 0.5):
        right = [ranks[e] <= 10 and abs(mean - squash(np.array(graph.toe[e]))) < eps for e in asked.event]
        assert value(result, "both", "who-and-when", f"within {eps:.2f}") == pytest.approx(np.mean(right))
    assert result.tasks["who-and-when"]["questions"] == len(asked)
    assert set(result.methods["both"]) == {
        "toe",
        "toe, still open",
        "links (random)",
        "links (historical)",
        "links (former targets only)",
        "who-and-when",
    }
    assert "who-and-when" not in result.methods["recency"]  # cannot answer both


def test_the_best_rules_are_chosen_on_validation(graph):
    result = tadge.evaluate(None, graph, methods=[Constant(0.0), Recency(), Learned()], seed=2)
    assert result.validation["recency"]["links mrr"] > result.validation["constant"]["links mrr"]
    assert result.validation["learned"]["toe rmse"] < result.validation["constant"]["toe rmse"]
    assert any("best rules: recency for links and learned for ToE" in note for note in result.notes)
    assert result.kinds["best rules"] == "rule"
    assert value(result, "best rules", "who-and-when", "within 0.25") > 0
    assert not result.comparisons  # there is no model
    assert str(result)


# -- classes ----------------------------------------------------------------------------------------------------------


def test_classes_are_found_where_they_show(graph):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, graph.num_nodes)
    vectors = np.eye(3)[labels] + 0.1 * rng.standard_normal((graph.num_nodes, 3))
    result = tadge.evaluate(Places(vectors), graph, tasks="classes", labels=labels, methods=[Constant()])
    assert value(result, "places", "classes", "micro-f1") > 0.95
    assert value(result, "places", "classes", "macro-f1") > 0.95
    split = tadge.split_by_time(graph)
    asked = class_questions(graph, labels, float(np.nextafter(split.test_from, -np.inf)), 0)
    common = np.bincount(asked.labels[asked.train]).argmax()
    majority = np.mean(asked.labels[asked.test] == common)
    assert value(result, "constant", "classes", "micro-f1") == pytest.approx(majority)
    assert "places wins against constant on classes" in str(result)


def test_nodes_are_split_by_class_and_seed(graph):
    labels = np.where(np.arange(graph.num_nodes) % 10 == 0, 1, 0)
    labels[::7] = -1
    at = float(graph.time[600])
    asked = class_questions(graph, labels, at, 0)
    parts = asked.train, asked.validation, asked.test
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(asked.nodes.size))
    seen = set(graph.before(np.nextafter(at, np.inf)).src) | set(graph.before(np.nextafter(at, np.inf)).dst)
    assert set(asked.nodes.tolist()) == {node for node in seen if labels[node] >= 0}
    for each in (0, 1):
        total = np.count_nonzero(asked.labels == each)
        for part, share in zip(parts, (0.6, 0.2, 0.2), strict=True):
            assert abs(np.count_nonzero(asked.labels[part] == each) - share * total) <= 1
    assert np.array_equal(class_questions(graph, labels, at, 0).test, asked.test)
    assert not np.array_equal(class_questions(graph, labels, at, 1).test, asked.test)


def test_the_machine_learns_from_at_most_so_many(graph, monkeypatch):
    monkeypatch.setattr("tadge.evaluation.classes.MOST", 30)
    monkeypatch.setattr("tadge.evaluation.classes.MOST_TO_CHOOSE", 10)
    labels = np.arange(graph.num_nodes) % 2
    asked = class_questions(graph, labels, float(graph.time[600]), 0)
    assert asked.train.size == 30
    assert asked.asked_of > 30
    guesses = classify(np.eye(2)[asked.labels], asked)
    assert np.array_equal(guesses, asked.labels[asked.test])
    result = tadge.evaluate(Constant(), graph, tasks="classes", labels=labels, methods=[])
    assert any("learned from 30 of" in note for note in result.notes)


def test_labels_by_id():
    graph = TemporalGraph.from_arrays(["a", "b", "c"], ["b", "c", "a"], [1.0, 2, 3], unit="days", clock="own")
    assert as_labels({"a": "x", "c": "w"}, graph).tolist() == [1, -1, 0]
    assert as_labels(np.array([0, -1, 2]), graph).tolist() == [0, -1, 2]
    numbers = TemporalGraph.from_arrays([5, 7], [7, 9], [1.0, 2], unit="days", clock="own")
    assert as_labels({9: 1, 5: 0}, numbers).tolist() == [0, -1, 1]


# -- TADGE ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny():
    return TADGE(walking(), network(), training(epochs=1), seed=3)


def test_a_model_is_fitted_here_and_has_its_control(tiny, tmp_path):
    graph = forum()
    labels = np.arange(graph.num_nodes) % 2
    result = tadge.evaluate(tiny, graph, labels=labels, methods=[Recency(), Learned()], progress=False)
    assert not hasattr(tiny, "graph_")  # what the user gave stays as it was
    assert result.kinds == {
        **{"TADGE (vectors)": "model", "recency": "rule", "learned": "rule"},
        **{"TADGE (vectors), times shuffled": "control", "best rules": "rule"},
    }
    assert set(result.methods["TADGE (vectors)"]) == set(result.tasks)
    assert set(result.methods["TADGE (vectors), times shuffled"]) == set(result.tasks)
    assert result.config["models"]["TADGE (vectors)"]["network"]["dim"] == 8
    assert result.config["models"]["TADGE (vectors)"]["seed"] == 3
    split = tadge.split_by_time(graph)
    fitted = TADGE(tiny.walk_config, tiny.network_config, tiny.train_config, 3).fit(split.train, progress=False)
    same = tadge.evaluate(fitted, graph, labels=labels, methods=[Recency(), Learned()], progress=False)
    assert same.methods["TADGE (vectors)"] == result.methods["TADGE (vectors)"]  # fitted there or here
    assert same.methods["TADGE (vectors), times shuffled"] == result.methods["TADGE (vectors), times shuffled"]
    assert same.validation == result.validation
    assert fitted.graph_ is split.train
    without = tadge.evaluate(fitted, graph, methods=[], tasks="toe", control=False, progress=False)
    assert set(without.methods) == {"TADGE (vectors)"}


def test_options_are_models_too():
    for given in ((walking(), network(), training(epochs=1)), network()):
        (model,) = models_of(given, 9)
        assert isinstance(model, TADGE)
        assert model.seed == 9
    assert model.network_config == network()
    constant = Constant()
    config = ForecastConfig(steps=5)
    forecaster, vectors, own = models_of([config, walking(), constant, training()], 4)
    assert (forecaster.name, forecaster.config, forecaster.seed) == ("Forecaster", config, 4)
    assert (vectors.name, vectors.walk_config, vectors.train_config) == ("TADGE (vectors)", walking(), training())
    assert own is constant
    assert models_of(None, 0) == []
    assert [model.name for model in default_models(3)] == ["Forecaster", "TADGE (vectors)"]
    assert [model.seed for model in default_models(3)] == [3, 3]


def test_both_models_have_a_row_in_every_table(tiny, tmp_path):
    """Each with sentences and a control of its own; where one cannot answer, with dashes."""
    graph = forum()
    forecaster = Forecaster(ForecastConfig(steps=20, trees=5, leaf_samples=5), seed=3)
    labels = np.arange(graph.num_nodes) % 2
    result = tadge.evaluate([forecaster, tiny], graph, labels=labels, methods=[Recency(), Learned()], progress=False)
    names = ["Forecaster", "TADGE (vectors)"]
    controls = [f"{name}, times shuffled" for name in names]
    assert [name for name, kind in result.kinds.items() if kind == "control"] == controls
    for task in result.tasks:
        assert result.rows(task)[:2] == names
    assert result.rows("classes") == [*names, controls[1]]
    assert result.rows("toe")[-2:] == controls
    assert result.figures("Forecaster", "classes") == {}
    row = next(line for line in str(result).partition("classes:")[2].splitlines() if "Forecaster" in line)
    assert row.replace(" ", "") == "│Forecaster│-│-│"
    for name, control in zip(names, controls, strict=True):
        rivals = {each["rival"] for each in result.comparisons if each["model"] == name and each["task"] == "toe"}
        assert rivals == {"learned", control}
        assert {each["metric"] for each in result.comparisons if each["model"] == name and each["task"] == "toe"} == {
            *("rmse", "median days", "mae days")
        }
        assert any(
            sentence.startswith((f"{name} wins", f"{name} loses", f"{name} and")) for sentence in result.sentences()
        )
    assert any("median error in days" in sentence for sentence in result.sentences("toe"))
    split = tadge.split_by_time(graph)
    for model in (forecaster, tiny):
        clone(model).fit(split.train, progress=False).save(tmp_path)
    loaded = load_models(tmp_path)
    assert [model.name for model in loaded] == names
    options = {"labels": labels, "methods": [Recency(), Learned()], "control": False, "progress": False}
    again = tadge.evaluate(loaded, graph, **options)
    assert {name: again.methods[name] for name in names} == {name: result.methods[name] for name in names}
    seen = clone(forecaster).fit(graph, progress=False)
    with pytest.raises(InputError, match="models: Forecaster has seen the test period"):
        tadge.evaluate([tiny, seen], graph, methods=[])


def test_a_model_that_has_seen_the_test_is_refused(tiny):
    graph = forum()
    split = tadge.split_by_time(graph)
    seen = TADGE(tiny.walk_config, tiny.network_config, tiny.train_config).fit(graph, progress=False)
    with pytest.raises(
        InputError, match=r"models: TADGE \(vectors\) has seen the test period; expected fitted to events before"
    ):
        tadge.evaluate(seen, graph, methods=[])
    late = TADGE(tiny.walk_config, tiny.network_config, tiny.train_config).fit(
        graph.before(split.test_from), progress=False
    )
    result = tadge.evaluate(late, graph, methods=[], tasks="toe", control=False, progress=False)
    assert result.validation["TADGE (vectors)"] == {}  # it has learned from that period


def test_shuffled_times_keep_all_but_the_order():
    graph = forum()
    other = competitors.shuffle_times(graph, 1)
    assert np.array_equal(other.time, graph.time)
    assert other.fingerprint != graph.fingerprint
    pairs = [sorted(zip(each.src.tolist(), each.dst.tolist(), strict=True)) for each in (graph, other)]
    assert pairs[0] == pairs[1]
    assert competitors.shuffle_times(graph, 1).fingerprint == other.fingerprint
    assert competitors.shuffle_times(graph, 2).fingerprint != other.fingerprint


def never(*_, **__):
    raise AssertionError("nobody should learn")


def test_what_is_kept_is_taken(tiny, tmp_path, monkeypatch):
    """A second call with the same folder asks nobody anything, and comes to the same."""
    graph = forum()
    first = tadge.evaluate(tiny, graph, methods=[Recency()], tasks="toe", folder=tmp_path, progress=False)
    models = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert len(models) == 2
    fitted = TADGE.load(next(path for path in tmp_path.iterdir() if path.is_dir() and "shuffled" not in path.name))
    assert fitted.graph_.fingerprint == tadge.split_by_time(graph).train.fingerprint
    monkeypatch.setattr(TADGE, "predict_toe", None)
    again = tadge.evaluate(tiny, graph, methods=[Recency()], tasks="toe", folder=tmp_path, progress=False)
    assert again.methods == first.methods
    monkeypatch.undo()
    answers = [path for path in tmp_path.iterdir() if path.suffix == ".npz"]
    assert len(answers) == 2
    answers[0].write_bytes(b"not what it was")
    monkeypatch.setattr(TADGE, "fit", never)  # the models are taken as they are
    third = tadge.evaluate(tiny, graph, methods=[Recency()], tasks="toe", folder=tmp_path, progress=False)
    assert third.methods == first.methods


def test_an_interrupted_fit_stops_the_evaluation(tiny, monkeypatch):
    def interrupted(self, graph, **_):
        self.stopped_ = "interrupted"
        return self

    monkeypatch.setattr(TADGE, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tadge.evaluate(tiny, forum(), methods=[], tasks="toe")


# -- bad input --------------------------------------------------------------------------------------------------------


NAN = {"score_links": lambda n: np.full(n, np.nan)}
BAD = {
    "task": (
        {"tasks": ("links", "who")},
        "tasks: unknown task; expected some of toe, links, who-and-when, within, classes",
    ),
    "no task": ({"tasks": ()}, "unknown task"),
    "protocol": (
        {"protocol": "papers"},
        "protocol: unknown protocol; expected forecast or reconstruction; found 'papers'",
    ),
    "against": ({"against": "hard"}, "unknown kind of negatives"),
    "seed": ({"seed": -1}, "not a seed"),
    "model": (
        {"model": 3},
        "models: not a model; expected a Forecaster, a TADGE, their configs, or objects with embed",
    ),
    "class": ({"model": TADGE}, "models: not a model"),
    "configs": ({"model": [training(), training()]}, "two configs of one kind; expected one of each"),
    "option": ({"most": 3}, "evaluate: unknown option; expected some of protocol, tasks, against, max_links"),
    "method": ({"methods": [object()]}, "methods: not a method"),
    "names": (
        {"methods": [Constant(), Constant()]},
        "two methods have one name; expected different names; found constant",
    ),
    "NaN links": ({"model": Broken(**NAN)}, "the link scores of broken cannot be used; expected numbers; found nan"),
    "shape": ({"model": Broken(score_links=lambda n: np.zeros(n + 1))}, "of broken have the wrong shape; expected"),
    "text": ({"model": Broken(score_links=lambda n: ["a"] * n)}, "the link scores of broken are not numbers"),
    "column": ({"model": Broken(score_links=lambda n: np.zeros((n, 1)))}, "wrong shape"),
    "NaN toe": (
        {"model": Broken(predict_toe=lambda n: np.full(n, np.nan))},
        "the predicted ToEs of broken cannot be used",
    ),
    "inf toe": ({"model": Broken(predict_toe=lambda n: np.full(n, np.inf))}, "expected numbers; found inf"),
    "vectors": (
        {"model": Broken(embed=np.zeros), "labels": 2},
        "the vectors of broken have the wrong shape",
    ),
    "NaN vectors": ({"model": Broken(embed=lambda n: np.full((n, 2), np.nan)), "labels": 2}, "the vectors of broken"),
    "one class": ({"labels": 1}, "labels: nothing to tell apart; expected at least two classes; found 1 on the"),
    "labels": ({"labels": np.zeros(3, int)}, "labels: not labels; expected class numbers"),
    "unknown nodes": ({"labels": {-5: "a", -6: "b"}}, "labels of unknown nodes; expected ids of the graph"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(graph, case):
    given, words = BAD[case]
    given = {"model": Constant(), "methods": [], "progress": False, **given}
    if isinstance(given.get("labels"), int):
        given["labels"] = np.arange(graph.num_nodes) % given["labels"]
    with pytest.raises(tadge.TadgeError) as error:
        tadge.evaluate(given.pop("model"), graph, **given)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_too_few_events():
    graph = forum()
    with pytest.raises(InputError, match=r"too few test events; expected at least 10; found 9 of 60"):
        tadge.evaluate(Constant(), simple(graph.before(float(graph.time[60]))), methods=[])
    same = TemporalGraph.from_arrays(np.arange(50), np.arange(50) + 1, np.ones(50), unit="days", clock="own")
    with pytest.raises(InputError, match="the split leaves a part empty"):
        tadge.evaluate(Constant(), same, methods=[])
    few = np.full(graph.num_nodes, -1)
    few[graph.src[:5]] = [0, 1, 0, 1, 0]
    with pytest.raises(InputError, match="labels: too few labels; expected at least 10 labelled nodes"):
        tadge.evaluate(Constant(), graph, methods=[], labels=few)


def test_what_cannot_be_asked_is_said():
    src = np.arange(200)
    never = TemporalGraph.from_arrays(src, src + 1000, np.arange(200.0), unit="days", clock="own")
    result = tadge.evaluate(Constant(), never, methods=[])
    assert set(result.tasks) == {"links (random)", "links (historical)"}
    assert any("no event of the test period has a ToE" in note for note in result.notes)
    assert any("classes are left out: there are no labels" in note for note in result.notes)
    result = tadge.evaluate(Places(np.zeros((200, 1))), never, methods=[])
    assert any("links (random) is left out: no method here can answer it" in note for note in result.notes)


def test_a_sample_is_said(graph):
    result = tadge.evaluate(Constant(), graph, tasks=("links", "who-and-when"), methods=[], max_links=40)
    assert result.tasks["links (random)"]["questions"] == 40
    assert result.config["max_links"] == 40
    assert any("links: 40 of 105 test events were asked about" in note for note in result.notes)
    result = tadge.evaluate(Constant(), graph, tasks="links", methods=[], max_links=0)
    assert result.tasks["links (random)"]["questions"] == 105
    with pytest.raises(ConfigError, match="max_links: value too small"):
        tadge.evaluate(Constant(), graph, tasks="links", methods=[], max_links=-1)


def test_what_many_questions_share_is_done_once(graph):
    prepared = []

    class Prepared(Constant):
        def prepare(self, graph, *, progress):
            prepared.append(graph)

    tadge.evaluate(Prepared(), graph, methods=[], tasks=("links", "toe"))
    assert prepared == [graph]


def test_both_statistics_of_a_block_are_asked_for_in_a_row(graph):
    """So that a method can use what it knows of these pairs again."""
    asked = []

    class Noting(Constant):
        def predict_toe(self, src, dst, at, *, graph, unit, statistic):
            asked.append((src.size, unit, statistic))
            return np.zeros(src.size)

    questions = toe_questions(graph, float(graph.time[600]), np.inf, 0)
    predict_toe(Noting(), questions, graph, (SQUASHED_MEAN, DAYS_MEDIAN), lambda *_: None, 30)
    assert asked[:4] == [(30, "squashed", "mean"), (30, "days", "median")] * 2
    assert sum(size for size, *_ in asked) == 2 * len(questions)


def test_when_is_asked_in_days(graph):
    """A method may guess one thing squashed, where its mean counts, and another in days."""

    class Two(Oracle):
        def predict_toe(self, src, dst, at, *, graph, unit, statistic):
            days = super().predict_toe(src, dst, at, graph=graph, unit="days", statistic=statistic)
            return np.full(src.size, 0.99) if unit == "squashed" else days

    result = tadge.evaluate(Two(), graph, methods=[])
    oracle = tadge.evaluate(Oracle(), graph, methods=[])
    assert value(result, "oracle", "toe", "rmse") > 0.3
    assert value(result, "oracle", "toe", "rmse days") == value(oracle, "oracle", "toe", "rmse days")
    assert value(result, "oracle", "who-and-when", "within 0.05") == 1.0


# -- other graphs, memory, progress -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bipartite", "undirected", "any role"])
def test_other_kinds_of_graphs(kind):
    graph = forum()
    columns = graph.src, graph.dst, graph.time
    options = {"bipartite": {"bipartite": True}, "undirected": {"directed": False}, "any role": {"tov": "any"}}[kind]
    graph = TemporalGraph.from_arrays(*columns, unit="days", clock="own", **options)
    result = tadge.evaluate(Constant(), graph, methods=[Recency()], against=KINDS)
    targets = graph.num_nodes - graph.num_sources
    assert value(result, "constant", "links (all)", "mrr") == pytest.approx(1 / (1 + (targets - 1) / 2))
    assert value(result, "recency", "links (random)", "mrr") > value(result, "constant", "links (random)", "mrr")


def test_memory_does_not_grow_with_the_questions():
    """Ten times as many questions take a few bytes more for each, not a hundred scores."""
    graph = tadge.synthetic.forum(6000, seed=0).graph
    peaks = []
    for max_links in (400, 4000):
        asked = link_questions(graph, float(graph.time[2000]), np.inf, 0, max_links)
        assert len(asked) == max_links
        asked.candidates("historical", 0, 1)  # what is made once
        tracemalloc.start()
        rank_links(Constant(), asked, "historical", lambda *_: None, 10_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 16 * 3600
    assert peaks[0] < 100 * 10_000


def test_progress_is_shown_where_it_is_wanted(graph, capsys):
    tadge.evaluate(Constant(), graph, methods=[Recency()], tasks="toe", progress=False)
    assert capsys.readouterr() == ("", "")
    tadge.evaluate(Constant(), graph, methods=[Learned()], tasks="toe", progress=True)
    assert "learned: learning" in capsys.readouterr().err
