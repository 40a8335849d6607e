"""tadge fit and tadge embed, from a file to vectors under the user's ids."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import tadge
from answering import ranked
from small import forum
from tadge import TADGE, Forecaster
from tadge.cli.frame import _preset_settings
from tadge.config import options
from tadge.embedding.progress import epoch_line
from tadge.io.vectors import read_vectors, write_vectors

SMALL = [
    *"--num-walks 200 --min-length 2 --max-length 4 --dim 8 --heads 2 --blocks 1 --epochs 2 --batch-size 80".split(),
    *"--window 5 --window-step 4 --init random --precision float32 --threads 1".split(),
    *"--steps 20 --batch-events 16 --trees 5 --leaf-samples 10".split(),
]


def name(number):
    return f"user-{number:03d} é"[: 8 + number % 3].strip()


def write(path, graph):
    names = [name(number) for number in range(graph.num_nodes)]
    rows = zip(graph.src, graph.dst, graph.time, strict=True)
    path.write_text("who,whom,when\n" + "".join(f"{names[u]},{names[v]},{t * 86400:.3f}\n" for u, v, t in rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of events with ids that are strings, and one that goes on for longer."""
    place = tmp_path_factory.mktemp("files")
    write(place / "events.csv", forum().before(float(forum().time[500])))
    write(place / "longer.csv", forum())
    (place / "empty").mkdir()
    return place


@pytest.fixture
def fitted(run, folder):
    """A folder of both models, fitted once."""
    if not (folder / "model").exists():
        code, out, err = run("fit", "events.csv", "--out", "model", *SMALL, "--seed", 5)
        assert code == 0, err
        (folder / "output.txt").write_text(out)
    return folder / "model"


# -- from a file to vectors --------------------------------------------------------------------------------------------


def test_fit_tells_what_it_came_to(fitted, folder):
    output = " ".join((folder / "output.txt").read_text().split())
    for word in ("F1", "RMSE"):
        assert word in output
    model, forecaster = TADGE.load(fitted), Forecaster.load(fitted)
    assert (model.seed, model.train_config.epochs, model.network_config.dim) == (5, 2, 8)
    assert (forecaster.seed, forecaster.config.steps, forecaster.config.trees) == (5, 20, 5)
    assert re.search(rf"TADGE: {model.graph_.num_nodes} nodes, 2 epochs", output)
    assert "vectors: TADGE, one for every node, as of any moment: tadge embed model --out vectors.parquet" in output
    assert "forecasts: Forecaster, who links to whom, how likely and when; now ask: tadge next model " in output
    check = forecaster.ranking_.check
    assert f"how good: {check.events:,.0f} of the latest 20% of the events" in output
    assert f"was first in {check.first:.0%}, among the first ten in {check.ten:.0%}; by the rule" in output
    assert f"{check.rule_first:.0%} and {check.rule_ten:.0%}. It stood among {check.others:,.0f} others" in output


def test_what_to_ask_can_be_pasted(run, fitted, folder):
    lines = (folder / "output.txt").read_text().splitlines()
    asked = [shlex.split(line)[1:] for line in lines if re.match(r"  tadge (next|when|overdue) ", line)]
    assert [arguments[0] for arguments in asked] == ["next", "when", "overdue"]
    for arguments in asked:
        code, out, err = run(*arguments, "--json")
        assert (code, err) == (0, ""), arguments
        json.loads(out)
    graph = Forecaster.load(fitted).graph_
    assert {asked[1][2], asked[1][3]} <= set(graph.ids)


def test_the_command_is_the_public_call(fitted, folder):
    """The same options in Python give the same bits."""
    graph = tadge.read_events(folder / "events.csv", quiet=True)
    model = TADGE(
        tadge.WalkConfig(num_walks=200, min_length=2, max_length=4),
        tadge.NetworkConfig(dim=8, heads=2, blocks=1),
        tadge.TrainConfig(epochs=2, batch_size=80, window=5, window_step=4, init="random", precision="float32"),
        seed=5,
    ).fit(graph, progress=False)
    loaded = TADGE.load(fitted)
    assert np.array_equal(model.table_.numpy(), loaded.table_.numpy())
    assert np.array_equal(model.embed(), loaded.embed())
    config = tadge.ForecastConfig(steps=20, batch_events=16, trees=5, leaf_samples=10)
    forecaster, loaded = Forecaster(config, seed=5).fit(graph, progress=False), Forecaster.load(fitted)
    pairs = graph.ids[graph.src[-50:]], graph.ids[graph.dst[-50:]]
    for call in ("score_links", "predict_toe"):
        assert np.array_equal(getattr(forecaster, call)(*pairs), getattr(loaded, call)(*pairs))


def test_fit_as_json(run, folder):
    code, out, err = run("fit", "events.csv", "--out", "json", *SMALL, "--json", "--quiet")
    assert (code, err) == (0, "")
    report = json.loads(out)
    graph = tadge.read_events(folder / "events.csv", quiet=True)
    assert report["graph"] == graph.fingerprint
    assert (report["nodes"], report["events"]) == (graph.num_nodes, graph.num_events)
    assert (report["seed"], report["path"]) == (0, "json")
    assert report["forecasts"] == Forecaster.load(folder / "json").about()["forecast"]
    vectors = report["vectors"]
    assert (vectors["epochs"], vectors["stopped"]) == (2, "done")
    history = TADGE.load(folder / "json").history_
    best = min(history, key=lambda figures: figures["held_out"]["loss"])
    assert vectors["best_epoch"] == best["epoch"]
    assert vectors["held_out"] == best["held_out"]
    assert vectors["training"].items() <= best.items()
    assert vectors["training"]["loss"] == best["loss"]
    assert vectors["seconds"] == pytest.approx(sum(figures["seconds"] for figures in history))
    assert vectors["peak_memory_mb"] > 100


@pytest.mark.parametrize(
    ("only", "made", "missing", "line"),
    [
        ("vectors", TADGE, Forecaster, "vectors: TADGE, one for every node"),
        ("forecasts", Forecaster, TADGE, "forecasts: Forecaster, who links"),
    ],
)
def test_one_model_alone_and_the_other_beside_it(run, folder, only, made, missing, line):
    place = f"only-{only}"
    code, out, err = run("fit", "events.csv", "--out", place, *SMALL, "--only", only, "-q")
    assert (code, err) == (0, "")
    assert len(re.findall("^(vectors|forecasts):", out, re.M)) == 1
    assert line in out
    alone = made.load(folder / place)
    other = "forecasts" if only == "vectors" else "vectors"
    with pytest.raises(tadge.InputError, match=f"there is no {missing.__name__} .*--only {other}"):
        missing.load(folder / place)
    assert run("fit", "events.csv", "--out", place, *SMALL, "--only", other, "-q")[0] == 0
    assert made.load(folder / place).graph_.fingerprint == alone.graph_.fingerprint
    assert missing.load(folder / place).graph_.fingerprint == alone.graph_.fingerprint


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ("always", "Types of events are looked at, as was asked: [b]mail, call."),
        ("never", "Types of events are not looked at: as was asked."),
        ("auto", "Types of events are not looked at: they do not clearly help to tell who and when."),
    ],
)
def test_types_of_events(run, folder, asked, line):
    header, *rows = (folder / "longer.csv").read_text().splitlines()
    kinds = np.random.default_rng(0).choice(["[b]mail", "[b]mail", "call"], len(rows))
    typed = [f"{header},how", *(f"{row},{kind}" for row, kind in zip(rows, kinds, strict=True))]
    (folder / "typed.csv").write_text("\n".join(typed[:500]))
    (folder / "typed longer.csv").write_text("\n".join(typed))
    assert "types of events" in run("info", "typed.csv", "--type", "how")[1]
    assert "[b]mail, call" in run("info", "typed.csv", "--type", "how")[1].replace("call, [b]mail", "[b]mail, call")
    fit = "fit", "typed.csv", "--type", "how", "--only", "forecasts", "--event-types", asked
    code, out, err = run(*fit, "--out", f"typed {asked}", *SMALL)
    assert code == 0, err
    assert line in out
    one, other = rows[0].split(",")[:2]
    asks = "within", f"typed {asked}", one, other, "--days", "1"
    for more in ((), ("--events", "typed longer.csv")):
        code, out, err = run(*asks, *more)
        assert code == 0, err
    code, out, err = run(*asks, "--events", "longer.csv", "--src", "who", "--dst", "whom", "--time", "when")
    assert (code, "a graph without types" in err) == ((2, True) if asked == "always" else (0, False))


def test_vectors_need_a_tadge(run, folder):
    run("fit", "events.csv", "--out", "pairs", *SMALL, "--only", "forecasts", "-q")
    code, out, err = run("embed", "pairs", "--out", "new.npz")
    assert (code, out) == (2, "")
    assert err.startswith("error: pairs: there is no TADGE in this folder; found a Forecaster; fit one into it: tadge")


def test_users_and_items(run, folder):
    """Items never act: walks go in both directions, so that the vectors of both sides are learned."""
    rows = [(f"user{k * 7 % 23}", f"item{k * k % 11}", 3_600 * k) for k in range(400)]
    (folder / "items.csv").write_text("".join(f"{u},{v},{1_300_000_000 + t}\n" for u, v, t in rows))
    code, out, err = run("fit", "items.csv", "--out", "items", *SMALL)
    assert code == 0, err
    assert "column 0 and column 1 share no value: read as two-sided" in err
    assert "forecasts: Forecaster" in out
    model, items = TADGE.load(folder / "items"), {v for _, v, _ in rows}
    assert model.graph_.num_nodes == 23 + len(items)
    assert np.isfinite(model.embed()).all()
    ranking = ranked(Forecaster.load(folder / "items").rank("user3", k=len(items)))
    assert {target for target, _ in ranking} == items
    assert sum(probability for _, probability in ranking) == pytest.approx(1)


def test_a_small_file_with_two_sides(run, folder):
    """It used to end in "no walk is long enough", and then in "windows save no work"."""
    rows = [(f"customer {k * 7 % 9}", f"agent {k * k % 4}", 36_000 * k) for k in range(25)]
    text = "".join(f"{u},{v},{1_300_000_000 + t}\n" for u, v, t in rows)
    (folder / "desk.csv").write_text("customer,agent,opened\n" + text)
    window = SMALL.index("--window")
    code, out, err = run("fit", "desk.csv", "--out", "desk", *SMALL[:window], *SMALL[window + 4 :])
    assert code == 0, err
    assert TADGE.load(folder / "desk").graph_.bipartite
    code, out, err = run("next", "desk", "customer 1", "-k", 2, "--days", 1, "--json")
    assert (code, len(json.loads(out))) == (0, 2), err
    code, _, err = run("next", "desk", "agent 1")
    assert code == 2
    assert "never acts" in err and "--no-bipartite" in err


def test_events_of_strangers_are_not_embedded(run, fitted, folder):
    rows = "".join(f"x{k},y{k % 3},{1_300_000_000 + k}\n" for k in range(9))
    (folder / "strangers.csv").write_text("src,dst,time\n" + rows)
    code, out, err = run("embed", "model", "--out", "strangers.npz", "--events", "strangers.csv", "-q")
    assert (code, out) == (2, "") and not (folder / "strangers.npz").exists()
    assert "strangers.csv: none of the nodes is known to the model" in err
    code, out, err = run("embed", "model", "--out", "again.npz", "--events", "events.csv")
    assert code == 0 and "events.csv: read as the model's file was" in err


def read_as(path):
    """Read vectors with other tools than ours."""
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        return dict(zip(frame["id"].to_list(), frame["vector"].to_list(), strict=True))
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return dict(zip(file["ids"].tolist(), file["vectors"].tolist(), strict=True))
    head, *lines = path.read_text().splitlines()
    rows = [line.rsplit(" ", int(head.split()[1])) for line in lines]
    assert len(rows) == int(head.split()[0])
    return {row[0]: [float(value) for value in row[1:]] for row in rows}


@pytest.mark.parametrize("suffix", ["parquet", "npz", "txt", "vec", "w2v"])
def test_vectors_in_every_form_under_the_users_ids(run, fitted, folder, suffix):
    out_file = folder / "out" / f"vectors.{suffix}"
    if suffix in ("txt", "vec", "w2v"):  # a blank parts the numbers: ids with one are refused, and nothing is written
        code, _, err = run("embed", "model", "--out", out_file)
        assert (code, out_file.exists()) == (2, False)
        assert "blank" in err
        plain = tadge.read_events(folder / "events.csv", quiet=True)
        ids = np.array([each.replace(" ", "_") for each in plain.ids], dtype=object)
        graph = tadge.TemporalGraph.from_arrays(ids[plain.src], ids[plain.dst], plain.time, unit="days", clock="unix")
        tadge.write_events(graph, folder / "blankless.csv")
        if not (folder / "blankless").exists():
            assert run("fit", "blankless.csv", "--out", "blankless", *SMALL, "-q")[0] == 0
    source = "blankless" if suffix in ("txt", "vec", "w2v") else "model"
    code, out, err = run("embed", source, "--out", out_file)
    assert code == 0, err
    model = TADGE.load(folder / source)
    assert f"{model.graph_.num_nodes} vectors of 8 numbers" in out
    found, vectors = read_as(out_file), model.embed()
    assert list(found) == model.graph_.ids.tolist()
    assert any("é" in each for each in found)
    assert np.array_equal(np.array(list(found.values()), np.float32), vectors)  # to the last bit


def test_vectors_as_of_a_moment(run, fitted, folder):
    model = TADGE.load(fitted)
    for at, number in (("2021-01-01", 18628.0), ("18628", 18628.0), ("2021-01-01T12:00:00", 18628.5)):
        code, out, _ = run("embed", "model", "--out", "at.npz", "--at", at, "--latest", 2, "--json", "--force")
        assert code == 0
        found = json.loads(out)
        assert found == {
            **{"written": "at.npz", "nodes": model.graph_.num_nodes, "dim": 8, "at": at},
            "graph": model.graph_.fingerprint,
        }
        assert np.array_equal(read_vectors(folder / "at.npz")[1], model.embed(at=number, latest=2))
    assert not np.allclose(model.embed(at=18628.0), model.embed())


def test_vectors_from_a_longer_history(run, fitted, folder):
    code, _, err = run("embed", "model", "--out", "longer.parquet", "--events", "longer.csv")
    assert code == 0, err
    assert "longer.csv: text with commas" in err
    longer = tadge.read_events(folder / "longer.csv", quiet=True)
    model = TADGE.load(fitted)
    ids, vectors = read_vectors(folder / "longer.parquet")
    assert longer.num_nodes > model.graph_.num_nodes
    assert ids.tolist() == longer.ids.tolist()
    assert np.array_equal(vectors, model.embed(graph=longer))
    # as of the end of what the model knows, those it knows are as without the longer history
    end = float(model.graph_.time[-1])
    run("embed", "model", "--out", "end.parquet", "--events", "longer.csv", "--at", repr(end), "-q")
    found = dict(zip(*read_vectors(folder / "end.parquet"), strict=True))
    for node, vector in zip(model.graph_.ids, model.embed(at=end), strict=True):
        np.testing.assert_allclose(found[node], vector, rtol=1e-4, atol=1e-5)


# -- going on ----------------------------------------------------------------------------------------------------------


def test_resume_after_it_is_done_changes_nothing(run, fitted, folder):
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in fitted.iterdir()}
    code, out, err = run("fit", "events.csv", "--out", "model", *SMALL, "--seed", 5, "--resume", "--json", "-q")
    assert code == 0, err
    assert json.loads(out)["vectors"]["stopped"] == "done"
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in fitted.iterdir()} == before
    assert not any(file.startswith("checkpoint") for file in before)


def test_resume_with_other_options_is_refused_while_the_run_is_not_done(run, folder, monkeypatch):
    from tadge.embedding.checkpoint import Saver

    real = Saver.__call__

    def once(self, trainer):
        real(self, trainer)
        raise KeyboardInterrupt

    monkeypatch.setattr(Saver, "__call__", once)
    code, out, err = run("fit", "events.csv", "--out", "half", *SMALL, "--checkpoint-seconds", 0)
    assert code == 130
    assert "stopped; the best so far is kept, and --resume goes on from here" in err
    assert "interrupted" in out
    assert "None" not in out
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    before = {path.name: path.read_bytes() for path in (folder / "half").iterdir()}
    code, _, err = run("fit", "events.csv", "--out", "half", *SMALL, "-q")
    assert code == 2
    assert "there is a run in this folder that is not done; say --resume to go on with it" in err
    code, _, err = run("fit", "events.csv", "--out", "half", *SMALL, "--resume", "--lr", 0.5, "-q")
    assert code == 2
    assert "what is in this folder has another train; expected lr = 0.001; found lr = 0.5" in err
    code, _, err = run("fit", "longer.csv", "--out", "half", *SMALL, "--resume", "-q")
    assert code == 2
    assert "what is in this folder has another graph" in err
    assert {path.name: path.read_bytes() for path in (folder / "half").iterdir()} == before  # the Forecaster too
    code, _, err = run("fit", "events.csv", "--out", "half", *SMALL, "--resume", "-q")
    assert code == 0, err
    run("fit", "events.csv", "--out", "whole", *SMALL, "-q")
    files = [sorted(path.name for path in (folder / each).glob("*.safetensors")) for each in ("half", "whole")]
    assert files[0] == files[1]


def test_ctrl_c_while_the_forecaster_learns(run, folder, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tadge.forecasting.fitting.learn_toe", stop)
    code, out, err = run("fit", "events.csv", "--out", "stopped", *SMALL, "-q")
    assert (code, out) == (130, "")
    assert err == "stopped; nothing is kept yet; the same command, or --resume, begins anew\n"
    assert not list((folder / "stopped").iterdir())
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    code, _, err = run("fit", "events.csv", "--out", "stopped", *SMALL, "-q", "--resume")
    assert code == 0, err


def test_ctrl_c_as_a_real_signal_while_the_forecaster_learns(folder):
    """It would learn for hours."""
    place, hours = folder / "hours", ["--only", "forecasts", "--steps", "1000000", "--passes", "1000000"]
    arguments = [sys.executable, "-m", "tadge", "fit", str(folder / "events.csv"), "--out", str(place), *hours]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (place / ".lock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    began, (_, err) = time.monotonic(), process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 20  # two on a machine that has nothing else to do
    assert err.endswith("stopped; nothing is kept yet; the same command, or --resume, begins anew\n")
    assert "Traceback" not in err
    assert list(place.iterdir()) == []


def test_ctrl_c_while_tadge_learns_keeps_the_forecaster(run, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(TADGE, "fit", stop)
    code, _, err = run("fit", "events.csv", "--out", "later", *SMALL, "-q")
    assert (code, err) == (130, "stopped; the forecasts are kept, and --resume goes on from here\n")
    kept = {path.name: path.read_bytes() for path in (folder / "later").iterdir()}
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Forecaster, "fit", None)  # it is not learned again
    code, _, err = run("fit", "events.csv", "--out", "later", *SMALL, "-q", "--resume")
    assert code == 0, err
    after = {path.name: path.read_bytes() for path in (folder / "later").iterdir()}
    assert kept.items() <= after.items()
    TADGE.load(folder / "later")


# -- help and trouble --------------------------------------------------------------------------------------------------


def test_help_mentions_every_option(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command, configs in (
        ("fit", (tadge.ReadOptions, tadge.WalkConfig, tadge.NetworkConfig, tadge.TrainConfig, tadge.ForecastConfig)),
        ("embed", (tadge.ReadOptions,)),
    ):
        code, out, _ = run(command, "--help-all")
        assert code == 0
        flat = " ".join(re.sub(r"[│╭╮╰╯─]", " ", out).split())
        for one in [one for config in configs for one in options(config)]:
            assert f"--{one.name.replace('_', '-')}" in out, one.name
            words = (one.help[0].upper() + one.help[1:]).split()[:3]
            assert " ".join(words) in flat, one.name
        assert f"Example: tadge {command}" in flat
    for flag in ("--only", "--resume", "--checkpoint-seconds", "--seed", "--device", "--threads", "--json"):
        assert flag in run("fit", "--help-all")[1]


def test_every_option_reaches_the_model(run, folder):
    code, _, err = run(
        *("fit", "events.csv", "--out", "odd", "-q", "--num-walks", 150, "--min-length", 2, "--max-length", 3),
        *("--reach", "future", "--direction", "backward", "--centrality", "uniform", "--dim", 6, "--heads", 1),
        *("--blocks", 2, "--dropout", 0.1, "--queries", "next", "--no-structure", "--no-residual", "--epochs", 1),
        *("--batch-size", 40, "--lr", 0.01, "--window", 4, "--window-step", 2, "--init", "random"),
        *("--precision", "bfloat16", "--negatives", -1, "--weights", 1, 0, 2, 0.5, "--warmup", 0.5, "--clip", 3),
        *("--held-out", 0.2, "--patience", 2, "--resample", "--unknown", 0.1, "--seed", 7, "--device", "cpu"),
        *("--steps", 3, "--batch-events", 9, "--random-negatives", 4, "--former-negatives", 2, "--forecast-lr", 0.01),
        *("--weight-decay", 0.1, "--passes", 2, "--hidden", 16, "--burn-in", 0.2, "--recency", 2, "--max-pairs", 99),
        *("--trees", 2, "--tree-lr", 0.2, "--leaves", 5, "--leaf-samples", 3, "--leaf-penalty", 1),
        *("--tree-columns", 0.5, "--no-rescale", "--skip", "--candidate", "tanh", "--edges", "nodes"),
        *("--lstm-toe", "days"),
        *("--schedule", "constant", "--new-nodes", "own"),
    )
    assert code == 0, err
    model = TADGE.load(folder / "odd")
    assert model.walk_config == tadge.WalkConfig(150, 3, 2, "future", "backward", "uniform")
    shape = {"structure": False, "residual": False, "skip": True, "candidate": "tanh", "lstm_toe": "days"}
    assert model.network_config == tadge.NetworkConfig(6, 1, 2, 0.1, "next", **shape)
    train = model.train_config
    assert (train.epochs, train.batch_size, train.lr, train.window, train.window_step) == (1, 40, 0.01, 4, 2)
    assert (train.init, train.precision, train.negatives, train.weights) == ("random", "bfloat16", -1, (1, 0, 2, 0.5))
    assert (train.warmup, train.clip, train.held_out, train.patience) == (0.5, 3.0, 0.2, 2)
    assert (train.resample, train.unknown, model.seed) == (True, 0.1, 7)
    assert (train.edges, train.schedule, train.new_nodes) == ("nodes", "constant", "own")
    assert model.precision_ == "bfloat16"
    forecaster = Forecaster.load(folder / "odd")
    values = (3, 9, 4, 2, 0.01, 0.1, 2, 16, 0.2, 2.0, 99, 2, 0.2, 5, 3, 1.0, 0.5, False)
    assert forecaster.config == tadge.ForecastConfig(*values)
    assert forecaster.seed == 7


def test_flags_beside_a_preset_override_it(run, folder):
    small = "--num-walks 200 --max-length 4 --dim 8 --heads 2 --blocks 1 --epochs 2 --batch-size 80".split()
    flags = *small, *("--lr", "0.001", "--min-length", "2", "--window", "5", "--window-step", "4", "-q")
    code, _, err = run("fit", "events.csv", "--out", "as-printed", "--only", "vectors", "--preset", "paper", *flags)
    assert code == 0, err
    changes = {"num_walks": 200, "max_length": 4, "dim": 8, "heads": 2, "blocks": 1, "epochs": 2, "batch_size": 80}
    changes |= {"lr": 0.001, "min_length": 2, "window": 5, "window_step": 4}  # also those that equal a default
    assert TADGE.load(folder / "as-printed").about() == TADGE.paper(**changes).about()
    sizes = {
        name: _preset_settings("paper", [name])["batch_size"] for name in ("discussion", "hyperlink", "events.csv")
    }
    assert sizes == {"discussion": 300, "hyperlink": 500, "events.csv": 200}


BAD = {
    "dim": (("--dim", 0), "dim: value too small; expected an integer from 1 to 65,536; found 0"),
    "heads": (("--heads", 0), "heads: value too small"),
    "blocks": (("--blocks", 0), "blocks: value too small"),
    "lr 0": (("--lr", 0), "lr: value too small; expected a number from 1e-08 to 1.0; found 0.0"),
    "lr 1e9": (("--lr", 1e9), "lr: value too large"),
    "lr nan": (("--lr", "nan"), "lr: not a number"),
    "window": (("--window", 1), "window: value too small"),
    "window step": (
        ("--window-step", 5),
        "--window-step: windows do not overlap; expected from 1 to 4, so that windows overlap; found 5; "
        "lower --window-step or raise --window",
    ),
    "window step, larger": (("--window-step", 9), "--window-step: windows do not overlap"),
    "batch": (
        ("--batch-size", 3),
        "--batch-size: no window fits; expected at least a window of 5 walks; found 3; raise",
    ),
    "few walks": (
        ("--num-walks", 4),
        "too little to learn vectors from; expected at least 14 walks along the events; found 4 walks along 500 "
        "events; raise --num-walks, or lower --window",
    ),
    "many per window": (
        ("--window", 60, "--batch-size", 60),
        "expected at least 3,424 walks along the events; found 200 walks along 500 events",
    ),
    "short walks": (("--min-length", 30, "--max-length", 40), "no walk is long enough"),
    "lengths": (
        ("--min-length", 9),
        "--min-length: no walk can be that long; expected at most --max-length = 4",
    ),
    "init": (
        ("--init", "word2vec"),
        "init: unknown kind of initial vectors; expected deepwalk, node2vec, line, random",
    ),
    "init file": (("--init", "none.npz"), "none.npz: there is no such file"),
    "init ids": (("--init", "ids.npz"), "ids.npz"),
    "init width": (("--init", "width.npz"), "width.npz"),
    "precision": (("--precision", "float64"), "precision: unknown choice; expected auto, float32 or bfloat16"),
    "negatives": (("--negatives", -2), "negatives: value too small"),
    "weights": (("--weights", 1, 1, 1, -1), "weights: value too small"),
    "clip": (("--clip", -1), "clip: value too small"),
    "schedule": (("--schedule", "linear"), "--schedule: unknown choice; expected cosine or constant"),
    "preset": (("--preset", "best"), "--preset: unknown choice; expected paper or tuned; found 'best'"),
    "no clip": (("--clip", "inf"), "clip: value too large"),
    "seed": (("--seed", -1), "seed: not a seed"),
    "device": (("--device", "abacus"), "--device: "),
    "only": (("--only", "pairs"), "--only: unknown choice; expected vectors or forecasts; found 'pairs'"),
    "steps": (("--steps", 0), "--steps: value too small"),
    "tree columns": (("--tree-columns", 2), "--tree-columns: value too large"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_of_fit_are_one_sentence(run, folder, case):
    graph = tadge.read_events(folder / "events.csv", quiet=True)
    write_vectors(folder / "ids.npz", ["somebody", "else"], np.ones((2, 8)))
    write_vectors(folder / "width.npz", graph.ids, np.ones((graph.num_nodes, 5)))
    given, words = BAD[case]
    before = set(folder.iterdir())
    code, out, err = run("fit", "events.csv", "--out", "bad", *SMALL, "--only", "vectors", "-q", *given)
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert words in err
    assert "unforeseen" not in err
    left = set(folder.iterdir()) - before
    assert left <= {folder / "bad"}
    assert not left or not list((folder / "bad").iterdir())  # no model


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "none.csv", "--out", "bad"), "none.csv: there is no such file"),
        (("fit", "events.csv", "--out", "events.csv", *SMALL, "-q"), "events.csv: this is not a folder"),
        (("embed", "model", "--out", "vectors.xlsx"), "unknown kind of file; expected .parquet, .npz, .csv"),
        (("embed", "model", "--out", "vectors"), "unknown kind of file"),
        (
            ("embed", "nowhere", "--out", "new.npz"),
            "nowhere: there is no such folder; expected a folder that tadge",
        ),
        (("embed", "events.csv", "--out", "new.npz"), "events.csv: this is not a folder"),
        (("embed", "empty", "--out", "new.npz"), "not a folder of a TADGE; expected tadge.json in it"),
        (
            ("embed", "model", "--out", "new.npz", "--at", "1999-12-31"),
            "at: nothing had happened by then; expected 2020-",
        ),
        (("embed", "model", "--out", "new.npz", "--at", "3"), "at: nothing had happened by then"),
        (
            ("embed", "model", "--out", "new.npz", "--at", "nonsense"),
            "not a date; expected an ISO date; found 'nonsense'",
        ),
        (("embed", "model", "--out", "new.npz", "--at", "nan"), "not a moment"),
        (("embed", "model", "--out", "new.npz", "--events", "none.csv"), "none.csv: there is no such file"),
    ],
)
def test_other_bad_input_is_one_sentence(run, fitted, folder, arguments, words):
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    code, out, err = run(*arguments)
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert words in err
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before  # nothing was written


def test_a_graph_in_which_hardly_anybody_links(run, folder):
    """Walks of one vertex are allowed where the user wants them: some windows then ask for no edge at all."""
    rows = [(f"p{k}", f"q{k}", 86_400 * k) for k in range(300)] + [
        (f"r{k}", f"q{k}", 86_400 * k + 10) for k in range(9)
    ]
    (folder / "sparse.csv").write_text("".join(f"{u},{v},{1_300_000_000 + t}\n" for u, v, t in rows))
    options = [*SMALL, "--min-length", 1, "--batch-size", 5, "--held-out", 0.02]
    code, _, err = run("fit", "sparse.csv", "--out", "sparse", *options)
    assert code == 0, err
    model = TADGE.load(folder / "sparse")
    assert np.isfinite(model.embed()).all()
    held_out = [figures["held_out"] for figures in model.history_]
    assert all("edge_f1" not in figures for figures in held_out)  # else this tests nothing
    assert all("held out " in epoch_line(figures) for figures in model.history_)


def test_trouble_in_training_is_one_sentence_and_the_best_is_kept(run, folder, monkeypatch):
    from tadge.network.training_model import TrainingModel

    ask, calls = TrainingModel.compute_losses, []

    def spoilt(self, *batch):
        outcome = ask(self, *batch)
        calls.append(self.training)
        return outcome._replace(losses=outcome.losses * (float("nan") if sum(calls) > 4 else 1.0))

    monkeypatch.setattr(TrainingModel, "compute_losses", spoilt)
    code, out, err = run("fit", "events.csv", "--out", "trouble", *SMALL, "-q", "--epochs", 9)
    assert code == 2
    assert re.fullmatch(
        r"error: the self loss is not finite any more; found epoch \d, step \d; lower --lr .* kept\n", err
    )
    with pytest.warns(tadge.TadgeWarning, match="the training of this TADGE ended in trouble after 1 of 9 epochs"):
        assert np.isfinite(TADGE.load(folder / "trouble").embed()).all()
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    code, out, _ = run("fit", "events.csv", "--out", "trouble", *SMALL, "-q", "--epochs", 9, "--resume", "--json")
    assert code == 0  # it is not taken for done
    assert json.loads(out)["vectors"]["epochs"] == 9
