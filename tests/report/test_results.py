"""The page of results says what the records say, and is the one in the docs."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from tadge.config import ForecastConfig, NetworkConfig, TrainConfig, WalkConfig
from tadge.evaluation.result import Result, combine
from tadge.report.results import results_page

DOCS = Path(__file__).parents[2] / "docs"


def record(seed: int, mrr: float) -> Result:
    def figure(value):
        return {"value": value, "low": value - 0.1, "high": value + 0.1}

    result = Result("forecast", seeds=[seed], version="1", notes=["something to know"], config={"refit": seed == 7})
    result.data = {"name": "letters", "fingerprint": "abc", "nodes": 1200, "events": 34567}
    result.kinds = {"Forecaster": "model", "TADGE (vectors)": "model", "last act": "rule", "mean": "rule"}
    links = {"Forecaster": {"mrr": figure(mrr), "hits@1": figure(0.2)}, "last act": {"mrr": figure(0.5)}}
    lost = {"task": "links (random)", "metric": "mrr", "model": "Forecaster", "rival": "last act"}
    lost |= {"value": mrr, "rival_value": 0.5, "low": mrr - 0.51, "high": mrr - 0.49}
    result.add("links (random)", "mrr", ["mrr", "hits@1", "hits@10"], 99, links, [lost])
    return result


def test_a_single_seed(tmp_path):
    record(7, 0.25).to_json(tmp_path / "one.json")
    page = results_page(tmp_path)
    assert "## letters, protocol forecast" in page
    assert "1,200 nodes, 34,567 events; 1 seed;" in page
    assert "Learned from the first 85% of the events." in page
    assert "| method | MRR | Hits@1 |" in page  # nobody has the third
    assert "| Forecaster | 0.250 [0.150, 0.350] | **0.200** |" in page
    assert "| last act | **0.500** [0.400, 0.600] | - |" in page
    assert "| TADGE (vectors) | - | - |" in page  # it cannot answer
    assert "Forecaster loses to last act on links (random), MRR 0.250 against 0.500." in page
    assert "- something to know" in page


def test_options_that_are_not_the_default_are_named(tmp_path):
    result = record(7, 0.25)
    train = asdict(TrainConfig(epochs=3, weights=(1.0, 2.0, 1.0, 10.0)))
    vectors = {"walks": asdict(WalkConfig(num_walks=77)), "network": asdict(NetworkConfig()), "train": train}
    forecasts = {"forecast": asdict(ForecastConfig(steps=9)), "seed": 0, "fitted_to": None}
    result.config["models"] = {"Forecaster": forecasts, "TADGE (vectors)": vectors, "my own": None}
    result.to_json(tmp_path / "one.json")
    said = "Options that are not the default: steps 9, num_walks 77, epochs 3, weights [1.0, 2.0, 1.0, 10.0]."
    assert said in results_page(tmp_path)


def test_parts_of_a_period_and_groups_are_shown(tmp_path):
    result = record(7, 0.25)
    slices = [{"links": 10 + k, "coverage 80": 0.7 + k / 100 if k else None} for k in range(10)]
    result.tasks["links (random)"] |= {
        "slices": {"Forecaster": slices},
        "reliability": {
            "Forecaster": [{"said": 0.01 * k, "true": 0.02 * k, "questions": 5} for k in range(10)],
            "last act": [{"said": 0.5, "true": 0.5, "questions": 5}],
        },
    }
    result.to_json(tmp_path / "one.json")
    page = results_page(tmp_path)
    assert "| Forecaster | - | 0.710 | 0.720 |" in page
    assert "| links | 10 | 11 | 12 |" in page
    assert "| said | 0.00000 | 0.01000 | 0.02000 |" in page
    assert "| true | 0.00000 | 0.02000 | 0.04000 |" in page
    assert page.count("in ten equal groups") == 1  # of models alone
    text = str(result)
    assert "coverage 80 in ten equal slices" in text
    assert "0.710" in text


def test_the_code_of_a_record_is_named(tmp_path):
    result = record(7, 0.25)
    result.to_json(tmp_path / "one.json")
    assert "tadge 1, earlier code, of before records named their commit" in results_page(tmp_path)
    result.version = "1 (abc1234)"
    result.to_json(tmp_path / "one.json")
    assert "tadge 1 (abc1234), data abc." in results_page(tmp_path)


def test_several_seeds_and_files(tmp_path):
    both = combine([record(0, 0.6), record(1, 0.8)])
    both.to_json(tmp_path / "b.json")
    record(7, 0.25).to_json(tmp_path / "a.json")
    page = results_page(tmp_path)
    assert page.index("1 seed;") < page.index("2 seeds;")
    assert "| Forecaster | **0.700** +- 0.141 | **0.200** |" in page
    assert "Learned from the first 85%" not in page[page.index("2 seeds;") - 200 :]


AIMS = """[
 {"what": "letters, MRR", "record": "one", "task": "links (random)", "metric": "mrr", "aim": 0.3},
 {"what": "letters, a rule and more", "record": "two", "task": "links (random)", "metric": "mrr", "by": 0.1},
 {"what": "numbers", "record": "three", "task": "toe", "metric": "rmse", "aim": 0.2}
]"""


def test_aims_are_held_against_the_records(tmp_path):
    record(7, 0.25).to_json(tmp_path / "one.json")
    record(7, 0.75).to_json(tmp_path / "two.json")
    (tmp_path / "aims").mkdir()
    (tmp_path / "aims" / "aims.json").write_text(AIMS)
    (tmp_path / "words.md").write_text("## In plain words\n\nTrust it.\n")
    page = results_page(tmp_path)
    assert "| letters, MRR | last act 0.500 | 0.250 | 0.300 | **missed** |" in page
    assert "| letters, a rule and more | last act 0.500 | 0.750 | 0.550 | met |" in page
    assert "| numbers | - | - | 0.2 | not measured |" in page
    assert page.index("met |") < page.index("Trust it.") < page.index("## letters, protocol")


def test_studies_have_one_table(tmp_path):
    results = [record(0, 0.6), record(1, 0.8)]
    for result in results:
        result.validation = {"Forecaster": {"links mrr": 0.5 + result.seeds[0] / 10}, "last act": {}}
        result.times = {"Forecaster": {"fit": 20.0}, "last act": {"fit": 0.0}}
        result.notes = ["All that was tried.", "something to know"]
    (tmp_path / "studies").mkdir()
    combine(results).to_json(tmp_path / "studies" / "letters-approaches.json")
    page = results_page(tmp_path)
    assert "## letters, study: approaches\n\nAll that was tried. 2 seeds;" in page
    assert "| | links (random): MRR, validation | links (random): MRR, test | learning, s |" in page
    assert "| Forecaster | 0.550 | 0.700 | 20.0 |" in page
    assert "| last act | - | 0.500 | - |\n\n- something to know\n" in page


def test_the_page_in_the_docs_is_made_from_the_records():
    page = DOCS / "results.md"
    if not (DOCS / "results").is_dir():
        pytest.skip("the records are not part of this copy")
    assert page.read_text(encoding="utf-8") == results_page(DOCS / "results")


def test_no_record_is_of_a_place():
    """Records name data, not the folder they were read from."""
    for place in (DOCS / "results").rglob("*.json"):
        assert not re.search(r"/(home|work|tmp|root)/", place.read_text(encoding="utf-8")), place.name
