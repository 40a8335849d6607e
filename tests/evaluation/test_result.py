"""Results: figures, sentences, tables, files, several seeds."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import tadge
from answering import Constant, Learned, Oracle, Recency
from small import forum
from tadge.errors import InputError
from tadge.evaluation.figures import label, number, outcome, smaller_is_better, summarise
from tadge.evaluation.result import Result, combine
from tadge.evaluation.run import evaluate_seeds
from tadge.seeding import stream

CONTROL = "Forecaster, times shuffled"


def figure(value, off=0.01):
    return {"value": value, "low": value - off, "high": value + off}


def made(model=0.3, rule=0.5, other=0.4, control=0.2, metric="mrr", low=-0.21, high=-0.19, seed=0):
    """A result with one task, put together by hand."""
    figures = {"Forecaster": model, "last act": rule, "popularity": other, CONTROL: control}
    result = Result("forecast", seeds=[seed], version="1.2.3", seconds=2.0, peak_memory_mb=100.0 + seed)
    result.kinds = {"Forecaster": "model", "last act": "rule", "popularity": "rule", CONTROL: "control"}
    result.data = {"name": "edges", "fingerprint": "f", "nodes": 1234, "events": 56789}
    comparisons = [
        {"task": "links (random)", "metric": metric, "model": "Forecaster", "rival": rival, "value": model}
        | {"rival_value": value, "low": low, "high": high}
        for rival, value in figures.items()
        if rival != "Forecaster"
    ]
    figures = {name: {metric: figure(value), "hits@1": figure(value / 2)} for name, value in figures.items()}
    result.add("links (random)", metric, [metric, "hits@1", "hits@99"], 2000, figures, comparisons)
    result.notes = [f"seed {seed % 2}"]
    return result


# -- sentences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "low", "high", "says"),
    [
        ("mrr", -0.2, -0.1, "loses"),
        ("mrr", 0.1, 0.2, "wins"),
        ("rmse", -0.2, -0.1, "wins"),
        ("rmse", 0.1, 0.2, "loses"),
        ("mae days", 0.1, 0.2, "loses"),
        ("median days", -0.2, -0.1, "wins"),
        ("macro-f1", 0.1, 0.2, "wins"),
        ("mrr", -0.1, 0.2, "no clear difference"),
        ("rmse", 0.0, 0.0, "no clear difference"),
    ],
)
def test_outcomes(metric, low, high, says):
    assert outcome({"metric": metric, "low": low, "high": high}) == says


def test_sentences_name_the_best_rival():
    said = made().sentences()
    assert said == [
        "Forecaster loses to last act on links (random), MRR 0.300 against 0.500; it loses to 1 more.",
        "Forecaster loses to the control (Forecaster, times shuffled) on links (random), MRR 0.300 against 0.200.",
    ]
    said = made(0.6, low=0.05, high=0.15).sentences("links (random)")
    assert said[0] == "Forecaster wins against last act on links (random), MRR 0.600 against 0.500."
    said = made(0.49, low=-0.05, high=0.15).sentences()
    assert said[0] == "Forecaster and last act: no clear difference on links (random), MRR 0.490 against 0.500."
    said = made(0.3, 0.5, 0.4, metric="rmse", low=-0.1, high=-0.09).sentences()
    assert said[0] == "Forecaster wins against popularity on links (random), RMSE 0.300 against 0.400."
    assert made().sentences("toe") == []
    result = made(metric="within 0.25", low=0.1, high=0.2)
    assert "Within 0.25: 0.300 against 0.500" in result.sentences()[0]


def test_words():
    assert [label(name) for name in ("mrr", "hits@1", "rmse days", "macro-f1", "mrr unseen")] == [
        *("MRR", "Hits@1", "RMSE days", "Macro-F1", "MRR unseen")
    ]
    assert [number(value) for value in (0.12345, -1.5, 12.345, 1234.5)] == ["0.123", "-1.500", "12.3", "1,234"]
    assert [smaller_is_better(name) for name in ("rmse", "mae days", "median days seen", "mrr", "macro-f1")] == [
        *(True, True, True, False, False)
    ]


# -- tables -----------------------------------------------------------------------------------------------------------


def test_rows_are_in_order():
    assert made().rows("links (random)") == ["Forecaster", "last act", "popularity", CONTROL]
    errors = made(metric="rmse")
    assert errors.rows("links (random)") == ["Forecaster", "popularity", "last act", CONTROL]
    assert made().best("links (random)", "mrr") == {"last act"}
    assert errors.best("links (random)", "rmse") == {CONTROL}


def test_the_text_shows_everything():
    text = str(made())
    assert "edges, protocol forecast: 1,234 nodes, 56,789 events; seed 0" in text
    assert "links (random): 2,000 questions" in text
    assert "0.500* [0.490, 0.510]" in text
    assert text.count("*") == 3  # the best of two columns, and the legend
    assert "hits@99" not in text.lower()  # nobody has it
    assert "Forecaster loses to last act on links (random), MRR 0.300 against 0.500" in text
    assert "note: seed 0" in text
    assert "2 s, 100 MB at most; tadge 1.2.3" in text
    assert "\x1b" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_the_terminal_shows_the_best_in_bold():
    console = Console(file=StringIO(), force_terminal=True, width=120, color_system="truecolor", legacy_windows=False)
    console.print(made())
    shown = console.file.getvalue()
    assert "\x1b[1m0.500\x1b[0m" in shown
    assert "\x1b[1m0.400\x1b[0m" not in shown
    assert "*" not in shown


def test_notebooks_show_the_tables():
    html = made()._repr_html_()
    assert html.startswith("<pre") and html.endswith("</pre>")
    assert 'font-weight: bold">0.500</span>' in html
    assert "Forecaster loses to last act on links (random)" in html
    assert "<script" not in html


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_and_back(tmp_path):
    result = tadge.evaluate(Oracle(), forum(), methods=[Recency(), Learned()], name="forum", against="random")
    result.to_json(tmp_path / "deep" / "result.json")
    again = tadge.Result.from_json(tmp_path / "deep" / "result.json")
    assert again == result
    assert str(again) == str(result)
    plain = json.loads((tmp_path / "deep" / "result.json").read_text())
    assert plain == result.to_dict()
    graph = forum()
    assert plain["data"] == {
        **{"name": "forum", "fingerprint": graph.fingerprint},
        **{"nodes": graph.num_nodes, "events": graph.num_events},
    }
    assert plain["seeds"] == [0]
    assert plain["version"].startswith(tadge.__version__)
    assert plain["seconds"] > 0
    assert plain["peak_memory_mb"] > 100
    assert plain["config"]["against"] == ["random"]
    assert plain["times"]["recency"].keys() >= {"fit", "links (random)"}
    for tasks in plain["methods"].values():
        for metrics_of in tasks.values():
            for each in metrics_of.values():
                assert each["low"] <= each["value"] + 1e-9
                assert each["value"] <= each["high"] + 1e-9


@pytest.mark.parametrize("text", ["", "{", "[]", '{"protocol": "forecast"}'])
def test_what_is_not_a_result_is_refused(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match=r"r\.json: not a result"):
        Result.from_json(tmp_path / "r.json")
    with pytest.raises(InputError, match="cannot be read"):
        Result.from_json(tmp_path / "none.json")


# -- figures ----------------------------------------------------------------------------------------------------------


def test_figures_are_those_of_each_column_alone():
    """Stacked and resampled together, they are what a plain bootstrap of each column gives."""
    rng = np.random.default_rng(0)
    values = {name: rng.exponential(size=50) for name in ("one", "other", "third")}
    half = np.arange(50) % 2 == 0
    measured = {
        name: {"rmse": ("root mean", errors**2), "mae": ("mean", errors), "median": ("median", errors)}
        for name, errors in values.items()
    }
    groups = {"even": half, "none": np.zeros(50, bool)}
    pairs = [("one", "other"), ("one", "nobody"), ("third", "other")]
    figures, comparisons = summarise(measured, 7, groups, task="t", compared=("rmse", "median"), pairs=pairs)

    def resampled(errors, statistic):
        rows = np.random.default_rng(int(stream(7, "bootstrap"))).integers(errors.size, size=(1000, errors.size))
        return statistic(errors[rows])

    statistics = {
        "rmse": lambda errors: np.sqrt((errors**2).mean(axis=-1)),
        "mae": lambda errors: errors.mean(axis=-1),
        "median": lambda errors: np.median(errors, axis=-1),
    }
    for name, errors in values.items():
        assert set(figures[name]) == {"rmse", "mae", "median", "rmse even", "mae even", "median even"}
        for metric, statistic in statistics.items():
            for suffix, some in (("", errors), (" even", errors[half])):
                found = figures[name][metric + suffix]
                assert found["value"] == pytest.approx(statistic(some))
                limits = np.quantile(resampled(some, statistic), [0.025, 0.975])
                assert (found["low"], found["high"]) == pytest.approx(tuple(limits))
    expected = [(model, "other", metric) for model in ("one", "third") for metric in ("rmse", "median")]
    assert [(each["model"], each["rival"], each["metric"]) for each in comparisons] == expected
    for each in comparisons:
        draws = [resampled(values[each[who]], statistics[each["metric"]]) for who in ("model", "rival")]
        limits = np.quantile(draws[0] - draws[1], [0.025, 0.975])
        assert (each["low"], each["high"]) == pytest.approx(tuple(limits))


# -- several seeds ----------------------------------------------------------------------------------------------------


def test_seeds_are_combined_to_mean_and_standard_deviation():
    results = [made(0.3 + 0.1 * seed, seed=seed) for seed in range(3)]
    both = combine(results)
    found = both.methods["Forecaster"]["links (random)"]["mrr"]
    assert found["value"] == pytest.approx(0.4)
    assert found["high"] - found["value"] == pytest.approx(0.1)
    assert found["value"] - found["low"] == pytest.approx(0.1)
    assert both.seeds == [0, 1, 2]
    assert both.seconds == 6.0
    assert both.peak_memory_mb == 102.0
    assert both.notes == ["seed 0", "seed 1"]
    assert "one standard deviation over 3 seeds" in str(both)
    assert "3 seeds" in str(both).splitlines()[0]
    assert combine(results[:1]) is results[0]


def test_a_difference_must_hold_from_seed_to_seed():
    """Clear on the questions of each seed, but not between seeds; and the other way round."""
    steady = combine([made(0.3, 0.5, low=-0.21, high=-0.19, seed=seed) for seed in range(2)])
    assert "loses" in steady.sentences()[0]
    shaky = combine([made(0.3, 0.5), made(0.6, 0.5, low=0.09, high=0.11, seed=1)])
    assert "no clear difference" in shaky.sentences()[0]
    unsure = combine([made(0.3, 0.5, low=-0.5, high=0.1, seed=seed) for seed in range(2)])
    assert "no clear difference" in unsure.sentences()[0]


def test_what_does_not_belong_together():
    with pytest.raises(InputError, match="nothing to combine"):
        combine([])
    other = made()
    other.data = other.data | {"fingerprint": "g"}
    with pytest.raises(InputError, match="do not belong together"):
        combine([made(), other])


def test_a_metric_that_a_seed_lacks_is_left_out():
    one, other = made(), made(seed=1)
    del other.methods["Forecaster"]["links (random)"]["hits@1"]
    del other.methods["popularity"]
    both = combine([one, other])
    assert set(both.methods["Forecaster"]["links (random)"]) == {"mrr"}
    assert both.methods["popularity"]["links (random)"]["mrr"] == {"value": 0.4, "low": 0.4, "high": 0.4}
    assert "popularity: 1 of 2 seeds" in both.notes
    assert str(both)


def test_seeds_are_kept_in_files(tmp_path):
    graph, said = forum(), []
    options = {"name": "forum", "methods": [Recency()], "tasks": ("links", "toe"), "progress": False}
    (both,) = evaluate_seeds(lambda _: Constant(), graph, ["forecast"], 2, tmp_path, say=said.append, **options)
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert names == {"forum-forecast-seed0.json", "forum-forecast-seed1.json", "forum-forecast.json"}
    ones = [Result.from_json(tmp_path / f"forum-forecast-seed{seed}.json") for seed in range(2)]
    assert ones[0].methods["recency"] != ones[1].methods["recency"]  # other questions
    assert both == combine(ones) == Result.from_json(tmp_path / "forum-forecast.json")
    assert len(said) == 2
    with pytest.raises(InputError, match="there is an evaluation in this folder; say resume"):
        evaluate_seeds(lambda _: Constant(), graph, ["forecast"], 2, tmp_path, **options)

    class Never(Constant):
        def score_links(self, *_, **__):
            raise AssertionError

    Never.name = "constant"
    (again,) = evaluate_seeds(lambda _: Never(), graph, ["forecast"], 2, tmp_path, resume=True, **options)
    assert again == both
    for change in ({"tasks": ("links",)}, {"against": ("all",)}, {"refit": True}, {"methods": [Learned()]}):
        with pytest.raises(InputError, match=rf"this result is of something else; found another {next(iter(change))}"):
            evaluate_seeds(lambda _: Never(), graph, ["forecast"], 2, tmp_path, resume=True, **options | change)
    with pytest.raises(InputError, match="found another data"):
        evaluate_seeds(lambda _: Never(), forum(710), ["forecast"], 2, tmp_path, resume=True, **options)
    with pytest.raises(InputError, match="this is not a folder"):
        evaluate_seeds(lambda _: Never(), graph, ["forecast"], 1, tmp_path / "forum-forecast.json", **options)
