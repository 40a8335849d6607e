"""Rolling origins: every test period against an evaluation of its own."""

from __future__ import annotations

import numpy as np
import pytest

import tadge
from answering import Constant, Learned, Recency
from small import forum, rebuilt
from tadge import ForecastConfig, Forecaster
from tadge.errors import ConfigError, InputError
from tadge.evaluation.origins import rolling_periods
from tadge.evaluation.run import evaluate_seeds
from tadge.graph import TemporalGraph
from tadge.units import squash


@pytest.fixture(scope="module")
def graph():
    return rebuilt(forum(1000), time=np.arange(1000.0) / 7)


@pytest.mark.parametrize("origins", [2, 3, 4])
def test_periods_follow_each_other_to_the_end(graph, origins):
    """By numbers of events: nothing between two periods, and what is before each is split as 70 to 15."""
    begin = 700
    for k, (view, shares) in enumerate(rolling_periods(graph, origins)):
        split = tadge.split_by_time(view, *shares)
        assert split.test.num_events == pytest.approx(300 / origins, abs=1)
        assert split.test.time[0] == graph.time[begin]
        assert split.train.num_events == pytest.approx(begin * 70 / 85, abs=1)
        begin += split.test.num_events
        assert view.fingerprint == graph.before(view.time[-1] + 0.01).fingerprint
        assert (view is graph) == (k == origins - 1)
    assert begin == 1000


def test_one_period_is_the_last_as_it_was(graph):
    ((view, shares),) = rolling_periods(graph, 1)
    assert view is graph
    assert shares == (0.7, 0.15)
    *_, (view, shares) = rolling_periods(graph, 2)  # the second half of the last 30% is the last 15%
    one, two = tadge.split_by_time(graph), tadge.split_by_time(view, *shares)
    assert one.test.fingerprint == two.test.fingerprint
    assert one.train.fingerprint == two.train.fingerprint


def test_figures_are_means_over_the_periods(graph):
    """ToE of a constant that is learned before each period, by hand; links by evaluations of the parts."""
    method = Learned()
    result = tadge.evaluate(method, graph, methods=[Recency()], origins=3, name="rolled")
    errors, questions, fitted = [], [], []
    for first, last in ((700, 800), (800, 900), (900, 1000)):
        train = graph.before(graph.time[round(first * 70 / 85)])
        toe = graph.toe[first:last][~np.isnan(graph.toe[first:last])]
        errors.append(np.sqrt(np.mean((squash(train.toe_values()).mean() - squash(toe)) ** 2)))
        questions.append(toe.size)
        fitted.append(train.fingerprint)
    assert [view.fingerprint for view in method.fitted_to] == fitted
    found = result.figures("learned", "toe")["rmse"]
    assert found["value"] == pytest.approx(np.mean(errors))
    assert found["high"] - found["value"] == pytest.approx(np.std(errors, ddof=1))
    assert found["value"] - found["low"] == pytest.approx(np.std(errors, ddof=1))
    assert result.tasks["toe"]["questions"] == sum(questions)
    assert result.tasks["links (random)"]["questions"] == 300
    assert sum(result.tasks["toe"][kind] for kind in ("repeat", "answer", "first contact", "unseen")) == sum(questions)
    assert result.config["origins"] == 3
    assert result.seeds == [0]
    text = str(result)
    assert "rolled, protocol forecast:" in text
    assert "seed 0, 3 test periods" in text
    assert "one standard deviation over 3 test periods" in text
    assert any(note.startswith("period 2 of 3: ") for note in result.notes)
    assert any(note == "classes are left out: there are no labels" for note in result.notes)


def test_seeds_and_periods_together(graph, tmp_path):
    options = {"origins": 2, "methods": ["mean"], "tasks": "toe", "control": False, "progress": False}
    small = ForecastConfig(steps=5, trees=5, leaf_samples=5)
    (result,) = evaluate_seeds(
        lambda seed: Forecaster(small, seed), graph, ("forecast",), 2, tmp_path, name="edges", **options
    )
    runs = [tadge.evaluate(Forecaster(small, seed), graph, seed=seed, **options) for seed in (0, 1)]
    found, each = (
        result.figures("Forecaster", "toe")["rmse"],
        [run.figures("Forecaster", "toe")["rmse"] for run in runs],
    )
    assert found["value"] == pytest.approx(np.mean([one["value"] for one in each]))
    within = np.mean([(one["high"] - one["value"]) ** 2 for one in each])
    between = np.var([one["value"] for one in each], ddof=1)
    assert found["high"] - found["value"] == pytest.approx(np.sqrt(within + between))
    assert "one standard deviation over 2 seeds and 2 test periods" in str(result)
    assert len(list(tmp_path.glob("*/forecaster-*.npz"))) == 4  # answers of each seed and period


def test_too_many_periods(graph):
    with pytest.raises(ConfigError, match="origins: value too small"):
        tadge.evaluate(Constant(), graph, methods=[], origins=0)
    with pytest.raises(InputError, match="too few test events; expected at least 10"):
        tadge.evaluate(Constant(), graph, methods=[], origins=50)
    time = np.where(np.arange(100) < 70, np.arange(100.0), 70.0)
    same = TemporalGraph.from_arrays(np.arange(100), np.arange(100) + 1, time, unit="days", clock="own")
    with pytest.raises(InputError, match="origins: too many test periods; expected different instants"):
        tadge.evaluate(Constant(), same, methods=[], origins=2)


def test_the_papers_protocol_knows_no_periods():
    graph = forum(1500)
    options = {"protocol": "reconstruction", "methods": ["mean"], "tasks": "toe", "progress": False}
    result = tadge.evaluate(None, graph, origins=3, **options)
    assert result.methods == tadge.evaluate(None, graph, **options).methods
    assert "test periods" not in str(result)
