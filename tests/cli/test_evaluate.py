"""tadge evaluate, from a file to tables and JSON."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import tadge
from small import forum
from tadge import TADGE, Forecaster
from tadge.config import options
from tadge.evaluation.models import load_models
from tadge.evaluation.result import Result, combine

SMALL = [
    *"--num-walks 200 --min-length 2 --max-length 4 --dim 8 --heads 2 --blocks 1 --epochs 1 --batch-size 80".split(),
    *"--window 5 --window-step 4 --init random --precision float32 --threads 1".split(),
    *"--steps 20 --trees 5 --leaf-samples 5".split(),
]
HISTORICAL = ["links (historical)", "links (former targets only)"]
MODELS = ["Forecaster", "TADGE (vectors)"]
FEW = ["--methods", "mean,reciprocity, last act ,degree + age"]


def name(number):
    return f"user-{number:03d}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of events with ids that are texts, and one of labels."""
    place = tmp_path_factory.mktemp("files")
    graph = forum()
    rows = zip(graph.src, graph.dst, graph.time, strict=True)
    text = "".join(f"{name(u)},{name(v)},{t * 86400:.3f}\n" for u, v, t in rows)
    (place / "events.csv").write_text("who,whom,when\n" + text)
    seen = sorted({name(node) for node in np.concatenate([graph.src, graph.dst])})
    (place / "labels.csv").write_text("id,label\n" + "".join(f"{each},{'ab'[int(each[-1]) % 2]}\n" for each in seen))
    (place / "one.csv").write_text("id,label\n" + "".join(f"{each},a\n" for each in seen))
    (place / "strange.csv").write_text("id,label\nsomebody,a\nuser-001,b\n")
    return place


@pytest.fixture
def finished(run, folder):
    """An evaluation with two seeds that was made once; what it printed."""
    if not (folder / "results").exists():
        arguments = ["events.csv", "--out", "results", "--seeds", 2, "--labels", "labels.csv", *FEW, *SMALL]
        code, out, err = run("evaluate", *arguments)
        assert code == 0, err
        (folder / "said.txt").write_text(out)
        (folder / "told.txt").write_text(err)
    return (folder / "said.txt").read_text()


def test_tables_and_sentences(finished, folder):
    assert "events, protocol forecast" in finished
    for task in ("links (random)", *HISTORICAL, "toe", "toe, still open", "who-and-when", "classes"):
        assert f"{task}: " in finished
        for model in MODELS if task != "classes" else MODELS[1:]:
            assert re.search(rf"{re.escape(model)} .*on {re.escape(task)}, .* against ", finished), task
    tables, slices = finished.count("┃ method "), len(re.findall(r"┃ method +┃ +1 ┃", finished))
    assert slices == 1  # of waits, which vectors do not give; both have a row in every other table
    assert [finished.count(f"│ {model}  ") for model in MODELS] == [tables, tables - slices]
    assert re.search(r"Forecaster .*on within 1 hour, Brier .* against ", finished)
    for method in ("mean", "reciprocity", "last act", "degree + age", "best rules"):
        assert f"│ {method} " in finished, method
    assert all(f"│ {model}, times shuffled " in finished for model in MODELS)
    assert "one standard deviation over 2 seeds" in finished
    assert "\x1b" not in finished
    told = (folder / "told.txt").read_text()
    for seed in range(2):
        assert f"events-forecast-seed{seed}.json: written after" in told


def test_files(finished, folder):
    names = {path.name for path in (folder / "results").iterdir()}
    ones = {f"events-forecast-seed{seed}" for seed in range(2)}
    assert names == {*ones, *(f"{one}.json" for one in ones), "events-forecast.json"}
    results = [Result.from_json(folder / "results" / f"events-forecast-seed{seed}.json") for seed in range(2)]
    both = Result.from_json(folder / "results" / "events-forecast.json")
    assert both == combine(results)
    assert str(both) in finished
    graph = tadge.read_events(folder / "events.csv", quiet=True)
    for seed, result in enumerate(results):
        assert result.seeds == [seed]
        assert result.data["fingerprint"] == graph.fingerprint
        about = result.config["models"]
        assert [about[model]["seed"] for model in MODELS] == [seed, seed]
        assert about["TADGE (vectors)"]["walks"]["num_walks"] == 200
        assert about["Forecaster"]["forecast"]["trees"] == 5
        assert result.config["methods"] == ["mean", "reciprocity", "last act", "degree + age"]
    train = tadge.split_by_time(graph).train
    for seed, count in ((0, 4), (1, 2)):  # one control of each is enough
        models = [path for path in (folder / "results" / f"events-forecast-seed{seed}").iterdir() if path.is_dir()]
        assert len(models) == count
        fitted = [model for place in models for model in load_models(place)]
        assert len(fitted) == count
        assert all(model.graph_.num_events == train.num_events for model in fitted)


def test_the_command_is_the_public_call(finished, folder):
    """The same options in Python give the same figures."""
    graph = tadge.read_events(folder / "events.csv", quiet=True)
    model = TADGE(
        tadge.WalkConfig(num_walks=200, min_length=2, max_length=4),
        tadge.NetworkConfig(dim=8, heads=2, blocks=1),
        tadge.TrainConfig(
            epochs=1, batch_size=80, window=5, window_step=4, init="random", precision="float32", patience=5
        ),
        seed=1,
    )
    rows = [line.split(",") for line in (folder / "labels.csv").read_text().splitlines()[1:]]
    methods = ["mean", "reciprocity", "last act", "degree + age"]
    options = {"methods": methods, "control": False, "name": "events", "progress": False}
    config = tadge.ForecastConfig(steps=20, trees=5, leaf_samples=5)
    here = tadge.evaluate([config, model], graph, labels=dict(rows), seed=1, **options)
    there = Result.from_json(folder / "results" / "events-forecast-seed1.json")
    assert here.methods == there.methods
    assert here.config == there.config
    assert here.comparisons == there.comparisons


def test_resume_takes_what_is_finished(run, finished, folder, monkeypatch):
    again = ["evaluate", "events.csv", "--out", "results", "--labels", "labels.csv", *FEW, *SMALL]
    code, out, err = run(*again, "--seeds", 2)
    assert code == 2
    assert "there is an evaluation in this folder; say --resume" in err
    before = (folder / "results" / "events-forecast-seed1.json").read_bytes()

    def never(*_, **__):
        raise AssertionError("nothing is learned again")

    monkeypatch.setattr(TADGE, "fit", never)
    monkeypatch.setattr(Forecaster, "fit", never)
    code, out, err = run(*again, "--seeds", 2, "--resume")
    assert code == 0, err
    assert out == finished
    assert err.count("taken as it is") == 2
    (folder / "results" / "events-forecast-seed1.json").unlink()  # as if it had been cut right before the end
    code, out, err = run(*again, "--seeds", 2, "--resume", "-q")
    assert (code, err) == (0, "")
    old, new = json.loads(before), json.loads((folder / "results" / "events-forecast-seed1.json").read_bytes())
    assert new["methods"] == old["methods"]
    code, out, err = run(*again, "--seeds", 2, "--resume", "--refit")
    assert code == 2
    assert "events-forecast-seed0.json: this result is of something else; found another refit" in err


def test_ctrl_c_and_resume(run, folder, monkeypatch):
    fit, calls = TADGE.fit, []

    def stopped(self, graph, **options):
        calls.append(graph)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(self, graph, **options)

    arguments = ["evaluate", "events.csv", "--out", "cut", "--methods", "none", "--tasks", "toe", *SMALL, "-q"]
    monkeypatch.setattr(TADGE, "fit", stopped)
    code, _, err = run(*arguments)
    assert code == 130
    assert err == "stopped; --resume goes on from here\n"
    assert not list((folder / "cut").glob("*.json"))
    code, _, err = run(*arguments, "--resume")
    assert code == 0, err
    assert len(calls) == 3  # the model was there, only the control was missing
    methods = {*MODELS, *(f"{model}, times shuffled" for model in MODELS)}
    assert set(Result.from_json(folder / "cut" / "events-forecast.json").methods) == methods


def test_both_protocols(run, folder):
    more = ["--protocol", "both", "--methods", "mean", "--no-control", "--tasks", "toe", *SMALL, "--json", "-q"]
    code, out, err = run("evaluate", "events.csv", "--out", "both", *more)
    assert (code, err) == (0, "")
    assert [result["protocol"] for result in json.loads(out)] == ["forecast", "reconstruction"]
    for protocol, found in zip(("forecast", "reconstruction"), json.loads(out), strict=True):
        kept = Result.from_json(folder / "both" / f"events-{protocol}-seed0.json")
        assert kept.to_dict() == found
        assert kept.methods.keys() == {*MODELS, "mean"}
        assert kept.config["protocol"] == protocol


def test_a_fitted_model(run, folder):
    graph = tadge.read_events(folder / "events.csv", quiet=True)
    split = tadge.split_by_time(graph)
    configs = tadge.WalkConfig(200, 4, 2), tadge.NetworkConfig(8, 2, 1)
    train = tadge.TrainConfig(epochs=1, batch_size=80, window=5, window_step=4, init="random", precision="float32")
    TADGE(*configs, train).fit(split.train, progress=False).save(folder / "early")
    TADGE(*configs, train).fit(graph, progress=False).save(folder / "late")
    more = ["--methods", "none", "--no-control", "--tasks", "toe,links", "--against", "all", "-q"]
    code, out, err = run(
        "evaluate", "events.csv", "--out", "given", "--model", "early", *more, "--json", "--refresh", 30
    )
    assert code == 0, err
    (found,) = json.loads(out)
    assert found["config"]["refresh"] == 30
    assert set(found["methods"]) == {"TADGE (vectors)"}
    assert set(found["tasks"]) == {"toe", "toe, still open", "links (all)"}
    assert found["config"]["models"]["TADGE (vectors)"]["fitted_to"] == split.train.fingerprint
    code, _, err = run("evaluate", "events.csv", "--out", "given2", "--model", "late", *more)
    assert code == 2
    assert "models: TADGE (vectors) has seen the test period" in err
    code, _, err = run("evaluate", "events.csv", "--out", "given3", "--model", "early", *more, "--dim", 4)
    assert code == 2
    assert "early: this model is fitted already; leave out the options" in err


def test_help_mentions_every_option(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run("evaluate", "--help-all")
    assert code == 0
    flat = " ".join(re.sub(r"[│╭╮╰╯─]", " ", out).split())
    configs = tadge.ReadOptions, tadge.WalkConfig, tadge.NetworkConfig, tadge.TrainConfig
    for one in [one for config in configs for one in options(config)]:
        assert f"--{one.name.replace('_', '-')}" in out, one.name
    for flag in (
        "protocol",
        "tasks",
        "labels",
        "methods",
        "against",
        "seeds",
        "max-links",
        "refresh",
        "origins",
        "refit",
        "no-control",
        "model",
        "resume",
    ):
        assert f"--{flag}" in out
    assert "Example: tadge evaluate" in flat


BAD = {
    "protocol": (("--protocol", "papers"), "protocol: unknown protocol; expected forecast or reconstruction"),
    "tasks": (("--tasks", "toe,where"), "tasks: unknown task"),
    "no tasks": (("--tasks", ","), "tasks: unknown task"),
    "methods": (("--methods", "mean,guess"), "guess"),
    "against": (("--against", "hard"), "--against: unknown kind of negatives"),
    "origins": (("--origins", "0"), "--origins: value too small"),
    "refresh": (("--refresh", "0"), "--refresh: value too small"),
    "labels": (("--labels", "none.csv"), "none.csv: there is no such file"),
    "one class": (("--labels", "one.csv"), "one.csv: there is only one class"),
    "unknown nodes": (("--labels", "strange.csv"), "strange.csv, row 2: labels of unknown nodes"),
    "model": (("--model", "nowhere"), "nowhere: there is no such folder"),
    "out": (("--out", "events.csv"), "events.csv: this is not a folder"),
    "dim": (("--dim", 0), "dim: value too small"),
    "device": (("--device", "abacus"), "device: "),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_one_sentence(run, folder, case):
    given, words = BAD[case]
    configs = [] if case == "model" else SMALL
    code, out, err = run("evaluate", "events.csv", "--out", "bad", "--methods", "none", *configs, "-q", *given)
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert words in err
    assert "unforeseen" not in err
    assert not (folder / "bad").exists() or not list((folder / "bad").glob("*.json"))


def test_known_data_sets_have_their_labels(run, data_dir, monkeypatch, folder):
    monkeypatch.setenv("TADGE_DATA", str(data_dir))
    if not list(data_dir.glob("*bitcoin*otc*")):
        pytest.skip("bitcoin-otc is not here")
    from tadge.cli.inputs import data_name, labels_of

    graph = tadge.datasets.load("bitcoin-otc", quiet=True)
    labels = labels_of(["bitcoin-otc"], None, graph)
    assert labels.classes == ["high", "low", "middle"]
    assert data_name("bitcoin-otc") == "bitcoin-otc"
    assert data_name("some/folder/edges.csv.gz") == "edges"
    assert labels_of(["events.csv"], None, graph) is None
