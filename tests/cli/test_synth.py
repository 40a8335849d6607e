"""The command that makes graphs."""

from __future__ import annotations

import json
import sys

import numpy as np
import polars as pl
import pytest

import tadge
from tadge.cli import main


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tadge", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        out, err = capsys.readouterr()
        return done.value.code or 0, out, err

    return call


def test_synth_is_seeded_and_reads_back(run, tmp_path):
    for name in ("one", "two"):
        code, out, _ = run(
            "synth", "--events", 2000, "--seed", 3, "--out", f"{name}.csv", "--labels", f"{name}-labels.csv"
        )
        assert code == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one-labels.csv").read_bytes() == (tmp_path / "two-labels.csv").read_bytes()
    assert "ToE error" in out
    graph = tadge.read_events(tmp_path / "one.csv", quiet=True)
    assert graph.num_events == 2000
    assert graph.clock == "unix"
    code, out, _ = run("synth", "--events", 2000, "--out", "s.parquet", "--json")
    found = json.loads(out)
    assert found["seed"] == 0
    assert found["toe_rmse"]["floor"] < found["toe_rmse"]["constant"]
    assert 0 < found["best_link_mrr"] < 1
    code, out, err = run("synth", "--events", 2000, "--seed", 3)
    assert out == (tmp_path / "one.csv").read_text()
    assert "ToE error" in err


def test_a_desk_is_written_and_reads_back(run, tmp_path):
    code, out, _ = run("synth", "--kind", "desk", "--seed", 3, "--out", "desk.csv", "--labels", "favourites.csv")
    assert code == 0
    assert "with probability 0.7300" in out and "favourites.csv: the favourite agent of each customer" in out
    desk = tadge.synthetic.desk(seed=3)
    graph = tadge.read_events(tmp_path / "desk.csv", quiet=True)
    assert graph.fingerprint == desk.graph.fingerprint
    favourites = pl.read_csv(tmp_path / "favourites.csv")
    places = [desk.customers.tolist().index(name) for name in favourites["id"]]
    assert favourites["label"].to_list() == desk.agents[desk.favourite[places]].tolist()
    code, out, err = run("synth", "--kind", "desk", "--seed", 3)
    assert out == (tmp_path / "desk.csv").read_text()
    assert "Who: " in err and "Never" not in err


def test_a_desk_as_json(run):
    options = {"--customers": 50, "--agents": 5, "--days": 90, "--seed": 1}
    code, out, err = run("synth", "--kind", "desk", "--leaving", "--json", *np.ravel(list(options.items())))
    assert (code, err) == (0, "")
    answer = json.loads(out)
    desk = tadge.synthetic.desk(50, 5, days=90, leaving=True, seed=1)
    assert (answer["events"], answer["nodes"]) == (desk.graph.num_events, desk.graph.num_nodes)
    assert answer["favourite_probability"] == pytest.approx(0.76)
    assert answer["customers_left"] == np.count_nonzero(desk.left <= desk.span[1]) > 0
    assert "Never: " in run("synth", "--kind", "desk", "--leaving")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--kind", "shop"), "--kind: unknown kind of graph; expected forum or desk; found 'shop'"),
        (
            ("--kind", "desk", "--events", 9),
            "--events: a desk has no such option; found 9; leave it out, or say --kind",
        ),
        (("--leaving",), "--leaving: a forum has no such option; found True; leave it out, or say --kind desk"),
        (("--kind", "desk", "--agents", 0), "--agents: value too small"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(run, arguments, words):
    code, out, err = run("synth", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {words}") and len(err.splitlines()) == 1
