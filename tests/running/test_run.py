"""`tadge.run`: everything into one folder; after a stop it goes on; whatever the data, it ends with a page."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import tadge
from small_run import hostile_graph, small_run_config
from tadge.embedding.estimator import TADGE
from tadge.evaluation.models import load_models
from tadge.forecasting.estimator import Forecaster
from tadge.running import stages
from tadge.running.folder import read_record
from tadge.storage.estimator_folder import model_folder

FILES = {"evaluation.json", "forecasts.csv", "forecasts.parquet", "model", "report.html", "run.json", "vectors.parquet"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that was stopped when it was to be judged, and then went on; what it said."""
    place, said = tmp_path_factory.mktemp("runs") / "run", []
    graph, config = hostile_graph(), small_run_config()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "evaluate", stop)
        with pytest.raises(KeyboardInterrupt):
            tadge.run(graph, place, config=config, progress=False, say=said.append)
        record = read_record(place)
        assert {name for name, stage in record["stages"].items() if stage["done"]} == {"forecaster", "forecasts"}
        with pytest.raises(tadge.InputError, match="that is not finished"):
            tadge.run(graph, place, config=config, progress=False)
    with pytest.MonkeyPatch.context() as patch:
        fit = Forecaster.fit
        patch.setattr(Forecaster, "fit", lambda self, past, **how: refuse(past, graph) or fit(self, past, **how))
        result = tadge.run(graph, place, config=config, resume=True, progress=False, say=said.append)
    return result, said, record


def stop(*_, **__):
    raise KeyboardInterrupt


def refuse(past, graph):
    assert past.num_events < graph.num_events, "what was done is done again"


def test_everything_is_in_the_folder(finished):
    result, _, _ = finished
    assert {path.name for path in result.folder.iterdir()} == FILES
    record = json.loads((result.folder / "run.json").read_text())
    assert record == json.loads(json.dumps(result.record))
    assert record["finished"]
    assert record["graph"] == result.graph.fingerprint
    assert record["tadge"] == tadge.__version__
    assert all(stage["done"] for stage in record["stages"].values())
    assert record["settings"]["seed"] == 0
    assert record["peak_memory_mb"] > 100
    assert "report.html" in str(result.report)
    assert repr(result).startswith("RunResult(TemporalGraph(")


def test_what_was_said_is_what_people_need(finished):
    result, said, _ = finished
    text = "\n".join(said)
    for words in ("400 events of", "plan:", "first answers, after", "now ask:", "tadge next", "tadge when", "judged:"):
        assert words in text
    row = result.forecasts.row(0, named=True)
    assert str(row["src"])[:10] in text


def test_a_run_folder_is_a_model_folder(finished):
    result, _, _ = finished
    assert model_folder(result.folder) == result.folder / "model"
    assert model_folder(result.folder / "model") == result.folder / "model"
    whole, inner = Forecaster.load(result.folder), Forecaster.load(result.folder / "model")
    assert whole.about() == inner.about()
    assert TADGE.load(result.folder).stopped_ in ("done", "early")
    assert [type(model) for model in load_models(result.folder)] == [Forecaster, TADGE]


def test_forecasts_and_vectors_are_those_of_the_models(finished):
    result, _, _ = finished
    table = pl.read_parquet(result.folder / "forecasts.parquet")
    assert table.equals(result.forecasts)
    assert len(pl.read_csv(result.folder / "forecasts.csv")) == len(table)
    vectors = pl.read_parquet(result.folder / "vectors.parquet")
    expected = TADGE.load(result.folder).embed(progress=False)
    np.testing.assert_allclose(np.array(vectors["vector"].to_list()), expected, rtol=1e-5, atol=1e-6)


def test_both_are_judged_beside_rules(finished):
    result, _, _ = finished
    assert [name for name, kind in result.evaluation.kinds.items() if kind == "model"] == [
        "Forecaster",
        "TADGE (vectors)",
    ]
    assert {"toe", "links (random)", "when"} <= set(result.evaluation.tasks)
    assert list(result.evaluation.kinds.values()).count("rule") >= 15


def test_the_page_of_a_run_can_be_written_again(finished, tmp_path):
    result, _, _ = finished
    path = tadge.write_report(result.folder, tmp_path / "again.html", progress=False)
    assert path.read_text() == result.report.read_text()
    with pytest.raises(tadge.InputError, match=r"not the name of a page; expected a file \.html"):
        tadge.write_report(result.folder, tmp_path / "page.pdf")
    with pytest.raises(tadge.InputError, match="there is no such folder"):
        tadge.write_report(tmp_path / "nowhere", tmp_path / "page.html")


def test_a_finished_run_is_taken_as_it_is(finished, monkeypatch):
    result, _, _ = finished
    monkeypatch.setattr(Forecaster, "fit", stop)
    monkeypatch.setattr(TADGE, "fit", stop)
    again = tadge.run(result.graph, result.folder, config=small_run_config(), resume=True, progress=False, say=ignore)
    assert again.forecasts.equals(result.forecasts)
    assert again.evaluation.to_dict() == result.evaluation.to_dict()
    with pytest.raises(tadge.InputError, match="of other settings; expected seed = 0; found seed = 1"):
        tadge.run(result.graph, result.folder, config=small_run_config(seed=1), resume=True, say=ignore)


def ignore(line):
    pass


ODD = {
    "ten events": ([1, 2, 3, 4, 1, 2, 3, 1, 2, 1], [2, 3, 4, 1, 2, 3, 4, 3, 4, 2], np.arange(10.0)),
    "one event": ([1], [2], [3.0]),
    "one node": ([1] * 30, [1] * 30, np.arange(30.0)),
    "one instant": ([1, 2, 3] * 20, [2, 3, 1] * 20, np.full(60, 5.0)),
    "no repeat": (np.arange(0, 100, 2), np.arange(1, 101, 2), np.arange(50.0)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data_end_with_a_page(name, tmp_path):
    src, dst, days = ODD[name]
    graph, said = tadge.TemporalGraph.from_arrays(src, dst, days, unit="days"), []
    result = tadge.run(graph, tmp_path / "run", config=small_run_config(), progress=False, say=said.append)
    assert result.report.stat().st_size > 10_000
    assert len(result.forecasts) > 0
    assert result.evaluation is None
    text = "\n".join(said)
    assert "not judged: this history is too short" in text
    assert "Traceback" not in text


def test_no_time_leaves_forecasts_and_a_page(tmp_path):
    said = []
    config = small_run_config(budget="0s")
    result = tadge.run(hostile_graph(200), tmp_path / "run", config=config, progress=False, say=said.append)
    assert result.evaluation is None
    assert result.vectors is None
    assert sum("left out: " in line for line in said) >= 2
    page = result.report.read_text()
    assert "of the budget are left" in page
    assert "There is no map" in page


def test_a_dry_run_writes_nothing(tmp_path):
    said = []
    result = tadge.run(None, tmp_path / "run", dry_run=True, say=said.append, budget="20m", seed=3)
    assert list(tmp_path.iterdir()) == []
    assert result.forecaster is None
    assert result.plan.budget == 1_200
    assert any("support desk" in line for line in said)
    assert any("GB of memory" in line for line in said)


def test_wrong_calls_are_one_sentence(tmp_path):
    with pytest.raises(tadge.InputError, match="nothing to learn from"):
        tadge.run(tadge.TemporalGraph.from_arrays([], [], []), tmp_path / "run")
    with pytest.raises(tadge.ConfigError, match="unknown option"):
        tadge.run(None, tmp_path / "run", budgets="10m")
    with pytest.raises(tadge.InputError):
        tadge.run(tmp_path / "nothing.csv", tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
